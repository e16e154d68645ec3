"""The list of resources as text: a tree with owners and waiters (RM-62, RM-63).

Each line is: name, arrow, owner and how it holds, waiters, their number.
"""

from collections.abc import Iterator

from experiments.reservations.wire import printable
from experiments.reservations.wire_views import HoldingData, RowData, SnapshotData


def list_lines(snapshot: SnapshotData, *, only_busy: bool = False) -> Iterator[str]:
    """Yield the lines of the list, from the top of the tree down.

    Args:
        snapshot: as the server tells it.
        only_busy: leave out what nobody holds or waits for; composites above the rest
            stay.
    """
    rows = snapshot.resources
    if only_busy:
        kept = _with_parents(rows)
        rows = tuple(row for row in rows if row.name in kept)
    width = max((2 * row.depth + len(row.name) for row in rows), default=0)
    for row in rows:
        yield _line(row, width)


def _line(row: RowData, width: int) -> str:
    name = "  " * row.depth + row.name
    parts = []
    if row.is_active:
        parts.append("(Activated)")
    if row.used_percent is not None:
        parts.append(f"{row.used_percent:g} % used")
    owners = [f"{v.by} ({_effect(v.is_total, v.effort_cap)})" for v in row.virtual]
    owners += [_holder(row, holding) for holding in row.holders]
    if owners:
        parts.append("-> " + ", ".join(owners))
    # The waiters of a composite that nobody holds stand at its parts.
    if row.waiters and (owners or row.kind is not None):
        names = [w.owner + (" (paused)" if w.is_paused else "") for w in row.waiters]
        parts.append(f"Waiter: {', '.join(names)}  {len(row.waiters)}")
    return printable(f"{name:<{width}}  {'  '.join(parts)}".rstrip())


def _holder(row: RowData, holding: HoldingData) -> str:
    share = "" if row.used_percent is None else f" {holding.share_percent:g} %"
    return f"{holding.owner} ({'lent' if holding.is_lent else 'use'}{share})"


def _effect(is_total: bool, effort_cap: float | None) -> str:
    cap = "" if effort_cap is None else f"effort at most {effort_cap:g}"
    return ", ".join(filter(None, ["unavailable" if is_total else "", cap]))


def _with_parents(rows: tuple[RowData, ...]) -> set[str]:
    parents = {row.name: row.parent for row in rows}
    kept: set[str] = set()
    for row in rows:
        if row.holders or row.waiters or row.virtual or row.is_active:
            name: str | None = row.name
            while name is not None and name not in kept:
                kept.add(name)
                name = parents[name]
    return kept
