"""What callers have of a ledger: a front to wait at, a lease, a snapshot to look at.

The ledger's calls return at once. Who wants to wait needs somebody who lets time pass
meanwhile: in a scenario the loop, on a robot a thread that sleeps. `Front` is what both
are; `LedgerFront` is the one for a loop, which knows neither threads nor a clock.

A `Lease` is a reservation for the length of a `with` block: it waits, shows signs of
life, has the valid token over pauses, and says why it was lost. Fronts, robots and the
client of a server have the same `lease` method (`Leasing`).

A snapshot says what is held and waited for at one tick, as plain data for a page, a
list and a client. It is taken between two calls of the ledger, so it never shows half
of a change; tokens appear by their public part.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.state.leaves import (
    CumulativeLeaf,
    StateLeaf,
)
from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    OwnerRecord,
    Reservation,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.policies import ConflictPolicy
from nao_testbed.controllers.arbitration.requests import (
    FULL,
    NO_RATES,
    End,
    NotGranted,
    Owner,
    Present,
    Request,
    Ticket,
)
from nao_testbed.controllers.arbitration.tokens import (
    HolderTie,
    Outcome,
    Refusal,
    Token,
    TokenId,
)
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import short


@dataclass(frozen=True, kw_only=True, slots=True)
class HoldingRow:
    """One owner's hold on one leaf."""

    owner: str
    token: TokenId
    is_lent: bool
    """Whether a descendant has it meanwhile, in its place."""
    priority: int
    since_tick: int
    share_percent: float
    """100 of an exclusive leaf, 0 of a state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitRow:
    """One request that waits for one leaf."""

    owner: str
    request: int
    priority: int
    since_tick: int
    until_tick: int | None
    """When it times out; None while paused without limit."""
    is_paused: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class VirtualHold:
    """What a virtual owner does to a leaf."""

    by: str
    is_total: bool
    effort_cap: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceRow:
    """One resource of the list."""

    name: str
    parent: str | None
    depth: int
    kind: ResourceKind | None
    """None: a composite."""
    holders: tuple[HoldingRow, ...] = ()
    """Descendants come before whom they have it from."""
    waiters: tuple[WaitRow, ...] = ()
    """In the order of the queue."""
    virtual: tuple[VirtualHold, ...] = ()
    is_active: bool | None = None
    """Of a state: whether the robot is in it."""
    used_percent: float | None = None
    """Of a cumulative resource."""

    @property
    def users(self) -> tuple[str, ...]:
        """Who has it, real or virtual: may use it, or has it frozen whole.

        Whose descendant has it does not use it, and an effort cap takes it from nobody.
        """
        virtual = (hold.by for hold in self.virtual if hold.is_total)
        return (*virtual, *(h.owner for h in self.holders if not h.is_lent))


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerRow:
    """One owner that is known."""

    name: str
    parent: str | None
    policy: str
    priority: int
    is_gone: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerSnapshot:
    """All of it, at one tick."""

    epoch: int
    tick: int
    resources: tuple[ResourceRow, ...]
    """From the top of the tree down."""
    owners: tuple[OwnerRow, ...]
    """In the order of being added."""


def take_snapshot(ledger: Ledger) -> LedgerSnapshot:
    """Return what is held and waited for now."""
    tree, leaves = ledger.tree, ledger.resources.leaves
    rows: list[ResourceRow] = []
    depths: dict[str | None, int] = {None: -1}
    for node in tree.root.walk():
        parent = tree.parent(node.name)
        depths[node.name] = depths[parent] + 1
        place = ResourceRow(
            name=node.name, parent=parent, depth=depths[node.name], kind=None
        )
        leaf = leaves.get(node.name)
        rows.append(place if leaf is None else _row(place, leaf))
    return LedgerSnapshot(
        epoch=ledger.epoch,
        tick=ledger.tick,
        resources=tuple(rows),
        owners=tuple(map(_owner, ledger.holdings.owners.values())),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRow:
    """What the ledger keeps of one token [US11660748B1, token data 160]."""

    token: TokenId
    owner: str
    resources: tuple[str, ...]
    """Leaves that it covers, sorted; of an ended one those that it covered last."""
    priority: int
    is_valid: bool
    holder_tie: HolderTie
    """What it allows an asker of equal priority."""
    end: End | None
    """How it ended; None while it is valid."""


def token_data(ledger: Ledger) -> tuple[TokenRow, ...]:
    """Return the data of all tokens, in the order of their issue.

    Ended ones are among them as long as `LedgerCfg.dead_tokens_kept` says.
    """
    held = ledger.holdings
    every = sorted((held.ended | held.reservations).items())
    return tuple(_token(reservation) for _, reservation in every)


def users_of(ledger: Ledger, leaf: str) -> tuple[str, ...]:
    """Return who has a leaf now, as `ResourceRow.users`, without the other rows."""
    place = ResourceRow(name=leaf, parent=None, depth=0, kind=None)
    return _row(place, ledger.resources.leaves[leaf]).users


def _token(one: Reservation) -> TokenRow:
    end = None if one.ended is None else End(one.ended, one.why, one.by)
    return TokenRow(
        token=one.token.id,
        owner=one.owner.name,
        resources=names_of(one.shares) if end is None else tuple(sorted(one.covered)),
        priority=one.terms.priority,
        is_valid=end is None,
        holder_tie=HolderTie.KEEPS if one.terms.keeps_ties else HolderTie.YIELDS,
        end=end,
    )


def _row(place: ResourceRow, leaf: Leaf) -> ResourceRow:
    return ResourceRow(
        name=place.name,
        parent=place.parent,
        depth=place.depth,
        kind=leaf.kind,
        holders=tuple(_holding(leaf, r) for r in leaf.seated()),
        waiters=tuple(_wait(waiting) for waiting in leaf.waiters),
        virtual=tuple(
            VirtualHold(by=by, is_total=freeze.is_total, effort_cap=freeze.effort_cap)
            for by, freeze in leaf.freezes.items()
        ),
        is_active=leaf.group.active is leaf if isinstance(leaf, StateLeaf) else None,
        used_percent=(
            100.0 * leaf.used / FULL if isinstance(leaf, CumulativeLeaf) else None
        ),
    )


def _holding(leaf: Leaf, reservation: Reservation) -> HoldingRow:
    return HoldingRow(
        owner=reservation.owner.name,
        token=reservation.token.id,
        is_lent=leaf.is_lent(reservation),
        priority=reservation.terms.priority,
        since_tick=reservation.since,
        share_percent=100.0 * reservation.shares[leaf] / FULL,
    )


def _wait(waiting: Waiting) -> WaitRow:
    return WaitRow(
        owner=waiting.owner.name,
        request=waiting.ticket.number,
        priority=waiting.priority,
        since_tick=waiting.since,
        until_tick=waiting.deadline,
        is_paused=waiting.resumes is not None,
    )


def _owner(record: OwnerRecord) -> OwnerRow:
    defaults = record.defaults
    return OwnerRow(
        name=record.name,
        parent=defaults.parent,
        policy=defaults.policy.name,
        priority=defaults.priority,
        is_gone=record.is_gone,
    )


class Front(Protocol):
    """Lets callers wait for a ledger, and do things to it in one step."""

    def add_owner(self, owner: Owner) -> None:
        """Make an owner known; its parent first."""

    def ask(self, request: Request) -> Ticket:
        """Ask without waiting; in a step with what else is done there."""

    def wait(self, ticket: Ticket) -> Outcome:
        """Wait until a request of this front has ended."""

    def take(self, request: Request) -> Outcome:
        """Ask, and wait until the request has ended."""

    def step(self) -> AbstractContextManager[tuple[Ledger, int]]:
        """Return the ledger and the present tick, for a block that nobody disturbs."""


class Lessor(Protocol):
    """What a lease needs of a ledger, in this process or at a server."""

    def ask(self, request: Request) -> Ticket:
        """Ask without waiting; an owner that is not known is registered."""

    def outcome(self, ticket: Ticket) -> Outcome | None:
        """Return the outcome of a request; None while it waits."""

    def wait(self, ticket: Ticket) -> Outcome:
        """Wait until a request has ended, showing signs of life of its owner."""

    def present(self, owner: str, token: Token, newest: Token) -> Present:
        """Return what stands for a token now; a sign of life of its owner.

        Args:
            owner: whose it is.
            token: that was granted first: it is known for as long as any since is.
            newest: the answer of the last look.
        """

    def end(self, ticket: Ticket, token: Token | None) -> None:
        """Give back what a request was granted, and wait for it no more.

        Args:
            ticket: of the request.
            token: that was granted first; None: it waits, or nobody looked.
        """


class LeaseLost(TestbedError):
    """A lease has no valid token now; `end` says why, None while it waits."""

    def __init__(self, request: Request, end: End | None) -> None:
        self.request = request
        self.end = end
        names = ", ".join((*request.resources, *request.rates, *request.optional))
        why = "it waits for them" if end is None else str(end)
        super().__init__(
            f"{request.owner!r} does not hold {names}: {why}. Command nothing until "
            "`token` of the lease is not None; if `lost` is set, begin a new one."
        )


class Lease(AbstractContextManager["Lease"]):
    """Resources of one owner for the length of a block.

        with robot.lease("Head", owner="look around", wait_s=2.0) as lease:
            gate.submit(lease.token, "HeadYaw", 0.3)

    Entering waits for the grant, leaving gives back. Ask for `token` before each
    command: after a pause it is another one, and None says not to command. Each look is
    a sign of life of an owner that has a time to live; a `Client` sends them by itself.

    A behaviour that is called once a slot cannot wait: it calls `begin` once, looks at
    `token` in each slot, and calls `close` at its end. A closed lease can be entered or
    begun again.
    """

    def __init__(self, lessor: Lessor, request: Request) -> None:
        """Hold nothing yet.

        Args:
            lessor: of the ledger.
            request: what is wanted; its time limit is that of the wait.
        """
        self.request = request
        self.outcome: Outcome | None = None
        """How the request ended: what was obtained, what is missing."""
        self._lessor = lessor
        self._ticket: Ticket | None = None
        """With which it waits, for the grant or to resume."""
        self._token: Token | None = None
        """That was granted first, before any pause."""
        self._newest: Token | None = None
        self._end: End | None = None
        self._asked: Ticket | None = None
        """Of its request, from `begin` to `close`."""

    def __enter__(self) -> "Lease":
        """Ask, and wait for the grant.

        Raises:
            NotGranted: the time is over, or waiting would have no end.
            BadInput: the lease has begun; or time stands still here, inside a slot.
        """
        self.begin()
        try:
            if not self.wait() and self.outcome is not None and not self._token:
                raise NotGranted(self.request, self.outcome)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> None:
        """Ask without waiting.

        Raises:
            BadInput: the lease has begun, or the request makes no sense.
        """
        if self._asked is not None:
            raise BadInput(
                f"this lease of {self.request.owner!r} has begun; close it first, or "
                "make another one."
            )
        self._asked = self._ticket = self._lessor.ask(self.request)
        self._token = self._end = self.outcome = None

    def close(self) -> None:
        """Give back what is held, and wait for nothing; closed, nothing happens."""
        asked, token = self._asked, self._token
        self._asked = self._ticket = self._token = None
        if asked is not None:
            self._lessor.end(asked, token)

    @property
    def token(self) -> Token | None:
        """The valid token; None while it waits or is paused, and once it is lost."""
        if self._token is None and self._ticket is not None:
            self.outcome = self._lessor.outcome(self._ticket)
            if self.outcome is None:
                return None
            self._ticket = None
            self._token = self._newest = self.outcome.token
        token, newest = self._token, self._newest
        if token is None or newest is None or self._end is not None:
            return None
        now = self._lessor.present(self.request.owner, token, newest)
        self._ticket, self._end = now.ticket, now.end
        self._newest = now.token or newest
        return now.token

    @property
    def is_held(self) -> bool:
        """Whether its owner may command now."""
        return self.token is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for the grant, or is paused."""
        return self.token is None and self._ticket is not None

    @property
    def lost(self) -> End | None:
        """How it ended before `close`; None if it has not."""
        return self._end if self.token is None else None

    def check(self) -> Token:
        """Return the valid token.

        Raises:
            LeaseLost: there is none now.
        """
        token = self.token
        if token is None:
            raise LeaseLost(self.request, self._end)
        return token

    def wait(self) -> bool:
        """Wait while it waits or is paused; return whether it is held then.

        The first wait ends with `wait_s`, a pause with the limit of its policy.
        """
        while self.is_waiting and self._ticket is not None:
            self._lessor.wait(self._ticket)
        return self.is_held


class Leasing:
    """Gives leases; inherited by whatever callers have of a ledger."""

    def lease(
        self,
        *names: str,
        owner: str | None = None,
        wait_s: float = 0.0,
        optional: tuple[str, ...] = (),
        rates: Mapping[str, float] = NO_RATES,
        priority: int | None = None,
        policy: ConflictPolicy | str | None = None,
    ) -> Lease:
        """Return a lease of resources, for a `with` block.

        Args:
            names: leaves and composites, all or nothing.
            owner: who commands them; a name that is not known is registered with the
                defaults of `Owner`. A `Client` is an owner itself: None.
            wait_s: longest wait for the grant in s; 0 tries once. It is time of the
                ledger: of a simulated robot simulated time, of threads and a server
                that of a clock.
            optional: taken if they are free at the grant.
            rates: cumulative resource to rate in percent.
            priority: from 0 to 9; None: the owner's.
            policy: answers when others ask, or its word: lock, stop, pause; None: the
                owner's.

        Raises:
            BadInput: the request makes no sense, or nobody is named as the owner.
            UnknownName: there is no such policy.
        """
        owner, lessor = self._lessor(owner)
        request = Request(
            owner=owner,
            resources=names,
            optional=optional,
            rates=rates,
            priority=priority,
            timeout_s=wait_s,
            policy=policy,  # type: ignore[arg-type]  # its word is taken as well
        )
        return Lease(lessor, request)

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        """Return the owner of a lease, and what grants it."""
        raise NotImplementedError


class FrontLessor:
    """Leases of a front in this process."""

    def __init__(self, front: "Front") -> None:
        """Stand before a front."""
        self._front = front
        self.wait = front.wait

    @classmethod
    def of(cls, owner: str | None, front: "Front") -> tuple[str, Lessor]:
        """Return who leases, and from whom.

        Raises:
            BadInput: nobody is named.
        """
        if owner is None:
            raise BadInput(
                "a lease has no owner; say who commands, such as owner='look around'."
            )
        return owner, cls(front)

    def ask(self, request: Request) -> Ticket:
        """Ask without waiting; an owner that is not known is registered."""
        with self._front.step() as (ledger, _):
            if not ledger.knows(request.owner):
                self._front.add_owner(Owner(name=request.owner))
            return self._front.ask(request)

    def outcome(self, ticket: Ticket) -> Outcome | None:
        """Return the outcome of a request; a sign of life of its owner."""
        with self._front.step() as (ledger, tick):
            show_life(ticket.request.owner, ledger, tick)
            return ticket.outcome

    def present(self, owner: str, token: Token, newest: Token) -> Present:
        """Return what stands for a token now; a sign of life of its owner."""
        del newest  # the ledger knows
        with self._front.step() as (ledger, tick):
            if not ledger.knows(owner):
                return Present(end=End(Refusal.EXPIRED))
            show_life(owner, ledger, tick)
            return ledger.follow(owner, token)

    def end(self, ticket: Ticket, token: Token | None) -> None:
        """Give back what a request was granted, and wait for it no more."""
        owner = ticket.request.owner
        with self._front.step() as (ledger, tick):
            ledger.withdraw(ticket.number, tick)
            token = token or (ticket.outcome.token if ticket.outcome else None)
            if token is not None and ledger.knows(owner):
                end_hold(owner, token, ledger, tick)


def end_hold(owner: str, token: Token, ledger: Ledger, tick: int) -> None:
    """Give back what stands for a token now; one that is paused does not resume."""
    now = ledger.follow(owner, token)
    if now.ticket is not None:
        ledger.withdraw(now.ticket.number, tick)
    if now.token is not None:
        ledger.release(now.token, tick)


def time_to_live_s(owner: str, ledger: Ledger) -> float | None:
    """Return the time to live of an owner in s; None: it has none, or is unknown."""
    record = ledger.holdings.owners.get(owner)
    return None if record is None else record.defaults.time_to_live_s


def show_life(owner: str, ledger: Ledger, tick: int) -> None:
    """Renew an owner that has a time to live: its program looks or waits."""
    if time_to_live_s(owner, ledger) is not None:
        ledger.renew(owner, tick)


class LedgerFront(Leasing):
    """A front for one thread, on the ledger's own time: now is its present tick."""

    def __init__(self, ledger: Ledger, go_on: Callable[[], None] | None = None) -> None:
        """Stand before a ledger.

        Args:
            ledger: that somebody else may advance as well.
            go_on: lets the world go on while a caller waits, by a tick or more, and
                advances the ledger; None advances it by one tick.
        """
        self._ledger = ledger
        self._go_on = go_on or self._pass_a_tick

    def add_owner(self, owner: Owner) -> None:
        """Make an owner known; its parent first."""
        self._ledger.add_owner(owner, self._ledger.tick)

    def ask(self, request: Request) -> Ticket:
        """Ask without waiting."""
        return self._ledger.request(request, self._ledger.tick)

    def take(self, request: Request) -> Outcome:
        """Ask, and let the world go on until the request has ended.

        Raises:
            BadInput: it would have to wait inside a conflict policy's answer, where
                time stands still.
        """
        return self.wait(self.ask(request))

    def wait(self, ticket: Ticket) -> Outcome:
        """Let the world go on until a request has ended.

        Raises:
            BadInput: as `take`; or the ticket is none of this ledger's.
        """
        check_waits(ticket, self._ledger)
        try:
            while ticket.outcome is None:
                show_life(ticket.request.owner, self._ledger, self._ledger.tick)
                self._go_on()
        except BaseException:  # nobody waits any more
            self._give_up(ticket)
            raise
        return ticket.outcome

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Return the ledger and its present tick."""
        yield self._ledger, self._ledger.tick

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        return FrontLessor.of(owner, self)

    def _pass_a_tick(self) -> None:
        self._ledger.advance(self._ledger.tick + 1)

    def _give_up(self, ticket: Ticket) -> None:
        give_up(ticket, self._ledger, self._ledger.tick)


def give_up(ticket: Ticket, ledger: Ledger, tick: int) -> None:
    """End a request that nobody waits for any more, whatever its state."""
    ledger.withdraw(ticket.number, tick)
    outcome = ticket.outcome
    if outcome is not None and outcome.token is not None:
        token = outcome.token
        left = [leaf for leaf in outcome.obtained if ledger.covers(token, leaf)]
        if left:
            ledger.release(token, tick, left)


def check_waits(ticket: Ticket, ledger: Ledger) -> None:
    """Refuse a ticket that nobody would ever give an outcome.

    Raises:
        BadInput: it is no ticket, or it waits, but not in this ledger.
    """
    if not isinstance(ticket, Ticket):
        raise BadInput(f"a ticket is {short(ticket)}; give that of a request.")
    if ticket.outcome is not None:
        return
    try:
        waits = ledger.ticket(ticket.number) is ticket
    except BadInput:
        waits = False
    if not waits:
        raise BadInput(
            f"ticket {ticket.number} of {ticket.request.owner!r} does not wait in this "
            "ledger; give the one that its `request` returned."
        )
