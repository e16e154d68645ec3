"""Tables of a sweep: progress, comparison of controllers, single trials.

Controllers are compared on the same robots, in the same tables on pages and terminals.
`_of_controllers` defines the quantities of controllers, `_of_trials` those of trials.
Trials without a result, trials with a fall, and all trials are listed one by one.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Any

from nao_testbed.experiments.common.drawing.number_text import NOTHING, duration, number
from nao_testbed.experiments.common.drawing.page import DataTable, Quantity, Row
from nao_testbed.experiments.sweep.summary import (
    compared,
    controllers_of,
    grid_columns,
    hotter_on,
    is_near_published,
    is_pushed,
    paired,
    power_unit_of,
    published_band,
    reference_of,
    relative,
    summary_of,
    why_no_band,
)
from nao_testbed.experiments.sweep.summary.falls import fall_tables
from nao_testbed.experiments.sweep.sweep_table import Sweep, SweepFolder

TableRow = Mapping[Hashable, Any]
"""Row of a frame."""


def sweep_tables(found: SweepFolder) -> tuple[DataTable, ...]:
    """Return the tables of a sweep's results that have rows."""
    stands = is_pushed(found.sweep) or compared(found.sweep)["stands"].any()
    return (count_table(found), *(comparisons(found.sweep) if stands else ()))


def comparisons(sweep: Sweep) -> tuple[DataTable, ...]:
    """Return the tables that compare controllers; empty without one."""
    if not controllers_of(sweep):
        return ()
    tables = [*(fall_tables(sweep) if is_pushed(sweep) else ()), summary_table(sweep)]
    pairs = paired(sweep, "legs_joule_loss_j")
    if len(pairs) and pairs.notna().sum(axis=1).max() > 1:
        tables.append(hotter_table(sweep))
    if is_near_published(sweep):
        tables.append(band_table(sweep))
    return tuple(tables)


def count_table(found: SweepFolder) -> DataTable:
    """Return a row per controller: planned, finished, failed and missing trials."""
    frame = found.sweep.frame
    expected = found.expected
    names = list(dict.fromkeys([*(expected or ()), *controllers_of(found.sweep)]))
    keeps = found.sweep.meta["identity"].get("keep") is not None
    rows: list[tuple[int | None, ...]] = []
    for name in names:
        of_it = frame[frame["controller"] == name]
        failed = int(of_it["error"].notna().sum())
        ended = int(of_it["failure"].notna().sum())
        stood = len(of_it) - failed - ended
        total = None if expected is None else expected.get(name, 0)
        missing = None if total is None else max(0, total - len(of_it))
        rows.append((total, stood, ended, failed, missing))
    shown = [
        Row(cells=(name, *(NOTHING if n is None else str(n) for n in row)))
        for name, row in zip(names, rows, strict=True)
    ]
    if len(rows) > 1:
        sums = [_sum(column) for column in zip(*rows, strict=True)]
        shown.append(Row(cells=("all", *sums), is_sum=True))
    labels = ["controller", "planned", "stood to the end", "fell or ended early"]
    labels += ["no result", "missing"]
    if expected is None:
        del labels[5], labels[1]
        shown = [
            Row(cells=(row.cells[0], *row.cells[2:5]), is_sum=row.is_sum)
            for row in shown
        ]
    note = _kept_note(found.sweep) if keeps else ""
    return DataTable.of("Trials", labels, shown, note)


def _sum(column: tuple[int | None, ...]) -> str:
    known = [n for n in column if n is not None]
    return str(sum(known)) if len(known) == len(column) else NOTHING


def _kept_note(sweep: Sweep) -> str:
    frame = sweep.frame
    kept = frame.loc[frame["kept"].astype(bool), "robot"].nunique()
    keep = sweep.meta["identity"]["keep"]
    return (
        f"All robots ran under {keep['controller']}; {kept} of "
        f"{frame['robot'].nunique()} are near the selected outcome and ran under the "
        f"others. The tables and figures below show these. {why_no_band(sweep) or ''}"
    ).strip()


def _of_controllers(reference: str | None) -> tuple[Quantity[TableRow], ...]:
    """Return the quantities of a row of `summary_of`."""
    return (
        Quantity("trials", _trials_text),
        Quantity("pairs", lambda row: row["pairs"], digits=0),
        Quantity(f"loss, × {reference}", lambda row: _band(row, "loss_")),
        Quantity(
            "power, × minimum without gear friction",
            lambda row: _band(row, "multiple_"),
        ),
        Quantity("power, × minimum", lambda row: _band(row, "with_gears_")),
        Quantity("settling time: median, last", _settled),
        Quantity("largest shift", lambda row: row["largest_shift_deg"], "°", 2),
    )


def _hot_text(row: TableRow) -> str:
    """Return a text with the number of robots with a joint at 80 °C, and the times."""
    stood = row["trials"] - row["fell"] - row["failed"]
    words = [f"{row['hot']} of {stood}"]
    for name in ("until_80_degc_first_s", "until_80_degc_median_s"):
        if math.isfinite(row.get(name, math.nan)):
            words.append(duration(row[name]))
    return ", ".join(words)


_HOT = Quantity[TableRow]("a joint at 80 °C: robots, first, median", _hot_text)


def _caught_text(row: TableRow) -> str:
    """Return a text with the number of caught robots, and the share of physics time."""
    stood = row["trials"] - row["fell"] - row["failed"]
    share = f", {number(100.0 * row['caught_share'], 2)} %" if row["caught"] else ""
    return f"{row['caught']} of {stood}{share}"


_CAUGHT = Quantity[TableRow]("guard active: robots, share of the physics", _caught_text)


def summary_table(sweep: Sweep) -> DataTable:
    """Return a row per controller: relative heat, settling time, shift."""
    reference = reference_of(sweep)
    summary = summary_of(sweep)
    quantities = _of_controllers(reference)
    quantities += (_HOT,) if summary["hot"].any() else ()
    is_shown = summary["caught"].any() and not is_pushed(sweep)
    quantities += (_CAUGHT,) if is_shown else ()
    return DataTable.of(
        "Controllers on the same robots",
        ("controller", *(quantity.label for quantity in quantities)),
        (
            (str(name), *(quantity.text(row) for quantity in quantities))
            for name, row in summary.to_dict("index").items()
        ),
        "Median (5 to 95 % of the robots). Loss: Joule loss of the legs in the "
        f"whole run, relative to {reference} on the same robot, where both stood. "
        "Power: final power of the legs. Minimum: optimal contact forces in the "
        "last posture, with gear friction carrying as much of the load as possible, "
        "or without gear friction. Settling: the power of the legs stays within 5 % "
        "of its final value."
        + (
            " The median is over all robots that stood." if summary["hot"].any() else ""
        ),
    )


def _trials_text(row: TableRow) -> str:
    others = [f"{row[name]} {name}" for name in ("fell", "failed") if row[name]]
    return ", ".join([str(row["trials"]), *others])


def _band(row: TableRow, prefix: str) -> str | None:
    """Return a median and its 90 % band, rounded to significant digits."""
    median, low, high = (
        number(value, 2 if value < 10.0 else 1)
        for value in (row[f"{prefix}{name}"] for name in ("median", "low", "high"))
    )
    return None if median == NOTHING else f"{median} ({low} to {high})"


def _settled(row: TableRow) -> str | None:
    """Return a text with settling times, and the number of unsettled trials."""
    never = row["trials"] - row["fell"] - row["failed"] - row["settled"]
    words = []
    if row["settled"]:
        words = [f"{row['settled_median_s']:.0f}, {row['settled_last_s']:.0f} s"]
    return "; ".join([*words, *([f"{never} not settled"] if never else [])]) or None


def hotter_table(sweep: Sweep) -> DataTable:
    """Return the number of robots that are hotter under the row's controller."""
    counts = hotter_on(sweep)
    pairs = paired(sweep, "legs_joule_loss_j")
    rows = []
    for name, row in counts.to_dict("index").items():
        cells = [
            NOTHING
            if other == name
            else f"{count} of {(pairs[name].notna() & pairs[other].notna()).sum()}"
            for other, count in row.items()
        ]
        rows.append((str(name), *cells))
    points = "Robots" if pairs.index.nlevels == 1 else "Robots and grid points"
    return DataTable.of(
        "Pairwise comparison",
        ("more heat than", *map(str, counts.columns)),
        rows,
        f"{points} with at least 0.1 % more heat under the controller of the row than "
        "under that of the column, of those where both stood.",
    )


MEASURE_LABELS = {
    "hot_leg_rise_k": "hotter leg, sum of rises, K",
    "other_leg_rise_k": "other leg, sum of rises, K",
    "hot_joint_degc": "hotter leg, hottest joint, °C",
    "other_joint_degc": "other leg, hottest joint, °C",
    "rise_ratio": "both legs, rise relative to fixed",
}
"""Labels of the outcomes of `published_band`."""


def band_table(sweep: Sweep) -> DataTable:
    """Return a table of the published outcomes among the kept robots."""
    rows = []
    before = None
    for row in published_band(sweep).reset_index().to_dict("records"):
        measure = str(row["measure"])
        digits = 2 if measure == "rise_ratio" else 1
        median, low, high, published = (
            number(row[name], digits) for name in ("median", "low", "high", "published")
        )
        below = number(100.0 * row["below"], 0)
        cells = (
            MEASURE_LABELS[measure] if measure != before else "",
            str(row["controller"]),
            str(row["robots"]),
            median,
            low if low == NOTHING else f"{low} to {high}",
            published,
            below if below == NOTHING else f"{below} %",
        )
        rows.append(cells)
        before = measure
    labels = ("outcome", "controller", "robots", "median", "5 to 95 %", "published")
    return DataTable.of(
        "Robots near the published outcome without the method",
        (*labels, "robots below"),
        rows,
        "The hotter leg is the left one in the publication; a joint is the hottest of "
        "its leg under fixed [ES2659053T3, fig. 4a to 5b].",
        texts=(0, 1),
    )


MAX_TRIALS = 2000
"""Largest number of rows of the table of all trials; the folder's table has all."""
MAX_REASONS = 50
"""Largest number of rows of the tables of failed trials and falls."""
MAX_UNFOLDED = 12
"""Number of rows above which such a table is folded."""


def trial_tables(sweep: Sweep) -> tuple[DataTable, ...]:
    """Return the tables of single trials that have rows."""
    grid = grid_columns(sweep)
    frame = sweep.frame
    tables = (
        _reasons(
            "Trials without a result",
            frame[frame["error"].notna()],
            grid,
            "error",
            "The command of the sweep repeats them.",
        ),
        _reasons(
            "Trials that fell or ended early",
            frame[frame["failure"].notna()],
            grid,
            "failure",
            "",
        ),
        _all(sweep, grid),
    )
    return tuple(table for table in tables if table.rows)


def _reasons(
    caption: str,
    frame: "Any",  # DataFrame
    grid: Mapping[str, str],
    column: str,
    note: str,
) -> DataTable:
    """Return the first `MAX_REASONS` trials with their reasons."""
    rows = [
        (
            str(trial["robot"]),
            *(_value(trial[name]) for name in grid),
            str(trial["controller"]),
            str(trial[column]),
            str(trial["trial"]),
        )
        for trial in frame.head(MAX_REASONS).to_dict("records")
    ]
    if (more := len(frame) - len(rows)) > 0:
        note = f"{more} more: see column “{column}” of the sweep table. {note}"
    n = len(grid)
    return DataTable.of(
        f"{caption}: {len(frame)}",
        ("robot", *grid.values(), "controller", "reason", "trial"),
        rows,
        note.strip(),
        texts=(n + 1, n + 2, n + 3),
        is_sortable=True,
        is_folded=len(rows) > MAX_UNFOLDED,
    )


def _of_trials(sweep: Sweep) -> dict[str, Quantity[TableRow]]:
    """Return the quantities of a trial, by column."""
    units = {
        column: power_unit_of(sweep, column)
        for column in ("legs_joule_loss_j", "legs_power_w")
    }
    is_relative = any(unit.is_relative for unit in units.values())
    joules, watts = (("×", 2), ("×", 2)) if is_relative else (("J", 0), ("W", 2))

    def of(column: str, label: str, unit: str, digits: int) -> Quantity[TableRow]:
        size = units[column].size if column in units else 1.0
        return Quantity(label, lambda trial: trial[column] / size, unit, digits)

    return {
        column: of(column, *how)
        for column, how in {
            "legs_joule_loss_j": ("Joule loss", *joules),
            "ratio": (f"× {reference_of(sweep)}", "", 2),
            "legs_power_w": ("power", *watts),
            "multiple_with_gears": ("× minimum", "", 2),
            "settled_s": ("settling time", "s", 1),
            "largest_shift_deg": ("largest shift", "°", 2),
            "hottest_degc": ("hottest", "°C", 1),
            "fell_s": ("fell at", "s", 2),
        }.items()
    }


def _all(sweep: Sweep, grid: Mapping[str, str]) -> DataTable:
    reference = reference_of(sweep)
    frame = compared(sweep)
    pairs = paired(sweep, "legs_joule_loss_j")
    if reference is not None and len(pairs) and len(pairs.columns) > 1:
        ratios = relative(pairs, reference).reset_index()
        keys = [name for name in pairs.index.names if name is not None]
        ratios = ratios.melt(keys, var_name="controller", value_name="ratio")
        frame = frame.merge(ratios, how="left", on=[*keys, "controller"])
    shown = {
        name: quantity
        for name, quantity in _of_trials(sweep).items()
        if name in frame and frame[name].notna().any()
    }
    rows = [
        (
            str(trial["robot"]),
            *(_value(trial[name]) for name in grid),
            str(trial["controller"]),
            _end(trial),
            *(quantity.bare(trial) for quantity in shown.values()),
            _text(trial.get("hottest_joint")),
        )
        for trial in frame.head(MAX_TRIALS).to_dict("records")
    ]
    more = len(frame) - len(rows)
    dropped = len(sweep.frame) - len(frame)
    notes = ["Power: at the end; × minimum: ratio to the minimum with gear friction."]
    if "multiple_with_gears" not in shown:
        notes = []
    if note := power_unit_of(sweep).note:
        notes.append(note)
    notes += [f"{more} more: see the sweep table."] if more else []
    if dropped:
        notes.append(f"Left out, as their robots were not kept: {dropped}.")
    n = len(grid)
    quantities = (quantity.column() for quantity in shown.values())
    return DataTable.of(
        f"All {len(frame)} trials",
        ("robot", *grid.values(), "controller", "end", *quantities, "hottest joint"),
        rows,
        " ".join(notes),
        texts=(n + 1, n + 2, n + 3 + len(shown)),
        is_sortable=True,
        is_folded=True,
    )


def _end(trial: TableRow) -> str:
    if isinstance(trial["error"], str):
        return "no result"
    if isinstance(trial["failure"], str):
        return "fell" if trial["fell"] is True else "ended early"
    return "stood"


def _value(value: object) -> str:
    """Return the text of a parameter; a dash for a missing one."""
    if isinstance(value, int | float):
        return NOTHING if math.isnan(value) else f"{value:.4g}".replace("-", "−")
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else NOTHING
