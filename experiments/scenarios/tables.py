"""Tables of scenarios: verdicts for terminal and page, highest temperatures.

Each expectation is a row: line in the file, verdict, observed outcome. All functions
are pure; this module prints nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from nao_testbed.experiments.common.drawing.number_text import NOTHING, duration, number
from nao_testbed.experiments.common.drawing.page import DataTable, Row
from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.scenarios.playing.result import (
    ScenarioResult,
    verdict_summary,
)

MAX_FAILURES = 10
"""Largest number of printed failures; the JSON has all."""
HOLDS, BROKEN = Text("holds", style="green"), Text("BROKEN", style="bold red")


def verdict_table(result: ScenarioResult) -> Group:
    """Return the table of verdicts with a summary of the run."""
    title = f"\n{result.name}, {result.controller}, seed {result.seed}"
    table = plain_table(title)
    table.add_column("line", justify="right")
    # Expectations without a line apply to every scenario.
    table.add_column("expectation", overflow="fold", ratio=3)
    table.add_column("verdict", no_wrap=True)
    table.add_column("seen", overflow="fold", ratio=2)
    for verdict in result.verdicts:
        table.add_row(
            str(verdict.line) if verdict.line else "",
            Text(verdict.expectation),
            HOLDS if verdict.holds else BROKEN,
            Text(verdict.seen),
        )
    lines = map(Text, _run_lines(result))
    return Group(table, *lines) if result.verdicts else Group(*lines)


def results_table(results: Sequence[ScenarioResult]) -> Table:
    """Return a table of several scenarios, one row each."""
    table = plain_table("\nScenarios")
    table.add_column("scenario", overflow="fold")
    table.add_column("controller", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("seen", overflow="fold")
    table.add_column("simulated", justify="right", no_wrap=True)
    for result in results:
        failed = "" if result.failure is None else f"; failed: {result.failure}"
        table.add_row(
            Text(result.name),
            Text(result.controller),
            HOLDS if result.all_hold else BROKEN,
            Text(result.verdict_summary + failed),
            f"{result.sim_s:g} s",
        )
    return table


def tracking_table(results: Sequence[ScenarioResult]) -> Table:
    """Return a table of tracking errors in several runs, one row each."""
    table = plain_table("\nTracking error of the joints", TRACKING_NOTE)
    table.add_column("scenario", overflow="fold")
    table.add_column("controller", no_wrap=True)
    for label in TRACKING:
        table.add_column(label, justify="right")
    for result in results:
        cells = (_figure(asdict(result.tracking)[key]) for key in TRACKING.values())
        table.add_row(Text(result.name), Text(result.controller), *cells)
    return table


TRACKING = {
    "leg error, °": "legs_error_deg",
    "error of other joints, °": "others_error_deg",
    "∫ Σ i² dt, A²s": "current_a2s",
    "mean stiffness": "mean_stiffness",
}
"""Labels of the fields of `Tracking`."""
TRACKING_NOTE = (
    "Errors: root mean square of set-point minus angle, over time and joints."
)


def _figure(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"


def _run_lines(result: ScenarioResult) -> list[str]:
    speed = result.sim_s / result.wall_s if result.wall_s > 0.0 else 0.0
    lines = [
        "",
        f"{result.verdict_summary}; {result.sim_s:g} s "
        f"simulated in {result.wall_s:.1f} s ({speed:.1f} × real time); "
        f"{result.n_events} events, trace {result.trace_hash[:12]}",
    ]
    lines += [f"{m.time_s:8.2f} s  {m.what}" for m in result.failures[:MAX_FAILURES]]
    more = len(result.failures) - MAX_FAILURES
    if more > 0:
        lines.append(f"            and {more} more; see the JSON")
    if result.max_degc:
        joint, degc = max(result.max_degc.items(), key=lambda item: item[1])
        lines.append(f"hottest joint: {joint}, {degc:.1f} °C")
    if result.fell:
        lines.append("the robot fell")
    lines += [f"{path} never acted: {why}" for path, why in result.never_acted.items()]
    if result.failure is not None:
        lines.append(result.failure_text)
    return lines


MAX_JOINTS = 10
"""Largest number of shown joints, hottest first."""


def scenario_tables(result: Mapping[str, Any]) -> tuple[DataTable, ...]:
    """Return the tables of `scenario.json`."""
    tables = (_outcome_table(result), _verdict_rows(result), _hottest(result))
    return tuple(table for table in tables if table.rows)


def words_of(verdicts: Iterable[Mapping[str, Any]]) -> str:
    """Return the terminal's summary of the verdicts of `scenario.json`."""
    return verdict_summary([(one["line"], bool(one["holds"])) for one in verdicts])


def _outcome_table(result: Mapping[str, Any]) -> DataTable:
    values = {
        "verdict": words_of(result.get("verdicts") or ()),
        "the robot fell": "yes" if result.get("fell") else "no",
        "failed" if result.get("is_whole") else "ended early": str(
            result.get("failure") or "no"
        ),
        "simulated time": duration(float(result.get("sim_s", 0.0))),
        "computed in": duration(float(result.get("wall_s", 0.0))),
        "events": str(result.get("n_events", NOTHING)),
        **{
            label: _figure((result.get("tracking") or {}).get(key))
            for label, key in TRACKING.items()
        },
        **{
            f"{path} never acted": str(why)
            for path, why in (result.get("never_acted") or {}).items()
        },
        "trace (SHA-256)": str(result.get("trace_hash", NOTHING)),
    }
    return DataTable.of("Results", ("", "value"), values.items(), texts=(0, 1))


def _verdict_rows(result: Mapping[str, Any]) -> DataTable:
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
    heads = ("line", "expectation", "verdict", "seen")
    return DataTable.of("Expectations", heads, rows, texts=(1, 2, 3))


def _hottest(result: Mapping[str, Any]) -> DataTable:
    degc: Mapping[str, float] = result.get("max_degc") or {}
    names = sorted(degc, key=lambda name: -degc[name])[:MAX_JOINTS]
    return DataTable.of(
        "Maximum temperatures",
        ("joint", "maximum, °C"),
        ((name, number(degc[name])) for name in names),
        "Hottest joints." if len(degc) > len(names) else "",
    )
