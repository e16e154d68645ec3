"""What a schema acts through, and what it may ask of the runtime that runs it.

Values go to the gate, orders to the command controller (`runtime.gate_actuators`).
"""

# ruff: noqa: D102  # `schema` documents these calls, where people read them

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nao_testbed.controllers.arbitration.events import Rejected
from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.models import Robot
from nao_testbed.models.library import LightPattern, Motion, Sound


class Playing(Protocol):
    """A motion, a light, a sound or a command on its way."""

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will happen any more."""

    @property
    def has_failed(self) -> bool:
        """Whether it is over without having been played to its end."""

    @property
    def reason(self) -> str:
        """Why it failed; empty if it did not."""

    def end(self) -> None:
        """Let nothing more of it happen; over already, nothing changes."""


class Actuators(Protocol):
    """Carries out what a winner wants; each call is proved by its token."""

    def submit(self, token: Token | None, leaf: str, value: Value) -> Rejected | None:
        """Command one leaf in this slot.

        Returns:
            None, or why not.
        """

    def submit_all(
        self, token: Token | None, values: Mapping[str, Value]
    ) -> Rejected | None:
        """Command several leaves in this slot, all or none."""

    def play(self, token: Token | None, motion: str | Motion, tick: int) -> Playing:
        """Let a motion of the library, or one made on the spot, be played."""

    def light(
        self, token: Token | None, pattern: str | LightPattern, tick: int
    ) -> Playing:
        """Let a light pattern be shown."""

    def sound(self, token: Token | None, sound: str | Sound, tick: int) -> Playing:
        """Let a sound be heard."""

    def command(
        self, token: Token | None, name: str, tick: int, group: str | None = None
    ) -> Playing:
        """Give a command of the library: all its outputs, together if it says so."""

    def interrupt(self, token: Token | None, name: str, tick: int) -> Playing:
        """Join a command on to what runs, which pauses and goes on after it."""


class PostureKeeper(Protocol):
    """Knows in which state the robot is, and who needs it to stay so."""

    def ask_to_leave(self, by: str, tick: int, within_s: float) -> bool:
        """Ask those who need the active state to let it be left.

        Args:
            by: the owner that wants to move on.
            tick: now.
            within_s: longest time until the robot is in the next state, in s.

        Returns:
            Whether all gave way.
        """


class NeverPlayed:
    """What a schema gets that may not command: it is over before it began."""

    is_over = True
    has_failed = True

    def __init__(self, reason: str) -> None:
        """Say why."""
        self.reason = reason

    def end(self) -> None:
        """Do nothing: it is over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildView:
    """A child as its parent sees it."""

    name: str
    schema: str
    state: State
    is_ready: bool
    """Whether its precondition held at its last check."""
    is_waiting: bool
    """Whether it has won but waits for its resources."""
    is_done: bool
    """Whether it said that it has finished."""
    error: str
    """What it failed with since it was woken; empty if it did not."""
    parameters: object


class SchemaContext(Protocol):
    """One instance's side of the runtime; `schema` calls it, nobody else does."""

    path: str
    period_s: float
    tick_s: float
    robot: Robot

    @property
    def tick(self) -> int: ...
    @property
    def children_given(self) -> tuple[Waking, ...]: ...
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

    def wake(self, waking: Waking) -> bool: ...
    def modulate(self, name: str, values: Mapping[str, Any]) -> bool: ...
    def sleep(self, name: str) -> bool: ...
    def child(self, name: str) -> ChildView: ...
    def awake(self) -> tuple[str, ...]: ...
    def finish(self) -> None: ...

    def ask_to_leave(self, within_s: float) -> bool: ...
    def submit(self, values: Mapping[str, Value]) -> bool: ...
    def give(
        self, what: str, order: Callable[[Actuators, Token | None, int], Playing]
    ) -> Playing: ...
