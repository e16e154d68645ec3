"""The document's safety shut-down [ES2659053T3 ¶fig.2], latched.

When a motor reaches 80 °C, or the robot's total passes its own threshold, all
stiffness (or that of the hot motor's joints only) goes from 1 to 0 and stays there
until `reset`. The document does not say how the total is formed; here it is the mean
of all motors, and it is not watched unless a threshold is given.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from models import BadInput, Robot
from sim.heating import FloatArray
from sim.protection.seam import IntArray, ProtectionState, StatusChange

Scope = Literal["all", "joint"]

NORMAL, SHUT_DOWN = 0, 3


@dataclass(frozen=True, kw_only=True)
class DocumentProtectionCfg:
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


class DocumentProtection:
    """Shuts down for good; see `Protection` for the use."""

    def __init__(self, robot: Robot, cfg: DocumentProtectionCfg) -> None:
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
