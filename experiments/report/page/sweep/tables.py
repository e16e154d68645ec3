"""The tables of a sweep: how far it came, controllers compared on the same robots."""

from collections.abc import Hashable, Mapping
from typing import Any

from experiments.report.page.numbers import NOTHING
from experiments.report.page.views import Column, Row, Table
from experiments.sweep.published_band import (
    is_near_published,
    published_band,
    why_no_band,
)
from experiments.sweep.summary import (
    compared,
    controllers_of,
    hotter_on,
    paired,
    reference_of,
    summary_of,
)
from experiments.sweep.summary_source import SweepFolder
from experiments.sweep.summary_words import (
    MEASURE_WORDS,
    NONE,
    band_texts,
    measure_form,
    number_text,
    settled_text,
)
from experiments.sweep.table import Sweep


def sweep_tables(found: SweepFolder) -> tuple[Table, ...]:
    """Return the tables of what came of a sweep, those that say nothing left out.

    They have the numbers of `nao-testbed sweep-show`.
    """
    sweep = found.sweep
    tables = [count_table(found)]
    if compared(sweep)["stands"].any():
        tables.append(summary_table(sweep))
        if paired(sweep, "legs_joule_loss_j").notna().sum(axis=1).max() > 1:
            tables.append(hotter_table(sweep))
        if is_near_published(sweep):
            tables.append(band_table(sweep))
    return tuple(tables)


def count_table(found: SweepFolder) -> Table:
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
    labels = ("asked for", "stood to the end", "fell or ended early", "no result")
    columns = [
        Column(label="controller", is_number=False),
        *(Column(label=label) for label in (*labels, "missing")),
    ]
    if asked is None:
        del columns[5], columns[1]
        shown = [
            Row(cells=(row.cells[0], *row.cells[2:5]), is_sum=row.is_sum)
            for row in shown
        ]
    return Table(
        caption="Trials",
        columns=tuple(columns),
        rows=tuple(shown),
        note=_kept_words(found.sweep) if keeps else "",
    )


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


def summary_table(sweep: Sweep) -> Table:
    """A row a controller: heat beside the reference and the least, settling, shift."""
    reference = reference_of(sweep)
    labels = {
        f"loss, × {reference}": "loss_",
        "power, × least of forces": "multiple_",
        "power, × least with gears": "with_gears_",
    }
    rows = []
    for name, row in summary_of(sweep).to_dict("index").items():
        cells = [str(name), f"{row['pairs']:.0f}"]
        for prefix in labels.values():
            texts = band_texts(row, prefix)
            cells.append(_dash(" ".join((texts[0], *(f"({t})" for t in texts[1:])))))
        cells.append(_dash(settled_text(row)))
        cells.append(_dash(number_text(row["largest_shift_deg"], "{:.2f}°")))
        rows.append(Row(cells=tuple(cells)))
    return Table(
        caption="Controllers compared on the same robots",
        columns=(
            Column(label="controller", is_number=False),
            Column(label="pairs"),
            *(Column(label=label) for label in labels),
            Column(label="settled: median, last"),
            Column(label="largest shift"),
        ),
        rows=tuple(rows),
        note="Median (5 to 95 % of the robots). Loss: the legs' Joule loss over the "
        f"whole run, over that of {reference} on the same robot, of as many pairs as "
        "both stood. Power is that at the end; the least is what the best contact "
        "forces allow in the posture reached, with gears running free, and with stuck "
        "gears bearing what they can. Settled: the legs' power stays within 5 % of its "
        "last value.",
    )


def hotter_table(sweep: Sweep) -> Table:
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
        rows.append(Row(cells=(str(name), *cells)))
    points = "Robots" if pairs.index.nlevels == 1 else "Robots and grid points"
    return Table(
        caption="Compared one by one",
        columns=(
            Column(label="loses more than", is_number=False),
            *(Column(label=str(other)) for other in counts.columns),
        ),
        rows=tuple(rows),
        note=f"{points} on which the controller of the row loses at least 0.1 % more "
        "heat than that of the column, of those where both stood.",
    )


def band_table(sweep: Sweep) -> Table:
    """Where the published outcomes lie among the robots that were kept."""
    rows = []
    before = None
    for row in published_band(sweep).reset_index().to_dict("records"):
        measure = str(row["measure"])
        rows.append(
            Row(
                cells=(
                    MEASURE_WORDS[measure] if measure != before else "",
                    str(row["controller"]),
                    str(row["robots"]),
                    *_band_cells(row, measure_form(measure)),
                )
            )
        )
        before = measure
    labels = ("robots", "median", "5 to 95 %", "published", "robots below it")
    return Table(
        caption="Robots near the published one without the method",
        columns=(
            Column(label="outcome", is_number=False),
            Column(label="controller", is_number=False),
            *(Column(label=label) for label in labels),
        ),
        rows=tuple(rows),
        note="The hotter leg is the document's left one; a joint is the hottest of its "
        "leg under fixed [ES2659053T3, fig. 4a to 5b].",
    )


def _band_cells(row: Mapping[Hashable, Any], form: str) -> tuple[str, ...]:
    low, high = (number_text(row[name], form) for name in ("low", "high"))
    return (
        _dash(number_text(row["median"], form)),
        _dash(low) if low == NONE else _minus(f"{low} to {high}"),
        _dash(number_text(row["published"], form)),
        _dash(number_text(100.0 * row["below"], "{:.0f} %")),
    )


def _dash(text: str) -> str:
    """Return a text of the terminal as the page writes it."""
    return NOTHING if text == NONE else _minus(text)


def _minus(text: str) -> str:
    return text.replace("-", "−")
