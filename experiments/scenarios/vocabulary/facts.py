"""What is so in a slot, and what happened in it: all that conditions look at.

The trace tells what happened; the ledger, the sensors and the simulator what is so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Failed,
    Frozen,
    Granted,
    Released,
    Revoked,
    StateChanged,
    Thawed,
)
from nao_testbed.controllers.arbitration.tokens import OutcomeKind
from nao_testbed.controllers.schemas.events import (
    SchemaFailed,
    SchemaStarted,
    SchemaStopped,
)
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    PartStarted,
    StreamEnded,
    StreamReceived,
    StreamStarted,
)
from nao_testbed.models.library import Unit

HEARD = frozenset(
    {
        Expired,
        Failed,
        Frozen,
        Granted,
        GroupStarted,
        PartStarted,
        Released,
        Revoked,
        SchemaFailed,
        SchemaStarted,
        SchemaStopped,
        StateChanged,
        StreamEnded,
        StreamReceived,
        StreamStarted,
        Thawed,
    }
)
"""Kinds of events that matter: there are many others in each slot."""


@dataclass(kw_only=True, slots=True)
class Wanted:
    """What conditions ask for, and is read in each slot for them alone."""

    leaves: set[str] = field(default_factory=set)
    """Whose holders matter."""
    outputs: set[str] = field(default_factory=set)
    """Each as `path.output`."""
    joints: set[str] = field(default_factory=set)
    """Whose temperatures matter."""
    obstacles: set[str] = field(default_factory=set)
    """On which the forces matter."""


@dataclass(kw_only=True, slots=True)
class Facts:
    """The present slot; `clear` before it, `hear` its events, then look."""

    tick: int = 0
    # What lasts.
    holders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Leaf to who has it (`ResourceRow.users`); those that somebody asks about."""
    states: dict[str, str | None] = field(default_factory=dict)
    """Set of states to its active one."""
    degc: Mapping[str, float] = field(default_factory=dict)
    """Joint to the temperature that its motor reports, in °C."""
    outputs: Mapping[str, object] = field(default_factory=dict)
    """`path.output` to its value; those that somebody asks about."""
    force_n: Mapping[str, float] = field(default_factory=dict)
    """Obstacle to the sum of the forces of all links on it, in N."""
    has_fallen: bool = False
    is_shut_down: bool = False
    # What happens.
    has_moved: bool = False
    """Whether reservations changed hands."""
    started: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    requests: set[tuple[str, OutcomeKind]] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    groups_started: set[str] = field(default_factory=set)
    groups_ended: set[tuple[str, str]] = field(default_factory=set)
    begun: set[tuple[Unit, str]] = field(default_factory=set)
    """Unit, and what it begins to put out: a motion, a light pattern, a text."""
    events: set[str] = field(default_factory=set)
    """Names of the scenario's events that took place."""
    members: dict[tuple[int | None, str], set[int]] = field(default_factory=dict)
    """Preset and ID of a group to its streams that are not over: with the last one,
    the group is."""
    is_quiet: bool = True
    """Whether nothing was heard since `clear`."""

    def clear(self, tick: int) -> None:
        """Begin a slot: nothing has happened in it."""
        self.tick = tick
        if self.is_quiet:
            return
        for happened in (
            self.started,
            self.stopped,
            self.failed,
            self.requests,
            self.revoked,
            self.groups_started,
            self.groups_ended,
            self.begun,
            self.events,
        ):
            happened.clear()
        self.has_moved = False
        self.is_quiet = True

    def note_event(self, name: str) -> None:
        """Note that a named event of the scenario takes place in this slot."""
        self.events.add(name)
        self.is_quiet = False

    def hear(self, event: Event) -> None:
        """Note an event of this slot; a listener of the ledger."""
        if type(event) in HEARD:
            self._note(event)

    def _note(self, event: Event) -> None:  # noqa: PLR0912 # one branch a kind
        match event:
            case SchemaStarted():
                self.started.add(event.path)
            case SchemaStopped():
                self.stopped.add(event.path)
            case SchemaFailed():
                self.failed.add(event.path)
            case Granted():
                self.requests.add((event.owner, OutcomeKind.GRANTED))
                self.has_moved = True
            case Failed():
                self.requests.add((event.owner, event.kind))
            case Revoked():
                self.revoked.add(event.owner)
                self.has_moved = True
            case Released() | Expired() | Frozen() | Thawed():
                self.has_moved = True
            case StateChanged():
                self.states[event.group] = event.active
            case GroupStarted():
                self.groups_started.add(event.group)
            case StreamReceived(group=str(group), refused=None):
                key = event.preset, group
                self.members.setdefault(key, set()).add(event.stream)
                return
            case StreamEnded(group=str(group)):
                members = self.members.get((event.preset, group), set())
                members.discard(event.stream)
                if members:
                    return
                self.groups_ended.add((group, event.reason))
            case StreamStarted(unit=Unit.MOTION):
                self.begun.add((Unit.MOTION, event.label))
                whole, _, part = event.label.rpartition(" ")
                if part.startswith("1/"):  # of what is played in parts
                    self.begun.add((Unit.MOTION, whole))
            case StreamStarted() | PartStarted():
                self.begun.add((event.unit, event.label))
            case _:
                return
        self.is_quiet = False
