"""Rows of a timeline: leaves that move together are one, and few enough to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controllers.resources.resource_tree import ResourceTree
from experiments.report.timeline.spans import Span, SpanKind

MOST_ROWS = 14
"""Of resources: more could not be read."""

LONGEST_LABEL = 20
"""Letters of two names that stand beside each other."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of bars, with lanes below each other where they overlap."""

    label: str
    lanes: tuple[tuple[Span, ...], ...]
    """Holders in the first ones, waiters below."""
    n_holding: int
    """How many lanes holders have."""


def resource_rows(
    spans: Mapping[str, Sequence[Span]],
    tree: ResourceTree,
    hidden: frozenset[str] = frozenset(),
    most: int = MOST_ROWS,
) -> tuple[list[Row], int]:
    """Return the rows of resources in the order of the tree, and how many are left out.

    Args:
        spans: leaf to its spans.
        tree: of the robot; leaves that it has not stand at the end.
        hidden: owners whose spans are not shown.
        most: rows; those in which most happens stay.
    """
    together: dict[tuple[Span, ...], list[str]] = {}
    order = {leaf: i for i, leaf in enumerate(_in_order(tree, spans))}
    for leaf in sorted(spans, key=order.__getitem__):
        shown = tuple(span for span in spans[leaf] if span.name not in hidden)
        if shown:
            together.setdefault(shown, []).append(leaf)
    busiest = sorted(together, key=_interest, reverse=True)[:most]
    kept = [row for row in together if row in set(busiest)]
    return [_row(cover(together[row], tree), row) for row in kept], len(together) - len(
        kept
    )


def cover(leaves: Sequence[str], tree: ResourceTree) -> str:
    """Return few names that mean all these leaves, the largest composites first."""
    left = {leaf for leaf in leaves if leaf in tree}
    names = []
    for name in tree.names:  # parents come before their parts
        below = tree.leaves(name)
        if below and left.issuperset(below):
            names.append(name)
            left.difference_update(below)
    names.sort(key=lambda name: -len(tree.leaves(name)))
    names += [leaf for leaf in leaves if leaf not in tree]
    n = 2 if len(", ".join(names[:2])) <= LONGEST_LABEL else 1
    more = len(names) - n
    return ", ".join(names[:n]) + (f" + {more}" if more > 0 else "")


def row_of(label: str, spans: Sequence[Span]) -> Row:
    """Return a row of one label."""
    return _row(label, tuple(spans))


def _in_order(tree: ResourceTree, spans: Mapping[str, Sequence[Span]]) -> list[str]:
    known = [name for name in tree.names if name in spans]
    return known + sorted(set(spans) - set(known))


def _interest(row: tuple[Span, ...]) -> tuple[int, int]:
    """How many took part, and how often something changed."""
    return len({span.name for span in row}), len(row)


def _row(label: str, spans: tuple[Span, ...]) -> Row:
    holding = [span for span in spans if span.kind is not SpanKind.WAITS]
    waiting = [span for span in spans if span.kind is SpanKind.WAITS]
    upper, lower = _lanes(holding), _lanes(waiting)
    return Row(label=label, lanes=(*upper, *lower), n_holding=len(upper))


def _lanes(spans: Sequence[Span]) -> tuple[tuple[Span, ...], ...]:
    """Put spans that overlap into lanes below each other, the earliest at the top."""
    lanes: list[list[Span]] = []
    for span in sorted(spans, key=lambda s: (s.start_s, s.end_s, s.name)):
        for lane in lanes:
            if lane[-1].end_s <= span.start_s + 1e-9:
                lane.append(span)
                break
        else:
            lanes.append([span])
    return tuple(map(tuple, lanes))
