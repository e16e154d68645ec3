"""The tables of a scenario: its verdicts, and how warm the joints became."""

from collections.abc import Mapping
from typing import Any

from experiments.report.page.numbers import NOTHING, duration, number
from experiments.report.page.views import Column, Row, Table

MOST_JOINTS = 10
"""Joints shown, the hottest first."""


def scenario_tables(result: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return the tables of what `scenario.json` says."""
    tables = (_summary(result), _verdicts(result), _hottest(result))
    return tuple(table for table in tables if table.rows)


def _summary(result: Mapping[str, Any]) -> Table:
    verdicts = result.get("verdicts") or []
    held = sum(bool(verdict["holds"]) for verdict in verdicts)
    values = {
        "expectations that hold": f"{held} of {len(verdicts)}",
        "the robot fell": "yes" if result.get("fell") else "no",
        "failed" if result.get("is_whole") else "ended early": str(
            result.get("failure") or "no"
        ),
        "simulated time": duration(float(result.get("sim_s", 0.0))),
        "computed in": duration(float(result.get("wall_s", 0.0))),
        "events": str(result.get("n_events", NOTHING)),
        **{
            f"{path} never acted": str(why)
            for path, why in (result.get("never_acted") or {}).items()
        },
        "trace (SHA-256)": str(result.get("trace_hash", NOTHING)),
    }
    return Table(
        caption="What came of it",
        columns=(
            Column(label="", is_number=False),
            Column(label="value", is_number=False),
        ),
        rows=tuple(Row(cells=cells) for cells in values.items()),
    )


def _verdicts(result: Mapping[str, Any]) -> Table:
    rows = [
        Row(
            cells=(
                str(verdict["line"] or NOTHING),
                str(verdict["expectation"]),
                "holds" if verdict["holds"] else "BROKEN",
                str(verdict["seen"]),
            ),
            is_sum=not verdict["holds"],
        )
        for verdict in result.get("verdicts") or []
    ]
    return Table(
        caption="Expectations",
        columns=(
            Column(label="line"),
            Column(label="expectation", is_number=False),
            Column(label="verdict", is_number=False),
            Column(label="seen", is_number=False),
        ),
        rows=tuple(rows),
    )


def _hottest(result: Mapping[str, Any]) -> Table:
    degc: Mapping[str, float] = result.get("max_degc") or {}
    names = sorted(degc, key=lambda name: -degc[name])[:MOST_JOINTS]
    return Table(
        caption="Highest temperatures",
        columns=(Column(label="joint", is_number=False), Column(label="highest, °C")),
        rows=tuple(Row(cells=(name, number(degc[name]))) for name in names),
        note="The hottest joints." if len(degc) > len(names) else "",
    )
