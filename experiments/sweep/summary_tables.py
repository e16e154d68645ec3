"""The summary of a sweep as tables for a terminal."""

from rich.table import Table

from experiments.sweep.published_band import published_band
from experiments.sweep.summary import hotter_on, reference_of, summary_of
from experiments.sweep.summary_words import (
    MEASURE_WORDS,
    NONE,
    band_texts,
    measure_form,
    number_text,
    settled_text,
)
from experiments.sweep.table import Sweep
from models.plain_table import plain_table


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
        "published one. The hotter leg is the document's left one.",
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
