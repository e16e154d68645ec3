"""What a schema may ask of the runtime that runs it."""

# ruff: noqa: D102  # `schema` documents these calls, where people read them

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from controllers.arbitration.gate.writers import Value
from controllers.arbitration.tokens import Token
from controllers.interface.robot_interface import Observation
from controllers.schemas.actuators import Actuators, Playing
from controllers.schemas.states import State
from controllers.schemas.waking import Waking
from models import Robot


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildView:
    """A child as its parent sees it (JD-10)."""

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


class SchemaLink(Protocol):
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
