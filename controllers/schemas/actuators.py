"""Interfaces between a schema, its actuators and the runtime.

Values go to the gate, orders to the command controller (`runtime.gate_actuators`).
"""

# ruff: noqa: D102  # documented in `schema`

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nao_testbed.controllers.arbitration.events import Rejected
from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.models import Robot
from nao_testbed.models.library import LightPattern, Motion, Sound


class Playing(Protocol):
    """Motion, light, sound or command in progress."""

    @property
    def is_over(self) -> bool:
        """Return True if no part of it remains."""

    @property
    def has_failed(self) -> bool:
        """Return True if it ended before completion."""

    @property
    def reason(self) -> str:
        """Reason of the failure, or ""."""

    def end(self) -> None:
        """Cancel the rest; no effect if it is over."""


class Actuators(Protocol):
    """Executor of a winner's commands; each call is authorised by its token."""

    def submit(self, token: Token | None, leaf: str, value: Value) -> Rejected | None:
        """Command one leaf in this slot.

        Returns:
            None, or the refusal.
        """

    def submit_all(
        self, token: Token | None, values: Mapping[str, Value]
    ) -> Rejected | None:
        """Command several leaves in this slot, all or none."""

    def play(self, token: Token | None, motion: str | Motion, tick: int) -> Playing:
        """Play a motion, by its library name or as data."""

    def light(
        self, token: Token | None, pattern: str | LightPattern, tick: int
    ) -> Playing:
        """Show a light pattern."""

    def sound(self, token: Token | None, sound: str | Sound, tick: int) -> Playing:
        """Play a sound."""

    def command(
        self, token: Token | None, name: str, tick: int, group: str | None = None
    ) -> Playing:
        """Submit a command of the library, with grouped outputs if it has points."""

    def interrupt(self, token: Token | None, name: str, tick: int) -> Playing:
        """Insert a command into the present output, which pauses and then continues."""


class PostureKeeper(Protocol):
    """Source of the robot's state, and of the owners that need it."""

    def ask_to_leave(self, by: str, tick: int, within_s: float) -> bool:
        """Ask the owners that need the active state to release it.

        Args:
            by: owner that wants to leave the state.
            tick: present tick.
            within_s: maximum time until the robot is in the next state, in s.

        Returns:
            True if all owners released it.
        """


class NotStarted:
    """Failed output, returned to a schema that may not command."""

    is_over = True
    has_failed = True

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def end(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildView:
    """View of a child for its parent."""

    name: str
    schema: str
    state: State
    is_ready: bool
    """True if its precondition held at its last check."""
    is_waiting: bool
    """True if it has won but waits for its resources."""
    is_done: bool
    """True if it has finished."""
    error: str
    """Error since its activation; empty without one."""
    parameters: object


class SchemaContext(Protocol):
    """Runtime interface of one instance; only `schema` calls it."""

    path: str
    period_s: float
    tick_s: float
    robot: Robot

    @property
    def tick(self) -> int: ...
    @property
    def children_given(self) -> tuple[Activation, ...]: ...
    @property
    def observation(self) -> Observation: ...
    @property
    def random(self) -> np.random.Generator: ...
    @property
    def parameters(self) -> Any: ...
    @property
    def obtained(self) -> tuple[str, ...]: ...
    @property
    def has_acted(self) -> bool: ...

    def read(self, name: str) -> Any: ...
    def age_s(self, name: str) -> float: ...
    def write(self, variable: str, value: object) -> None: ...
    def active_state(self, group: str) -> str | None: ...

    def wake(self, activation: Activation) -> bool: ...
    def modulate(self, name: str, values: Mapping[str, Any]) -> bool: ...
    def sleep(self, name: str) -> bool: ...
    def child(self, name: str) -> ChildView: ...
    def awake(self) -> tuple[str, ...]: ...
    def finish(self) -> None: ...

    def ask_to_leave(self, within_s: float) -> bool: ...
    def submit(self, values: Mapping[str, Value]) -> bool: ...
    def place_order(
        self, what: str, order: Callable[[Actuators, Token | None, int], Playing]
    ) -> Playing: ...
