"""Protections: reduction of stiffness when a motor gets too hot.

`none` does nothing; `nao` reduces the joints of a hot motor in steps and restores the
stiffness when it has cooled; `robot` does the same with the thresholds of the robot's
own data; `document` shuts down permanently.

NAO's statuses 0 to 3, each with its share of the commanded stiffness. Published facts
[nao-lola] [hulk]: from 76 °C the stiffness is reduced (status 1) until the joint is
below 70 °C again; at status 2 it is reduced by more than 30 %; at status 3 it is 0.
Estimates: status 2 from 80 °C, status 3 from 90 °C, and their release 6 K below the
onset, as for status 1. Joints of a motor at status s get the commanded stiffness times
factor[s], with factors 1, 0.85, 0.6 and 0 (estimates within the published bounds);
among parallel motors the hottest counts. The factors are steps, not a ramp, so that
torques stay constant between two thresholds.

The safety shut-down [ES2659053T3 ¶fig.2] is latched: its single onset of 80 °C [¶fig.4]
has no release. When a motor reaches it, or the robot's total exceeds its own threshold,
all stiffness (or that of the hot motor's joints only) goes from 1 to 0 and stays 0
until `reset`. ES2659053 does not define the total; this module takes the mean of all
motors, and monitors it only if a threshold is given.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray

IntArray = NDArray[np.intp]
Three = tuple[float, float, float]
Scope = Literal["all", "joint"]

NORMAL, CRITICAL = 0, 3


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """Change of a motor's status, without its time."""

    motor: str
    """Name of the motor, or `Body` for the robot as a whole."""
    before: int
    """Previous status."""
    status: int
    """New status: 0 normal, 1 hot, 2 very hot, 3 critically hot with stiffness 0."""
    temperature_degc: float
    """Reported temperature at the change; the mean of all motors for `Body`."""


@dataclass(frozen=True, kw_only=True)
class ProtectionCfg:
    """Temperatures and factors of the three statuses above normal."""

    onset_degc: Three
    """Temperatures in °C at which the statuses start."""
    release_degc: Three = (-math.inf,) * 3
    """Temperatures in °C below which they end; -inf latches until `reset`."""
    factor: Three = (0.0, 0.0, 0.0)
    """Share of the commanded stiffness at each status."""
    scope: Scope = "joint"
    """Joints that status 3 sets to stiffness 0: the motor's, or all permanently."""
    mean_degc: float = math.inf
    """Mean temperature of all motors that permanently sets the stiffness of the whole
    robot to 0, in °C; inf: not monitored."""

    def __post_init__(self) -> None:
        """Check the order of thresholds and factors.

        Raises:
            BadInput: an order is wrong, or the scope is unknown.
        """
        onset, release, factor = self.onset_degc, self.release_degc, self.factor
        if not all(
            low <= high for row in (onset, release) for low, high in pairwise(row)
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
        if math.isnan(self.mean_degc):
            raise BadInput("mean_degc is nan °C; give a number, such as 60.")
        if self.scope not in get_args(Scope):
            raise BadInput(f"scope is {self.scope!r}; choose `all` or `joint`.")


PROTECTIONS: dict[str, ProtectionCfg] = {
    "none": ProtectionCfg(onset_degc=(math.inf,) * 3),
    "nao": ProtectionCfg(
        onset_degc=(76.0, 80.0, 90.0),
        release_degc=(70.0, 74.0, 84.0),
        factor=(0.85, 0.6, 0.0),
    ),
    "document": ProtectionCfg(onset_degc=(80.0, 80.0, 80.0), scope="all"),
}
"""Named protections; the module's docstring has sources and estimates."""


class Protection:
    """Monitor of temperatures that scales stiffness down, never up.

    Order of use: `apply` after each reading of temperatures, then `take_events`. Keep
    the result of `apply` in force until the next call.
    """

    def __init__(self, robot: Robot, cfg: ProtectionCfg) -> None:
        """Monitor every motor of a robot.

        Args:
            robot: robot, whose joints get the status of their motor.
            cfg: thresholds, factors and scope.
        """
        self._names = robot.motor_names
        self._motors_of_joint = robot.motors_of_joint
        self._onset = np.array(cfg.onset_degc)[:, np.newaxis]  # (3, 1)
        self._release = np.array(cfg.release_degc)[:, np.newaxis]
        self._factor = np.array([1.0, *cfg.factor])
        self._scope, self._mean_degc = cfg.scope, cfg.mean_degc
        self._first_degc = min(*cfg.onset_degc, cfg.mean_degc)
        self.state: IntArray = np.zeros(len(self._names) + 1, dtype=np.intp)
        """(n_motors + 1,) whole state except pending events, live: the statuses of the
        motors, then that of the whole robot, 0 or 3."""
        self._events: list[StatusChange] = []

    @property
    def status(self) -> IntArray:
        """(n_motors,) 0 normal, 1 hot, 2 very hot, 3 critically hot."""
        return self.state[:-1].copy()

    @property
    def is_shut_down(self) -> bool:
        """True if the whole robot is permanently shut down."""
        return bool(self.state[-1])

    def reset(self) -> None:
        """Clear statuses and events for a new run."""
        self.state[:] = NORMAL
        self._events = []

    def apply(self, stiffness: FloatArray, temperature: FloatArray) -> FloatArray:
        """Update the statuses and return the remaining stiffness.

        A status rises to the number of onsets at or below the temperature, and falls to
        the number of releases at or below it.

        Args:
            stiffness: (n_joints,) commanded, in [0, 1].
            temperature: (n_motors,) reported, in °C.

        Returns:
            (n_joints,) new array, at most the commanded stiffness.
        """
        if temperature.max() < self._first_degc and not self.state.any():
            return stiffness.copy()
        before = self.state[:-1]
        at_least = np.count_nonzero(temperature >= self._onset, axis=0)
        at_most = np.count_nonzero(temperature >= self._release, axis=0)
        status = np.minimum(np.maximum(before, at_least), at_most)
        for motor in np.flatnonzero(status != before):
            self._record_change(
                self._names[motor], before[motor], status[motor], temperature[motor]
            )
        before[:] = status
        self._watch_body(temperature)
        if self.is_shut_down:
            return np.zeros_like(stiffness)
        factor: FloatArray = self._factor[status[self._motors_of_joint]].min(axis=1)
        return stiffness * factor

    def _watch_body(self, temperature: FloatArray) -> None:
        """Shut the robot down if necessary; emit an event if the mean caused it."""
        if self.is_shut_down:
            return
        if self._scope == "all" and CRITICAL in self.state:
            self.state[-1] = CRITICAL
        elif self._mean_degc < math.inf and temperature.mean() >= self._mean_degc:
            self.state[-1] = CRITICAL
            self._record_change("Body", NORMAL, CRITICAL, temperature.mean())

    def _record_change(self, name: str, before: int, status: int, degc: float) -> None:
        self._events.append(
            StatusChange(
                motor=name,
                before=int(before),
                status=int(status),
                temperature_degc=float(degc),
            )
        )

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return the changes since the last call, in order."""
        events, self._events = tuple(self._events), []
        return events


def own_protection(robot: Robot) -> ProtectionCfg:
    """Return the thresholds of a robot's own protection.

    Raises:
        BadInput: its data have none.
    """
    if robot.protection is None:
        raise BadInput(
            f"robot {robot.name!r} has no thresholds of its own; add `protection: "
            "{onset_degc: [A, B, C], release_degc: [..], factor: [..]}` to its "
            "robot.yaml, or choose another protection."
        )
    return ProtectionCfg(**vars(robot.protection))


def make_protection(name: str, robot: Robot) -> Protection:
    """Return one of `PROTECTIONS` for the joints and motors of a robot.

    Raises:
        BadInput: the protection is unknown.
    """
    if name == "robot":
        return Protection(robot, own_protection(robot))
    if name not in PROTECTIONS:
        raise BadInput(
            f"protection is {name!r}; choose one of {', '.join(PROTECTIONS)}, robot."
        )
    return Protection(robot, PROTECTIONS[name])
