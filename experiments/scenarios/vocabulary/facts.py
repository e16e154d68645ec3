"""State and events of one slot: the input of all conditions.

Events come from the trace; state comes from the ledger, the sensors and the simulator.
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

HANDLED_EVENTS = frozenset(
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
"""Relevant event kinds; every slot has many others."""


@dataclass(kw_only=True, slots=True)
class RequiredFacts:
    """Quantities that conditions need; only these are read in each slot."""

    leaves: set[str] = field(default_factory=set)
    """Leaves whose holders are read."""
    outputs: set[str] = field(default_factory=set)
    """Outputs as `path.output`."""
    joints: set[str] = field(default_factory=set)
    """Joints whose temperatures are read."""
    obstacles: set[str] = field(default_factory=set)
    """Obstacles whose forces are read."""


@dataclass(kw_only=True, slots=True)
class Facts:
    """Facts of the present slot; call `clear` before it, `on_event` for its events."""

    tick: int = 0
    # Lasting facts.
    holders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Users (`ResourceRow.users`) by requested leaf."""
    states: dict[str, str | None] = field(default_factory=dict)
    """Active state by set of states."""
    degc: Mapping[str, float] = field(default_factory=dict)
    """Reported motor temperature in °C, by joint."""
    outputs: Mapping[str, object] = field(default_factory=dict)
    """Requested outputs: `path.output` to value."""
    force_n: Mapping[str, float] = field(default_factory=dict)
    """Obstacle to the sum of the forces of all links on it, in N."""
    has_fallen: bool = False
    is_shut_down: bool = False
    # Momentary facts.
    has_moved: bool = False
    """True if a reservation changed."""
    started: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    requests: set[tuple[str, OutcomeKind]] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    groups_started: set[str] = field(default_factory=set)
    groups_ended: set[tuple[str, str]] = field(default_factory=set)
    begun: set[tuple[Unit, str]] = field(default_factory=set)
    """Unit and name of each started output: a motion, a light pattern, a text."""
    events: set[str] = field(default_factory=set)
    """Names of the scenario's events that occurred."""
    members: dict[tuple[int | None, str], set[int]] = field(default_factory=dict)
    """Streams still active, by preset and id of a group; the group ends with its last
    stream."""
    is_quiet: bool = True
    """True if no event arrived since `clear`."""

    def clear(self, tick: int) -> None:
        """Start a slot: clear all momentary facts."""
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
        """Record that a named event of the scenario occurs in this slot."""
        self.events.add(name)
        self.is_quiet = False

    def on_event(self, event: Event) -> None:
        """Record an event of this slot; a listener of the ledger."""
        if type(event) in HANDLED_EVENTS:
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
                if part.startswith("1/"):  # first part of a motion played in parts
                    self.begun.add((Unit.MOTION, whole))
            case StreamStarted() | PartStarted():
                self.begun.add((event.unit, event.label))
            case _:
                return
        self.is_quiet = False
