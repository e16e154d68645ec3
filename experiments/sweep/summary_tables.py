"""The summary of a sweep as tables for a terminal."""

from collections.abc import Hashable, Mapping
from typing import Any

from rich.table import Table

from experiments.sweep.published_band import published_band
from experiments.sweep.summary import hotter_on, reference_of, summary_of
from experiments.sweep.table import Sweep

MEASURE_WORDS = {
    "hot_leg_rise_k": "hotter leg, rise, K",
    "other_leg_rise_k": "other leg, rise, K",
    "hot_joint_degc": "hotter leg, hottest joint, °C",
    "other_joint_degc": "other leg, hottest joint, °C",
    "rise_ratio": "both legs, rise of fixed",
}
"""What the outcomes of `published_band` are called."""
NONE = "·"


def summary_table(sweep: Sweep) -> Table:
    """Return a row a controller: falls, heat beside the reference and the least."""
    reference = reference_of(sweep)
    table = Table(
        title=f"{sweep.meta['name']}: legs' joule loss, median and 90 % band",
        title_justify="left",
        caption=f"Relative to {reference} on the same robot, over the whole run. The "
        "least is that of the posture reached: of contact forces alone, and when stuck "
        "gears bear what they can. Settled: legs' power within 5 % of its last.",
        caption_justify="left",
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
            _band(row, "loss_"),
            _band(row, "multiple_"),
            _band(row, "with_gears_"),
            _settled(row),
            _number(row["largest_shift_deg"], "{:.2f}°"),
        )
    return table


def hotter_table(sweep: Sweep) -> Table:
    """Return on how many robots the row's controller is hotter than the column's."""
    counts = hotter_on(sweep)
    table = Table(
        title="Robots on which the controller of the row loses more heat",
        title_justify="left",
    )
    table.add_column("")
    for other in counts.columns:
        table.add_column(str(other), justify="right")
    for name, row in counts.to_dict("index").items():
        cells = (NONE if other == name else str(n) for other, n in row.items())
        table.add_row(str(name), *cells)
    return table


def band_table(sweep: Sweep) -> Table:
    """Return where the published outcomes lie among the robots that were kept."""
    table = Table(
        title="Robots near the published one without the method",
        title_justify="left",
        caption="Median and 90 % band; robots below: those whose outcome is below the "
        "published one. The hotter leg is the document's left one.",
        caption_justify="left",
    )
    for name in ("outcome", "controller"):
        table.add_column(name)
    for name in ("robots", "median", "90 % band", "published", "robots below"):
        table.add_column(name, justify="right")
    before = None
    for row in published_band(sweep).reset_index().to_dict("records"):
        measure = str(row["measure"])
        form = "{:.2f}" if measure == "rise_ratio" else "{:.1f}"
        table.add_row(
            MEASURE_WORDS[measure] if measure != before else "",
            str(row["controller"]),
            f"{row['robots']:.0f}",
            _number(row["median"], form),
            f"{_number(row['low'], form)} to {_number(row['high'], form)}",
            _number(row["published"], form),
            _number(100.0 * row["below"], "{:.0f} %"),
        )
        before = measure
    return table


def _number(value: float, form: str) -> str:
    return NONE if value != value else form.format(value)  # noqa: PLR0124  # NaN


def _band(row: Mapping[Hashable, Any], prefix: str) -> str:
    median = row[f"{prefix}median"]
    if median != median:  # noqa: PLR0124  # NaN
        return NONE
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return f"{_ratio(median)}\n{_ratio(low)} to {_ratio(high)}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10.0 else f"{value:.1f}"


def _settled(row: Mapping[Hashable, Any]) -> str:
    stood = row["trials"] - row["fell"] - row["failed"]
    never = stood - row["settled"]
    words = f"{never:.0f} never" if never else ""
    if row["settled"]:
        times = f"{row['settled_median_s']:.0f}, {row['settled_last_s']:.0f} s"
        words = f"{times}; {words}" if words else times
    return words or NONE
