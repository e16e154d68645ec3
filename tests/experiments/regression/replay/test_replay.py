"""Replay one recording with several controllers and compare their answers."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console

from nao_testbed.controllers import registry
from nao_testbed.controllers.interface.controller import FixedStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.loop import Loop, PacedRobot
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.robot_source import (
    RecordingSource,
    RobotSource,
    SimulatorSource,
    robot_source,
)
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.experiments.regression.replay.answers import Answers, compare
from nao_testbed.experiments.regression.replay.replay import (
    OpenRecording,
    ReplayCfg,
    open_recording,
    replay_controllers,
)
from nao_testbed.experiments.regression.replay.tables import replay_tables
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.models import BadInput, Robot, TestbedError, load_robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.messages import Messages, each

ROOT = Path(__file__).resolve().parents[4]

PUSH_FROM, PUSH_TO = 8_000, 8_150  # ticks
PUSH = np.array([18.0, 7.0, 0.0])  # N, at the base: it sways and keeps standing


class Pushed(SimulatedRobot):
    """Robot that is pushed for 150 ms, 8 s after the start."""

    def step(self, ticks: int) -> None:
        for _ in range(ticks):
            if PUSH_FROM <= self.tick < PUSH_TO:
                self.push(self.robot.base_link, PUSH)
            super().step(1)


def record(
    sim: SimulatedRobot, folder: Path, controller: str, goal: str, cycles: int
) -> None:
    recording = RunRecording.open(
        folder,
        sim.robot,
        seed=3,
        config={"controller": controller},
        command=(),
        exact=True,
    )
    angles = sim.robot.posture(goal).angles
    loop = Loop(sim, make_controller(controller), angles, CONTROL_PERIOD)
    for _ in range(cycles):
        seen = loop.cycle()
        recording.row(sim, seen, loop.decided)
    recording.close("done")
    sim.close()


@pytest.fixture(scope="module")
def standing(two_leg: Robot, recorded: RecordedRuns) -> Path:
    """Run folder of the small robot under `smart`, two seconds."""

    def stand(folder: Path) -> None:
        sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
        record(sim, folder, "smart", "Stand", 100)

    return recorded("standing", stand)


def opened(folder: Path, *controllers: str) -> OpenRecording:
    return open_recording(ReplayCfg(source=folder, controllers=controllers))


# -- identical input ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("JD-18")
def test_smart_reproduces_its_answers_bit_for_bit_after_a_push(
    nao: Robot, tmp_path: Path
) -> None:
    sim = Pushed(
        nao, SimulationCfg(seed=3, misalignment_deg={"LAnklePitch": 2.0}), "Stand"
    )
    record(sim, tmp_path, "smart", "Stand", 1000)
    result, _ = replay_controllers(opened(tmp_path, "smart", "smart-full"))
    smart, full = result.answers["smart"], result.answers["smart-full"]
    assert result.reference == "recorded"
    assert (result.run.observations, result.run.is_exact) == (1000, True)
    assert_allclose([result.run.begin_s, result.run.end_s], [0.0, 19.98])
    assert smart.is_identical
    assert smart.largest_difference == smart.rms_difference == 0.0
    ankle = result.answers["recorded"].joints["LAnklePitch"]
    assert ankle.largest - ankle.mean > 0.05, "the push had no effect"
    assert not full.is_identical
    assert full.first_difference_s == 0.0
    assert full.rms_difference > 0.01


@pytest.mark.requirement("JD-18")
def test_robot_without_force_sensors_can_be_replayed(
    two_leg: Robot, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(two_leg.folder, tmp_path / "robot"))
    for name in ("force_sensors.csv", "contacts.csv"):
        head, *rows = (folder / name).read_text(encoding="utf-8").splitlines()
        kept = [re.sub("(left|right)_force_[a-z_]+", "", row) for row in rows]
        kept = [row for row in kept if not row.startswith(",")]
        text = "\n".join([head, *kept, ""])
        (folder / name).write_text(text, encoding="utf-8")
    robot = load_robot(folder)
    assert robot.force_sensors == ()
    assert robot.contact_points
    sim = SimulatedRobot(robot, SimulationCfg(), "Stand")
    record(sim, tmp_path, "smart", "Stand", 20)
    result, _ = replay_controllers(opened(tmp_path, "smart"))
    assert result.answers["smart"].is_identical


SCENARIO = """\
name: nods
about: A head turns and the eyes blink.
duration_s: 2
controller: smart
posture: Stand
behaviours:
  - {name: look, schema: look around}
  - {name: blink, schema: blink}
"""


@pytest.mark.requirement("JD-18")
def test_scenario_run_is_replayed_bit_for_bit(tmp_path: Path) -> None:
    file, folder = tmp_path / "nods.yaml", tmp_path / "run"
    file.write_text(SCENARIO, encoding="utf-8")
    folder.mkdir()
    run_scenario(load_scenario(file), folder, proves=False)
    result, _ = replay_controllers(opened(folder, "smart", "fixed"))
    assert result.run.observations == 100
    assert result.answers["smart"].is_identical
    assert not result.answers["fixed"].is_identical


@pytest.mark.slow
@pytest.mark.requirement("JD-17", "JD-18")
def test_replay_needs_no_engine(standing: Path) -> None:
    code = (
        "import sys; sys.modules['pybullet'] = None\n"
        "from nao_testbed.experiments.cli import main\n"
        f"sys.argv = ['nao-testbed', 'replay', {str(standing)!r}]\n"
        "main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "bit for bit" in ran.stdout


def test_damaged_event_is_reported_and_skipped(standing: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(standing, tmp_path / "damaged"))
    with (folder / "events.jsonl").open("a", encoding="utf-8") as events:
        events.write("{no event\n")
    recording = opened(folder, "fixed")
    assert len(recording.observations) == len(opened(standing, "fixed").observations)
    result, _ = replay_controllers(recording)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(*replay_tables(result))
    assert "1 line of the events is damaged" in console.export_text()


@pytest.mark.requirement("JD-17")
@pytest.mark.parametrize("where", ["simulator", "recording"])
def test_only_the_source_differs_between_simulation_and_replay(
    where: str, two_leg: Robot, standing: Path
) -> None:
    """The same code runs on both sources."""
    sources: dict[str, RobotSource] = {
        "simulator": SimulatorSource(robot_folder=two_leg.folder),
        "recording": RecordingSource(folder=standing, robot_folder=two_leg.folder),
    }
    source = sources[where]
    robot: PacedRobot = source.open()
    loop = Loop(robot, make_controller("smart"), source.goal(robot.robot))
    seen = [loop.cycle() for _ in range(50)]
    robot.close()
    assert_allclose([one.time_s for one in seen], 0.02 * np.arange(50), atol=1e-12)
    assert (loop.limits > 0.0).all()


def test_source_text_names_a_simulator_robot_or_run_folder(two_leg: Robot) -> None:
    assert robot_source("simulator") == SimulatorSource()
    walker = robot_source(str(two_leg.folder))
    assert walker == SimulatorSource(robot_folder=two_leg.folder)
    assert robot_source("runs/x") == RecordingSource(folder=Path("runs/x"))
    with pytest.raises(BadInput, match="is not a run folder"):
        robot_source("runs/nowhere").open()


# -- comparison ------------------------------------------------------------------------


def test_differences_between_answers_are_computed() -> None:
    reference = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    other = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.9], [0.5, 0.2]])
    shift = np.zeros((4, 2))
    found = compare(
        Answers(
            controller="other",
            stiffness=other,
            shift=shift,
            steps_s=[1e-6, 2e-6, 3e-6, 50e-6],
            flags={},
            failure=None,
        ),
        Answers(
            controller="recorded",
            stiffness=reference,
            shift=shift,
            steps_s=[],
            flags={},
            failure=None,
        ),
        ("hip", "knee"),
        np.array([0.0, 0.02, 0.04, 0.06]),
    )
    assert (found.is_identical, found.first_difference_s) == (False, 0.04)
    assert found.joints["hip"].rms_difference == 0.0
    assert found.joints["knee"].rms_difference == pytest.approx(0.25)
    assert found.rms_difference == pytest.approx(0.25 / np.sqrt(2.0))
    assert found.largest_difference == pytest.approx(0.4)
    assert found.joints["knee"].mean == pytest.approx(0.525)
    assert found.joints["knee"].largest == 0.9
    assert found.step_us == pytest.approx(2.5)


def test_first_controller_is_the_reference_if_none_is_recorded(
    two_leg: Robot, tmp_path: Path
) -> None:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    recording = RunRecording.open(
        tmp_path, two_leg, seed=0, config={}, command=(), exact=True
    )
    for _ in range(10):
        seen = sim.read()
        sim.step(20)
        recording.row(sim, seen)
    recording.close("done")
    sim.close()
    with pytest.raises(BadInput, match="does not name its controller; give one"):
        opened(tmp_path)
    result, answers = replay_controllers(opened(tmp_path, "constant:0.6", "fixed"))
    assert result.reference == "constant:0.6"
    assert list(result.answers) == ["constant:0.6", "fixed"]
    assert result.answers["fixed"].rms_difference == pytest.approx(0.4)
    assert_array_equal([len(one.stiffness) for one in answers], [10, 10])


class Failing(FixedStiffness):
    """Raises half a second after the start."""

    def step(self, observation: Observation) -> Limits:
        if observation.time_s >= 0.5:
            raise TestbedError("no more of this.")
        return super().step(observation)


def test_failing_controller_is_compared_until_its_failure(
    standing: Path, two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "failing", lambda _: Failing())
    result, answers = replay_controllers(opened(standing, "failing", "smart"))
    failed = result.answers["failing"]
    assert failed.failure == "stopped at 0.50 s: no more of this."
    assert len(answers[1].stiffness) == 25
    assert not failed.is_identical
    assert result.answers["smart"].is_identical


def test_messages(messages: Messages, standing: Path) -> None:
    messages(
        controllers_that_cannot_be_compared=each(
            lambda names: opened(standing, *names),
            (("smart", "smart"),),
            (("recorded",),),
            (("smrt",),),
        )
    )
