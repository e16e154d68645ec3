"""Numbers as a reader wants them: with a true minus sign, never with noise digits."""

import math

NOTHING = "–"
"""Stands where there is no value."""


def number(value: float | None, digits: int = 1) -> str:
    """Return a number with so many decimals; None and NaN become a dash."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "−∞" if value < 0.0 else "∞"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 1) -> str:
    """Return a difference with its sign; zero has a plus."""
    text = number(value, digits)
    return text if text == NOTHING or text.startswith("−") else f"+{text}"


def with_unit(value: float | None, unit: str, digits: int = 1) -> str:
    """Return a number with its unit; no unit where there is no number."""
    text = number(value, digits)
    return text if text == NOTHING else f"{text} {unit}"


def duration(time_s: float) -> str:
    """Return a time in the unit that fits: `3.2 s`, `15 min`."""
    if time_s < 120.0:
        return f"{time_s:.3g} s"
    return f"{time_s / 60.0:.3g} min"
