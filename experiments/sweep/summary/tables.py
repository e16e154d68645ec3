"""Tables of a sweep: progress, comparison of controllers, single trials.

Controllers are compared on the same robots, in the same tables on pages and terminals.
A quantity of controllers is a line in `_of_controllers`, one of trials in `_of_trials`.
Trials are listed one by one: those without a result, those that fell, and all.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Any

from nao_testbed.experiments.common.drawing.page import (
    NOTHING,
    DataTable,
    Quantity,
    Row,
    duration,
    number,
)
from nao_testbed.experiments.sweep.summary import (
    compared,
    controllers_of,
    grid_columns,
    hotter_on,
    is_near_published,
    is_pushed,
    paired,
    published_band,
    reference_of,
    relative,
    summary_of,
    why_no_band,
)
from nao_testbed.experiments.sweep.summary.falls import fall_tables
from nao_testbed.experiments.sweep.sweep_table import Sweep, SweepFolder

TableRow = Mapping[Hashable, Any]
"""Of a frame."""


def sweep_tables(found: SweepFolder) -> tuple[DataTable, ...]:
    """Return the tables of a sweep's results that have rows."""
    stands = is_pushed(found.sweep) or compared(found.sweep)["stands"].any()
    return (count_table(found), *(comparisons(found.sweep) if stands else ()))


def comparisons(sweep: Sweep) -> tuple[DataTable, ...]:
    """Return the tables that compare controllers; empty where there are none."""
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
    """A row a controller: trials asked for, done, without a result, missing."""
    frame = found.sweep.frame
    asked = found.asked
    names = list(dict.fromkeys([*(asked or ()), *controllers_of(found.sweep)]))
    keeps = found.sweep.meta["identity"].get("keep") is not None
    rows: list[tuple[int | None, ...]] = []
    for name in names:
        of_it = frame[frame["controller"] == name]
        failed = int(of_it["error"].notna().sum())
        ended = int(of_it["failure"].notna().sum())
        stood = len(of_it) - failed - ended
        total = None if asked is None else asked.get(name, 0)
        missing = None if total is None else max(0, total - len(of_it))
        rows.append((total, stood, ended, failed, missing))
    shown = [
        Row(cells=(name, *(NOTHING if n is None else str(n) for n in row)))
        for name, row in zip(names, rows, strict=True)
    ]
    if len(rows) > 1:
        sums = [_sum(column) for column in zip(*rows, strict=True)]
        shown.append(Row(cells=("all", *sums), is_sum=True))
    labels = ["controller", "asked for", "stood to the end", "fell or ended early"]
    labels += ["no result", "missing"]
    if asked is None:
        del labels[5], labels[1]
        shown = [
            Row(cells=(row.cells[0], *row.cells[2:5]), is_sum=row.is_sum)
            for row in shown
        ]
    note = _kept_words(found.sweep) if keeps else ""
    return DataTable.of("Trials", labels, shown, note)


def _sum(column: tuple[int | None, ...]) -> str:
    known = [n for n in column if n is not None]
    return str(sum(known)) if len(known) == len(column) else NOTHING


def _kept_words(sweep: Sweep) -> str:
    frame = sweep.frame
    kept = frame.loc[frame["kept"].astype(bool), "robot"].nunique()
    keep = sweep.meta["identity"]["keep"]
    return (
        f"All robots ran under {keep['controller']}; of {frame['robot'].nunique()}, "
        f"{kept} lie near the wanted outcome and go on to the others. The tables and "
        f"figures below are of these. {why_no_band(sweep) or ''}"
    ).strip()


def _of_controllers(reference: str | None) -> tuple[Quantity[TableRow], ...]:
    """Return the quantities of a row of `summary_of`."""
    return (
        Quantity("trials", _trials),
        Quantity("pairs", lambda row: row["pairs"], digits=0),
        Quantity(f"loss, × {reference}", lambda row: _band(row, "loss_")),
        Quantity("power, × least of forces", lambda row: _band(row, "multiple_")),
        Quantity("power, × least with gears", lambda row: _band(row, "with_gears_")),
        Quantity("settled: median, last", _settled),
        Quantity("largest shift", lambda row: row["largest_shift_deg"], "°", 2),
    )


def _hot(row: TableRow) -> str:
    """Return how many robots had a joint at 80 °C, and when."""
    stood = row["trials"] - row["fell"] - row["failed"]
    words = [f"{row['hot']} of {stood}"]
    for name in ("until_80_degc_first_s", "until_80_degc_median_s"):
        if math.isfinite(row.get(name, math.nan)):
            words.append(duration(row[name]))
    return ", ".join(words)


_HOT = Quantity[TableRow]("a joint at 80 °C: robots, first, median", _hot)


def _caught(row: TableRow) -> str:
    """Return how many robots the guard caught, and for how much of the physics."""
    stood = row["trials"] - row["fell"] - row["failed"]
    share = f", {number(100.0 * row['caught_share'], 2)} %" if row["caught"] else ""
    return f"{row['caught']} of {stood}{share}"


_CAUGHT = Quantity[TableRow]("the guard woke: robots, share of the physics", _caught)


def summary_table(sweep: Sweep) -> DataTable:
    """A row a controller: heat beside the reference and the least, settling, shift."""
    reference = reference_of(sweep)
    summary = summary_of(sweep)
    told = _of_controllers(reference)
    told += (_HOT,) if summary["hot"].any() else ()
    is_told = summary["caught"].any() and not is_pushed(sweep)
    told += (_CAUGHT,) if is_told else ()
    return DataTable.of(
        "Controllers compared on the same robots",
        ("controller", *(quantity.label for quantity in told)),
        (
            (str(name), *(quantity.text(row) for quantity in told))
            for name, row in summary.to_dict("index").items()
        ),
        "Median (5 to 95 % of the robots). Loss: the legs' Joule loss over the "
        f"whole run, over that of {reference} on the same robot, of as many pairs as "
        "both stood. Power is that at the end; the least is what the best contact "
        "forces allow in the posture reached, with gears running free, and with stuck "
        "gears bearing what they can. Settled: the legs' power stays within 5 % of its "
        "last value."
        + (" The median is of all robots that stood." if summary["hot"].any() else ""),
    )


def _trials(row: TableRow) -> str:
    others = [f"{row[name]} {name}" for name in ("fell", "failed") if row[name]]
    return ", ".join([str(row["trials"]), *others])


def _band(row: TableRow, prefix: str) -> str | None:
    """Return a median and its 90 % band, with as many decimals as say something."""
    median, low, high = (
        number(value, 2 if value < 10.0 else 1)
        for value in (row[f"{prefix}{name}"] for name in ("median", "low", "high"))
    )
    return None if median == NOTHING else f"{median} ({low} to {high})"


def _settled(row: TableRow) -> str | None:
    """Return when trials settled, median and last, and how many never did."""
    never = row["trials"] - row["fell"] - row["failed"] - row["settled"]
    words = []
    if row["settled"]:
        words = [f"{row['settled_median_s']:.0f}, {row['settled_last_s']:.0f} s"]
    return "; ".join([*words, *([f"{never} never"] if never else [])]) or None


def hotter_table(sweep: Sweep) -> DataTable:
    """On how many robots the controller of the row loses more than the column's."""
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
        "Compared one by one",
        ("loses more than", *map(str, counts.columns)),
        rows,
        f"{points} on which the controller of the row loses at least 0.1 % more "
        "heat than that of the column, of those where both stood.",
    )


MEASURE_WORDS = {
    "hot_leg_rise_k": "hotter leg, rise, K",
    "other_leg_rise_k": "other leg, rise, K",
    "hot_joint_degc": "hotter leg, hottest joint, °C",
    "other_joint_degc": "other leg, hottest joint, °C",
    "rise_ratio": "both legs, rise of fixed",
}
"""What the outcomes of `published_band` are called."""


def band_table(sweep: Sweep) -> DataTable:
    """Return the place of the published outcomes among the kept robots."""
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
            MEASURE_WORDS[measure] if measure != before else "",
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
        "Robots near the published one without the method",
        (*labels, "robots below it"),
        rows,
        "The hotter leg is the published left one; a joint is the hottest of its "
        "leg under fixed [ES2659053T3, fig. 4a to 5b].",
        texts=(0, 1),
    )


MAX_TRIALS = 2000
"""Rows of the table of all trials; the folder's table has them all."""
MAX_REASONS = 50
"""Rows of the tables of trials that did not end well."""
MAX_UNFOLDED = 12
"""Rows above which such a table is closed at first."""


def trial_tables(sweep: Sweep) -> tuple[DataTable, ...]:
    """Return the tables of single trials, those without rows left out."""
    grid = grid_columns(sweep)
    frame = sweep.frame
    tables = (
        _reasons(
            "Trials without a result",
            frame[frame["error"].notna()],
            grid,
            "error",
            "The command that ran the sweep runs them again.",
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
    frame: "Any",  # a DataFrame
    grid: Mapping[str, str],
    column: str,
    note: str,
) -> DataTable:
    """Return trials with a text that says why; the first `MAX_REASONS` of them."""
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
        note = f"And {more} more: column “{column}” of the sweep's table. {note}"
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


def _of_trials(reference: str | None) -> dict[str, Quantity[TableRow]]:
    """Return the quantities of a trial, by column."""

    def of(column: str, label: str, unit: str, digits: int) -> Quantity[TableRow]:
        return Quantity(label, lambda trial: trial[column], unit, digits)

    return {
        column: of(column, *how)
        for column, how in {
            "legs_joule_loss_j": ("legs' loss", "J", 0),
            "ratio": (f"× {reference}", "", 2),
            "legs_power_w": ("power", "W", 2),
            "multiple_with_gears": ("× least", "", 2),
            "settled_s": ("settled", "s", 1),
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
    told = {
        name: quantity
        for name, quantity in _of_trials(reference).items()
        if name in frame and frame[name].notna().any()
    }
    rows = [
        (
            str(trial["robot"]),
            *(_value(trial[name]) for name in grid),
            str(trial["controller"]),
            _end(trial),
            *(quantity.bare(trial) for quantity in told.values()),
            _text(trial.get("hottest_joint")),
        )
        for trial in frame.head(MAX_TRIALS).to_dict("records")
    ]
    more = len(frame) - len(rows)
    dropped = len(sweep.frame) - len(frame)
    notes = ["Power at the end; × least: over the least where stuck gears help."]
    if "multiple_with_gears" not in told:
        notes = []
    notes += [f"And {more} more: the sweep's table has them all."] if more else []
    if dropped:
        notes.append(f"Without {dropped} of robots that were not kept.")
    n = len(grid)
    quantities = (quantity.column() for quantity in told.values())
    return DataTable.of(
        f"All {len(frame)} trials",
        ("robot", *grid.values(), "controller", "end", *quantities, "hottest joint"),
        rows,
        " ".join(notes),
        texts=(n + 1, n + 2, n + 3 + len(told)),
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
    """Return a parameter; joints that a row lacks have none."""
    if isinstance(value, int | float):
        return NOTHING if math.isnan(value) else f"{value:.4g}".replace("-", "−")
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else NOTHING
