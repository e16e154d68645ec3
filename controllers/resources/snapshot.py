"""What is held and waited for at one tick, as plain data (RM-62, RM-63).

A page, a list and a client read this. It is taken between two calls of the ledger, so
it never shows half of a change; tokens appear by their public part.
"""

from dataclasses import dataclass

from controllers.resources.core.book import Book
from controllers.resources.core.cumulative_leaf import CumulativeLeaf
from controllers.resources.core.leaf import Leaf
from controllers.resources.core.records import OwnerRecord, Reservation, Waiting
from controllers.resources.core.state_leaf import StateLeaf
from controllers.resources.ledger import Ledger
from controllers.resources.request import FULL
from controllers.resources.tokens import TokenId
from models.resource_node import ResourceKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
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
class Wait:
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
    holders: tuple[Holding, ...] = ()
    """Descendants come before whom they have it from."""
    waiters: tuple[Wait, ...] = ()
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
class Snapshot:
    """All of it, at one tick."""

    epoch: int
    tick: int
    resources: tuple[ResourceRow, ...]
    """From the top of the tree down."""
    owners: tuple[OwnerRow, ...]
    """In the order of being added."""


def take_snapshot(ledger: Ledger) -> Snapshot:
    """Return what is held and waited for now."""
    tree, book = ledger.tree, ledger.book
    rows: list[ResourceRow] = []
    depths: dict[str | None, int] = {None: -1}
    for node in tree.root.walk():
        parent = tree.parent(node.name)
        depths[node.name] = depths[parent] + 1
        place = ResourceRow(
            name=node.name, parent=parent, depth=depths[node.name], kind=None
        )
        leaf = book.leaves.get(node.name)
        rows.append(place if leaf is None else _row(place, leaf))
    return Snapshot(
        epoch=ledger.epoch,
        tick=ledger.tick,
        resources=tuple(rows),
        owners=_owners(book),
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


def _holding(leaf: Leaf, reservation: Reservation) -> Holding:
    return Holding(
        owner=reservation.owner.name,
        token=reservation.token.id,
        is_lent=leaf.is_lent(reservation),
        priority=reservation.priority,
        since_tick=reservation.since,
        share_percent=100.0 * reservation.shares[leaf] / FULL,
    )


def _wait(waiting: Waiting) -> Wait:
    return Wait(
        owner=waiting.owner.name,
        request=waiting.ticket.number,
        priority=waiting.priority,
        since_tick=waiting.since,
        until_tick=waiting.deadline,
        is_paused=waiting.resumes is not None,
    )


def _owners(book: Book) -> tuple[OwnerRow, ...]:
    return tuple(_owner(record) for record in book.owners.values())


def _owner(record: OwnerRecord) -> OwnerRow:
    habits = record.habits
    return OwnerRow(
        name=record.name,
        parent=habits.parent,
        policy=habits.policy.name,
        priority=habits.priority,
        is_gone=record.is_gone,
    )
