"""What happened in a run: pushes, protection, falls; and how often the rest did."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from experiments.report.page.numbers import number
from experiments.report.page.run_source import ArmSource
from experiments.report.page.views import Column, Row, Table
from sim.run_folder import Event

MOST_EVENTS = 100
"""Rows of the table; the run folder has them all."""
FAST_FORWARD = "fast-forward"
SHOWN = frozenset({"protection", "reached 80 °C", "controller flags", "scenario event"})
"""Kinds of events that are shown one by one; of others the number is told."""


def event_tables(
    arms: Sequence[ArmSource], mishaps: Sequence[Mapping[str, Any]] = ()
) -> tuple[Table, ...]:
    """Return the table of events, and that of counts; those without rows left out.

    Args:
        arms: the robots of the run.
        mishaps: what went wrong in a scenario, as its result has it.
    """
    found: list[tuple[float, str, str]] = []
    counts: list[Row] = []
    for arm in arms:
        found += [(time_s, arm.name, what) for time_s, what in _of_arm(arm)]
        counts += _counts(arm)
    scenario = arms[0].name if arms else ""
    found += [(float(m["time_s"]), scenario, str(m["what"])) for m in mishaps]
    found.sort(key=lambda event: event[0])
    rows = tuple(Row(cells=(number(t, 2), *rest)) for t, *rest in found[:MOST_EVENTS])
    more = len(found) - len(rows)
    happened = Table(
        caption="What happened",
        columns=(
            Column(label="time, s"),
            Column(label="robot", is_number=False),
            Column(label="event", is_number=False),
        ),
        rows=rows,
        note=f"And {more} more; the run folder has them." if more else "",
    )
    counted = Table(
        caption="Events that are only counted",
        columns=(
            Column(label="robot", is_number=False),
            Column(label="event", is_number=False),
            Column(label="times"),
        ),
        rows=tuple(counts),
    )
    return tuple(table for table in (happened, counted) if table.rows)


def _of_arm(arm: ArmSource) -> list[tuple[float, str]]:
    config = cast("Mapping[str, Any]", arm.run.meta.config)
    events = [(float(p["at_s"]), push_words(p)) for p in config.get("pushes") or ()]
    events += [(e.time_s, _words(e)) for e in arm.run.events if e.kind in SHOWN]
    if arm.run.state.startswith("failed: ") and len(arm.frame):
        reason = arm.run.state.removeprefix("failed: ")
        events.append((float(arm.frame.index[-1]), f"ended: {reason}"))
    return events


def push_words(push: Mapping[str, Any]) -> str:
    """Return a push of a run's settings in words."""
    x, y, z = (f"{force:g}" for force in push["force_n"])
    link = push.get("link") or "base"
    return f"push of ({x}, {y}, {z}) N for {push['duration_s']:g} s at the {link}"


def _words(event: Event) -> str:
    data = event.data
    if event.kind == "protection":
        return (
            f"protection: {data.get('motor')} from status {data.get('before')} to "
            f"{data.get('status')}"
        )
    details = ", ".join(f"{key} {value}" for key, value in data.items())
    return f"{event.kind}: {details}" if details else event.kind


def _counts(arm: ArmSource) -> list[Row]:
    kinds = Counter(e.kind for e in arm.run.events if e.kind not in SHOWN)
    rows = []
    for kind, times in sorted(kinds.items()):
        name = kind
        if kind == FAST_FORWARD:
            skipped = sum(_skipped_s(e) for e in arm.run.events if e.kind == kind)
            name = f"fast-forward, {number(skipped, 0)} s without physics in all"
        rows.append(Row(cells=(arm.name, name, str(times))))
    return rows


def _skipped_s(event: Event) -> float:
    begin_s = event.data.get("begin_s")
    return event.time_s - float(begin_s) if isinstance(begin_s, int | float) else 0.0
