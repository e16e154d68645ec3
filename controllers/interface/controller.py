"""Controller interface: observations in, torque limits out, every 20 ms.

A `Controller` converts an `Observation` into `Limits`: torque limits and, for some
controllers, small shifts of the set-points, or set-points and gains of their own.
Controllers require a robot and finite sensor values (`require_robot`,
`require_finite`). `ControllerWrapper` is the base of controllers that extend another
one.

`ConstantStiffness`, `FixedStiffness` and `ConstantCurrent` are baselines for
comparison: their limit never changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import Observation, ServoGains
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.values import FloatArray, short


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Output of a controller: torque limits, and optionally set-points or a shift.

    Only a controller that balances the robot, such as a policy, chooses set-points; the
    others hold the posture of the run.
    """

    stiffness: FloatArray
    """(n_joints,) share of the effort limit that a joint may use, in [0, 1]."""
    current_limit: FloatArray | None = None
    """(n_joints,) maximum current of the joints' motors in A, 0 or more, in addition
    to the stiffness; None: no current limit."""
    shift: FloatArray | None = None
    """(n_joints,) added to the set-points of the posture, in rad; None: no shift."""
    target: FloatArray | None = None
    """(n_joints,) set-points in place of the posture, in rad; None: the posture."""
    gains: ServoGains | None = None
    """Gains of the servos until the next step; None: the robot's own."""
    is_urgent: bool = False
    """True if the shift must be applied immediately, as while a push is caught.
    Otherwise a shared robot may apply it slowly."""


class Controller(Protocol):
    """Controller that maps observations to torque limits and shifts, every 20 ms."""

    name: str

    def reset(self, robot: Robot) -> None:
        """Prepare for a run on `robot`; called before the first `step`."""

    def step(self, observation: Observation) -> Limits:
        """Return the limits that hold until the next call."""


class SignalSource(Protocol):
    """Controller that publishes numbers for recorders and screens."""

    signal_names: tuple[str, ...]
    """Names with their unit, such as `loss_w`."""

    @property
    def signals(self) -> tuple[float, ...]:
        """One value per name, as of the last step; NaN if unknown."""


def has_signals(subject: object) -> TypeGuard[SignalSource]:
    """Return True if a controller, or one that it wraps, publishes signals.

    From Python 3.12 on `isinstance` ignores attributes from `__getattr__`, and so those
    that a `ControllerWrapper` forwards.
    """
    return hasattr(subject, "signal_names") and hasattr(subject, "signals")


class SensorError(TestbedError):
    """Observation with an impossible sensor value; the run must stop."""

    def __init__(self, field: str, index: int, value: float, time_s: float) -> None:
        self.field = field
        self.index = index
        self.value = value
        self.time_s = time_s
        super().__init__(
            f"{field}[{index}] is {value} at t = {time_s:.3f} s; controllers need "
            "finite sensor values. Check that sensor, or stop the robot."
        )


_Made = TypeVar("_Made")


def require_reset(made: _Made | None) -> _Made:
    """Return the object created by `reset`.

    Raises:
        BadInput: `reset` was not called yet, and the object is None.
    """
    if made is None:
        raise BadInput("The controller has no robot yet; call reset(robot) first.")
    return made


def require_robot(robot: Robot | None) -> Robot:
    """Return the robot passed to `reset`.

    Raises:
        BadInput: `reset` was not called yet, and the robot is None.
    """
    return require_reset(robot)


def require_finite(observation: Observation, fields: Iterable[str]) -> None:
    """Raise if a value is not finite.

    Raises:
        SensorError: one of the `fields` has a non-finite value; it names the first.
    """
    for name in fields:
        value = getattr(observation, name)
        is_finite = np.isfinite(value)
        if not is_finite.all():
            index = int(is_finite.argmin())
            raise SensorError(name, index, float(value[index]), observation.time_s)


def check_answer(controller: Controller, decided: object) -> None:
    """Raise BadInput if a controller's output is not `Limits`."""
    if not isinstance(decided, Limits):
        raise BadInput(
            f"controller {controller.name!r} returned {short(decided)}; its `step` "
            "must return Limits."
        )


class ControllerWrapper:
    """Base of a controller that extends another one.

    Attributes that the wrapper lacks are read from, and written to, the wrapped
    controller: name, signals, state and switches. Attributes of the wrapper begin with
    `_`, or are declared in its class.
    """

    name: str
    """Name of the wrapped controller."""

    def __init__(self, controller: Controller) -> None:
        self._wrapped = controller

    def reset(self, robot: Robot) -> None:
        """Reset the wrapped controller."""
        self._wrapped.reset(robot)

    def step(self, observation: Observation) -> Limits:
        """Return the limits of the wrapped controller."""
        return self._wrapped.step(observation)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # the wrapper's own, not set yet: during a copy
            raise AttributeError(name)
        return getattr(self._wrapped, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._wrapped, name, value)


class ConstantStiffness:
    """Controller with the same constant stiffness for every joint."""

    def __init__(self, value: float, name: str = "constant") -> None:
        """Store the `value`, in [0, 1], and the `name` for tables and run folders."""
        if not 0.0 <= value <= 1.0:
            raise BadInput(f"constant stiffness {value}; give a number from 0 to 1.")
        self.name = name
        self.value = value
        self._stiffness: NDArray[np.float64] | None = None

    def reset(self, robot: Robot) -> None:
        """Prepare one value per joint of `robot`."""
        self._stiffness = np.full(len(robot.joints), self.value)

    def step(self, observation: Observation) -> Limits:
        """Return the constant."""
        if self._stiffness is None:
            self._stiffness = np.full(len(observation.q), self.value)
        return Limits(stiffness=self._stiffness.copy())


class FixedStiffness(ConstantStiffness):
    """Stiffness 1: no stiffness control ("without", [ES2659053T3 fig. 4a])."""

    def __init__(self) -> None:
        super().__init__(1.0, name="fixed")


class ConstantCurrent:
    """Controller with stiffness 1 and the same current limit for every motor."""

    def __init__(self, current: float, name: str = "current") -> None:
        """Store the limit in A, 0 or more, and the `name` for tables and folders."""
        if not 0.0 <= current < inf:  # false for NaN
            raise BadInput(f"current limit {current} A; give a number from 0 up.")
        self.name = name
        self.current = current

    def reset(self, robot: Robot) -> None:
        """Do nothing."""

    def step(self, observation: Observation) -> Limits:
        """Return the limit."""
        n = len(observation.q)
        return Limits(stiffness=np.ones(n), current_limit=np.full(n, self.current))
