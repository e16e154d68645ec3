"""Event trace of reservations, with one frozen record per event.

Trace rules, logs, notices and web pages read the trace. All listeners get the same
event object, so events are immutable. Tokens appear by their public part. Leaves are
sorted, so that the order in a request does not matter.

As JSON (`events.jsonl`) an event is one line: `event` names the class, the other keys
are its fields. Tokens appear by their public part, `epoch.sequence`; the outcome in a
notice has a whole token and is omitted. Keys are sorted, so equal events make equal
lines. Other packages register their events with `know_events` in their trace module,
which readers import.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NoReturn, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from nao_testbed.controllers.arbitration.policies import AnswerKind
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Refusal,
    Right,
    TokenId,
    Why,
)
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.resources import DeviceKind, ResourceKind
from nao_testbed.models.values import short

K = TypeVar("K")
V = TypeVar("V")


class ReadOnly(dict[K, V]):
    """Immutable dictionary; unlike a view it can be copied and pickled.

    Events and requests share the same object.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this dictionary is shared and cannot be changed; copy it.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type["ReadOnly[K, V]"], tuple[dict[K, V]]]:
        """Pickle as a plain dictionary."""
        return type(self), (dict(self),)


NOTHING: ReadOnly[Any, Any] = ReadOnly()
"""Empty mapping, for events without entries."""
Names = tuple[str, ...]
"""Leaves, sorted."""
NamedShares = Mapping[str, int]
"""Leaf to share in 1/100 %: 10 000 for an exclusive leaf, 0 for a state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Base of all events, with the tick."""

    __pydantic_config__: ClassVar = ConfigDict(strict=True, extra="forbid")
    tick: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened(Event):
    """A manager began its epoch."""

    epoch: int
    preemption: str
    retry_ticks: int
    overtake_ticks: int = 0
    """Time in ticks for which equals may overtake a request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reconfigured(Event):
    """A manager has new conflict rules.

    Waiting requests keep the overtaking time of their arrival.
    """

    preemption: str
    retry_ticks: int
    overtake_ticks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceAdded(Event):
    """A resource was added; parents precede their children."""

    name: str
    parent: str | None
    kind: ResourceKind | None
    """Kind of the leaf; None: a composite."""
    device: DeviceKind | None = None
    """Device that a leaf commands."""
    limits: Names = ()
    """Leaves of the motors whose torque this leaf limits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceRemoved(Event):
    """A resource was removed."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerAdded(Event):
    """An owner was registered; parents precede their children."""

    owner: str
    parent: str | None
    time_to_live_ticks: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entrusted(Event):
    """An owner was entrusted to shift and limit motors unless a holder forbids it."""

    owner: str
    is_entrusted: bool
    """False: the trust has ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowed(Event):
    """A holder permits an owner to shift or limit its motors during its hold."""

    token: TokenId
    """Token of the holder."""
    owner: str
    """Owner that gets the permission."""
    right: Right
    is_allowed: bool
    """False: the permission is denied, even to an entrusted owner."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Requested(Event):
    """An owner sent a request."""

    request: int
    owner: str
    shares: NamedShares
    """Essential leaves with their shares."""
    optional: Mapping[str, Names]
    """Optional name to its leaves."""
    priority: int
    arrival: int
    """Rank among equals: number of the request, or of the paused one."""
    timeout_ticks: int | None
    """Time limit in ticks; None: a paused owner that waits without limit."""
    loss: Loss
    wins_ties: bool
    """Tie rule of the requester, applied at its arrival."""
    keeps_ties: bool
    """Tie rule as a holder, applied later."""
    add_to: TokenId | None
    resumes: TokenId | None
    """Paused token, for a resuming request."""
    recalls: bool = False
    """True if the request recalls leaves that `add_to` has lent, before all equals."""
    implied: Names = ()
    """Motors among the leaves that are included because of their torque limits."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", ReadOnly(self.shares))
        optional = ReadOnly(self.optional) if self.optional else NOTHING
        object.__setattr__(self, "optional", optional)


@dataclass(frozen=True, kw_only=True, slots=True)
class Granted(Event):
    """A request was granted."""

    request: int
    owner: str
    token: TokenId
    shares: NamedShares
    """Leaves with shares that this grant added to the token."""
    missing: Names
    inside: Mapping[str, TokenId]
    """Leaf to the enclosing reservation of an ancestor."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", ReadOnly(self.shares))
        inside = ReadOnly(self.inside) if self.inside else NOTHING
        object.__setattr__(self, "inside", inside)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed(Event):
    """A request ended without a grant."""

    request: int
    owner: str
    kind: OutcomeKind
    why: Why


@dataclass(frozen=True, kw_only=True, slots=True)
class Released(Event):
    """An owner released leaves."""

    token: TokenId
    owner: str
    leaves: Names
    is_whole: bool
    """True if the token ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lent(Event):
    """An owner lends leaves until a recall; their release follows as the next event."""

    token: TokenId
    owner: str
    leaves: Names


@dataclass(frozen=True, kw_only=True, slots=True)
class Revoked(Event):
    """The manager revoked leaves of a token."""

    token: TokenId
    owner: str
    lost: Names
    """Leaves revoked for another owner."""
    freed: Names
    """Other leaves freed by the whole-token rule."""
    why: LossCause
    by: str
    """Owner, virtual owner or state that caused the loss."""
    request: int | None
    """Number of the request that caused the loss; None: no request."""
    is_whole: bool
    """True if the token ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Expired(Event):
    """A token ended because its owner was dropped."""

    token: TokenId
    owner: str
    leaves: Names


@dataclass(frozen=True, kw_only=True, slots=True)
class Renewed(Event):
    """An owner was renewed."""

    owner: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Crashed(Event):
    """An owner and its descendants were dropped; precedes the resulting events."""

    owner: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Frozen(Event):
    """A virtual owner froze leaves, or capped their effort."""

    leaves: Names
    by: str
    effort_cap: float | None
    """Largest stiffness of their joints; None: no cap."""
    is_total: bool
    """True if no other owner may use them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thawed(Event):
    """A virtual owner released leaves."""

    leaves: Names
    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StateChanged(Event):
    """The active state of a set has changed; None: no active state."""

    group: str
    active: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StateRefused(Event):
    """Holders of the active state kept it."""

    group: str
    wanted: str | None
    holders: Names


@dataclass(frozen=True, kw_only=True, slots=True)
class Notified(Event):
    """An owner was notified."""

    owner: str
    kind: NoticeKind
    token: TokenId | None = None
    """Token that the notice concerns."""
    leaves: Names = ()
    """Requested, lost, or again available leaves."""
    freed: Names = ()
    """LOST: other leaves freed with them."""
    by: str = ""
    """Owner of the competing request, or cause of the loss."""
    why: LossCause | None = None
    until_tick: int | None = None
    """YIELD_BY: tick of the enforced release."""
    request: int | None = None
    """DEMANDED: the competing request; LOST by a pause: the request to resume; OUTCOME:
    the ended request."""
    outcome: Outcome | None = None
    """OUTCOME: outcome with the complete token. Only for its owner, never logged."""
    error: str = ""
    """RAISED: text of the error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered(Event):
    """A holder's policy answered a demand; follows the DEMANDED notice."""

    owner: str
    token: TokenId
    request: int | None
    answer: AnswerKind
    error: str = ""
    """Error of the policy, which counts as KEEP; None: no error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Commanded(Event):
    """A command arrived at the gate."""

    command: int
    token: TokenId | None
    is_genuine: bool
    """True if this manager issued the token; False for a missing or forged token."""
    resource: str
    is_shift: bool = False
    """True for a shift of a set-point, in addition to the commanded set-point."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected(Event):
    """The gate refused a command."""

    command: int
    token: TokenId | None
    resource: str
    reason: Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class Executed(Event):
    """A command was written to the device; its token was checked in the same step."""

    command: int
    token: TokenId
    resource: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut(Event):
    """The torque-limit command of the next event does not change these motors.

    A virtual owner holds them, and the commanding owner is not entrusted with them.
    """

    command: int
    leaves: Names
    """Leaves of the motors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unshifted(Event):
    """The gate removes the shift of leaves, since the right to shift them has ended."""

    leaves: Names


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeSafe(Event):
    """The gate set leaves without a commanding owner to their safe set-point."""

    leaves: Names


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled(Event):
    """A call and its consequences are complete; no further grant is possible."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticked(Event):
    """All timers up to this tick have run."""


_DROPPED = {("Requested", "mode")}
"""Kinds and fields of earlier versions that are ignored when read."""


def event_classes() -> dict[str, type[Event]]:
    """Return name to class of every kind of event that can be read."""
    return dict(_KINDS)


def know_events(*kinds: type[Event]) -> None:
    """Register kinds of events, so that their lines can be read.

    Raises:
        BadInput: another kind of event has the name.
    """
    for kind in kinds:
        known = _KINDS.setdefault(kind.__name__, kind)
        if known is not kind:
            raise BadInput(
                f"event {kind.__name__!r} of {kind.__module__} has the name of one of "
                f"{known.__module__}; give it another name."
            )


def event_to_record(event: Event) -> dict[str, object]:
    """Return an event as plain data, in the form of its line.

    Recorders with their own lines include it.

    Raises:
        BadInput: a field has a type that JSON lines cannot hold.
    """
    kind = type(event)
    record: dict[str, object] = _form(kind).dump_python(
        event, mode="json", exclude=_secret(kind)
    )
    return {"event": kind.__name__} | record


def event_to_line(event: Event) -> str:
    """Return an event as one line of JSON, without a line end."""
    record = event_to_record(event)
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False)


def event_from_line(line: str) -> Event:
    """Return the event of a line.

    Raises:
        BadInput: the line is not JSON or not an event, or a field is missing, unknown
            or invalid.
        UnknownName: the kind of event is unknown.
    """
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{_shortened(line)} is not JSON: {error}.") from error
    return event_from_record(record)


def event_from_record(record: object) -> Event:
    """Return the event of plain data, as written by `event_to_record`.

    Raises:
        BadInput: the data are not an event, or a field is missing, unknown or invalid.
        UnknownName: the kind of event is unknown.
    """
    shown = _shortened(record)
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        raise BadInput(f"{shown} is not an event; give an object with the key 'event'.")
    name = record["event"]
    if name not in _KINDS:
        raise UnknownName("Event", name, _KINDS, "the traces that are known")
    left = {
        key: value
        for key, value in record.items()
        if key != "event" and (name, key) not in _DROPPED
    }
    unknown = left.keys() & _secret(_KINDS[name])
    unknown |= left.keys() - {field.name for field in fields(_KINDS[name])}
    if unknown:
        raise BadInput(f"{shown} has {sorted(unknown)}, unknown in {name}.")
    try:
        event: Event = _form(_KINDS[name]).validate_json(json.dumps(left))
    except ValidationError as error:
        wrong = error.errors()[0]
        field = ".".join(map(str, wrong["loc"]))
        if wrong["type"] == "missing":
            said = f"{shown} has no {field!r}, which {name} needs."
        else:
            what = f"{short(wrong['input'])}: {wrong['msg']}"
            said = f"{name}.{field} in {shown} is {what}."
        raise BadInput(said) from error
    return event


def _shortened(what: object) -> str:
    text = repr(what)
    return text if len(text) <= 120 else text[:120] + "..."


def _secret(kind: type[Event]) -> set[str]:
    """Return the fields that only an owner may see."""
    return {"outcome"} if kind is Notified else set()


def _form(kind: type[Event]) -> TypeAdapter[Any]:
    """Return the serializer of a kind of event, created at its first use.

    Raises:
        BadInput: a field has a type that a line cannot represent.
    """
    try:
        if kind not in _FORMS:
            _FORMS[kind] = TypeAdapter(kind)
    except PydanticSchemaGenerationError as error:
        raise BadInput(
            f"event {kind.__name__!r} has a field of a type that JSON cannot hold; "
            "use text, numbers, truth values, words, tokens, tuples or mappings of "
            "these."
        ) from error
    return _FORMS[kind]


_FORMS: dict[type[Event], TypeAdapter[Any]] = {}
_KINDS: dict[str, type[Event]] = {}
"""Name to class of every kind of event that can be read."""
know_events(
    *(
        kind
        for kind in vars(sys.modules[__name__]).values()
        if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
    )
)
