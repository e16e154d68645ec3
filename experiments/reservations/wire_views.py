"""What a server tells: the list of resources, and notices to owners."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Literal

from pydantic import BaseModel, ConfigDict, computed_field

from controllers.resources.snapshot import Holding, ResourceRow, Snapshot
from controllers.resources.trace import Notified, Released
from controllers.resources.words import LossCause, NoticeKind
from experiments.reservations.inbox import Letter
from experiments.reservations.wire import OutcomeData
from models.resource_node import ResourceKind


class _View(BaseModel):
    model_config = ConfigDict(frozen=True)


class HoldingData(_View):
    """An owner's hold on a resource; of a composite: on all of its exclusive leaves."""

    owner: str
    token: str
    """Its public part, `epoch.sequence`."""
    is_lent: bool = False
    """Whether descendants have it meanwhile, in its place: all of a composite."""
    priority: int
    held_s: float
    """Age in s."""
    share_percent: float

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def mode(self) -> Literal["use", "reserve"]:
        """The same for earlier clients."""
        return "reserve" if self.is_lent else "use"


class WaitData(_View):
    """A request that waits for a resource, or for something below a composite."""

    owner: str
    request: int
    priority: int
    waited_s: float
    """Age in s."""
    left_s: float | None
    """Until it times out, in s; None while paused without limit."""
    is_paused: bool


class VirtualData(_View):
    """What a virtual owner does to a resource."""

    by: str
    is_total: bool
    effort_cap: float | None


class RowData(_View):
    """One resource of the list."""

    name: str
    parent: str | None
    depth: int
    kind: ResourceKind | None
    """None: a composite."""
    holders: tuple[HoldingData, ...]
    waiters: tuple[WaitData, ...]
    virtual: tuple[VirtualData, ...]
    is_active: bool | None
    used_percent: float | None


class OwnerRowData(_View):
    """One owner."""

    name: str
    parent: str | None
    policy: str
    priority: int
    is_gone: bool


class SnapshotData(_View):
    """All of it, at one tick."""

    epoch: int
    tick: int
    tick_s: float
    resources: tuple[RowData, ...]
    owners: tuple[OwnerRowData, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, tick_s: float) -> "SnapshotData":
        """Write a snapshot.

        Args:
            snapshot: of the ledger.
            tick_s: length of its tick in s.
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
            owners=tuple(
                OwnerRowData.model_validate(asdict(owner)) for owner in snapshot.owners
            ),
        )


class NoticeData(_View):
    """What an owner is told; whole tokens only in its own outcomes."""

    number: int
    """From 1, in order; a reader that reconnects says the last one that it has."""
    kind: NoticeKind | Literal["released", "expired"]
    tick: int
    token: str | None = None
    """Public part of the token concerned."""
    leaves: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    by: str = ""
    why: LossCause | None = None
    until_tick: int | None = None
    request: int | None = None
    outcome: OutcomeData | None = None
    has_ended: bool = False
    """Whether the token concerned is dead."""
    error: str = ""
    """What the owner's own code raised."""

    @classmethod
    def of(cls, letter: Letter) -> "NoticeData":
        """Write a notice."""
        told = letter.told
        if isinstance(told, Notified):
            return cls(
                number=letter.number,
                kind=told.kind,
                tick=told.tick,
                token=str(told.token) if told.token else None,
                leaves=told.leaves,
                freed=told.freed,
                by=told.by,
                why=told.why,
                until_tick=told.until_tick,
                request=told.request,
                outcome=OutcomeData.of(told.outcome) if told.outcome else None,
                has_ended=letter.has_ended,
                error=told.error,
            )
        return cls(
            number=letter.number,
            kind="released" if isinstance(told, Released) else "expired",
            tick=told.tick,
            token=str(told.token),
            leaves=told.leaves,
            has_ended=letter.has_ended,
        )


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
    if parts is not None:  # who holds all of a composite holds the composite
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
    return RowData(
        name=row.name,
        parent=row.parent,
        depth=row.depth,
        kind=row.kind,
        holders=tuple(
            HoldingData(
                owner=h.owner,
                token=str(h.token),
                is_lent=h.is_lent if parts is None else _is_lent(h, whole),
                priority=h.priority,
                held_s=_seconds(now - h.since_tick, tick_s),
                share_percent=h.share_percent,
            )
            for h in common
        ),
        waiters=tuple(
            WaitData(
                owner=w.owner,
                request=w.request,
                priority=w.priority,
                waited_s=_seconds(now - w.since_tick, tick_s),
                left_s=(
                    None
                    if w.until_tick is None
                    else _seconds(w.until_tick - now, tick_s)
                ),
                is_paused=w.is_paused,
            )
            for w in waits.values()
        ),
        virtual=_virtual(row, whole if parts is not None else []),
        is_active=row.is_active,
        used_percent=row.used_percent,
    )


def _is_lent(holding: Holding, whole: list[ResourceRow]) -> bool:
    """Return whether descendants have all leaves of a composite."""
    holders = (h for leaf in whole for h in leaf.holders)
    return all(h.is_lent for h in holders if h.token == holding.token)


def _virtual(row: ResourceRow, whole: list[ResourceRow]) -> tuple[VirtualData, ...]:
    """Return the virtual owners of a leaf, or those of all leaves of a composite."""
    holds = list(row.virtual)
    if whole:
        holds = [
            v for v in whole[0].virtual if all(v in leaf.virtual for leaf in whole)
        ]
    return tuple(VirtualData.model_validate(asdict(hold)) for hold in holds)


def _seconds(ticks: int, tick_s: float) -> float:
    return round(ticks * tick_s, 6)
