"""Messages of the reservation server: requests, answers, resource list, notices.

Requests are frozen models that reject unknown fields; the name of each number has its
unit. Tokens are sent as text: the whole token to its owner, the public part to others.
A server sends the list of resources (`SnapshotData`), and notices to owners
(`NoticeData`). A station is a client that configures the server.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    computed_field,
)
from pydantic_core import PydanticCustomError

from nao_testbed.controllers.arbitration.events import Notified, Released
from nao_testbed.controllers.arbitration.manager.snapshot import (
    HoldingRow,
    LedgerSnapshot,
    OwnerRow,
    ResourceRow,
    VirtualHold,
)
from nao_testbed.controllers.arbitration.policies import (
    CallbackOnDemand,
    ConflictPolicy,
    make_policy,
    policy_classes,
)
from nao_testbed.controllers.arbitration.requests import (
    HIGHEST,
    LOWEST,
    Owner,
    Present,
    Request,
)
from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    Blocker,
    HolderTie,
    Loss,
    LossCause,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Preemption,
    Refusal,
    Token,
    Why,
)
from nao_testbed.experiments.server.shared_ledger import Notice
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.resources import ResourceKind

V = TypeVar("V", bound="_View")
MAX_NAMES = 1000
"""Maximum number of names in one request."""
MAX_WAIT_S = 25.0
"""Maximum time for which the server holds a call; the client then repeats it."""
KEEP_ALIVE_S = 5.0
"""Silence in s after which a comment is sent to detect a closed connection."""


def _printable(name: str) -> str:
    """Reject control characters and invisible characters."""
    for character in name:
        if not character.isprintable():
            raise PydanticCustomError(
                "unprintable",
                "character {code} is not printable; give a readable name",
                {"code": f"U+{ord(character):04X}"},
            )
    return name


def _in_order(names: object) -> object:
    """Reject a set: a tuple needs an order."""
    if isinstance(names, set | frozenset | dict):
        raise PydanticCustomError("unordered", "give a tuple of names")
    return names


Name = Annotated[
    str, Field(strict=True, min_length=1, max_length=100), AfterValidator(_printable)
]
Names = Annotated[
    tuple[Name, ...], Field(max_length=MAX_NAMES), BeforeValidator(_in_order)
]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=86_400.0)]
Priority = Annotated[int, Field(strict=True, ge=LOWEST, le=HIGHEST)]
Percent = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0.0, le=100.0)]
Secret = Annotated[str, Field(strict=True, max_length=200)]
"""Token or owner key: text that is compared and never shown."""
TimeToLive = Annotated[
    float, Field(strict=True, allow_inf_nan=False, ge=0.1, le=3600.0)
]
RetryPeriod = TimeToLive
"""Holders receive at most ten demands per second."""


def _text_of(token: object) -> object:
    return token.as_text() if isinstance(token, Token) else token


WholeToken = Annotated[str | None, BeforeValidator(_text_of)]
"""Whole token, for its owner only."""
PublicToken = Annotated[
    str, BeforeValidator(lambda token: str(token) if token else token)
]
"""`epoch.sequence`."""


class _Data(BaseModel):
    """JSON message, which can also be read from fields of ledger records."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, from_attributes=True, validate_by_name=True
    )


class PolicyData(_Data):
    """Conflict policy by name; `callback` notifies the owner and waits."""

    name: Name = "lock"
    settings: Annotated[dict[Name, Seconds], Field(max_length=10)] = {}
    """Times of the policy in s, such as `within_s` of stop, `limit_s` of callback."""

    @classmethod
    def of(cls, policy: ConflictPolicy) -> "PolicyData":
        """Return the name and times of a policy.

        Raises:
            BadInput: the policy is a callback with a function, which cannot be sent.
        """
        if isinstance(policy, CallbackOnDemand) and policy.decides:
            raise BadInput(
                "a policy with a function cannot be sent; give callback without a "
                "function, and answer the notices."
            )
        times = {k: v for k, v in vars(policy).items() if k.endswith("_s")}
        return cls(
            name=policy.name,
            settings={name: s for name, s in times.items() if s is not None},
        )

    def make(self) -> ConflictPolicy:
        """Create the policy.

        Raises:
            UnknownName: the policy or one of its settings does not exist.
        """
        cls = policy_classes().get(self.name)
        if cls is not None:
            fields = getattr(cls, "__dataclass_fields__", {})
            known = [name for name in fields if name.endswith("_s")]
            for name in self.settings:
                if name not in known:
                    raise UnknownName("Setting", name, known, f"policy {self.name!r}")
        return make_policy(self.name, **self.settings)


class OwnerData(_Data):
    """Owner to register."""

    name: Name
    parent_key: Secret | None = None
    """Key of the parent owner, whose reservations this owner may use."""
    policy: PolicyData = PolicyData()
    priority: Priority = 0
    timeout_s: Seconds = 5.0
    """Default maximum wait of a request, in s."""
    retry_s: RetryPeriod | None = None
    """Period of repeated demands while it waits, in s; None: the server's."""
    time_to_live_s: TimeToLive = 5.0
    """Silence in s after which all its resources are released."""
    asker_tie: AskerTie = AskerTie.LOSES
    holder_tie: HolderTie = HolderTie.KEEPS

    def as_owner(self, parent: str | None, max_priority: int) -> Owner:
        """Return the owner for the ledger.

        Raises:
            BadInput: the priority exceeds the maximum.
        """
        return Owner(
            **self.model_dump(exclude={"parent_key", "policy"}),
            parent=parent,
            policy=self.policy.make(),
            max_priority=max_priority,
        )


class Registered(_Data):
    """Answer to a registration."""

    owner: str
    key: str
    """Secret key for every later call of this owner."""
    epoch: int
    last_notice: int
    """Number of the newest notice."""


class RequestData(_Data):
    """Request of an owner; None: the owner's default."""

    resources: Names = ()
    optional: Names = ()
    rates: Annotated[dict[Name, Percent], Field(max_length=MAX_NAMES)] = {}
    """Cumulative resource to percent."""
    operation: Name | None = None
    """Kind of operation, if the server has priorities for operations."""
    mode: Literal["use", "reserve"] = "use"
    """Field of earlier clients; without effect."""
    priority: Priority | None = None
    timeout_s: Seconds | None = None
    retry_s: RetryPeriod | None = None
    loss: Loss = Loss.WHOLE
    policy: PolicyData | None = None
    asker_tie: AskerTie | None = None
    holder_tie: HolderTie | None = None
    add_to: Secret | None = None
    """Token to enlarge."""
    mark: Secret | None = None
    """Id chosen by the owner; a repeated request with this id returns its ticket."""
    wait_s: Annotated[Seconds, Field(le=MAX_WAIT_S)] = 0.0
    """Maximum time in s for which the server holds the call."""

    def as_request(self, owner: str) -> Request:
        """Return the request of an owner."""
        text, excluded = self.add_to, {"policy", "add_to", "mode", "mark", "wait_s"}
        return Request(
            **self.model_dump(exclude=excluded),
            owner=owner,
            policy=self.policy.make() if self.policy else None,
            add_to=Token.from_text(text) if text else None,
        )


class OutcomeData(_Data):
    """Outcome of a request; `token` is whole, for its owner only."""

    kind: OutcomeKind
    tick: int
    token: WholeToken = None
    obtained: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    why: Why | None = None
    blockers: tuple[Blocker, ...] = ()

    def as_outcome(self) -> Outcome:
        """Convert to an outcome."""
        token = Token.from_text(self.token) if self.token else None
        return Outcome(**{**dict(self), "token": token})


class TicketData(_Data):
    """Pending or ended request."""

    ticket: int
    outcome: OutcomeData | None
    """Outcome; None while the request waits."""


class EndData(_Data):
    """End of a reservation."""

    refusal: Refusal
    why: LossCause | None = None
    by: str = ""


class PresentData(_Data):
    """Present state of a token, for its owner only: exactly one field is set."""

    token: WholeToken = None
    """Valid token."""
    ticket: int | None = None
    """Number of the request with which the owner waits to resume."""
    resources: tuple[str, ...] = ()
    """Resources requested by that ticket."""
    end: EndData | None = None

    @classmethod
    def of(cls, present: Present) -> "PresentData":
        """Convert the ledger's record."""
        ticket = present.ticket
        wanted = () if ticket is None else ticket.request
        return cls(
            token=present.token,  # type: ignore[arg-type]  # serialized as its text
            ticket=None if ticket is None else ticket.number,
            resources=(*wanted.resources, *wanted.rates) if wanted else (),
            end=None if present.end is None else EndData(**present.end._asdict()),
        )


class ReleaseData(_Data):
    """Release of a token; knowing the token is sufficient."""

    token: Secret
    names: Names | None = None
    """Released resources; None: all."""


class Alive(_Data):
    """Answer to a renewal."""

    epoch: int
    tokens: tuple[str, ...]
    """Public parts of the owner's valid tokens."""


class CommandData(_Data):
    """A device's query whether this token permits a command."""

    resource: Name
    token: Secret | None = None


class AuthoriseAnswer(_Data):
    """Answer to a device."""

    is_allowed: bool
    reason: Refusal | None


class ResourceData(_Data):
    """Resource to be added at run time, such as a ball."""

    name: Name
    parent: Name
    kind: ResourceKind = ResourceKind.EXCLUSIVE


class RulesData(_Data):
    """File of a station; errors name this file and the line."""

    name: Name
    text: Annotated[str, Field(max_length=200_000)]


class NameData(_Data):
    """Name of a behaviour."""

    name: Name


class BehaviourData(_Data):
    """Behaviour sent by a station."""

    name: str
    runs: bool
    has: tuple[str, ...] = ()
    """Leaves granted at its start, if the behaviour runs."""
    parts: tuple[str, ...] = ()


class DefinitionData(_Data):
    """Behaviour sent by a station, in the format of a scenario file."""

    behaviour: Mapping[str, Any]
    """Name, schema, parameters, defaults, and the needs that follow from the schema."""
    library: Mapping[str, Any] = {}
    """Sections with the motions, lights, sounds, commands and transitions."""

    def as_scenario(self) -> dict[str, Any]:
        """Return the equivalent sections of a scenario file."""
        return {**self.library, "behaviours": [self.behaviour]}


class InstalledData(_Data):
    """Present behaviours and rules of a station."""

    preemption: Preemption
    retry_s: float
    overtake_s: float
    owners: tuple[str, ...]
    """Owners with a rule."""
    behaviours: tuple[BehaviourData, ...]


class StartedData(_Data):
    """Result of starting a behaviour, with those of its parts."""

    name: str
    runs: bool
    token: WholeToken = None
    """Token for its commands."""
    has: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    parts: "tuple[StartedData, ...]" = ()


class TakenData(_Data):
    """Resources that a station revokes."""

    names: Annotated[Names, Field(min_length=1)]
    priority: Priority | None = None
    """Revokes from lower priorities only; None: from all."""


class GivenData(_Data):
    """Resources that a station returns; None: all that it revoked."""

    names: Names | None = None


class _View(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class HoldingData(_View):
    """Owner's hold on a resource; for a composite, on all its exclusive leaves."""

    owner: str
    token: PublicToken
    is_lent: bool = False
    """True if child owners hold all of it instead of this owner."""
    priority: int
    held_s: float
    """Time since the grant in s."""
    share_percent: float

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def mode(self) -> Literal["use", "reserve"]:
        """Former mode, for earlier clients."""
        return "reserve" if self.is_lent else "use"


class WaitData(_View):
    """Request that waits for a resource, or for a leaf below a composite."""

    owner: str
    request: int
    priority: int
    waited_s: float
    """Time since the request in s."""
    left_s: float | None
    """Time until its time limit in s; None while paused without limit."""
    is_paused: bool


class RowData(_View):
    """Resource in the list."""

    name: str
    parent: str | None
    depth: int
    kind: ResourceKind | None
    """Kind of the leaf; None: a composite."""
    holders: tuple[HoldingData, ...]
    waiters: tuple[WaitData, ...]
    virtual: tuple[VirtualHold, ...]
    is_active: bool | None
    used_percent: float | None


class SnapshotData(_View):
    """Snapshot of all resources at one tick."""

    epoch: int
    tick: int
    tick_s: float
    resources: tuple[RowData, ...]
    owners: tuple[OwnerRow, ...]

    @classmethod
    def of(cls, snapshot: LedgerSnapshot, tick_s: float) -> "SnapshotData":
        """Convert a snapshot.

        Args:
            snapshot: snapshot of the ledger.
            tick_s: length of a tick in s.
        """
        parts = _parts(snapshot.resources)
        now = snapshot.tick
        return cls(
            epoch=snapshot.epoch,
            tick=now,
            tick_s=tick_s,
            resources=tuple(
                _row(row, parts.get(row.name), now, tick_s)
                for row in snapshot.resources
            ),
            owners=snapshot.owners,
        )


class NoticeData(_View):
    """Notice to an owner; whole tokens only in its own outcomes."""

    number: int
    """Number from 1, ascending; a reader that reconnects sends its last one."""
    kind: NoticeKind | Literal["released", "expired"]
    tick: int
    token: PublicToken | None = None
    """Public part of the affected token."""
    leaves: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    by: str = ""
    why: LossCause | None = None
    until_tick: int | None = None
    request: int | None = None
    outcome: OutcomeData | None = None
    has_ended: bool = False
    """True if the affected token has ended."""
    error: str = ""
    """Error raised by the owner's code."""

    @classmethod
    def of(cls, notice: Notice) -> "NoticeData":
        """Convert a notice; that of an ended token has its tick, token and leaves."""
        event, number = notice.event, notice.number
        names = set(getattr(type(event), "__dataclass_fields__", ())) & {
            *cls.model_fields
        }
        said = {name: getattr(event, name) for name in names}
        if not isinstance(event, Notified):
            is_given = isinstance(event, Released)
            said["kind"] = "released" if is_given else "expired"
        return cls(number=number, has_ended=notice.has_ended, **said)


def _parts(rows: Sequence[ResourceRow]) -> Mapping[str, list[ResourceRow]]:
    """Return each composite's leaves."""
    parents = {row.name: row.parent for row in rows}
    found: dict[str, list[ResourceRow]] = {}
    for row in rows:
        above = row.parent if row.kind is not None else None
        while above is not None:
            found.setdefault(above, []).append(row)
            above = parents[above]
    return found


def _row(
    row: ResourceRow, parts: list[ResourceRow] | None, now: int, tick_s: float
) -> RowData:
    leaves = [row] if parts is None else parts
    whole = [leaf for leaf in leaves if leaf.kind is ResourceKind.EXCLUSIVE]
    first = row if parts is None else (whole[0] if whole else None)
    common = [] if first is None else list(first.holders)
    if parts is not None:  # an owner of all leaves holds the composite
        common = [
            holding
            for holding in common
            if all(
                any(h.token == holding.token for h in leaf.holders) for leaf in whole
            )
        ]
    waits = {wait.request: wait for leaf in leaves for wait in leaf.waiters}
    if parts is not None:
        waits = dict(sorted(waits.items(), key=lambda w: (-w[1].priority, w[0])))
    return _view(
        RowData,
        row,
        holders=tuple(
            _view(
                HoldingData,
                holding,
                is_lent=holding.is_lent if parts is None else _is_lent(holding, whole),
                held_s=_seconds(now - holding.since_tick, tick_s),
            )
            for holding in common
        ),
        waiters=tuple(
            _view(
                WaitData,
                wait,
                waited_s=_seconds(now - wait.since_tick, tick_s),
                left_s=(
                    None
                    if wait.until_tick is None
                    else _seconds(wait.until_tick - now, tick_s)
                ),
            )
            for wait in waits.values()
        ),
        virtual=_virtual(row, whole if parts is not None else []),
    )


def _view(cls: type[V], record: object, **more: object) -> V:
    """Return the view of a ledger record with additional fields."""
    names = [name for name in cls.model_fields if name not in more]
    return cls(**{name: getattr(record, name) for name in names}, **more)


def _is_lent(holding: HoldingRow, whole: list[ResourceRow]) -> bool:
    """Return True if descendants hold all leaves of a composite."""
    holders = (h for leaf in whole for h in leaf.holders)
    return all(h.is_lent for h in holders if h.token == holding.token)


def _virtual(row: ResourceRow, whole: list[ResourceRow]) -> tuple[VirtualHold, ...]:
    """Return the virtual owners of a leaf, or those of all leaves of a composite."""
    if not whole:
        return row.virtual
    return tuple(
        hold for hold in whole[0].virtual if all(hold in leaf.virtual for leaf in whole)
    )


def _seconds(ticks: int, tick_s: float) -> float:
    return round(ticks * tick_s, 6)
