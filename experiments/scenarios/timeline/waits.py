"""Waiting times of requests, their blocking holders, and the holding times.

Every request of a trace with its outcome and blocking holders (`find_waits`); the
utilisation of each leaf (`leaf_uses`); a bar per request (`waits_figure`). Pure
functions of the events; times in s.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Failed,
    Frozen,
    Granted,
    Names,
    Released,
    Requested,
    Revoked,
    Thawed,
)
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.experiments.common.drawing.style import (
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
    time_axis,
)
from nao_testbed.experiments.scenarios.timeline.rows import BROKEN, owner_colours
from nao_testbed.experiments.scenarios.timeline.spans import (
    Span,
    SpanKind,
    holding_spans,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


STILL_WAITS = "still waiting"
"""Outcome of a request that is still waiting at the end of the run."""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Request, from its arrival to its answer."""

    request: int
    """Number of the request in the trace."""
    owner: str
    leaves: Names
    """Required leaves of the request."""
    asked_s: float
    answered_s: float
    """Time of the answer; the run's end without one."""
    outcome: str
    """`granted`, `denied`, `timed_out`, `cancelled` or `still waits`."""
    behind: Names
    """Holders of its leaves at the time of the request, including virtual owners;
    sorted."""

    @property
    def waited_s(self) -> float:
        """Time from the request to the answer."""
        return self.answered_s - self.asked_s


@dataclass(frozen=True, kw_only=True)
class LeafUse:
    """Utilisation of a leaf in a run."""

    leaf: str
    held_s: float
    """Time in s in which an owner held the leaf."""
    wanted_s: float
    """Sum of the waiting times of all its waiters in s."""
    share: float
    """Fraction of the run in which an owner held the leaf, from 0 to 1."""


def find_waits(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> tuple[Wait, ...]:
    """Return every request of a trace, in order.

    Args:
        events: the trace.
        tick_s: length of a tick in s.
        end_tick: end of waits that are still open.
    """
    requested: dict[int, tuple[Requested, Names]] = {}
    holders: dict[str, str] = {}
    body: dict[str, str] = {}
    waits: list[Wait] = []

    def answer(number: int, tick: int, outcome: str) -> None:
        request, behind = requested.pop(number)
        waits.append(
            Wait(
                request=number,
                owner=request.owner,
                leaves=tuple(sorted(request.shares)),
                asked_s=request.tick * tick_s,
                answered_s=tick * tick_s,
                outcome=outcome,
                behind=behind,
            )
        )

    for event in events:
        match event:
            case Requested(request=number, owner=owner, shares=shares):
                had = {
                    who[leaf]
                    for who in (holders, body)
                    for leaf in shares
                    if leaf in who
                }
                requested[number] = (event, tuple(sorted(had - {owner})))
            case Granted(request=number, owner=owner, shares=shares):
                holders.update(dict.fromkeys(shares, owner))
                if number in requested:
                    answer(number, event.tick, "granted")
            case Failed(request=number, kind=kind) if number in requested:
                answer(number, event.tick, str(kind))
            case (
                Released(owner=owner, leaves=leaves)
                | Expired(owner=owner, leaves=leaves)
            ):
                _release_leaves(holders, owner, leaves)
            case Revoked(owner=owner, lost=lost, freed=freed):
                _release_leaves(holders, owner, (*lost, *freed))
            case Frozen(leaves=leaves, by=by, is_total=True):
                body.update(dict.fromkeys(leaves, by))
            case Thawed(leaves=leaves, by=by):
                _release_leaves(body, by, leaves)
            case _:
                pass
    for number in tuple(requested):
        answer(number, end_tick, STILL_WAITS)
    return tuple(sorted(waits, key=lambda wait: wait.request))


def leaf_uses(
    events: Iterable[Event],
    tick_s: float,
    end_tick: int,
    owners: Sequence[str] | None = None,
) -> tuple[LeafUse, ...]:
    """Return the use of each leaf that was held or requested, the busiest first.

    Args:
        events: the trace.
        tick_s: length of a tick in s.
        end_tick: end tick of the run; not 0.
        owners: owners to include; None: all.
    """
    uses = []
    for leaf, spans in holding_spans(events, tick_s, end_tick).items():
        mine = [s for s in spans if owners is None or s.name in owners]
        held = _covered(s for s in mine if s.kind in {SpanKind.HOLDS, SpanKind.LENT})
        wanted = sum(s.end_s - s.start_s for s in mine if s.kind is SpanKind.WAITS)
        if held > 0.0 or wanted > 0.0:
            share = held / (end_tick * tick_s)
            uses.append(LeafUse(leaf=leaf, held_s=held, wanted_s=wanted, share=share))
    return tuple(sorted(uses, key=lambda use: (-use.held_s, -use.wanted_s, use.leaf)))


def _covered(spans: Iterable[Span]) -> float:
    """Return the time that at least one span covers."""
    total, until = 0.0, -1.0
    for span in sorted(spans, key=lambda s: s.start_s):
        begin = max(span.start_s, until)
        total += max(0.0, span.end_s - begin)
        until = max(until, span.end_s)
    return total


def _release_leaves(holders: dict[str, str], owner: str, leaves: Iterable[str]) -> None:
    for leaf in leaves:
        if holders.get(leaf) == owner:
            del holders[leaf]


WAITS_WIDTH, WAITS_ROW_HEIGHT, WAITS_REST = 9.0, 0.42, 1.1
"""Sizes in inches."""


def waits_figure(
    waits: Sequence[Wait], held: Mapping[int, float], title: str
) -> "Figure":
    """Return a bar chart of the waiting (hatched) and holding time of each request.

    Args:
        waits: requests, the first at the top.
        held: request to its holding time in s.
        title: title with the finding.
    """
    figure = new_figure(WAITS_WIDTH, WAITS_REST + WAITS_ROW_HEIGHT * max(1, len(waits)))
    axes = figure.subplots()
    colours = owner_colours([wait.owner for wait in waits], ())
    for row, wait in enumerate(waits):
        colour = colours[wait.owner]
        axes.barh(
            row,
            wait.waited_s / 60.0,
            0.62,
            facecolor="white",
            edgecolor=colour,
            hatch="////",
            lw=0.8,
        )
        had = held.get(wait.request, 0.0)
        axes.barh(row, had / 60.0, 0.62, left=wait.waited_s / 60.0, color=colour)
        axes.annotate(
            _wait_words(wait, had),
            ((wait.waited_s + had) / 60.0, row),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=SOFT_INK if wait.outcome == "granted" else BROKEN,
        )
    axes.set_yticks(range(len(waits)), [wait.owner for wait in waits])
    axes.invert_yaxis()
    longest = max((w.waited_s + held.get(w.request, 0.0) for w in waits), default=1.0)
    axes.set_xlim(0.0, 1.55 * longest / 60.0)
    time_axis(axes, label="Time since the request (min); hatched: waiting")
    plain_frame(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    axes.tick_params(axis="y", labelsize=9, colors=INK, length=0)
    panel_title(axes, title)
    return figure


def held_times(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> dict[int, float]:
    """Return for each granted request the lifetime of its token, in s."""
    begun: dict[TokenId, tuple[int, int]] = {}
    ended: dict[TokenId, int] = {}
    for event in events:
        match event:
            case Granted(request=number, token=token):
                begun.setdefault(token, (number, event.tick))
            case (
                Released(token=token, is_whole=True)
                | Revoked(token=token, is_whole=True)
                | Expired(token=token)
            ):
                ended.setdefault(token, event.tick)
    return {
        number: (ended.get(token, end_tick) - first) * tick_s
        for token, (number, first) in begun.items()
    }


def _wait_words(wait: Wait, had_s: float) -> str:
    behind = f" behind {', '.join(wait.behind)}" if wait.behind else ""
    if wait.outcome != "granted":
        return f"{wait.outcome.replace('_', ' ')} after {wait.waited_s:.1f} s{behind}"
    waited = f"waited {wait.waited_s:.1f} s{behind}" if wait.waited_s else "at once"
    return f"{waited}, held for {had_s:.1f} s"
