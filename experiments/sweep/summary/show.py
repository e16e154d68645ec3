"""Show what a sweep tells: tables on the console, figures in its folder, JSON."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from experiments.common.drawing.plain_table import plain_table
from experiments.sweep.summary import (
    MEASURE_WORDS,
    NONE,
    band_texts,
    controllers_of,
    hotter_on,
    is_near_published,
    measure_form,
    number_text,
    paired,
    published_band,
    reference_of,
    settled_text,
    summary_of,
    why_no_band,
)
from experiments.sweep.sweep_table import Sweep


def summary_table(sweep: Sweep) -> Table:
    """Return a row a controller: falls, heat beside the reference and the least."""
    reference = reference_of(sweep)
    table = plain_table(
        f"\n{sweep.meta['name']}: legs' joule loss, median and 90 % band",
        f"Relative to {reference} on the same robot, over the whole run. The "
        "least is that of the posture reached: of contact forces alone, and when stuck "
        "gears bear what they can. Settled: legs' power within 5 % of its last.",
    )
    table.add_column("controller")
    for name in (
        "trials",
        "fell",
        f"loss,\n× {reference}",
        "power, × least\nof forces",
        "power, × least\nwith gears",
        "settled:\nmedian, last",
        "largest\nshift",
    ):
        table.add_column(name, justify="right")
    for key, row in summary_of(sweep).to_dict("index").items():
        failed = f" + {row['failed']:.0f} failed" if row["failed"] else ""
        table.add_row(
            str(key),
            f"{row['trials']:.0f}{failed}",
            f"{row['fell']:.0f}",
            "\n".join(band_texts(row, "loss_")),
            "\n".join(band_texts(row, "multiple_")),
            "\n".join(band_texts(row, "with_gears_")),
            settled_text(row),
            number_text(row["largest_shift_deg"], "{:.2f}°"),
        )
    return table


def hotter_table(sweep: Sweep) -> Table:
    """Return on how many robots the row's controller is hotter than the column's."""
    counts = hotter_on(sweep)
    table = plain_table("\nRobots on which the controller of the row loses more heat")
    table.add_column("")
    for other in counts.columns:
        table.add_column(str(other), justify="right")
    for name, row in counts.to_dict("index").items():
        cells = (NONE if other == name else str(n) for other, n in row.items())
        table.add_row(str(name), *cells)
    return table


def band_table(sweep: Sweep) -> Table:
    """Return where the published outcomes lie among the robots that were kept."""
    table = plain_table(
        "\nRobots near the published one without the method",
        "Median and 90 % band; robots below: those whose outcome is below the "
        "published one. The hotter leg is the published left one.",
    )
    for name in ("outcome", "controller"):
        table.add_column(name)
    for name in ("robots", "median", "90 % band", "published", "robots below"):
        table.add_column(name, justify="right")
    before = None
    for row in published_band(sweep).reset_index().to_dict("records"):
        measure = str(row["measure"])
        form = measure_form(measure)
        table.add_row(
            MEASURE_WORDS[measure] if measure != before else "",
            str(row["controller"]),
            f"{row['robots']:.0f}",
            number_text(row["median"], form),
            f"{number_text(row['low'], form)} to {number_text(row['high'], form)}",
            number_text(row["published"], form),
            number_text(100.0 * row["below"], "{:.0f} %"),
        )
        before = measure
    return table


def show_summary(sweep: Sweep, folder: Path, console: Console) -> None:
    """Print the tables of a sweep and draw its figures.

    A sweep without a trial shows nothing; one with a single controller has no figure.

    Args:
        sweep: from `read_sweep`.
        folder: where the figures go.
        console: for the tables.

    Raises:
        BadInput: a figure cannot be written.
    """
    names = controllers_of(sweep)
    if not names:
        return
    console.print(summary_table(sweep))
    if len(names) > 1:
        console.print(hotter_table(sweep))
    if is_near_published(sweep):
        console.print(band_table(sweep))
    elif (why := why_no_band(sweep)) is not None:
        console.print(why, markup=False)
    for path in draw_figures(sweep, folder):
        console.print(f"Figure: {path}", soft_wrap=True, markup=False, highlight=False)


def draw_figures(sweep: Sweep, folder: Path) -> list[Path]:
    """Write the figures of a sweep as PNG and SVG; return the PNG files.

    Raises:
        BadInput: a file cannot be written.
    """
    if not has_pairs(sweep):
        return []
    from experiments.common.drawing.style import save_figure  # noqa: PLC0415  # matplotlib
    from experiments.sweep.summary.sweep_figures import band_figure, paired_figure  # noqa: PLC0415  # matplotlib

    figures = {"robots": ("Legs' power, robot by robot", paired_figure(sweep))}
    if is_near_published(sweep):
        figures["published"] = ("Published outcomes among robots", band_figure(sweep))
    settings = {**sweep.meta, "spec": sweep.spec}
    for name, (title, figure) in figures.items():
        save_figure(figure, folder / f"{name}.png", title, settings)
        figure.set_layout_engine("none")  # settled: not again for the second file
        save_figure(figure, folder / f"{name}.svg", title, settings)
    return [folder / f"{name}.png" for name in figures]


def has_pairs(sweep: Sweep) -> bool:
    """Tell whether there are controllers to compare, and power to be drawn of."""
    power = paired(sweep, "legs_power_w").to_numpy(float)
    return len(controllers_of(sweep)) > 1 and bool((power > 0.0).any())


def summary_json(sweep: Sweep) -> dict[str, Any]:
    """Return the summary as JSON can hold it; None where there is no number."""
    near = is_near_published(sweep)
    return {
        "experiment": "sweep",
        "name": sweep.meta["name"],
        "robots": sweep.meta["robots"],
        "seed": sweep.meta["seed"],
        "reference": reference_of(sweep),
        "controllers": _finite(summary_of(sweep).to_dict("index")),
        "hotter_on": hotter_on(sweep).to_dict("index"),
        "published_band": (
            _finite(published_band(sweep).reset_index().to_dict("records"))
            if near
            else None
        ),
    }


def _finite(value: Any) -> Any:
    """Return frames' dicts with plain numbers, None for NaN."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
