"""What a controller is: observations in, torque limits out, every 20 ms.

A `Controller` turns an `Observation` into `Limits`: torque limits and, if it is of
those that may, small shifts of the set-points. Every controller asks for a robot and
for finite sensor values before it computes (`require_robot`, `require_finite`).
`ControllerWrapper` is the base of those that add something to another one.
`ConstantStiffness`, `FixedStiffness` and `ConstantCurrent` are the plain ones to
compare with: the limit never changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.values import FloatArray, short


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a controller decides: limits, and for some a shift of the set-points.

    Which posture is held is never its matter.
    """

    stiffness: FloatArray
    """(n_joints,) fraction of the effort limit that a joint may use, in [0, 1]."""
    current_limit: FloatArray | None = None
    """(n_joints,) largest current of the joints' motors in A, 0 or more, beside the
    stiffness; None: no limit but that of the stiffness."""
    shift: FloatArray | None = None
    """(n_joints,) added to the set-points of the posture, in rad; None: no shift."""
    is_urgent: bool = False
    """Whether the shift has to go at once, as a push is caught. Else it may go slowly:
    a robot that several share lets it."""


class Controller(Protocol):
    """Turns observations into torque limits and shifts, every 20 ms."""

    name: str

    def reset(self, robot: Robot) -> None:
        """Prepare for a run on `robot`; called before the first `step`."""

    def step(self, observation: Observation) -> Limits:
        """Return the limits that hold until the next call."""


class SignalSource(Protocol):
    """A controller that says numbers of itself, for recorders and screens."""

    signal_names: tuple[str, ...]
    """Each with its unit, such as `loss_w`."""

    @property
    def signals(self) -> tuple[float, ...]:
        """One a name, as of the last step; NaN where it cannot tell."""


def has_signals(subject: object) -> TypeGuard[SignalSource]:
    """Return whether a controller says numbers of itself, by itself or wrapped.

    From Python 3.12 on `isinstance` overlooks what `__getattr__` gives, and so all that
    a `ControllerWrapper` passes on.
    """
    return hasattr(subject, "signal_names") and hasattr(subject, "signals")


class SensorError(TestbedError):
    """An observation holds a value that no sensor can mean; the run must stop."""

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
    """Return what `reset` has made.

    Raises:
        BadInput: it was not called yet, and there is None.
    """
    if made is None:
        raise BadInput("The controller has no robot yet; call reset(robot) first.")
    return made


def require_robot(robot: Robot | None) -> Robot:
    """Return the robot that `reset` was given.

    Raises:
        BadInput: it was not called yet, and there is None.
    """
    return require_reset(robot)


def require_finite(observation: Observation, fields: Iterable[str]) -> None:
    """Refuse values that are not finite.

    Raises:
        SensorError: one of the `fields` has one; it names the first.
    """
    for name in fields:
        value = getattr(observation, name)
        is_finite = np.isfinite(value)
        if not is_finite.all():
            index = int(is_finite.argmin())
            raise SensorError(name, index, float(value[index]), observation.time_s)


def check_answer(controller: Controller, decided: object) -> None:
    """Refuse an answer of a controller that is no `Limits`."""
    if not isinstance(decided, Limits):
        raise BadInput(
            f"controller {controller.name!r} answered {short(decided)}; its `step` "
            "must return Limits."
        )


class ControllerWrapper:
    """Another controller with something added; base of those that add it.

    What it lacks is the wrapped one's: name, signals, state and switches are read, and
    set, as if nothing were in between. What belongs to the wrapper begins with `_`, or
    is declared in its class.
    """

    name: str
    """That of the wrapped one."""

    def __init__(self, controller: Controller) -> None:
        """Wrap a controller."""
        self._wrapped = controller

    def reset(self, robot: Robot) -> None:
        """Pass it on."""
        self._wrapped.reset(robot)

    def step(self, observation: Observation) -> Limits:
        """Pass it on."""
        return self._wrapped.step(observation)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of this one, and not there yet: a copy is made
            raise AttributeError(name)
        return getattr(self._wrapped, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._wrapped, name, value)


class ConstantStiffness:
    """The same stiffness for every joint, always."""

    def __init__(self, value: float, name: str = "constant") -> None:
        """Keep the `value`, in [0, 1], and the `name` for tables and run folders."""
        if not 0.0 <= value <= 1.0:
            raise BadInput(f"constant stiffness {value}; give a number from 0 to 1.")
        self.name = name
        self.value = value
        self._stiffness: NDArray[np.float64] | None = None

    def reset(self, robot: Robot) -> None:
        """Prepare one value a joint of `robot`."""
        self._stiffness = np.full(len(robot.joints), self.value)

    def step(self, observation: Observation) -> Limits:
        """Return the constant."""
        if self._stiffness is None:
            self._stiffness = np.full(len(observation.q), self.value)
        return Limits(stiffness=self._stiffness.copy())


class FixedStiffness(ConstantStiffness):
    """Stiffness 1: the robot without any stiffness control ("without", fig. 4a)."""

    def __init__(self) -> None:
        super().__init__(1.0, name="fixed")


class ConstantCurrent:
    """Stiffness 1, and the same limit of current for every motor, always."""

    def __init__(self, current: float, name: str = "current") -> None:
        """Keep the limit in A, 0 or more, and the `name` for tables and run folders."""
        if not 0.0 <= current < inf:  # false for NaN
            raise BadInput(f"limit of current {current} A; give a number from 0 up.")
        self.name = name
        self.current = current

    def reset(self, robot: Robot) -> None:
        """Do nothing: it needs nothing of a robot."""

    def step(self, observation: Observation) -> Limits:
        """Return the limit."""
        n = len(observation.q)
        return Limits(stiffness=np.ones(n), current_limit=np.full(n, self.current))
