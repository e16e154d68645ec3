"""Nudger: which set-point it moves, how far, and when it pauses."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers import Observation
from nao_testbed.controllers.heat_minimization.nudge import Nudge, NudgeCfg
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from tests.controllers.conftest import make_observation

DT = 0.02
CFG = NudgeCfg()


class Stand:
    """Robot that stands still and follows set-points; the test sets its currents."""

    def __init__(self, robot: Robot, cfg: NudgeCfg = CFG) -> None:
        self.robot = robot
        self.nudge = Nudge(cfg)
        self.nudge.reset(robot)
        posture = "PoseInit" if "PoseInit" in robot.postures else "Stand"
        self.still = make_observation(robot, posture)
        self.posture = self.still.target
        self.current = np.zeros(len(robot.motors))
        self.time_s = 0.0
        self.shift: FloatArray = np.zeros(len(robot.joints))

    def motor(self, name: str) -> int:
        return self.robot.motor_names.index(name)

    def joint(self, name: str) -> int:
        return self.robot.joint_index(name)

    def observe(self, **changes: Any) -> Observation:
        target = self.posture + self.shift
        seen = {"target": target, "q": target, "current": self.current, **changes}
        return dataclasses.replace(self.still, time_s=self.time_s, **seen)

    def run(self, duration_s: float, **changes: Any) -> FloatArray:
        """Run for a duration and return the shift at its end."""
        for _ in range(round(duration_s / DT)):
            limits = self.nudge.step(self.observe(**changes))
            assert limits.shift is not None
            assert (limits.stiffness == 1.0).all()
            self.shift = limits.shift
            self.time_s += DT
        return self.shift.copy()


@pytest.fixture
def stand(nao: Robot) -> Stand:
    return Stand(nao)


@settings(max_examples=25, deadline=None)
@given(
    currents=st.lists(st.floats(-1.5, 1.5), min_size=11, max_size=11),
    arms=st.floats(-2.0, 2.0),
)
def test_leg_joint_with_highest_current_moves_against_it(
    nao: Robot, currents: list[float], arms: float
) -> None:
    stand = Stand(nao)
    legs = [i for i, name in enumerate(nao.motor_names) if name in nao.leg_joints]
    stand.current[:] = arms
    stand.current[legs] = currents
    shift = stand.run(CFG.calm_s + 2 * DT)  # one nudge
    hottest = legs[int(np.argmax(np.abs(currents)))]
    of_motor = nao.servo_of_joint == hottest
    if abs(stand.current[hottest]) <= 0.1:
        assert not shift.any()
        return
    assert not shift[~of_motor].any()
    expected = -np.sign(stand.current[hottest]) * CFG.small_step_rad
    np.testing.assert_allclose(shift[of_motor], expected, rtol=1e-12)


def test_thresholds_follow_the_battery(nao: Robot) -> None:
    """0.1 A on a NAO; 1 A for a battery with ten times the current."""
    battery = dataclasses.replace(nao.battery, max_discharge_ampere=20.0)
    for robot, skipped, moved in (
        (nao, 0.1, 0.101),
        (dataclasses.replace(nao, battery=battery), 1.0, 1.01),
    ):
        for amps, is_moved in ((skipped, False), (moved, True)):
            stand = Stand(robot)
            stand.current[stand.motor("LKneePitch")] = amps
            stand.nudge._current.value[:] = stand.current
            assert stand.run(CFG.calm_s + 2 * DT).any() == is_moved


def test_nudge_is_made_every_half_second(stand: Stand) -> None:
    stand.current[stand.motor("LKneePitch")] = 0.5
    first = stand.run(CFG.calm_s + 2 * DT)
    later = stand.run(10 * CFG.period_s)
    np.testing.assert_allclose(
        later - first, 10 * first, rtol=1e-12, err_msg="ten nudges in ten periods"
    )


def test_large_servo_error_gives_a_large_step(stand: Stand) -> None:
    knee = stand.joint("RKneePitch")
    stand.current[stand.motor("RKneePitch")] = 0.5
    q = stand.still.q.copy()
    q[knee] -= 2.0 * CFG.large_step_rad
    shift = stand.run(CFG.calm_s + 2 * DT, q=q)
    assert shift[knee] == -CFG.large_step_rad


def test_joints_on_one_motor_move_together(stand: Stand) -> None:
    stand.current[stand.motor("LHipYawPitch")] = -0.8
    shift = stand.run(3.0)
    assert shift[stand.joint("LHipYawPitch")] > 0.0
    assert shift[stand.joint("RHipYawPitch")] == shift[stand.joint("LHipYawPitch")]


def test_joint_at_its_bound_yields_to_the_next_joint(nao: Robot) -> None:
    stand = Stand(nao, NudgeCfg(small_step_rad=0.0035))
    stand.current[stand.motor("LKneePitch")] = 1.0
    stand.current[stand.motor("RAnklePitch")] = -0.5
    shift = stand.run(20.0)
    knee, ankle = stand.joint("LKneePitch"), stand.joint("RAnklePitch")
    assert shift[knee] == -CFG.bound_rad
    assert shift[ankle] > 0.0
    assert np.abs(shift).max() == CFG.bound_rad


def test_no_set_point_leaves_its_joint_range(nao: Robot) -> None:
    stand = Stand(nao, NudgeCfg(small_step_rad=0.0035))
    knee = stand.joint("LKneePitch")
    stand.posture = stand.posture.copy()
    stand.posture[knee] = nao.lower[knee] + 0.01
    stand.current[stand.motor("LKneePitch")] = 1.0
    shift = stand.run(20.0)
    np.testing.assert_allclose(stand.posture[knee] + shift[knee], nao.lower[knee])
    assert stand.nudge.flag_counts["nothing to do"] > 0


def test_joint_with_large_shift_needs_more_current_to_move(nao: Robot) -> None:
    """0.2 A is nudged to 1.5°, 0.4 A beyond it."""
    ends = {}
    for amps in (0.2, 0.4):
        stand = Stand(nao, NudgeCfg(small_step_rad=0.0035))
        stand.current[stand.motor("LHipPitch")] = amps
        ends[amps] = abs(stand.run(15.0)[stand.joint("LHipPitch")])
    step = 0.0035
    assert CFG.high_shift_rad <= ends[0.2] < CFG.high_shift_rad + step
    assert ends[0.4] == CFG.bound_rad


@pytest.mark.parametrize(
    "changes",
    [{"gyro": np.array((0.0, 0.3, 0.0))}, {"v": np.full(26, 0.1)}],
    ids=["gyro", "joints"],
)
def test_push_freezes_the_shift(stand: Stand, changes: dict[str, FloatArray]) -> None:
    stand.current[stand.motor("LAnklePitch")] = 0.6
    before = stand.run(5.0)
    stand.run(0.3, **changes)  # until the low passes follow
    frozen = stand.shift.copy()
    during = stand.run(1.0, **changes)
    np.testing.assert_array_equal(during, frozen)
    assert np.abs(frozen - before).max() <= CFG.small_step_rad
    assert np.abs(stand.run(CFG.calm_s + 2.0)).max() > np.abs(frozen).max()


@pytest.mark.parametrize("foot", ["LFsr", "RFsr"])
def test_lifted_foot_removes_the_shift(stand: Stand, foot: str) -> None:
    stand.current[stand.motor("LAnklePitch")] = 0.6
    assert stand.run(8.0).any()
    names = [sensor.name for sensor in stand.robot.force_sensors]
    fsr = np.where([name.startswith(foot) for name in names], 0.0, stand.still.fsr)
    assert 0.0 in fsr
    way = [np.abs(stand.run(DT, fsr=fsr)).max() for _ in range(200)]
    assert way[-1] == 0.0
    assert max(-np.diff(way)) <= CFG.bound_rad * DT / CFG.return_s + 1e-12, "no jump"
    assert stand.run(CFG.calm_s + 2.0).any(), "nudging resumes on the ground"


def test_new_posture_removes_the_shift(stand: Stand) -> None:
    stand.current[stand.motor("LAnklePitch")] = 0.6
    assert stand.run(8.0).any()
    stand.posture = stand.robot.posture("Stand").angles
    assert not stand.run(CFG.calm_s).any()


def test_disabling_removes_the_shift_and_enabling_resumes(stand: Stand) -> None:
    stand.current[stand.motor("LAnklePitch")] = 0.6
    assert stand.run(6.0).any()
    stand.nudge.enabled = False
    assert stand.run(DT).any(), "not in one jump"
    assert not stand.run(CFG.return_s).any()
    stand.nudge.enabled = True
    assert stand.run(3.0).any()


def test_nudge_works_on_a_two_leg_robot(two_leg: Robot) -> None:
    stand = Stand(two_leg)
    stand.current[stand.motor("right_knee")] = 0.4
    shift = stand.run(4.0)
    assert shift[stand.joint("right_knee")] < 0.0
    assert np.count_nonzero(shift) == 1
