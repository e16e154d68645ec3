"""Guard: a push lifts the stiffness limit at once, and nothing else does."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers import MinHeat, MinHeatCfg, Nudge, Observation, flag_names
from nao_testbed.controllers.interface.controller import (
    FixedStiffness,
    has_signals,
)
from nao_testbed.controllers.stiffness import (
    Guard,
    GuardCfg,
    Guarded,
    SmartStiffnessCfg,
)
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.controllers.stiffness.guard.ankle_lean import rotation_vector
from nao_testbed.controllers.stiffness.guard.thresholds import (
    alarms_per_hour,
    cop_noise,
)
from nao_testbed.experiments.server.naoqi.served_robot import UserStiffness
from nao_testbed.models import BadInput, load_robot
from nao_testbed.models.values import FloatArray
from tests.controllers.conftest import make_observation
from tests.controllers.helpers import report_of, smart
from tests.messages import Messages, each

NAO = load_robot()
CFG = GuardCfg()
DT = 0.02
AWAKE_S = 2.0 * CFG.release_s + 0.1
"""A robot that stood still this long has settled: the guard is armed."""
STILL = make_observation(NAO)
PUSHED: dict[str, Any] = {"gyro": np.array((0.0, 1.5 * CFG.gyro_rad_s, 0.0))}
HARD: dict[str, Any] = {"gyro": 1.01 * CFG.release_factor / 1.5 * PUSHED["gyro"]}
"""This push is detected at any time."""
FRONT = np.array([sensor.position[0] > 0.0 for sensor in NAO.force_sensors])
N = len(NAO.joints)


class Watch:
    """Feeds a guard or a controller one observation after another."""

    def __init__(self, watched: Any, limit: float = 0.4) -> None:
        self.watched = watched
        self.limit = np.full(N, limit)
        self.time_s = 0.0

    def see(self, duration_s: float = DT, **changes: Any) -> Any:
        for _ in range(round(duration_s / DT)):
            seen: Observation = dataclasses.replace(
                STILL, time_s=self.time_s, **changes
            )
            limit = (self.limit,) if isinstance(self.watched, Guard) else ()
            self.answer = self.watched.step(seen, *limit)
            self.time_s = round(self.time_s + DT, 9)
        return self.answer


def quiet(**cfg: Any) -> tuple[Watch, Guard]:
    """Return an armed guard that has observed a standing robot."""
    guard = Guard(NAO, GuardCfg(**cfg))
    watch = Watch(guard)
    watch.see(AWAKE_S)
    assert guard.lift == 0.0
    return watch, guard


def pressed(cop_m: float) -> FloatArray:
    """Return forces of the robot's weight with the centre of pressure `cop_m` ahead."""
    x = np.array([sensor.position[0] for sensor in NAO.force_sensors])
    reach = x[FRONT].mean() - x[~FRONT].mean()
    each = NAO.total_mass * GRAVITY / len(x)
    return np.asarray(each * (1.0 + np.where(FRONT, 2.0, -2.0) * cop_m / reach))


@pytest.mark.parametrize(
    "push",
    [
        {"gyro": np.array((0.0, 1.01 * CFG.gyro_rad_s, 0.0))},
        {"gyro": np.array((-1.01 * CFG.gyro_rad_s, 0.0, 0.0))},
    ],
    ids=["pitch", "roll"],
)
def test_push_lifts_the_limit_in_the_same_cycle(push: dict[str, Any]) -> None:
    watch, guard = quiet()
    assert watch.see(**push) == 1.0
    assert guard.alarms == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_step_of_pressure_is_detected_within_100_ms(
    sign: float,
) -> None:
    watch, guard = quiet()
    watch.see(fsr=pressed(sign * 1.2 * CFG.cop_m))
    assert guard.alarms == 0, "one cycle of pressure is not a push"
    assert watch.see(0.08, fsr=pressed(sign * 1.2 * CFG.cop_m)) == 1.0


@pytest.mark.parametrize(
    "seen",
    [
        {"gyro": np.array((0.0, 0.99 * CFG.gyro_rad_s, 0.0))},
        {"fsr": pressed(0.95 * CFG.cop_m)},
        {"fsr": 0.4 * pressed(2.0 * CFG.cop_m)},  # the rest is on the soles' edges
        {"fsr": np.zeros(len(NAO.force_sensors))},
        {"fsr": np.where(FRONT, 1.0, 0.0)},  # a hand on the toes: not standing
        {"current": np.full(len(NAO.motors), 2.0), "stiffness": np.full(N, 0.1)},
    ],
    ids=["turn", "pressure", "edge", "lifted", "touched", "currents"],
)
def test_other_readings_do_not_lift_the_limit(seen: dict[str, Any]) -> None:
    watch, guard = quiet()
    watch.see(0.1, **seen)
    assert guard.alarms == 0


def test_slow_change_of_pressure_is_tracked() -> None:
    watch, guard = quiet()
    for k in range(500):  # 60 mm in 10 s
        watch.see(fsr=pressed(0.06 * k / 500))
    assert guard.alarms == 0


def test_sensor_noise_raises_no_alarm() -> None:
    rng = np.random.default_rng(1)
    guard = Guard(NAO, CFG)
    watch = Watch(guard)
    for _ in range(3000):
        fsr = pressed(0.0) + rng.normal(0.0, 0.1, len(NAO.force_sensors))
        watch.see(
            gyro=rng.normal(0.0, 1.05 * NAO.imu.gyro_noise, 3),
            fsr=0.3924 * np.rint(fsr / 0.3924),
        )
        assert guard.disturbance < 0.5
    assert guard.alarms == 0


@pytest.mark.parametrize("n", [2.0, 3.0])
def test_false_alarm_rate_is_that_of_gaussian_noise(n: float) -> None:
    rng = np.random.default_rng(2)
    draws = 400_000
    still = dataclasses.replace(NAO, imu=dataclasses.replace(NAO.imu, gyro_noise=0.0))
    lever = Guard(NAO, CFG)._lever
    sigma = 1.05 * NAO.imu.gyro_noise
    turn = GuardCfg(gyro_rad_s=n * sigma, cop_m=1.0)
    crossed = (np.linalg.norm(rng.normal(size=(draws, 3)), axis=1) > n).mean()
    rate = alarms_per_hour(NAO, turn, np.zeros((0, 2))) / (50.0 * 3600.0)
    assert_allclose(rate, crossed, rtol=0.05)
    # The bound uses the larger axis for both: it never underestimates the rate.
    place = GuardCfg(cop_m=n * cop_noise(NAO, lever))
    forces = rng.normal(0.0, np.hypot(0.1, 0.3924 / np.sqrt(12.0)), (draws, 8))
    off = forces @ lever / (NAO.total_mass * 9.81)
    crossed = (np.linalg.norm(off, axis=1) > n * cop_noise(NAO, lever)).mean()
    rate = alarms_per_hour(still, place, lever) / (50.0 * 3600.0)
    assert crossed <= rate < 2.5 * crossed


def test_guard_with_thresholds_within_noise_is_rejected() -> None:
    with pytest.raises(BadInput, match=r"0\.02 rad/s.* alarm 4\d\d times an hour"):
        Guard(NAO, GuardCfg(gyro_rad_s=0.02))
    with pytest.raises(BadInput, match="give larger ones"):
        Guard(NAO, GuardCfg(cop_m=0.002))
    Guard(NAO, GuardCfg(gyro_rad_s=0.03, cop_m=0.004))


def test_limit_is_held_lifted_and_then_ramps_down() -> None:
    watch, guard = quiet()
    watch.see(**PUSHED)
    seen = []
    for _ in range(200):
        seen.append(watch.see())
    t = DT * np.arange(1, 201)
    line = np.clip(1.0 - (t - CFG.hold_s) / CFG.release_s, 0.0, 1.0)
    assert_allclose(seen, line, atol=1e-9)
    assert guard.alarms == 1
    assert guard.lift == 0.0


def test_second_push_restarts_the_hold_time() -> None:
    watch, guard = quiet()
    watch.see(**PUSHED)
    watch.see(1.5)
    watch.see(**PUSHED)
    watch.see(1.9)
    assert guard.lift == 1.0
    assert guard.alarms == 1, "one push response"


def test_motion_during_release_raises_no_alarm() -> None:
    watch, guard = quiet()
    watch.see(**PUSHED)
    watch.see(CFG.hold_s)
    watch.see(2.0 * CFG.release_s - 0.1, **PUSHED)  # 1.5 times the threshold
    assert guard.alarms == 1
    assert guard.lift == 0.0
    watch.see(0.2, **PUSHED)  # normal thresholds from here
    assert guard.alarms == 2


def test_harder_push_is_detected_during_release() -> None:
    watch, guard = quiet()
    watch.see(**PUSHED)
    watch.see(CFG.hold_s + 0.5)
    assert 0.0 < guard.lift < 1.0
    watch.see(gyro=np.array((0.0, 1.1 * CFG.release_factor * CFG.gyro_rad_s, 0.0)))
    assert guard.lift == 1.0
    assert guard.alarms == 2


def turning(rate: float, k: int) -> dict[str, Any]:
    """Return observations of a robot that leans ahead about its ankles on command."""
    target = STILL.target.copy()
    for side in "LR":
        target[NAO.joint_index(f"{side}AnklePitch")] -= rate * DT * k
    return {"target": target, "q": target, "gyro": np.array((0.0, rate, 0.0))}


def test_limit_is_lifted_without_alarm_while_legs_move() -> None:
    """The body rocks then, much more than a push rotates it."""
    watch, guard = quiet()
    lifts = []
    for k in range(40):
        rocks = {"gyro": np.array((1.0, 0.0, 0.0)), "fsr": pressed(0.06)}
        lifts.append(watch.see(**turning(0.5, k + 1) | rocks))
        assert guard.shift is None
    assert set(lifts[5:]) == {1.0}, "within 0.1 s"
    assert guard.alarms == 0


def test_limit_is_restored_after_leg_motion() -> None:
    watch, guard = quiet()
    for k in range(20):
        watch.see(**turning(0.5, k + 1))
    rest = turning(0.5, 20) | {"gyro": np.zeros(3)}
    mean_s = 0.2 * np.log(0.5 / CFG.legs_rad_s)  # until the mean has risen
    watch.see(mean_s + CFG.motion_s - 0.1, **rest)
    assert guard.lift == 1.0
    watch.see(0.1 + 0.5 * CFG.release_s, **rest)
    assert_allclose(guard.lift, 0.5, atol=0.1)
    watch.see(0.6 * CFG.release_s, **rest)
    assert guard.lift == 0.0
    watch.see(0.5, **rest | PUSHED)
    assert guard.lift == 0.0, "a small motion is allowed after the release"
    watch.see(2.0, **rest)
    watch.see(**rest | PUSHED)
    assert guard.alarms == 1


def test_limit_returns_slowly_after_smart_stiffness_was_off() -> None:
    user = UserStiffness(smart(NAO, guard=CFG), N)
    watch = Watch(user)
    limit = watch.see(AWAKE_S).stiffness
    user.is_on = False
    assert_array_equal(watch.see(1.0).stiffness, 1.0)
    user.is_on = True
    before, begin_s = watch.see(), watch.time_s
    assert_array_equal(before.stiffness, 1.0)
    while (now := watch.see()).stiffness.max() > limit.max() + 1e-6:
        fall = (before.stiffness - now.stiffness).max()
        assert fall <= DT / CFG.release_s + 1e-6
        before = now
    last_s = CFG.motion_s + CFG.release_s
    assert watch.time_s - begin_s == pytest.approx(last_s, abs=3 * DT)


def test_rocking_after_a_motion_keeps_the_limit_lifted() -> None:
    watch, guard = quiet()
    for k in range(20):
        watch.see(**turning(0.5, k + 1))
    rest = turning(0.5, 20) | {"gyro": np.zeros(3)}
    watch.see(0.8, **rest)
    watch.see(**rest | PUSHED)
    watch.see(CFG.hold_s, **rest)
    assert guard.lift == 1.0
    assert guard.alarms == 0


@pytest.mark.parametrize("arm_rad_s", [0.5, 4.0])
def test_swinging_arms_raise_the_gyro_threshold(arm_rad_s: float) -> None:
    watch, guard = quiet()
    swing = NAO.joint_index("LShoulderPitch")
    gyro = np.zeros(3)

    def wave(cycles: int, rad_s: float) -> None:
        gyro[1] = rad_s
        for _ in range(cycles):
            target[swing] += arm_rad_s * DT
            watch.see(target=target.copy(), gyro=gyro.copy())

    target = STILL.target.copy()
    wave(50, 0.0)  # the mean runs behind by speed times its time constant
    tolerated = CFG.gyro_rad_s + CFG.motion_share * arm_rad_s
    wave(5, 0.93 * tolerated)
    assert guard.lift == 0.0, "legs are still: the limit stays"
    assert guard.alarms == 0
    wave(1, 1.05 * tolerated)
    assert guard.lift == 1.0
    assert guard.alarms == 1
    assert guard.shift is not None, "ankles lean"


def test_robot_just_placed_on_the_ground_raises_no_alarm() -> None:
    """The first cycle is ignored; the first two seconds use higher thresholds."""
    guard = Guard(NAO, CFG)
    watch = Watch(guard)
    watch.see(gyro=np.array((0.0, 1.0, 0.0)))
    watch.see(1.9 * CFG.release_s)
    watch.see(**PUSHED)
    assert guard.alarms == 0
    watch.see(CFG.settle_s + DT)
    watch.see(**PUSHED)
    assert guard.alarms == 1


def test_rattling_robot_settles_before_the_guard_is_armed() -> None:
    """Some of fifty robots rattled for seconds, on three corners of their soles."""
    watch = Watch(guard := Guard(NAO, CFG))
    rattle = {"gyro": np.array((0.0, 0.7 * CFG.gyro_rad_s, 0.0))}
    watch.see(5.0, **rattle)
    watch.see(**PUSHED)
    assert guard.alarms == 0
    watch.see(**HARD)
    assert guard.alarms == 1, "a harder push is detected before that"


@pytest.mark.parametrize(("deg_s", "alarms"), [(0.3, 0), (0.05, 1)])
def test_fast_shift_raises_the_gyro_threshold(deg_s: float, alarms: int) -> None:
    """One of fifty rolled onto another corner at 0.105 rad/s; a push is detected."""
    watch = Watch(guard := Guard(NAO, CFG))
    target = STILL.target
    for _ in range(200):
        target = STILL.target + np.deg2rad(deg_s) * watch.time_s
        watch.see(target=target)
    watch.see(target=target, gyro=1.2 / 1.5 * PUSHED["gyro"])
    assert guard.alarms == alarms
    watch.see(target=target, **PUSHED)
    assert guard.alarms == 1


def test_guard_is_armed_after_settle_by_s_without_settling() -> None:
    watch = Watch(guard := Guard(NAO, CFG))
    watch.see(CFG.settle_by_s - 0.1, **PUSHED)
    assert guard.alarms == 0
    watch.see(0.2, **PUSHED)
    assert guard.alarms == 1


def test_set_point_jump_at_start_is_not_a_motion() -> None:
    """A loop starts at the robot's posture, not at the previous set-point."""
    guard = Guard(NAO, CFG)
    watch = Watch(guard)
    watch.see()
    watch.see(1.0, target=STILL.target + np.deg2rad(2.0))
    assert guard.lift == 0.0
    watch.see(0.1, target=STILL.target)
    assert guard.lift == 1.0, "a later jump is a motion"


def test_pressure_reference_is_a_mean_of_cycles_at_rest() -> None:
    """Soles rattle when a motion ends: the mean includes all cycles since."""
    watch, guard = quiet()
    target = STILL.target.copy()
    target[NAO.joint_index("LShoulderPitch")] += 0.1
    watch.see(target=target)
    for _ in range(100):
        first = guard._cycles_at_rest == 0
        watch.see(target=target, fsr=pressed(-0.06 if first else 0.0))
        assert guard.disturbance < 0.9
    assert guard.alarms == 0


def test_leg_motion_after_a_push_clears_the_shift() -> None:
    watch, guard = quiet()
    watch.see(AWAKE_S, **sagging(2.0))
    watch.see(**sagging(2.0) | PUSHED)
    shifts = [guard.shift]
    for k in range(10):
        watch.see(**turning(0.5, k + 1))
    shifts.append(guard.shift)
    watch.see(1.0, **turning(0.5, 10))
    assert guard.lift > 0.0
    shifts.append(guard.shift)  # and it stays cleared
    assert [shift is None for shift in shifts] == [False, True, True]


def test_pressure_is_monitored_again_soon_after_a_motion() -> None:
    watch, guard = quiet()
    target = STILL.target.copy()
    target[NAO.joint_index("LShoulderPitch")] += 0.1
    watch.see(0.1, target=target, fsr=pressed(0.02))
    watch.see(1.5, target=target, fsr=pressed(0.02))
    assert guard.alarms == 0
    watch.see(0.1, target=target, fsr=pressed(0.02 - 1.3 * CFG.cop_m))
    assert guard.alarms == 1


def test_slow_shift_does_not_disable_detection() -> None:
    """0.6 degrees per second in 10 steps, in all joints."""
    watch, guard = quiet()
    for k in range(20):
        watch.see(0.1, target=STILL.target + np.deg2rad(0.06) * (k + 1))
    assert guard.alarms == 0
    moved = STILL.target + np.deg2rad(1.2)
    watch.see(0.1, target=moved, fsr=pressed(1.2 * CFG.cop_m))
    assert guard.alarms == 1


KNEE, HIP = NAO.joint_index("LKneePitch"), NAO.joint_index("RHipPitch")
STIFFNESS = np.full(N, 0.3)


def sagging(degrees: float) -> dict[str, Any]:
    """Return observations of a knee that stays short of its set-point."""
    q = STILL.q.copy()
    q[KNEE] -= np.deg2rad(degrees)
    return {"q": q, "stiffness": STIFFNESS}


def test_joint_torque_is_continuous_when_the_limit_is_lifted() -> None:
    """The shift reduces the error by the torque that the limit had cut."""
    guard = Guard(NAO, GuardCfg(lean_s=0.0))
    watch = Watch(guard)
    watch.see(AWAKE_S, **sagging(2.0))
    assert guard.lift == 0.0
    watch.see(**sagging(2.0) | PUSHED)
    assert guard.lift == 1.0
    assert guard.shift is not None
    kp, limit = NAO.joints[KNEE].kp, 0.3 * NAO.effort_limit[KNEE]
    error = np.deg2rad(2.0) + guard.shift[KNEE]
    assert kp * np.deg2rad(2.0) > 2.0 * limit, "the knee is at its limit"
    assert_allclose(kp * error, limit, rtol=1e-9)
    assert np.count_nonzero(guard.shift) == 1, "no other joint is at its limit"


def test_single_reading_does_not_change_the_sag() -> None:
    guard = Guard(NAO, GuardCfg(lean_s=0.0))
    watch = Watch(guard)
    watch.see(AWAKE_S, **sagging(0.0))
    watch.see(**sagging(5.0))
    watch.see(**sagging(5.0) | PUSHED)
    assert guard.shift is not None
    assert not guard.shift.any(), "the mean error is within the limit"


def test_shift_ramps_down_with_the_limit() -> None:
    guard = Guard(NAO, GuardCfg(lean_s=0.0))
    watch = Watch(guard)
    watch.see(AWAKE_S, **sagging(2.0))
    watch.see(**sagging(2.0) | PUSHED)
    assert guard.shift is not None
    first = guard.shift[KNEE]

    def after(duration_s: float) -> float:
        for _ in range(round(duration_s / DT)):
            target = STILL.target
            if guard.shift is not None:
                target = target + guard.shift
            watch.see(target=target, **sagging(2.0))
        return 0.0 if guard.shift is None else float(guard.shift[KNEE])

    assert_allclose(after(CFG.hold_s), first, rtol=1e-6)
    assert_allclose(after(0.5 * CFG.release_s), 0.5 * first, rtol=1e-6)
    assert after(0.6 * CFG.release_s) == 0.0


def test_shift_is_bounded_and_can_be_disabled() -> None:
    for bound in (0.0, np.deg2rad(1.0)):
        guard = Guard(NAO, GuardCfg(bound_rad=bound))
        watch = Watch(guard)
        watch.see(AWAKE_S, **sagging(5.0))
        watch.see(**sagging(5.0), gyro=np.array((0.0, 2.0, 0.0)))
        assert guard.shift is not None
        assert_allclose(np.abs(guard.shift).max(), bound, atol=1e-12)


@pytest.mark.parametrize(
    ("axis", "joint"), [(1, "AnklePitch"), (0, "AnkleRoll")], ids=["pitch", "roll"]
)
@pytest.mark.parametrize("omega", [0.2, -0.2])
def test_ankles_lean_against_the_fall(axis: int, joint: str, omega: float) -> None:
    """By a share of the angle that puts the centre of mass above the capture point."""
    watch, guard = quiet()
    gyro = np.zeros(3)
    gyro[axis] = omega
    watch.see(gyro=gyro)
    assert guard.shift is not None
    ankles = [NAO.joint_index(f"{side}{joint}") for side in "LR"]
    time_s = guard.shift[ankles] / omega
    assert (time_s > 0.0).all(), "the ankles turn in the direction of the fall"
    height = 9.81 * (time_s[0] / CFG.lean_share) ** 2
    assert 0.25 < height < 0.35, "height of the centre of mass of a standing NAO"
    assert_allclose(time_s, time_s[0])
    others = np.delete(guard.shift, ankles)
    assert np.abs(others).max() < 0.02 * abs(guard.shift[ankles[0]])


def test_reset_clears_lift_alarms_and_shift() -> None:
    watch, guard = quiet()
    watch.see(**PUSHED)
    guard.reset()
    assert (guard.lift, guard.alarms, guard.shift) == (0.0, 0, None)
    assert watch.see() == 0.0


def test_robot_without_force_sensors_is_guarded_by_gyroscope() -> None:
    blind = dataclasses.replace(NAO, force_sensors=())
    watch = Watch(Guard(blind, CFG))
    assert watch.see(AWAKE_S, fsr=np.zeros(0)) == 0.0
    assert watch.see(fsr=np.zeros(0), **PUSHED) == 1.0


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, -2.0])
def test_rotation_vector_of_a_rotation_matrix(angle: float) -> None:
    c, s = np.cos(angle), np.sin(angle)
    R = np.array(((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)))
    assert_allclose(rotation_vector(R), (0.0, angle, 0.0), rtol=1e-12)


# -- in the controllers


def test_smart_guard_lifts_to_user_stiffness_never_below_computed() -> None:
    watch = Watch(controller := smart(NAO, guard=CFG))
    document = Watch(smart(NAO))
    assert_array_equal(watch.see(AWAKE_S).stiffness, document.see(AWAKE_S).stiffness)
    assert watch.answer.shift is None
    user = np.linspace(0.0, 1.0, N)
    controller.user_stiffness = user
    caught, computed = watch.see(**PUSHED), document.see(**PUSHED).stiffness
    assert_allclose(caught.stiffness, np.maximum(computed, user))
    assert "CATCHING" in flag_names(report_of(controller).flags)
    watch.see(CFG.hold_s + 0.5 * CFG.release_s)
    computed = document.see(CFG.hold_s + 0.5 * CFG.release_s).stiffness
    half = computed + 0.5 * np.maximum(user - computed, 0.0)
    assert_allclose(watch.answer.stiffness, half, atol=1e-9)
    watch.see(CFG.release_s)
    assert_array_equal(watch.answer.stiffness, document.see(CFG.release_s).stiffness)
    assert watch.answer.shift is None
    assert controller.flag_counts["CATCHING"] == 150


def test_disabled_controller_does_not_respond_to_a_push() -> None:
    watch = Watch(controller := smart(NAO, guard=CFG))
    watch.see(AWAKE_S)
    assert watch.see(**PUSHED).is_urgent
    controller.enabled = False
    controller.user_stiffness = 0.4
    off = watch.see(**PUSHED)
    assert off.stiffness.tolist() == [0.4] * N
    assert off.shift is None
    assert flag_names(report_of(controller).flags) == ("DISABLED",)
    controller.enabled = True
    controller.user_stiffness = 1.0
    assert watch.see().stiffness.max() < 0.7


def test_smart_without_guard_ignores_a_push() -> None:
    watch = Watch(controller := smart(NAO))
    watch.see(AWAKE_S)
    after = watch.see(**PUSHED)
    assert after.stiffness.max() < 0.5
    assert after.shift is None
    assert controller.guard is None


def test_minheat_holds_its_shift_during_a_push() -> None:
    controller = MinHeat(MinHeatCfg(limits=SmartStiffnessCfg(guard=CFG)))
    controller.reset(NAO)
    watch = Watch(controller)
    current = np.zeros(len(NAO.motors))
    current[NAO.motor_names.index("LKneePitch")] = 0.4

    def see(duration_s: float, **changes: Any) -> FloatArray:
        for _ in range(round(duration_s / DT)):
            target = STILL.target + controller.shift
            watch.see(target=target, current=current, **changes)
        return controller.shift

    see(AWAKE_S)
    before = see(DT)
    assert before[KNEE] != 0.0
    counts = controller.flag_counts["catching"]
    see(DT, **PUSHED)
    assert controller.limits.guard is not None
    assert controller.limits.guard.lift == 1.0
    assert watch.answer.is_urgent
    held = see(1.9)
    catch = controller.limits.guard.shift
    assert catch is not None
    assert_allclose(held, before + catch, atol=1e-12)
    assert controller.flag_counts["catching"] > counts + 15
    see(1.2)
    assert controller.limits.guard.lift == 0.0
    assert (see(0.5) != before).any(), "the shift continues"


# -- around any controller


def guarded(controller: Any, **choices: Any) -> Guarded:
    wrapper = Guarded(controller, CFG, **choices)
    wrapper.reset(NAO)
    return wrapper


def test_guard_wraps_any_controller() -> None:
    soft = FixedStiffness()
    soft.value = 0.3
    watch = Watch(guarded(soft, maximum=0.8))
    assert watch.see(AWAKE_S).stiffness.tolist() == [0.3] * N
    assert_allclose(watch.see(**PUSHED).stiffness, 0.8)
    assert watch.answer.shift is not None
    assert watch.answer.is_urgent
    watch.see(CFG.hold_s + CFG.release_s)
    assert watch.answer.stiffness.tolist() == [0.3] * N
    assert watch.answer.shift is None


def test_shifts_of_guard_and_controller_are_added() -> None:
    plain, watch = Nudge(), Watch(wrapper := guarded(Nudge()))
    plain.reset(NAO)
    alone = Watch(plain)
    current = np.full(len(NAO.motors), 0.5)
    alone.see(AWAKE_S, current=current)
    watch.see(AWAKE_S, current=current)
    assert_array_equal(watch.answer.shift, alone.answer.shift)
    alone.see(current=current, **PUSHED)
    watch.see(current=current, **PUSHED)
    assert wrapper.guard is not None
    assert wrapper.guard.shift is not None
    assert wrapper.guard.shift.any()
    expected = alone.answer.shift + wrapper.guard.shift
    assert_allclose(watch.answer.shift, expected, atol=1e-12)


def test_wrapper_exposes_name_signals_and_switches_of_inner() -> None:
    inner = MinHeat()
    wrapper = guarded(inner)
    assert wrapper.name == "minheat"
    told: object = wrapper
    assert has_signals(told)
    assert told.signal_names == ("loss_w", "least_w")
    assert not has_signals(guarded(FixedStiffness()))
    wrapper.enabled = False
    assert inner.enabled is False
    assert inner.limits.enabled is False
    assert wrapper.state is None
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = wrapper.no_such_thing
    with pytest.raises(AttributeError, match="guard"):
        wrapper.guard = None  # type: ignore[misc]  # read-only, and not the inner's


def test_wrapper_can_be_copied() -> None:
    wrapper = Guarded(FixedStiffness())
    assert copy.deepcopy(wrapper).name == "fixed"
    assert copy.copy(wrapper).name == "fixed"


def test_messages(messages: Messages) -> None:
    messages(
        values_out_of_range=each(
            GuardCfg, gyro_rad_s=[0.0], hold_s=[-1.0], release_factor=[0.5]
        ),
        sensor_value_not_finite=lambda: Watch(guarded(FixedStiffness())).see(
            gyro=np.full(3, np.nan)
        ),
        no_robot_or_invalid_maximum=[
            lambda: Guarded(FixedStiffness()).step(STILL),
            lambda: Guarded(FixedStiffness(), maximum=1.5),
        ],
    )
