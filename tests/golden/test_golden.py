"""The first 3 s of `heat --preset document` match the reviewed run.

The files hold true joint angles [rad] and motor torques [N·m], every 0.1 s. After an
intended change of physics or control: `pytest tests/golden --regen-all`; its diff is
reviewed like code, and the commit says what changed and by how much. The versions are
those of `requirements.lock` in that commit; at first Python 3.11.7, pybullet 3.2.7,
pin 4.1.0, numpy 2.4.6, scipy 1.17.1, numba 0.68.1.

Runs repeat bit for bit on one machine. Another machine rounds otherwise: a joint
misaligned by 1e-9 degrees more, or by 1e-3, shifts angles by up to 1.6e-5 rad and
torques by up to 0.0024 N·m (one count of an encoder times its gain) in these 3 s. The
tolerances are three and four times that; 0.05 degrees more in one joint exceed them.
"""

from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from pytest_regressions.dataframe_regression import DataFrameRegressionFixture

from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.heat.published import load_preset
from nao_testbed.sim.robot import SimulatedRobot

pytest.importorskip("pybullet", reason="these runs were recorded on PyBullet")

PRESET = "document"
PERIOD_S = 0.1
ROWS = 30
ATOL = {"q": 5e-5, "motor_torque": 0.01}
"""Channel to rad, N·m."""


def record(
    controller: str, misalignment_deg: dict[str, float] | None = None
) -> pd.DataFrame:
    """Run a robot of the preset, with changed misalignments by joint."""
    cfg = HeatCfg(
        preset=PRESET,
        controllers=(controller,),
        misalignment_deg=misalignment_deg or {},
    )
    (trial,) = plan_trials(cfg)
    robot = trial.load_robot()
    names = [f"q.{name}" for name in robot.joint_names]
    names += [f"motor_torque.{name}" for name in robot.motor_names]
    rows = {}
    with closing(SimulatedRobot(robot, trial.simulation, trial.posture)) as sim:
        goal = robot.posture(trial.posture).angles
        loop = Loop(sim, make_controller(controller), goal)
        for _ in range(ROWS):
            run_for(loop, PERIOD_S)
            truth = sim.truth()
            rows[round(truth.time_s, 2)] = [*truth.q, *truth.motor_torque]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=names).round(6)
    return frame.rename_axis("time_s")


@pytest.mark.scenario
@pytest.mark.parametrize("controller", ["fixed", "smart"])
def test_run_matches_golden_data(
    controller: str,
    dataframe_regression: DataFrameRegressionFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DataFrameRegressionFixture, "DISPLAY_PRECISION", 8)
    now = record(controller)
    assert now.shape == (ROWS, 26 + 25)
    assert now.notna().all(axis=None)
    dataframe_regression.check(
        now,
        basename=controller,
        tolerances={
            str(name): {"rtol": 0.0, "atol": ATOL[str(name).partition(".")[0]]}
            for name in now
        },
    )


@pytest.mark.scenario
def test_a_twentieth_of_a_degree_is_detected() -> None:
    """The tolerance is small enough to detect a relevant change."""
    angle = load_preset(PRESET).misalignment_deg["LAnklePitch"]
    changed = record("fixed", {"LAnklePitch": angle + 0.05})
    path = Path(__file__).with_suffix("") / "fixed.csv"
    error = (changed - pd.read_csv(path, index_col="time_s")).abs()
    for channel, atol in ATOL.items():
        assert error.filter(like=f"{channel}.").to_numpy().max() > 2.0 * atol
