"""Decided shifts of set-points: recorded, replayed, compared."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console

from nao_testbed.controllers import registry
from nao_testbed.controllers.interface.controller import (
    Controller,
    FixedStiffness,
    Limits,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.regression.replay.answers import ReplayResult, ShiftAnswers
from nao_testbed.experiments.regression.replay.replay import (
    ReplayCfg,
    open_recording,
    replay_controllers,
    write_answers,
)
from nao_testbed.experiments.regression.replay.tables import replay_tables
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.models import Robot, default_robot_folder
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.robot import SimulationCfg
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.experiments.regression.replay.shifting import Stopping, Swaying

ATOL_REQUEST = 1e-14  # rad: two rounding errors of numbers below 1
SEVEN_DIGITS_DEG = 1e-5  # of set-points up to 90°
SWAY = 0.02  # rad

Make = Callable[[], Controller]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Make], None]:
    """Return a function that registers a controller under a name."""

    def add(name: str, make: Make) -> None:
        monkeypatch.setitem(registry.BUILT_IN, name, lambda _: make())

    return add


@pytest.fixture(scope="module")
def swayed(
    two_leg: Robot, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Swaying]:
    """Return an exact recording and the controller that made it."""
    controller = Swaying(SWAY)
    return trial(two_leg, tmp_path_factory.mktemp("exact") / "run", controller), (
        controller
    )


def trial(
    robot: Robot,
    folder: Path,
    controller: Controller,
    duration_s: float = 2.6,
    fast: FastForwardCfg | None = None,
    *,
    exact: bool = True,
) -> Path:
    cfg = TrialCfg(
        controller=controller.name,
        robot_folder=robot.folder,
        posture="Stand",
        duration_s=duration_s,
        simulation=SimulationCfg(seed=2),
        fast_forward=fast,
        folder=folder,
        exact=exact,
    )
    folder.mkdir()
    run_trial(cfg, controller=controller)
    return folder


def replayed(folder: Path, *controllers: str) -> ReplayResult:
    cfg = ReplayCfg(source=folder, controllers=controllers)
    return replay_controllers(open_recording(cfg))[0]


def shift_of(result: ReplayResult, controller: str) -> ShiftAnswers:
    shift = result.answers[controller].shift
    assert shift is not None
    return shift


def text_of(result: ReplayResult) -> str:
    console = Console(width=140, record=True, file=io.StringIO())
    for table in replay_tables(result):
        console.print(table)
    return console.export_text()


# -- recording -------------------------------------------------------------------------


def test_decided_shift_is_recorded_with_unit_and_description(
    two_leg: Robot, swayed: tuple[Path, Swaying]
) -> None:
    folder, controller = swayed
    run = read_run(folder)
    shift = run.channel("shift")
    assert_array_equal(shift.to_numpy(), controller.shifts)
    assert {run.meta.columns[f"shift.{j}"] for j in two_leg.joint_names} == {"rad"}
    assert run.meta.channels["shift"].startswith("Shift that the controller returned")
    held = slice(120, None)  # after reaching the posture
    ahead = run.channel("target").to_numpy()[1:] - shift.to_numpy()[:-1]
    stand = two_leg.posture("Stand").angles
    assert_allclose(ahead[held], np.tile(stand, (len(ahead), 1))[held], atol=1e-14)


def test_run_without_shifts_has_no_shift_column(two_leg: Robot, tmp_path: Path) -> None:
    run = read_run(trial(two_leg, tmp_path / "run", FixedStiffness(), 0.2))
    assert not [c for c in run.frame.columns if c.startswith("shift.")]
    assert "shift" not in run.meta.channels


def test_no_shift_is_recorded_while_fast_forwarding(
    two_leg: Robot, tmp_path: Path
) -> None:
    fast = FastForwardCfg()
    folder = trial(two_leg, tmp_path / "run", Swaying(0.0), 120.0, fast)
    frame = read_run(folder).frame
    asked = frame[f"limits.{two_leg.joint_names[0]}"].notna()
    decided = frame[f"shift.{two_leg.joint_names[0]}"].notna()
    assert (~asked).sum() > 10, "no rows were fast-forwarded"
    assert (asked == decided).all()


# -- answers to the recorded request ---------------------------------------------------


@pytest.mark.requirement("JD-18")
@pytest.mark.parametrize("begin_s", [0.0, 1.0])
def test_recorded_controller_shifts_identically_in_replay(
    two_leg: Robot,
    tmp_path: Path,
    swayed: tuple[Path, Swaying],
    known: Callable[[str, Make], None],
    begin_s: float,
) -> None:
    """Including shifts that start in the middle of the run."""
    folder = swayed[0]
    if begin_s:
        folder = trial(two_leg, tmp_path / "run", Swaying(SWAY, begin_s=begin_s))
    known("swaying", lambda: Swaying(SWAY, begin_s=begin_s))
    result = replayed(folder)
    assert shift_of(result, "swaying").is_identical
    assert result.answers["swaying"].is_identical
    assert shift_of(result, "swaying").largest_deg == pytest.approx(
        np.rad2deg(SWAY), rel=0.01
    )


def test_shifts_do_not_drift_on_a_rounded_recording(
    two_leg: Robot, tmp_path: Path, known: Callable[[str, Make], None]
) -> None:
    """Each shift depends on set-points that include the previous shift."""
    folder = trial(two_leg, tmp_path / "run", Swaying(SWAY), exact=False)
    known("swaying", lambda: Swaying(SWAY))
    result = replayed(folder)
    shift = shift_of(result, "swaying")
    assert 0.0 < shift.largest_difference_deg < SEVEN_DIGITS_DEG
    assert not result.run.is_exact


@pytest.mark.slow(covers=True)
@pytest.mark.requirement("JD-18")
def test_replay_restores_requested_set_points_of_any_recording(
    two_leg: Robot, tmp_path: Path, known: Callable[[str, Make], None]
) -> None:
    live = Swaying(SWAY)
    folders = {
        "same": trial(two_leg, tmp_path / "same", live),
        "other": trial(two_leg, tmp_path / "other", Swaying(-2.0 * SWAY, rate=1.0)),
        "nobody": trial(two_leg, tmp_path / "nobody", FixedStiffness()),
    }
    for folder in folders.values():
        asked = Swaying(SWAY)
        known("swaying", lambda asked=asked: asked)  # type: ignore[misc]
        replayed(folder, "swaying")
        assert_allclose(asked.requests, live.requests, rtol=0, atol=ATOL_REQUEST)
        assert_allclose(asked.shifts, live.shifts, rtol=0, atol=ATOL_REQUEST)


def test_set_points_exclude_the_recorded_shift_in_replay(
    swayed: tuple[Path, Swaying], known: Callable[[str, Make], None]
) -> None:
    folder, live = swayed
    seen = []

    class Looking(FixedStiffness):
        def step(self, observation: Observation) -> Limits:
            seen.append(observation.target)
            return super().step(observation)

    known("looking", Looking)
    result = replayed(folder, "looking")
    assert_allclose(seen, live.requests, rtol=0, atol=ATOL_REQUEST)
    shift = shift_of(result, "looking")
    assert (shift.largest_deg, shift.is_identical) == (0.0, False)


SCENARIO = """\
name: stands
about: It stands, and another controller takes over.
duration_s: 1.2
controller: swaying
posture: Stand
events:
  - {at_s: 0.6, controller: other}
"""


@pytest.mark.requirement("JD-18")
def test_scenario_with_rate_limited_shifts_replays_bit_for_bit(
    tmp_path: Path, known: Callable[[str, Make], None]
) -> None:
    """The rate limit of 2°/s makes the shift in force differ from the decided one."""
    known("swaying", lambda: Swaying(0.05, rate=8.0))
    known("other", FixedStiffness)
    file, folder = tmp_path / "stands.yaml", tmp_path / "run"
    file.write_text(SCENARIO, encoding="utf-8")
    folder.mkdir()
    run_scenario(load_scenario(file), folder, proves=False)
    run = read_run(folder)
    shift = run.channel("shift").to_numpy()
    target = run.channel("target").to_numpy()
    n = 30
    assert np.isnan(shift[n:]).all(), "the other controller decided a shift"
    in_force = target[1:n, 0] - target[0, 0]
    assert np.abs(in_force - shift[: n - 1, 0]).max() > 0.01, (
        "the shift was not rate-limited"
    )
    result = replayed(folder, "swaying", "fixed")
    swaying = result.answers["swaying"]
    assert swaying.first_difference_s == pytest.approx(0.6), "equal before the change"
    assert shift_of(result, "fixed").first_difference_s == pytest.approx(0.02)


@pytest.mark.parametrize("stops_s", [0.0, 0.5])
def test_scenario_is_replayed_until_its_controller_failed(
    tmp_path: Path, known: Callable[[str, Make], None], stops_s: float
) -> None:
    """The robot continues and is recorded after the failure, without a controller."""
    known("swaying", lambda: Stopping(SWAY, stops_s=stops_s))
    file, folder = tmp_path / "stands.yaml", tmp_path / "run"
    file.write_text(SCENARIO.partition("events")[0], encoding="utf-8")
    folder.mkdir()
    failure = run_scenario(load_scenario(file), folder, proves=False).result.failure
    assert failure is not None
    assert "shift of the set-point of HeadYaw is nan" in failure
    assert len(read_run(folder).frame) == 60
    known("swaying", lambda: Swaying(SWAY))
    result = replayed(folder, "swaying")
    assert result.run.observations == (25 if stops_s else 60)
    assert result.reference == ("recorded" if stops_s else "swaying")
    assert result.answers["swaying"].is_identical


def run_nao(folder: Path, controller: str) -> Mapping[str, int]:
    """Simulate a robot with one ankle 2° off for 6 s; return the flags."""
    cfg = TrialCfg(
        controller=controller,
        robot_folder=default_robot_folder(),
        posture="PoseInit",
        duration_s=6.0,
        simulation=SimulationCfg(seed=1, misalignment_deg={"LAnklePitch": 2.0}),
        fast_forward=None,
        folder=folder,
        exact=True,
    )
    return run_trial(cfg).flags


@pytest.fixture(scope="module")
def nao_of_smart(recorded: RecordedRuns) -> Path:
    return recorded("nao-of-smart", lambda folder: run_nao(folder, "smart"))


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("JD-18")
@pytest.mark.parametrize("name", ["minheat", "nudge"])
def test_shipped_controllers_detect_no_motion_in_a_replay(
    nao_of_smart: Path, tmp_path: Path, name: str
) -> None:
    """Earlier, a missing own shift in the recording looked like a new posture."""
    live = run_nao(tmp_path, name)
    result = replayed(tmp_path)
    assert result.answers[name].is_identical
    assert shift_of(result, name).largest_deg > 0.5
    flags = replayed(nao_of_smart, name).answers[name].flags
    for motion in ("moving", "new posture"):
        assert flags.get(motion) == live.get(motion)


# -- comparison ------------------------------------------------------------------------


@pytest.mark.slow(covers=True)
def test_difference_in_shift_alone_is_detected(
    two_leg: Robot, tmp_path: Path, known: Callable[[str, Make], None]
) -> None:
    folder = trial(two_leg, tmp_path / "run", Swaying(SWAY))
    known("less", lambda: Swaying(0.75 * SWAY))
    recording = open_recording(ReplayCfg(source=folder, controllers=("less", "fixed")))
    out = tmp_path / "out"
    out.mkdir()
    result, answers = replay_controllers(recording, out=out)
    less = result.answers["less"]
    assert less.largest_difference == 0.0
    assert not less.is_identical
    assert less.first_difference_s == shift_of(result, "less").first_difference_s
    by = shift_of(result, "less").largest_difference_deg
    assert by == pytest.approx(np.rad2deg(0.25 * SWAY), rel=0.01)
    joint, *others = shift_of(result, "less").joints.values()
    assert joint.largest_difference_deg == by
    assert {other.largest_difference_deg for other in others} == {0.0}

    text = text_of(result)
    assert f"{by:.3f}°" in text
    assert "Set-point shift by joint, in °" in text
    as_json = json.loads(json.dumps(result.as_json()))
    assert as_json["answers"]["less"]["shift"]["largest_difference_deg"] == by
    write_answers(out, recording, result, answers)
    assert (out / "shift.png").stat().st_size > 0
    written = read_run(out / "less").channel("shift").to_numpy()
    assert_array_equal(written, answers[1].shift)
    assert "shift" not in read_run(out / "fixed").meta.channels


def test_report_omits_shifts_if_there_are_none(two_leg: Robot, tmp_path: Path) -> None:
    folder = trial(two_leg, tmp_path / "run", FixedStiffness(), 0.2)
    recording = open_recording(ReplayCfg(source=folder, controllers=("constant:0.5",)))
    out = tmp_path / "out"
    out.mkdir()
    result, answers = replay_controllers(recording, out=out)
    assert result.run.knows_shift
    assert not result.has_shift
    assert "shift difference" not in text_of(result)
    assert "Set-point shift by" not in text_of(result)
    write_answers(out, recording, result, answers)
    assert not (out / "shift.png").exists()


# -- incomplete recordings -------------------------------------------------------------


def test_recording_of_format_2_is_replayed_without_shifts(
    two_leg: Robot, tmp_path: Path, known: Callable[[str, Make], None]
) -> None:
    """Format 2 holds the set-points, but not the shifts of the controller."""
    folder = trial(two_leg, tmp_path / "run", Swaying(SWAY))
    meta = folder / "meta.json"
    data = json.loads(meta.read_text(encoding="utf-8"))
    del data["channels"]
    data["format"] = 2
    data["columns"] = {
        k: v for k, v in data["columns"].items() if not k.startswith("shift.")
    }
    meta.write_text(json.dumps(data), encoding="utf-8")
    asked = Swaying(SWAY)
    known("swaying", lambda: asked)
    result = replayed(folder)
    assert not result.run.knows_shift
    assert result.answers["swaying"].is_identical
    assert result.answers["swaying"].shift is None
    recorded = read_run(folder).channel("target").to_numpy()
    assert_array_equal(np.add(asked.requests[1:], asked.shifts[:-1]), recorded[1:])
    assert "only stiffness is compared" in text_of(result)


def test_runs_and_replays_that_stop_early_are_compared_until_they_end(
    two_leg: Robot, tmp_path: Path, known: Callable[[str, Make], None]
) -> None:
    whole = trial(two_leg, tmp_path / "whole", Swaying(SWAY))
    short = trial(two_leg, tmp_path / "short", Stopping(SWAY))
    known("swaying", lambda: Swaying(SWAY))
    known("stopping", lambda: Stopping(SWAY))
    result = replayed(short, "swaying")
    assert result.run.state.startswith("failed: stopped at 1.00 s: shift of the set")
    assert result.run.observations == 50
    assert result.answers["swaying"].is_identical
    stopped = replayed(whole, "stopping").answers["stopping"]
    assert stopped.failure is not None
    assert stopped.shift is not None
    assert stopped.first_difference_s is None
    assert not stopped.is_identical
    assert not stopped.shift.is_identical
