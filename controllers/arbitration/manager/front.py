"""What callers have of a ledger: a front to wait at, a snapshot to look at.

The ledger's calls return at once. Who wants to wait needs somebody who lets time pass
meanwhile: in a scenario the loop, on a robot a thread that sleeps. `Front` is what both
are; `LedgerFront` is the one for a loop, which knows neither threads nor a clock.

A snapshot says what is held and waited for at one tick, as plain data for a page, a
list and a client. It is taken between two calls of the ledger, so it never shows half
of a change; tokens appear by their public part.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from controllers.arbitration.manager.leaves import CumulativeLeaf, StateLeaf
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.manager.records import (
    Leaf,
    OwnerRecord,
    Reservation,
    Waiting,
)
from controllers.arbitration.manager.state import ReservationState
from controllers.arbitration.requests import FULL, Owner, Request, Ticket
from controllers.arbitration.tokens import Outcome, TokenId
from models import BadInput
from models.resources import ResourceKind
from models.values import short


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
    tree, state = ledger.tree, ledger.state
    rows: list[ResourceRow] = []
    depths: dict[str | None, int] = {None: -1}
    for node in tree.root.walk():
        parent = tree.parent(node.name)
        depths[node.name] = depths[parent] + 1
        place = ResourceRow(
            name=node.name, parent=parent, depth=depths[node.name], kind=None
        )
        leaf = state.leaves.get(node.name)
        rows.append(place if leaf is None else _row(place, leaf))
    return LedgerSnapshot(
        epoch=ledger.epoch,
        tick=ledger.tick,
        resources=tuple(rows),
        owners=_owners(state),
    )


def users_of(ledger: Ledger, leaf: str) -> tuple[str, ...]:
    """Return who has a leaf now, as `ResourceRow.users`, without the other rows."""
    place = ResourceRow(name=leaf, parent=None, depth=0, kind=None)
    return _row(place, ledger.state.leaves[leaf]).users


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
        priority=reservation.priority,
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


def _owners(state: ReservationState) -> tuple[OwnerRow, ...]:
    return tuple(_owner(record) for record in state.owners.values())


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


class LedgerFront:
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
                self._go_on()
        except BaseException:  # nobody waits any more
            self._give_up(ticket)
            raise
        return ticket.outcome

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Return the ledger and its present tick."""
        yield self._ledger, self._ledger.tick

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
