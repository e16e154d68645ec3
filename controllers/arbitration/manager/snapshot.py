"""Snapshot of a ledger: holders and waiting requests at one tick, as plain data.

A snapshot is taken between two calls of the ledger, so it shows only complete changes.
Tokens appear by their public part.
"""

from dataclasses import dataclass

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
from nao_testbed.controllers.arbitration.requests import FULL, End
from nao_testbed.controllers.arbitration.tokens import HolderTie, TokenId
from nao_testbed.models.resources import ResourceKind


@dataclass(frozen=True, kw_only=True, slots=True)
class HoldingRow:
    """Hold of one owner on one leaf."""

    owner: str
    token: TokenId
    is_lent: bool
    """True if a descendant holds the leaf inside it."""
    priority: int
    since_tick: int
    share_percent: float
    """Share in percent: 100 for an exclusive leaf, 0 for a state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitRow:
    """Request that waits for one leaf."""

    owner: str
    request: int
    priority: int
    since_tick: int
    until_tick: int | None
    """Tick of its time limit; None while paused without limit."""
    is_paused: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class VirtualHold:
    """Hold of a virtual owner on a leaf."""

    by: str
    is_total: bool
    effort_cap: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceRow:
    """Resource of the tree."""

    name: str
    parent: str | None
    depth: int
    kind: ResourceKind | None
    """Kind of the leaf; None: a composite."""
    holders: tuple[HoldingRow, ...] = ()
    """Holders; descendants precede the ancestors that they are inside of."""
    waiters: tuple[WaitRow, ...] = ()
    """Waiting requests in the order of the queue."""
    virtual: tuple[VirtualHold, ...] = ()
    is_active: bool | None = None
    """For a state: True if the robot is in it."""
    used_percent: float | None = None
    """For a cumulative resource: allocated share in percent."""

    @property
    def users(self) -> tuple[str, ...]:
        """Owners that may use it, and virtual owners that have frozen it totally.

        A holder whose descendant holds the leaf is not a user. An effort cap does not
        change the users.
        """
        virtual = (hold.by for hold in self.virtual if hold.is_total)
        return (*virtual, *(h.owner for h in self.holders if not h.is_lent))


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerRow:
    """Registered owner."""

    name: str
    parent: str | None
    policy: str
    priority: int
    is_gone: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerSnapshot:
    """State of a ledger at one tick."""

    epoch: int
    tick: int
    resources: tuple[ResourceRow, ...]
    """Resources from the root of the tree down."""
    owners: tuple[OwnerRow, ...]
    """Owners in the order of registration."""


def take_snapshot(ledger: Ledger) -> LedgerSnapshot:
    """Return the present holders and waiting requests."""
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
    """Record of a token [US11660748B1, token data 160]."""

    token: TokenId
    owner: str
    resources: tuple[str, ...]
    """Covered leaves, sorted; for an ended token the last covered ones."""
    priority: int
    is_valid: bool
    holder_tie: HolderTie
    """Permission for a requester of equal priority."""
    end: End | None
    """End of the token; None while it is valid."""


def token_data(ledger: Ledger) -> tuple[TokenRow, ...]:
    """Return the records of all tokens in the order of issue.

    Ended tokens are included as long as `LedgerCfg.dead_tokens_kept` permits.
    """
    held = ledger.holdings
    every = sorted((held.ended | held.reservations).items())
    return tuple(_token(reservation) for _, reservation in every)


def users_of(ledger: Ledger, leaf: str) -> tuple[str, ...]:
    """Return the users of a leaf, as in `ResourceRow.users`."""
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
