"""Lasting load: limits stay above the torque that supports it."""

from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.interface.controller import FixedStiffness
from nao_testbed.controllers.stiffness import Guard, Guarded
from nao_testbed.controllers.stiffness.guard.thresholds import GuardCfg
from tests.controllers.stiffness.test_guard import (
    AWAKE_S,
    DT,
    NAO,
    PUSHED,
    STILL,
    N,
    Watch,
    pressed,
)

CFG = GuardCfg()
LIMIT = 0.42
ANKLES = [NAO.joint_index(f"{side}AnklePitch") for side in "LR"]


def bearing(share: float, cop_m: float = 0.014) -> dict[str, Any]:
    """Return readings while the ankles resist a hand with a share of their torque."""
    current = np.zeros(len(NAO.motors))
    for joint in ANKLES:
        motor = int(NAO.servo_of_joint[joint])
        constant = NAO.motors[motor].one_node.torque_constant
        current[motor] = share * NAO.effort_limit[joint] / constant
    return {"current": current, "fsr": pressed(cop_m)}


class Shifted(Watch):
    """Robot whose set-points follow the shift of its guard."""

    def see(self, duration_s: float = DT, **changes: Any) -> Any:
        target = changes.pop("target", STILL.target)
        guard = self.watched if isinstance(self.watched, Guard) else self.watched.guard
        for _ in range(round(duration_s / DT)):
            shift = 0.0 if guard.shift is None else guard.shift
            super().see(target=target + shift, **changes)
        return self.answer


def quiet() -> tuple[Watch, Guard]:
    """Return an armed guard that has observed a standing robot."""
    watch = Shifted(guard := Guard(NAO, CFG))
    watch.see(AWAKE_S)
    return watch, guard


def guarded() -> tuple[Watch, Guarded]:
    """Return a standing robot whose fixed stiffness is wrapped by a guard."""
    soft = FixedStiffness()
    soft.value = LIMIT
    wrapper = Guarded(soft, CFG)
    wrapper.reset(NAO)
    watch = Shifted(wrapper)
    watch.see(AWAKE_S)
    return watch, wrapper


@pytest.mark.parametrize("cop_m", [0.014, 0.002], ids=["pressure", "torque alone"])
@pytest.mark.parametrize("duration_s", [3.0, 10.0, 60.0])
def test_limit_stays_above_the_torque_while_a_hand_leans(
    duration_s: float, cop_m: float
) -> None:
    watch, wrapper = guarded()
    hand = bearing(0.67, cop_m)
    watch.see(**hand | PUSHED)
    for k in range(round(duration_s / DT)):
        lowest = watch.see(**hand).stiffness[ANKLES].min()
        if lowest < 0.67 + CFG.margin:  # a robot whose limit is too low begins to tip
            assert k * DT > CFG.try_s - CFG.hold_s, "no attempt to lower before"
            watch.see(gyro=np.array((0.0, 0.06, 0.0)), **hand)
            assert watch.answer.stiffness[ANKLES].min() == 1.0, "in the same cycle"
    watch.see(**PUSHED)  # the hand lets go
    assert watch.answer.stiffness.min() == 1.0
    watch.see(CFG.hold_s - DT)
    assert watch.answer.stiffness.min() == 1.0, "the robot swings back"
    watch.see(CFG.release_s + 2.0 * DT)
    assert watch.answer.stiffness.tolist() == [LIMIT] * N
    assert wrapper.guard is not None
    assert wrapper.guard.alarms == 1


def test_load_during_release_lifts_the_limit_again() -> None:
    watch, _ = guarded()
    watch.see(**PUSHED)
    watch.see(CFG.hold_s + 0.5 * CFG.release_s)
    assert LIMIT < watch.answer.stiffness[0] < 1.0
    watch.see(0.2, **bearing(0.6))  # turns it by less than four thresholds
    assert watch.answer.stiffness.min() == 1.0


def test_yielding_robot_is_released_by_an_attempt_not_by_retries() -> None:
    """The release is not repeated and interrupted again and again."""
    watch, guard = quiet()
    watch.see(**PUSHED)
    watch.see(CFG.hold_s + 0.5 * CFG.release_s)
    rises, before = 0, guard.lift
    for _ in range(round((CFG.try_s + CFG.lower_s) / DT)):
        off = 0.0 if guard.lift > 0.5 else 0.015  # while the limit is low
        watch.see(fsr=pressed(off))
        rises += guard.lift > before
        before = guard.lift
    assert rises <= 2


def test_load_that_lowered_limits_can_bear_is_the_new_reference() -> None:
    """For example a payload: the limit does not stay lifted for ever."""
    watch, guard = quiet()
    load = bearing(0.3)
    watch.see(**load | PUSHED)
    watch.see(CFG.try_s, **load)
    assert guard.lift == 1.0
    watch.see(CFG.lower_s, **load)
    assert 0.0 < guard.lift < 0.1
    watch.see(10.0, **load)
    assert guard.lift == 0.0
    assert guard.alarms == 1
    watch.see(0.1, **load | PUSHED)
    assert guard.lift == 1.0, "a push is detected from the new reference"


def test_arm_pressure_ends_with_its_torque_during_lowering() -> None:
    """The pressure falls with the torque: the robot does not yield."""
    watch, guard = quiet()
    watch.see(**bearing(0.0, 0.03) | PUSHED)
    watch.see(CFG.try_s, **bearing(0.0, 0.03))
    for _ in range(round(1.1 * CFG.lower_s / DT)):
        watch.see(**bearing(0.0, 0.03 * guard.lift))
    assert guard.lift == 0.0


@pytest.mark.parametrize(("cop_m", "lift"), [(0.022, True), (0.028, False)])
def test_change_of_pressure_ends_an_attempt(cop_m: float, *, lift: bool) -> None:
    watch, guard = quiet()
    watch.see(**bearing(0.5, 0.015) | PUSHED)
    watch.see(CFG.try_s + 1.0, **bearing(0.5, 0.015))
    assert 0.7 < guard.lift < 0.9
    watch.see(0.2, **bearing(0.5, cop_m))
    assert (guard.lift < 1.0) is lift


def test_each_failed_attempt_doubles_the_wait() -> None:
    watch, guard = quiet()
    load = bearing(0.67)
    watch.see(**load | PUSHED)
    tries = []
    for _ in range(round(200.0 / DT)):
        watch.see(**load)
        if guard.lift < 0.5:  # it yields
            watch.see(gyro=np.array((0.0, 0.06, 0.0)), **load)
            assert guard.lift == 1.0
            tries.append(watch.time_s)
    waits = np.diff(tries)
    assert len(tries) == 3
    np.testing.assert_allclose(waits[1] - CFG.lower_s / 2, 80.0, atol=0.2)
    np.testing.assert_allclose(waits[0] - CFG.lower_s / 2, 40.0, atol=0.2)


def test_lowering_does_not_jump_after_a_gap_in_time() -> None:
    """During a fast-forward the controller is not stepped for minutes."""
    watch, guard = quiet()
    load = bearing(0.67)
    watch.see(**load | PUSHED)
    watch.see(5.0, **load)
    for _ in range(3):
        watch.time_s += 60.0
        watch.see(**load)
        assert guard.lift > 0.9


def test_leg_motion_ends_the_hold() -> None:
    watch, guard = quiet()
    watch.see(**bearing(0.67) | PUSHED)
    watch.see(4.0, **bearing(0.67))
    assert guard.lift == 1.0
    target = STILL.target.copy()
    for _ in range(10):
        target[ANKLES] -= 0.5 * DT
        watch.see(target=target.copy())
    watch.see(3.0, target=target)
    assert guard.lift == 0.0


def test_nonfinite_current_is_ignored() -> None:
    watch, guard = quiet()
    watch.see(current=np.full(len(NAO.motors), np.nan), **PUSHED)
    watch.see(CFG.hold_s + CFG.release_s + 0.1)
    assert guard.lift == 0.0


def test_load_on_an_arm_keeps_its_limit_lifted() -> None:
    watch, _ = guarded()
    arm = NAO.joint_index("LShoulderPitch")
    motor = int(NAO.servo_of_joint[arm])
    current = np.zeros(len(NAO.motors))
    constant = NAO.motors[motor].one_node.torque_constant
    current[motor] = -0.6 * NAO.effort_limit[arm] / constant
    watch.see(current=current, **PUSHED)
    watch.see(8.0, current=current)
    assert watch.answer.stiffness[arm] == 1.0
    watch.see(CFG.hold_s + CFG.release_s)
    assert watch.answer.stiffness[arm] == LIMIT
