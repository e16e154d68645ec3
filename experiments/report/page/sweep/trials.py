"""Single trials: those without a result, those that fell, and all of them."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

from experiments.report.page.numbers import NOTHING, number
from experiments.report.page.views import Column, Row, Table
from experiments.sweep.summary import compared, paired, reference_of, relative
from experiments.sweep.table import Sweep

MOST_TRIALS = 2000
"""Rows of the table of all trials; the folder's table has them all."""
MOST_REASONS = 50
"""Rows of the tables of trials that did not end well."""
MOST_UNFOLDED = 12
"""Rows above which such a table is closed at first."""
MOST_GRIDS = 4
"""Columns of the grid that are shown; a group of joints counts once."""
Trial = Mapping[Hashable, Any]


def trial_tables(sweep: Sweep) -> tuple[Table, ...]:
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


def grid_columns(sweep: Sweep) -> dict[str, str]:
    """Return columns of the grid to what they are called, but for the controller.

    Joints that always have the same value, as those of a group do, are one column.
    """
    shown: dict[str, str] = {}
    frame = sweep.frame
    for column in sweep.meta["grid"]:
        if column == "controller" or column not in frame:
            continue
        like = next(
            (
                other
                for other in shown
                if other.partition(".")[0] == column.partition(".")[0]
                and frame[other].equals(frame[column])
            ),
            None,
        )
        name = column.replace(".", " ")
        if like is None:
            shown[column] = name
        elif not shown[like].endswith(" …"):
            shown[like] += " …"
    return dict(list(shown.items())[:MOST_GRIDS])


def _reasons(
    caption: str,
    frame: "Any",  # a DataFrame
    grid: Mapping[str, str],
    column: str,
    note: str,
) -> Table:
    """Return trials with a text that says why; the first `MOST_REASONS` of them."""
    rows = [
        Row(
            cells=(
                str(trial["robot"]),
                *(_value(trial[name]) for name in grid),
                str(trial["controller"]),
                str(trial[column]),
                str(trial["trial"]),
            )
        )
        for trial in frame.head(MOST_REASONS).to_dict("records")
    ]
    if (more := len(frame) - len(rows)) > 0:
        note = f"And {more} more: column “{column}” of the sweep's table. {note}"
    return Table(
        caption=f"{caption}: {len(frame)}",
        columns=(
            Column(label="robot"),
            *(Column(label=label) for label in grid.values()),
            Column(label="controller", is_number=False),
            Column(label="reason", is_number=False),
            Column(label="trial", is_number=False),
        ),
        rows=tuple(rows),
        note=note.strip(),
        is_sortable=True,
        is_folded=len(rows) > MOST_UNFOLDED,
    )


def _all(sweep: Sweep, grid: Mapping[str, str]) -> Table:
    reference = reference_of(sweep)
    frame = compared(sweep)
    pairs = paired(sweep, "legs_joule_loss_j")
    if reference is not None and len(pairs) and len(pairs.columns) > 1:
        ratios = relative(pairs, reference).reset_index()
        keys = [name for name in pairs.index.names if name is not None]
        ratios = ratios.melt(keys, var_name="controller", value_name="ratio")
        frame = frame.merge(ratios, how="left", on=[*keys, "controller"])
    labels = {
        "legs_joule_loss_j": ("legs' loss, J", 0),
        "ratio": (f"× {reference}", 2),
        "legs_power_w": ("power, W", 2),
        "multiple_with_gears": ("× least", 2),
        "settled_s": ("settled, s", 1),
        "largest_shift_deg": ("largest shift, °", 2),
        "hottest_degc": ("hottest, °C", 1),
    }
    labels = {
        name: label
        for name, label in labels.items()
        if name in frame and frame[name].notna().any()
    }
    rows = [
        Row(
            cells=(
                str(trial["robot"]),
                *(_value(trial[name]) for name in grid),
                str(trial["controller"]),
                _end(trial),
                *(_cell(trial[name], digits) for name, (_, digits) in labels.items()),
                _text(trial.get("hottest_joint")),
            )
        )
        for trial in frame.head(MOST_TRIALS).to_dict("records")
    ]
    more = len(frame) - len(rows)
    dropped = len(sweep.frame) - len(frame)
    notes = ["Power at the end; × least: over the least where stuck gears help."]
    if "multiple_with_gears" not in labels:
        notes = []
    notes += [f"And {more} more: the sweep's table has them all."] if more else []
    if dropped:
        notes.append(f"Without {dropped} of robots that were not kept.")
    return Table(
        caption=f"All {len(frame)} trials",
        columns=(
            Column(label="robot"),
            *(Column(label=label) for label in grid.values()),
            Column(label="controller", is_number=False),
            Column(label="end", is_number=False),
            *(Column(label=label) for label, _ in labels.values()),
            Column(label="hottest joint", is_number=False),
        ),
        rows=tuple(rows),
        note=" ".join(notes),
        is_sortable=True,
        is_folded=True,
    )


def _end(trial: Trial) -> str:
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


def _cell(value: object, digits: int) -> str:
    return number(float(value) if isinstance(value, int | float) else None, digits)


def _text(value: object) -> str:
    return value if isinstance(value, str) else NOTHING
