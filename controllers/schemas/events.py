"""What happens to schemas, one frozen record each, in the trace of the reservations.

An instance stands by its path, which is also the name of its owner.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration.events import Event, ReadOnly, know_events
from nao_testbed.controllers.schemas.declaration import Kind, State


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaEvent(Event):
    """Something happened to an instance."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Woken(SchemaEvent):
    """An instance was woken; its state follows."""

    schema: str
    """Name of the schema that it is an instance of."""
    kind: Kind
    parent: str | None
    """Path of who woke it; None: it is a root."""
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Let nobody change the parameters."""
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))


@dataclass(frozen=True, kw_only=True, slots=True)
class Modulated(SchemaEvent):
    """Parameters of an instance that is awake were changed."""

    parameters: Mapping[str, str]
    """All of them, as they are now."""

    def __post_init__(self) -> None:
        """Let nobody change the parameters."""
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))


@dataclass(frozen=True, kw_only=True, slots=True)
class StateChangedTo(SchemaEvent):
    """An instance is in another state from now on."""

    state: State


@dataclass(frozen=True, kw_only=True, slots=True)
class Slept(SchemaEvent):
    """An instance was put to sleep; its state follows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Won(SchemaEvent):
    """An instance won the competition on its level."""

    parent: str | None
    over: tuple[str, ...] = ()
    """Names of the siblings that were ready too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaStarted(SchemaEvent):
    """An instance acts from now on: it has won and has what it needs.

    A perceptive one perceives from now on.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaStopped(SchemaEvent):
    """An instance that had started does not act any more."""

    why: str
    """`lost`: another one won; `not ready`; `finished`; `yielded`: its policy gave its
    resources away for good; `asleep`; `failed`; `no token`: they were taken away, and
    it waits to have them again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished(SchemaEvent):
    """An instance said that its task is done, or could not get what it needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaFailed(SchemaEvent):
    """A method of an instance raised; it and all below it sleep."""

    method: str
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NotWinner(SchemaEvent):
    """An instance that may not act tried to; nothing was done."""

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
