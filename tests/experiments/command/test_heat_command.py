"""`nao-testbed heat`: output, files and exit status."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from nao_testbed.controllers import registry
from nao_testbed.controllers.interface.controller import FixedStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import load_robot
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.recording.run_folder import Run as RunFolder
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.command.helpers import Launch, Run

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
WALKER = f"heat --robot {TWO_LEG} --posture Stand --minutes 0.1"
FAILS_AT_S = 0.5
PATIENCE_S = 900.0
"""Timeout in s: such a run takes a few seconds on an idle machine."""
FILES = {"heat.json", "robot.png", "temperatures.png", "effort.png"}


class Failing(FixedStiffness):
    """A third-party controller that fails half a second into the run."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.name = "failing"
        self._wrong = value

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        if observation.time_s >= FAILS_AT_S - 1e-9:
            limits.stiffness[1] = self._wrong
        return limits


def json_of(folder: Path) -> Any:
    return json.loads((folder / "heat.json").read_text(encoding="utf-8"))


# -- a successful run -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.requirement("ST-26")
def test_heat_runs_and_draws_another_robot(here: Path, launch: Launch) -> None:
    """A robot folder without code gives table, figures, picture, trials, pure JSON."""
    process = launch(f"{WALKER} --misalign left_ankle=2 --json -")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    data = json.loads(out)
    assert list(data["trials"]) == ["fixed", "smart"]
    fixed, smart = data["trials"]["fixed"], data["trials"]["smart"]
    assert set(fixed["joints"]) == set(smart["joints"])
    assert len(fixed["joints"]) == 6
    assert fixed["left_leg_rise_k"] is None
    assert fixed["fell"] is smart["fell"] is False
    assert fixed["sim_s"] == pytest.approx(6.0)
    assert data["misalignment_deg"] == {"left_ankle": 2.0}
    assert data["settings"]["robot"] == "two_leg"
    # The table went to stderr, without progress and without the NAO's joints.
    assert "left_ankle" in err
    assert "\x1b" not in err
    assert "\r" not in err
    assert "HipPitch" not in err
    assert "sum" not in err
    folder = here / "runs" / "heat"
    assert {path.name for path in folder.iterdir()} >= {*FILES, "fixed", "smart"}
    assert json_of(folder) == data
    with Image.open(folder / "robot.png") as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
    assert colours is not None
    assert len(colours) > 1000, "the picture is empty"
    for trial in data["trials"].values():
        run = read_run(here / trial["folder"])
        assert run.state == "done"
        assert run.frame.index[-1] == pytest.approx(6.0)


@pytest.mark.usefixtures("undrawn")
def test_json_goes_to_its_file_and_to_the_run_folder(
    here: Path, nao_testbed: Run
) -> None:
    ran = nao_testbed(f"{WALKER} --controllers fixed --seed 3 --json found.json")
    assert (ran.status, ran.err) == (0, "")
    assert "left_ankle" in ran.out
    assert "\x1b" not in ran.out
    data = json.loads((here / "found.json").read_text(encoding="utf-8"))
    assert data == json_of(here / "runs" / "heat")
    assert (data["experiment"], data["minutes"], data["seed"]) == ("heat", 0.1, 3)
    assert data["posture"] == "Stand"
    knee = data["trials"]["fixed"]["joints"]["left_knee"]
    assert knee["rise_k"] == knee["end_degc"] - knee["start_degc"]
    assert knee["time_to_80_degc_s"] is None
    assert data["published"] == {}
    assert data["not_comparable"].startswith(
        "Not compared with the published experiment: "
    )


@pytest.mark.slow(covers=True)
@pytest.mark.usefixtures("undrawn")
def test_an_old_run_is_never_overwritten(here: Path, nao_testbed: Run) -> None:
    for _ in range(2):
        assert nao_testbed(f"{WALKER} --controllers fixed --out mine").status == 0
    assert (here / "mine" / "fixed").is_dir()
    assert (here / "mine-2" / "fixed").is_dir()
    first, second = (json_of(here / name) for name in ("mine", "mine-2"))
    assert first["trials"]["fixed"]["joints"] == second["trials"]["fixed"]["joints"]


@pytest.mark.usefixtures("undrawn")
def test_a_long_path_is_printed_whole(here: Path, nao_testbed: Run) -> None:
    name = "a [long] " + 100 * "x"
    ran = nao_testbed(f"{WALKER} --controllers fixed --out '{name}'")
    assert ran.status == 0
    assert f"\n  {name}/robot.png\n" in ran.out
    assert f"Run folder: {name} " in ran.out


@pytest.mark.usefixtures("undrawn")
def test_a_burnt_motor_is_null_in_json(here: Path, nao_testbed: Run) -> None:
    """Copper beyond its runaway torque has no steady state; JSON has no inf."""
    ran = nao_testbed(f"{WALKER} --controllers fixed --copper --misalign left_knee=12")
    assert ran.status in {0, 1}
    joints = json_of(here / "runs" / "heat")["trials"]["fixed"]["joints"]
    assert [n for n, row in joints.items() if row["steady_degc"] is None]


# -- a run that ends in a stated failure ----------------------------------------------


@pytest.mark.scenario
@pytest.mark.usefixtures("undrawn")
def test_a_fall_is_drawn_in_its_last_pose(
    here: Path, nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture shows the last true pose, the ground and the time of the fall."""
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(
        "nao_testbed.experiments.heat.figures.robot_picture.draw_robot_picture",
        lambda *_, **given: drawn.update(given),
    )
    ran = nao_testbed(f"{WALKER} --controllers constant:0.05 --slope 4")
    assert ran.status == 1
    assert drawn["slope_deg"] == 4.0
    assert drawn["remarks"]["constant:0.05"].startswith("fell at ")
    frame = read_run(here / "runs" / "heat" / "constant-0.05").frame
    pose = drawn["poses"]["constant:0.05"]
    last = frame[[f"base_position.{axis}" for axis in "xyz"]].iloc[-1]
    np.testing.assert_array_equal(pose.base_position, last.to_numpy(float))


@pytest.mark.usefixtures("undrawn")
def test_a_stop_while_figures_are_drawn_is_reported(
    here: Path, nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "nao_testbed.experiments.heat.figures.robot_picture.draw_robot_picture", stop
    )
    ran = nao_testbed(f"{WALKER} --controllers fixed")
    assert ran.status == 130
    assert ran.err.endswith(
        "stopped by the user (Ctrl-C); runs/heat has all data but not all figures.\n"
    )
    assert json_of(here / "runs" / "heat")["trials"]["fixed"]["sim_s"] > 0.0


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-3")
def test_a_fall_is_a_result_with_status_1(here: Path, nao_testbed: Run) -> None:
    """Stiffness 0.05 cannot hold the robot: it falls, and its data are kept."""
    ran = nao_testbed("heat --minutes 0.2 --controllers constant:0.05 --json -")
    assert ran.status == 1
    trial = json.loads(ran.out)["trials"]["constant:0.05"]
    assert trial["fell"] is True
    assert trial["failure"].startswith("fell at ")
    assert trial["sim_s"] < 12.0
    assert f"constant:0.05: {trial['failure']}\n" in ran.err
    run = read_run(here / trial["folder"])
    assert run.state == f"failed: {trial['failure']}"
    assert run.frame.index[-1] == pytest.approx(trial["sim_s"])
    assert {path.name for path in (here / "runs" / "heat").iterdir()} >= FILES


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, "stiffness of left_knee is nan; accepted: 0 to 1."),
        (1.5, "stiffness of left_knee is 1.5; accepted: 0 to 1."),
    ],
)
def test_an_invalid_controller_output_stops_the_run(
    here: Path,
    nao_testbed: Run,
    monkeypatch: pytest.MonkeyPatch,
    value: float,
    said: str,
) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "failing", lambda _: Failing(value))
    ran = nao_testbed(f"{WALKER} --controllers failing")
    assert ran.status == 1
    assert ran.err == f"error: failing: stopped at 0.50 s: {said}\n"
    run = stopped_run(here, "failing")
    assert run.state == f"failed: stopped at 0.50 s: {said}"
    assert run.last_second is not None
    assert run.last_second.index[-1] == pytest.approx(FAILS_AT_S - 0.001)


def engine_in_use() -> type[Engine]:
    """Return the class of the default engine of commands."""
    engine = make_engine(load_robot(TWO_LEG), WorldCfg())
    engine.close()
    return type(engine)


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("controller", ["fixed", "smart"])
def test_a_nan_in_the_engine_stops_the_run_and_keeps_its_last_second(
    here: Path,
    nao_testbed: Run,
    monkeypatch: pytest.MonkeyPatch,
    controller: str,
) -> None:
    after_ticks = 700
    engine = engine_in_use()
    read_joints, calls = engine.read_joints, [0]
    robots: list[Engine] = []  # the second one draws the picture

    def broken(self: Engine, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        read_joints(self, q, v)
        robots.append(self)
        calls[0] += self is robots[0]
        if self is robots[0] and calls[0] > after_ticks:
            q[4] = np.nan

    monkeypatch.setattr(engine, "read_joints", broken)
    ran = nao_testbed(f"{WALKER} --controllers {controller}")
    assert ran.status == 1
    assert "right_knee" in ran.err
    assert "not finite" in ran.err
    trial = json_of(here / "runs" / "heat")["trials"][controller]
    assert trial["fell"] is False
    run = stopped_run(here, controller)
    assert run.state == f"failed: {trial['failure']}"
    last = run.last_second
    assert last is not None
    assert np.isnan(last["q.right_knee"].iloc[-1])
    assert np.isfinite(last.iloc[:-1].to_numpy()).all()
    assert np.isfinite(run.frame.to_numpy()).all(), "the record contains a NaN"


@pytest.mark.slow(covers=True)
def test_a_nan_from_a_sensor_stops_its_controller(
    here: Path, nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_in_use()
    link_twist, calls = engine.link_twist, []

    def broken(
        self: Engine, link: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        linear, angular = link_twist(self, link)
        calls.append(1)
        return linear, angular * (np.nan if len(calls) > 100 else 1.0)

    monkeypatch.setattr(engine, "link_twist", broken)
    ran = nao_testbed(f"{WALKER} --controllers smart")
    assert ran.status == 1
    assert "is nan at t = " in ran.err
    run = stopped_run(here, "smart")
    assert run.state.startswith("failed: ")
    assert run.last_second is not None


def stopped_run(here: Path, controller: str) -> RunFolder:
    """Return the run of the only trial; check that the folder holds the report."""
    folder = here / "runs" / "heat"
    assert {path.name for path in folder.iterdir()} >= {*FILES, controller}
    return read_run(folder / controller)
