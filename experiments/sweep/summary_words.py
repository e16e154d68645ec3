"""What the numbers of a sweep's summary are called, and how they are written."""

from collections.abc import Hashable, Mapping
from typing import Any

MEASURE_WORDS = {
    "hot_leg_rise_k": "hotter leg, rise, K",
    "other_leg_rise_k": "other leg, rise, K",
    "hot_joint_degc": "hotter leg, hottest joint, °C",
    "other_joint_degc": "other leg, hottest joint, °C",
    "rise_ratio": "both legs, rise of fixed",
}
"""What the outcomes of `published_band` are called."""
NONE = "·"
"""Stands where there is no number."""


def measure_form(measure: str) -> str:
    """Return the format of an outcome of `published_band`."""
    return "{:.2f}" if measure == "rise_ratio" else "{:.1f}"


def number_text(value: float, form: str) -> str:
    """Return a number in a format; a dot for NaN."""
    return NONE if value != value else form.format(value)  # noqa: PLR0124  # NaN


def band_texts(row: Mapping[Hashable, Any], prefix: str) -> tuple[str, ...]:
    """Return the median of a row of `summary_of`, and its 90 % band in words.

    Args:
        row: of the frame, as a mapping.
        prefix: of its columns, such as `loss_`.

    Returns:
        Median and band; a dot alone where there is none.
    """
    median = row[f"{prefix}median"]
    if median != median:  # noqa: PLR0124  # NaN
        return (NONE,)
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return ratio_text(median), f"{ratio_text(low)} to {ratio_text(high)}"


def ratio_text(value: float) -> str:
    """Return a multiple with as many decimals as say something."""
    return f"{value:.2f}" if value < 10.0 else f"{value:.1f}"


def settled_text(row: Mapping[Hashable, Any]) -> str:
    """Return when trials settled, median and last, and how many never did."""
    stood = row["trials"] - row["fell"] - row["failed"]
    never = stood - row["settled"]
    words = f"{never:.0f} never" if never else ""
    if row["settled"]:
        times = f"{row['settled_median_s']:.0f}, {row['settled_last_s']:.0f} s"
        words = f"{times}; {words}" if words else times
    return words or NONE
