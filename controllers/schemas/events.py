"""Events of schemas in the trace of the reservations, one frozen record each.

An instance is identified by its path, which is also the name of its owner.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration.events import Event, ReadOnly, know_events
from nao_testbed.controllers.schemas.declaration import Kind, State


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaEvent(Event):
    """Event of an instance."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Woken(SchemaEvent):
    """Activation of an instance; its state follows."""

    schema: str
    """Name of the schema."""
    kind: Kind
    parent: str | None
    """Path of the parent; None: a root."""
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))


@dataclass(frozen=True, kw_only=True, slots=True)
class Modulated(SchemaEvent):
    """Change of parameters of an active instance."""

    parameters: Mapping[str, str]
    """All present parameters."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))


@dataclass(frozen=True, kw_only=True, slots=True)
class StateChangedTo(SchemaEvent):
    """Change of an instance's state."""

    state: State


@dataclass(frozen=True, kw_only=True, slots=True)
class Slept(SchemaEvent):
    """Deactivation of an instance; its state follows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Won(SchemaEvent):
    """Win of an instance in the competition on its level."""

    parent: str | None
    over: tuple[str, ...] = ()
    """Names of the other ready siblings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaStarted(SchemaEvent):
    """Start of an instance's action, after it has won and has its resources.

    For a perceptive schema: start of perception.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaStopped(SchemaEvent):
    """End of an instance's action."""

    why: str
    """`lost`: another one won; `not ready`; `finished`; `yielded`: its policy
    released its resources permanently; `asleep`; `failed`; `no token`: its resources
    were revoked, and it waits for them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished(SchemaEvent):
    """End of an instance's task, or of its failed request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaFailed(SchemaEvent):
    """Exception in a method of an instance; it and its descendants are deactivated."""

    method: str
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NotWinner(SchemaEvent):
    """Command of an instance that may not act; it was ignored."""

    what: str
    """Name of the call."""


know_events(
    Woken,
    Modulated,
    StateChangedTo,
    Slept,
    Won,
    SchemaStarted,
    SchemaStopped,
    Finished,
    SchemaFailed,
    NotWinner,
)
