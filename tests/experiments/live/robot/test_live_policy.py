"""A policy moves the set-points of a live robot, as in `heat`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.operation import ChangeController, Take
from nao_testbed.experiments.live.run_live import plan_of
from nao_testbed.models import BadInput
from tests.controllers.policies.python_policy import HOLD

TWO_LEG = Path(__file__).parents[3] / "data" / "two_leg"


def test_policy_moves_the_joints_until_they_are_taken(tmp_path: Path) -> None:
    """`HOLD` adds 0.01 rad every 0.04 s, with a gain of 30; a slot lasts 0.01 s."""
    path = tmp_path / "hold.py"
    path.write_text(HOLD, encoding="utf-8")
    cfg = HeatCfg(robot=TWO_LEG, controllers=(f"policy:{path}",))
    trials = plan_trials(cfg)
    assert plan_of(trials).controllers == ("hold",)
    live = LiveRobot(play_of(trials[0]))
    sim = live.body.sim
    stand = sim.robot.posture("Stand").angles

    def run(slots: int) -> None:
        for _ in range(slots):
            live.slot()

    run(1)
    assert_allclose(sim.read().target, stand + 0.01)
    run(40)
    assert_allclose(sim.read().target, stand + 0.01 * 11)
    assert_allclose(sim._servo.kp, 30.0)
    moment = live.moment()
    assert (moment.controller, moment.said) == ("hold", ())

    leaf, *_ = live.body.gate.present
    live.act(Take(resource=leaf, priority=9))
    run(40)
    moved = sim.read().target - stand
    assert np.count_nonzero(np.isclose(moved, 0.01 * 21)) == len(stand) - 1

    live.act(ChangeController(controller="fixed"))
    run(200)
    assert_allclose(sim.read().target[1:], stand[1:], atol=1e-6)
    assert_allclose(sim._servo.kp, [joint.kp for joint in sim.robot.joints])
    live.close("done")


def test_servo_with_fixed_gains_is_refused_before_the_start() -> None:
    cfg = HeatCfg(robot=TWO_LEG, controllers=("fixed",), servo="pybullet")
    (trial,) = plan_trials(cfg)
    plan_of([trial])
    with pytest.raises(BadInput, match="'pybullet' has fixed gains"):
        plan_of([replace(trial, controller="policy:hold.py")])
