"""How long each behaviour waited and had what it asked for, a bar a request."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from controllers.resources.tokens import TokenId
from controllers.resources.trace import Event, Expired, Granted, Released, Revoked
from experiments.report.figure_style import (
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
)
from experiments.report.timeline.colours import BROKEN, owner_colours
from experiments.report.timeline.waits import Wait

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, ROW_HEIGHT, REST = 9.0, 0.42, 1.1
"""In inches."""


def waits_figure(
    waits: Sequence[Wait], held: Mapping[int, float], title: str
) -> "Figure":
    """Return bars of the time that each request waited (hatched) and had its leaves.

    Args:
        waits: the requests, the first at the top.
        held: request to the time in s for which it had what it got.
        title: the finding.
    """
    figure = new_figure(WIDTH, REST + ROW_HEIGHT * max(1, len(waits)))
    axes = figure.subplots()
    colours = owner_colours([wait.owner for wait in waits], ())
    for row, wait in enumerate(waits):
        colour = colours[wait.owner]
        axes.barh(
            row,
            wait.waited_s,
            0.62,
            facecolor="white",
            edgecolor=colour,
            hatch="////",
            lw=0.8,
        )
        had = held.get(wait.request, 0.0)
        axes.barh(row, had, 0.62, left=wait.waited_s, color=colour)
        axes.annotate(
            _words(wait, had),
            (wait.waited_s + had, row),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=SOFT_INK if wait.outcome == "granted" else BROKEN,
        )
    axes.set_yticks(range(len(waits)), [wait.owner for wait in waits])
    axes.invert_yaxis()
    longest = max((w.waited_s + held.get(w.request, 0.0) for w in waits), default=1.0)
    axes.set_xlim(0.0, 1.55 * longest)
    axes.set_xlabel(
        "time since it asked in s; hatched: waits, solid: has it", fontsize=9
    )
    plain_frame(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    axes.tick_params(axis="y", labelsize=9, colors=INK, length=0)
    panel_title(axes, title)
    return figure


def held_times(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> dict[int, float]:
    """Return for each granted request how long its token lived, in s."""
    begun: dict[TokenId, tuple[int, int]] = {}
    held: dict[int, float] = {}
    for event in events:
        match event:
            case Granted(request=number, token=token):
                begun.setdefault(token, (number, event.tick))
            case (
                Released(token=token, is_whole=True)
                | Revoked(token=token, is_whole=True)
            ):
                _end(begun, held, token, event.tick, tick_s)
            case Expired(token=token):
                _end(begun, held, token, event.tick, tick_s)
            case _:
                pass
    for token in tuple(begun):
        _end(begun, held, token, end_tick, tick_s)
    return held


def _end(
    begun: dict[TokenId, tuple[int, int]],
    held: dict[int, float],
    token: TokenId,
    tick: int,
    tick_s: float,
) -> None:
    if token in begun:
        number, first = begun.pop(token)
        held[number] = (tick - first) * tick_s


def _words(wait: Wait, had_s: float) -> str:
    behind = f" behind {', '.join(wait.behind)}" if wait.behind else ""
    if wait.outcome != "granted":
        return f"{wait.outcome.replace('_', ' ')} after {wait.waited_s:.1f} s{behind}"
    waited = f"waited {wait.waited_s:.1f} s{behind}" if wait.waited_s else "at once"
    return f"{waited}, had it {had_s:.1f} s"
