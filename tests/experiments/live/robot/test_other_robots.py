"""Live robots other than the NAO: start, change of posture, end."""

import numpy as np
import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.operation import GoTo, Take, TurnHead
from nao_testbed.models import load_robot


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
@pytest.mark.parametrize(("robot", "goal"), [("g1", "home"), ("t1", "straight")])
def test_robot_changes_its_posture(robot: str, goal: str, engine: str) -> None:
    pytest.importorskip(engine)
    folder = load_robot(robot).folder
    cfg = HeatCfg(robot=folder, controllers=("smart",), engine=engine)  # type: ignore[arg-type]
    (trial,) = plan_trials(cfg)
    assert isinstance(trial, TrialCfg)
    live = LiveRobot(play_of(trial))
    live.act(Take(resource="All motors", priority=9))
    live.act(GoTo(posture=goal))
    for _ in range(250):
        live.slot()
    assert f"'go to {goal}' done" in " ".join(live.moment().said)
    model = live.body.sim.robot
    delta = np.rad2deg(live.body.sim.read().q - model.posture(goal).angles)
    assert abs(delta).max() < 5.0
    live.act(GoTo(posture="upright"))
    assert "'go to bent' ordered" in live.moment().said[-1]
    live.act(TurnHead(yaw_deg=5.0, pitch_deg=0.0))
    told = live.moment().said[-1]
    if robot == "t1":
        assert "AAHead_yaw and Head_pitch to 5" in told
    else:
        assert "turning the head needs the role 'head', which robot 'g1' lacks" in told
    live.close("done")
