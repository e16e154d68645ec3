"""A load that outlasts a catch: limits stay above the torque that bears it."""

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
    """Return what is seen while ankles give a share of their torque against a hand."""
    current = np.zeros(len(NAO.motors))
    for joint in ANKLES:
        motor = int(NAO.servo_of_joint[joint])
        constant = NAO.motors[motor].one_node.torque_constant
        current[motor] = share * NAO.effort_limit[joint] / constant
    return {"current": current, "fsr": pressed(cop_m)}


class Shifted(Watch):
    """A robot whose set-points are where its guard shifts them."""

    def see(self, duration_s: float = DT, **changes: Any) -> Any:
        target = changes.pop("target", STILL.target)
        guard = self.watched if isinstance(self.watched, Guard) else self.watched.guard
        for _ in range(round(duration_s / DT)):
            shift = 0.0 if guard.shift is None else guard.shift
            super().see(target=target + shift, **changes)
        return self.answer


def quiet() -> tuple[Watch, Guard]:
    """Return a guard that is awake: it has seen a robot stand."""
    watch = Shifted(guard := Guard(NAO, CFG))
    watch.see(AWAKE_S)
    return watch, guard


def guarded() -> tuple[Watch, Guarded]:
    """Return a robot that stands, its limits under a guard around any controller."""
    soft = FixedStiffness()
    soft.value = LIMIT
    wrapper = Guarded(soft, CFG)
    wrapper.reset(NAO)
    watch = Shifted(wrapper)
    watch.see(AWAKE_S)
    return watch, wrapper


@pytest.mark.parametrize("cop_m", [0.014, 0.002], ids=["pressure", "torque alone"])
@pytest.mark.parametrize("duration_s", [3.0, 10.0, 60.0])
def test_a_limit_stays_above_the_torque_while_a_hand_leans(
    duration_s: float, cop_m: float
) -> None:
    watch, wrapper = guarded()
    hand = bearing(0.67, cop_m)
    watch.see(**hand | PUSHED)
    for k in range(round(duration_s / DT)):
        lowest = watch.see(**hand).stiffness[ANKLES].min()
        if lowest < 0.67 + CFG.margin:  # a robot whose limit is too low begins to tip
            assert k * DT > CFG.try_s - CFG.hold_s, "nothing is tried before"
            watch.see(gyro=np.array((0.0, 0.06, 0.0)), **hand)
            assert watch.answer.stiffness[ANKLES].min() == 1.0, "in the same cycle"
    watch.see(**PUSHED)  # it lets go
    assert watch.answer.stiffness.min() == 1.0
    watch.see(CFG.hold_s - DT)
    assert watch.answer.stiffness.min() == 1.0, "the robot swings back"
    watch.see(CFG.release_s + 2.0 * DT)
    assert watch.answer.stiffness.tolist() == [LIMIT] * N
    assert wrapper.guard is not None
    assert wrapper.guard.alarms == 1


def test_who_leans_again_while_limits_return_finds_them_lifted() -> None:
    watch, _ = guarded()
    watch.see(**PUSHED)
    watch.see(CFG.hold_s + 0.5 * CFG.release_s)
    assert LIMIT < watch.answer.stiffness[0] < 1.0
    watch.see(0.2, **bearing(0.6))  # turns it by less than four thresholds
    assert watch.answer.stiffness.min() == 1.0


def test_who_yields_as_limits_return_is_let_down_by_a_try() -> None:
    """Not by returns that are broken off, one after the other."""
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


def test_a_load_under_which_limits_can_be_lowered_is_the_new_normal() -> None:
    """As of a payload that the limits bear: it does not stay lifted for ever."""
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
    assert guard.lift == 1.0, "and a push is one from there"


def test_an_arm_that_pressed_gives_way_in_a_try() -> None:
    """Its pressure ends with its torque: that is no robot that yields."""
    watch, guard = quiet()
    watch.see(**bearing(0.0, 0.03) | PUSHED)
    watch.see(CFG.try_s, **bearing(0.0, 0.03))
    for _ in range(round(1.1 * CFG.lower_s / DT)):
        watch.see(**bearing(0.0, 0.03 * guard.lift))
    assert guard.lift == 0.0


@pytest.mark.parametrize(("cop_m", "lift"), [(0.022, True), (0.028, False)])
def test_pressure_that_moves_on_ends_a_try(cop_m: float, *, lift: bool) -> None:
    watch, guard = quiet()
    watch.see(**bearing(0.5, 0.015) | PUSHED)
    watch.see(CFG.try_s + 1.0, **bearing(0.5, 0.015))
    assert 0.7 < guard.lift < 0.9
    watch.see(0.2, **bearing(0.5, cop_m))
    assert (guard.lift < 1.0) is lift


def test_each_try_that_fails_doubles_the_wait() -> None:
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


def test_a_try_is_no_jump_where_time_jumps() -> None:
    """A fast-forward steps no controller for minutes: nobody watched meanwhile."""
    watch, guard = quiet()
    load = bearing(0.67)
    watch.see(**load | PUSHED)
    watch.see(5.0, **load)
    for _ in range(3):
        watch.time_s += 60.0
        watch.see(**load)
        assert guard.lift > 0.9


def test_legs_that_move_end_it() -> None:
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


def test_a_current_that_is_not_finite_tells_nothing() -> None:
    watch, guard = quiet()
    watch.see(current=np.full(len(NAO.motors), np.nan), **PUSHED)
    watch.see(CFG.hold_s + CFG.release_s + 0.1)
    assert guard.lift == 0.0


def test_a_hand_on_an_arm_is_a_load_too() -> None:
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
