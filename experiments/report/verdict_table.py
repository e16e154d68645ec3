"""What a scenario showed, as a table: an expectation a row, its verdict, what was seen.

A pure function of the result; nothing is printed here.
"""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from experiments.scenarios.playing.result import ScenarioResult
from models.plain_table import plain_table

MOST_MISHAPS = 10
"""Things that went wrong that are printed; the JSON has them all."""
HOLDS, BROKEN = Text("holds", style="green"), Text("BROKEN", style="bold red")


def verdict_table(result: ScenarioResult) -> Group:
    """Return the verdicts and, below them, the run in a line or two."""
    title = f"\n{result.name}, {result.controller}, seed {result.seed}"
    table = plain_table(title)
    table.add_column("line", justify="right")
    # What is of no line is expected of every scenario.
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
    lines = map(Text, _summary(result))
    return Group(table, *lines) if result.verdicts else Group(*lines)


def results_table(results: Sequence[ScenarioResult]) -> Table:
    """Return several scenarios, a row each."""
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
            Text(result.verdicts_in_words + failed),
            f"{result.sim_s:g} s",
        )
    return table


def _summary(result: ScenarioResult) -> list[str]:
    speed = result.sim_s / result.wall_s if result.wall_s > 0.0 else 0.0
    lines = [
        "",
        f"{result.verdicts_in_words}; {result.sim_s:g} s "
        f"simulated in {result.wall_s:.1f} s ({speed:.1f} × real time); "
        f"{result.n_events} events, trace {result.trace_hash[:12]}",
    ]
    lines += [f"{m.time_s:8.2f} s  {m.what}" for m in result.mishaps[:MOST_MISHAPS]]
    more = len(result.mishaps) - MOST_MISHAPS
    if more > 0:
        lines.append(f"            and {more} more; the JSON has them")
    if result.max_degc:
        joint, degc = max(result.max_degc.items(), key=lambda item: item[1])
        lines.append(f"hottest: {joint} with {degc:.1f} °C")
    if result.fell:
        lines.append("the robot fell")
    lines += [f"{path} never acted: {why}" for path, why in result.never_acted.items()]
    if result.failure is not None:
        lines.append(result.failure_in_words)
    return lines
