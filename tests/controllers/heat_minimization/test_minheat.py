"""`minheat` on a robot of springs: it removes internal leg forces and pauses
while the robot moves.
"""

import copy
import dataclasses
import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers.heat_minimization.least_loss import (
    solve_least_loss,
    solve_least_loss_reference,
)
from nao_testbed.controllers.heat_minimization.leg_relief import find_present_forces
from nao_testbed.controllers.heat_minimization.minheat import MinHeat, MinHeatCfg
from nao_testbed.controllers.heat_minimization.set_point_shift import SetPointShiftCfg
from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.controllers.interface.panel import check_panel
from nao_testbed.models import BadInput, UnknownName, load_robot
from nao_testbed.models.values import FloatArray
from tests.controllers.conftest import make_observation
from tests.controllers.heat_minimization.standing import SpringRobot, standing_problem

NAO = load_robot()
LOSS = joule_loss(NAO)
CYCLE_S = 0.02
NO_GEAR = SetPointShiftCfg(gear_share=0.0)


def misaligned(seed: int, largest_deg: float = 1.5) -> SpringRobot:
    rng = np.random.default_rng(seed)
    delta = np.zeros(len(NAO.joints))
    for name in NAO.leg_joints:
        delta[NAO.joint_index(name)] = np.deg2rad(
            rng.uniform(-largest_deg, largest_deg)
        )
    left, right = (NAO.joint_index(f"{side}HipYawPitch") for side in "LR")
    delta[right] = delta[left]  # one motor
    return SpringRobot(NAO, delta)


def minheat(**cfg: object) -> MinHeat:
    controller = MinHeat(MinHeatCfg(**cfg))  # type: ignore[arg-type]  # of a test
    controller.reset(NAO)
    return controller


class Run:
    """Runs a controller on a robot of springs."""

    def __init__(self, robot: SpringRobot, controller: MinHeat) -> None:
        self.robot, self.controller = robot, controller
        self.shift: FloatArray = np.zeros(len(NAO.joints))
        self.time_s = 0.0

    @property
    def loss_w(self) -> float:
        T = self.robot.motor_effort(self.shift)
        return float(LOSS @ (T * T))

    def run(self, duration_s: float, **changes: object) -> None:
        for _ in range(round(duration_s / CYCLE_S)):
            seen = self.robot.observe(self.time_s, self.shift, **changes)
            decided = self.controller.step(seen)
            assert decided.shift is not None
            self.shift = decided.shift
            self.time_s += CYCLE_S


@functools.cache
def _settled(seed: int, shift: SetPointShiftCfg) -> Run:
    run = Run(misaligned(seed), minheat(shift=shift))
    run.run(20.0)
    return run


def settled(seed: int, shift: SetPointShiftCfg) -> Run:
    """Return a run after 20 s, computed once."""
    return copy.deepcopy(_settled(seed, shift))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_minheat_reaches_least_heat_within_20_s(seed: int) -> None:
    robot = misaligned(seed)
    before = Run(robot, minheat(shift=NO_GEAR)).loss_w
    run = settled(seed, NO_GEAR)
    least = solve_least_loss_reference(robot.problem)
    assert before > 5.0 * least.loss_w, "no internal forces to remove"
    assert run.loss_w <= 1.02 * least.loss_w
    assert np.rad2deg(np.abs(run.shift).max()) <= 3.0
    assert run.controller.flag_counts["moving"] == 5  # its own shift is not a motion


def test_state_reports_the_distance_to_the_minimum() -> None:
    robot = misaligned(1)
    controller = minheat(shift=NO_GEAR)
    assert np.isnan(controller.signals).all()
    run = Run(robot, controller)
    before = run.loss_w
    run.run(0.52)  # 0.5 s of calm, then the first update
    first = controller.state
    assert first is not None
    least = solve_least_loss_reference(robot.problem)
    assert_allclose(first.least_w, least.loss_w, rtol=0.05)
    assert_allclose(first.above_least_w, before - least.loss_w, rtol=0.01)
    assert controller.signals == (first.loss_w, first.least_w)
    assert first.feet == ("LFoot", "RFoot")
    run = settled(1, NO_GEAR)
    last = run.controller.state
    assert last is not None
    assert 0.0 <= last.above_least_w < 0.02 * least.loss_w
    assert_array_equal(last.shift, run.shift)


@pytest.mark.requirement("JD-25")
def test_panel_shows_present_and_least_forces_of_the_soles() -> None:
    """Forces agree with the reference solver per foot, and sum to the weight."""
    robot = misaligned(1)
    controller = minheat(shift=NO_GEAR)
    assert controller.panel().rows == ()
    Run(robot, controller).run(0.52)
    state, problem = controller.state, robot.problem
    assert state is not None
    T = robot.motor_effort(np.zeros(len(NAO.joints)))
    present = find_present_forces(problem, T)
    now = present.forces.reshape(2, 4, 3).sum(axis=1)
    assert_allclose(state.forces, now, atol=1e-6)
    least = solve_least_loss_reference(present.problem).forces
    least = least.reshape(2, 4, 3).sum(axis=1)
    assert_allclose(state.least_forces, least, atol=0.01)
    assert abs(now - least).max() > 2.0, "no internal forces to remove"
    panel = check_panel(controller.panel())
    assert [row.name for row in panel.rows[2:4]] == ["LFoot, normal", "RFoot, ahead"]
    shown = np.array([row.values for row in panel.rows]).reshape(2, 3, 2)
    assert_allclose(shown[:, :, 0], state.forces, atol=0.05)
    assert_allclose(shown[:, :, 1], state.least_forces, atol=0.05)
    assert shown[:, 2].sum(axis=0) == pytest.approx(problem.weight[2], rel=0.03)
    assert panel.plot is not None
    assert [line.value for line in panel.plot.lines] == list(controller.signals)


@pytest.mark.requirement("JD-25")
def test_panel_settings_are_applied() -> None:
    run = Run(misaligned(1), minheat(shift=NO_GEAR))
    run.controller.change_setting("calm_s", 5)
    assert run.controller.cfg.calm_s == 5.0
    run.run(2.0)
    assert not run.shift.any()
    run.controller.change_setting("calm_s", 0.5)
    run.run(2.0)
    assert run.shift.any()
    run.controller.change_setting("enabled", False)
    run.run(3.0)
    assert not run.shift.any()
    assert not run.controller.limits.enabled
    run.controller.change_setting("least_on_feet", 0.9)
    assert run.controller.cfg.least_on_feet == 0.9
    for name, value in (("calm_s", -1.0), ("enabled", 1), ("least_on_feet", 1.01)):
        with pytest.raises(BadInput, match=name):
            run.controller.change_setting(name, value)
    with pytest.raises(UnknownName, match="calm_s"):
        run.controller.change_setting("calm", 1.0)


def test_arm_joints_are_not_shifted() -> None:
    """Their motors give torque too, but make no heat in the legs."""
    run = Run(misaligned(1), minheat())
    current = run.robot.motor_effort(run.shift)
    arm = NAO.motor_names.index("LShoulderPitch")
    current[arm] = 0.5
    run.run(2.0, current=current)
    assert run.shift[NAO.joint_index("LKneePitch")] != 0.0
    assert run.shift[NAO.joint_index("LShoulderPitch")] == 0.0


def test_minheat_updates_once_per_period() -> None:
    """Ten times a second, starting after 0.5 s of calm."""
    run, moves = Run(misaligned(1), minheat()), 0
    for _ in range(100):
        before = run.shift
        run.run(CYCLE_S)
        moves += bool((run.shift != before).any())
    assert 14 <= moves <= 16


def test_hot_motor_is_relieved_first() -> None:
    ankle = NAO.motor_names.index("LAnklePitch")
    hot = np.full(len(NAO.motors), 35.0)
    cool = settled(2, NO_GEAR)
    hot_run = Run(misaligned(2), minheat(shift=NO_GEAR))
    hot[ankle] = 75.0
    hot_run.run(20.0, temperature=hot)
    T = [run.robot.motor_effort(run.shift)[ankle] for run in (cool, hot_run)]
    assert abs(T[1]) < 0.6 * abs(T[0])
    assert hot_run.loss_w > cool.loss_w  # and other motors make more heat


def test_present_forces_explain_the_motor_torques() -> None:
    """The motor torques are reproduced even with a wrong gravity model."""
    problem = standing_problem(NAO)
    robot = misaligned(4)
    T = robot.motor_effort(np.zeros(len(NAO.joints)))
    wrong = dataclasses.replace(problem, gravity=problem.gravity + 0.1)
    present = find_present_forces(wrong, T)
    corrected = present.problem
    legs = LOSS > 0.0
    told = corrected.motor_effort(corrected.effort(present.forces))
    assert_allclose(told[legs], T[legs], atol=1e-9)
    carried = corrected.base_map @ present.forces.ravel()
    assert_allclose(carried, corrected.weight, atol=1e-9)
    assert solve_least_loss(corrected).is_balanced


def test_shift_is_frozen_during_a_push() -> None:
    run = Run(misaligned(1), minheat())
    run.run(2.0)
    pushed = np.array((0.0, 0.3, 0.0))
    run.run(0.1, gyro=pushed)  # until the low pass follows
    kept = run.shift
    run.run(1.0, gyro=pushed)
    assert_array_equal(run.shift, kept)
    assert run.controller.flag_counts["moving"] > 0
    run.run(2.0)
    assert np.abs(run.shift - kept).max() > 0.0


def test_gear_part_of_the_shift_restarts_after_a_push() -> None:
    """The sign of the gear friction is unknown then: that part is removed first."""
    run = settled(1, SetPointShiftCfg())
    before = run.shift
    run.run(1.0)
    assert np.rad2deg(np.abs(run.shift - before).max()) < 0.02
    run.run(0.5, gyro=np.array((0.0, 0.3, 0.0)))
    run.run(1.4)  # the low pass, half a second of calm, then 0.6°/s
    assert np.rad2deg(np.abs(run.shift - before).max()) > 0.15


@pytest.mark.parametrize("load", [0.0, 3.0])
def test_nothing_is_shifted_unless_feet_bear_half_the_weight(load: float) -> None:
    """In the air, or leaning on something: 8 x 3 N are less than half the weight."""
    run = Run(misaligned(1), minheat())
    run.run(3.0, fsr=np.full(len(NAO.force_sensors), load))
    assert not run.shift.any()
    assert run.controller.flag_counts["not on its feet"] > 0


def test_standing_on_one_foot_gives_no_shift() -> None:
    """One foot has no internal forces to remove."""
    fsr = np.array([13.0 if s.name.startswith("L") else 0.0 for s in NAO.force_sensors])
    run = Run(misaligned(1), minheat(shift=NO_GEAR))
    run.run(3.0, fsr=fsr)
    assert run.controller.state is not None
    assert run.controller.state.feet == ("LFoot",)
    assert np.rad2deg(np.abs(run.shift).max()) < 0.05


def test_disabled_minheat_undoes_its_shift_and_user_decides() -> None:
    run = Run(misaligned(1), minheat())
    run.run(5.0)
    assert run.shift.any()
    run.controller.enabled = False
    run.controller.limits.user_stiffness = 0.8
    run.run(6.0)
    assert not run.shift.any()
    state = run.controller.state
    assert state is not None
    assert state.above_least_w > state.least_w  # it is still updated
    stiffness = run.controller.step(run.robot.observe(run.time_s, run.shift)).stiffness
    assert_array_equal(stiffness, 0.8)
    run.controller.enabled = True
    run.run(2.0)
    assert run.shift.any()


def test_limits_equal_smart_stiffness() -> None:
    from nao_testbed.controllers import SmartStiffness

    smart = SmartStiffness()
    smart.reset(NAO)
    seen = make_observation(NAO)
    assert_array_equal(minheat().step(seen).stiffness, smart.step(seen).stiffness)


def test_reset_clears_shift_and_state() -> None:
    run = Run(misaligned(1), minheat())
    run.run(3.0)
    run.controller.reset(NAO)
    assert not run.controller.shift.any()
    assert run.controller.state is None


def test_clipped_set_point_is_not_a_motion() -> None:
    """An ankle at its stop: the clipped shift is not taken for a new posture."""
    robot = misaligned(1)
    ankle = NAO.joint_index("LAnklePitch")
    low, high = NAO.lower[ankle], NAO.upper[ankle]
    side = high if settled(1, SetPointShiftCfg()).shift[ankle] > 0.0 else low
    at_stop = robot.still.target.copy()
    at_stop[ankle] = side
    run = Run(robot, minheat())
    for _ in range(500):
        target = np.clip(at_stop + run.shift, NAO.lower, NAO.upper)
        run.run(CYCLE_S, target=target)
        assert low - 1e-12 <= side + run.shift[ankle] <= high + 1e-12
    assert run.shift.any()
    assert run.controller.flag_counts["moving"] <= 6  # the first half second
