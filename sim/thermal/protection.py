"""Protections: what a robot does to its stiffness when a motor gets too hot.

`none` does nothing; `nao` reduces the joints of a hot motor in steps and gives the
stiffness back when it has cooled; `document` shuts down for good.

NAO's statuses 0 to 3, each with its share of the commanded stiffness. What is published
[nao-lola] [hulk]: from 76 °C on the stiffness starts to be reduced (status 1) until the
joint is below 70 °C again; at status 2 it is reduced by more than 30 %; at status 3 it
is 0. Everything else is an estimate: status 2 from 80 °C, status 3 from 90 °C, and
release 6 K below the onset there too, as for status 1. The law: joints of a motor at
status s get the commanded stiffness times factor[s], with factors 1, 0.85, 0.6 and 0
(estimates that respect the words above). They are steps and no ramp, so that torques
stay as they are between two thresholds.

The safety shut-down [ES2659053T3 ¶fig.2] is latched. When a motor reaches 80 °C, or the
robot's total passes its own threshold, all stiffness (or that of the hot motor's joints
only) goes from 1 to 0 and stays there until `reset`. ES2659053 does not say how the
total is formed; here it is the mean of all motors, and it is not watched unless a
threshold is given.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from models import BadInput, Robot
from sim.thermal import FloatArray

IntArray = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """A motor has come to another status; the caller knows when."""

    motor: str
    """Name of the motor, or `Body` for the robot as a whole."""
    before: int
    """Status that it had."""
    status: int
    """0 normal, 1 hot, 2 very hot, 3 critically hot, its stiffness being 0."""
    temperature_degc: float
    """Reported temperature at the change; the mean of all motors for `Body`."""


@dataclass(frozen=True, kw_only=True)
class ProtectionState:
    """All that a protection remembers."""

    status: IntArray
    """(n_motors,) statuses."""
    is_shut_down: bool
    """Whether the whole robot has been made limp for good."""


class Protection(Protocol):
    """Watches temperatures and scales stiffness down, never up.

    Order of use: `apply` whenever temperatures are read anew, then `take_events`.
    The result of `apply` is to be put in force until the next call.
    """

    @property
    def status(self) -> IntArray:
        """(n_motors,) 0 normal, 1 hot, 2 very hot, 3 critically hot."""

    def reset(self) -> None:
        """Forget everything; for a new run."""

    def apply(self, stiffness: FloatArray, temperature: FloatArray) -> FloatArray:
        """Return the stiffness that the temperatures allow.

        Args:
            stiffness: (n_joints,) commanded, in [0, 1].
            temperature: (n_motors,) reported, in °C.

        Returns:
            (n_joints,) a fresh array, nowhere above the commanded one.
        """

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return what has changed since the last call, in order."""

    def state(self) -> ProtectionState:
        """Return a copy of everything that changes, but for events not yet taken."""

    def restore(self, state: ProtectionState) -> None:
        """Continue from a copy made by `state`."""


class NoProtection:
    """Lets every motor burn; see `Protection` for the use."""

    def __init__(self, robot: Robot) -> None:
        """Prepare for the motors of a robot."""
        self._n_motors = len(robot.motors)

    @property
    def status(self) -> IntArray:
        """(n_motors,) always 0."""
        return np.zeros(self._n_motors, dtype=np.intp)

    def reset(self) -> None:
        """Nothing is remembered."""

    def apply(
        self,
        stiffness: FloatArray,
        temperature: FloatArray,  # noqa: ARG002 # the seam has it
    ) -> FloatArray:
        """Return the commanded stiffness."""
        return stiffness.copy()

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return nothing."""
        return ()

    def state(self) -> ProtectionState:
        """Return a state in which nothing has happened."""
        return ProtectionState(status=self.status, is_shut_down=False)

    def restore(self, state: ProtectionState) -> None:
        """Nothing is remembered."""


Three = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class NaoProtectionCfg:
    """Temperatures and factors of the three statuses above normal."""

    onset_degc: Three = (76.0, 80.0, 90.0)
    """A status begins here; the first is published, the others are estimates."""
    release_degc: Three = (70.0, 74.0, 84.0)
    """A status ends below this; the first is published, the others are estimates."""
    factor: Three = (0.85, 0.6, 0.0)
    """Share of the commanded stiffness at each status; the last is published."""

    def __post_init__(self) -> None:
        """Refuse thresholds that are not in order, and factors that do not fall.

        Raises:
            BadInput: one of them.
        """
        onset, release, factor = self.onset_degc, self.release_degc, self.factor
        if not (
            onset[0] < onset[1] < onset[2] and release[0] < release[1] < release[2]
        ):
            raise BadInput(
                f"onsets {onset} and releases {release} °C must rise with the status."
            )
        if not all(low < high for low, high in zip(release, onset, strict=True)):
            raise BadInput(
                f"releases {release} °C must be below the onsets {onset} °C."
            )
        if not 1.0 >= factor[0] >= factor[1] >= factor[2] >= 0.0:
            raise BadInput(
                f"factors {factor} must fall with the status, within [0, 1]."
            )


class NaoProtection:
    """The product's protection, joint by joint; see `Protection` for the use."""

    def __init__(self, robot: Robot, cfg: NaoProtectionCfg) -> None:
        """Watch every motor of a robot.

        Args:
            robot: whose joints get the status of their motor.
            cfg: thresholds and factors.
        """
        self._names = robot.motor_names
        self._motor_of_joint = robot.motor_of_joint
        self._onset = np.array(cfg.onset_degc)[:, np.newaxis]  # (3, 1)
        self._release = np.array(cfg.release_degc)[:, np.newaxis]
        self._factor = np.array([1.0, *cfg.factor])
        self.reset()

    @property
    def status(self) -> IntArray:
        """(n_motors,) 0 to 3."""
        return self._status.copy()

    def reset(self) -> None:
        """Put every motor at status 0."""
        self._status = np.zeros(len(self._names), dtype=np.intp)
        self._events: list[StatusChange] = []

    def apply(self, stiffness: FloatArray, temperature: FloatArray) -> FloatArray:
        """Move the statuses and return the stiffness that they leave.

        The status rises to the number of onsets that are reached, and falls to the
        number of releases that the temperature is not below.
        """
        at_least = np.count_nonzero(temperature >= self._onset, axis=0)
        at_most = np.count_nonzero(temperature >= self._release, axis=0)
        status = np.minimum(np.maximum(self._status, at_least), at_most)
        for motor in np.flatnonzero(status != self._status):
            self._events.append(
                StatusChange(
                    motor=self._names[motor],
                    before=int(self._status[motor]),
                    status=int(status[motor]),
                    temperature_degc=float(temperature[motor]),
                )
            )
        self._status = status
        factor: FloatArray = self._factor[status][self._motor_of_joint]
        return stiffness * factor

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return the status changes since the last call."""
        events, self._events = tuple(self._events), []
        return events

    def state(self) -> ProtectionState:
        """Return a copy of the statuses."""
        return ProtectionState(status=self.status, is_shut_down=False)

    def restore(self, state: ProtectionState) -> None:
        """Continue from a copy made by `state`."""
        self._status = state.status.copy()
        self._events = []


Scope = Literal["all", "joint"]

NORMAL, SHUT_DOWN = 0, 3


@dataclass(frozen=True, kw_only=True)
class ShutDownProtectionCfg:
    """When the robot is shut down, and how much of it."""

    local_degc: float = 80.0
    """Temperature of one motor that triggers it, in °C [ES2659053T3 ¶fig.4]."""
    mean_degc: float | None = None
    """Mean temperature of all motors that triggers it, in °C; None: not watched."""
    scope: Scope = "all"
    """`all` makes the whole robot limp; `joint` the hot motor's joints only."""

    def __post_init__(self) -> None:
        """Refuse what cannot trigger.

        Raises:
            BadInput: a threshold is not finite, or the scope is unknown.
        """
        for value in (self.local_degc, self.mean_degc):
            if value is not None and not np.isfinite(value):
                raise BadInput(
                    f"shut-down temperature is {value} °C; give a finite number, such "
                    f"as 80."
                )
        if self.scope not in get_args(Scope):
            raise BadInput(
                f"scope of the shut-down is {self.scope!r}; choose `all` or `joint`."
            )


class ShutDownProtection:
    """Shuts down for good; see `Protection` for the use."""

    def __init__(self, robot: Robot, cfg: ShutDownProtectionCfg) -> None:
        """Watch every motor of a robot.

        Args:
            robot: whose joints go limp.
            cfg: thresholds and scope.
        """
        self._names = robot.motor_names
        self._motor_of_joint = robot.motor_of_joint
        self._cfg = cfg
        self.reset()

    @property
    def status(self) -> IntArray:
        """(n_motors,) 0 normal, 3 has been too hot."""
        return np.where(self._is_tripped, SHUT_DOWN, NORMAL).astype(np.intp)

    @property
    def is_shut_down(self) -> bool:
        """Whether all stiffness is 0."""
        return self._is_shut_down

    def reset(self) -> None:
        """Allow stiffness again."""
        self._is_tripped = np.zeros(len(self._names), dtype=np.bool_)
        self._is_shut_down = False
        self._events: list[StatusChange] = []

    def apply(self, stiffness: FloatArray, temperature: FloatArray) -> FloatArray:
        """Watch both thresholds; return the stiffness, or 0 where it is shut down."""
        is_new = (temperature >= self._cfg.local_degc) & ~self._is_tripped
        for motor in np.flatnonzero(is_new):
            self._trip(self._names[motor], float(temperature[motor]))
        self._is_tripped |= is_new
        if self._cfg.scope == "all" and is_new.any():
            self._is_shut_down = True
        mean_limit = self._cfg.mean_degc
        if mean_limit is not None and not self._is_shut_down:
            mean = float(temperature.mean())
            if mean >= mean_limit:
                self._trip("Body", mean)
                self._is_shut_down = True
        if self._is_shut_down:
            return np.zeros_like(stiffness)
        return np.where(self._is_tripped[self._motor_of_joint], 0.0, stiffness)

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return the shut-downs since the last call."""
        events, self._events = tuple(self._events), []
        return events

    def state(self) -> ProtectionState:
        """Return a copy of what is shut down."""
        return ProtectionState(status=self.status, is_shut_down=self._is_shut_down)

    def restore(self, state: ProtectionState) -> None:
        """Continue from a copy made by `state`."""
        self._is_tripped = state.status == SHUT_DOWN
        self._is_shut_down = state.is_shut_down
        self._events = []

    def _trip(self, name: str, temperature: float) -> None:
        self._events.append(
            StatusChange(
                motor=name,
                before=NORMAL,
                status=SHUT_DOWN,
                temperature_degc=temperature,
            )
        )


ProtectionName = Literal["none", "nao", "document"]


def make_protection(name: str, robot: Robot) -> Protection:
    """Return a protection with its default numbers.

    Args:
        name: `none`, `nao` or `document`.
        robot: whose joints and motors it watches.

    Raises:
        BadInput: there is no such protection.
    """
    if name == "none":
        return NoProtection(robot)
    if name == "nao":
        return NaoProtection(robot, NaoProtectionCfg())
    if name == "document":
        return ShutDownProtection(robot, ShutDownProtectionCfg())
    raise BadInput(
        f"protection is {name!r}; choose one of {', '.join(get_args(ProtectionName))}."
    )
