"""Numbers as text: rounded, with a true minus sign."""

import math

NOTHING = "–"
"""Text of a missing value."""


def number(value: float | None, digits: int = 1) -> str:
    """Return a number with `digits` decimals; None and NaN become a dash."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "−∞" if value < 0.0 else "∞"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 1) -> str:
    """Return a difference with its sign; zero has a plus sign."""
    text = number(value, digits)
    return text if text == NOTHING or text.startswith("−") else f"+{text}"


def join_unit(text: str, unit: str) -> str:
    """Return a number followed by its unit; a degree sign follows without a space."""
    return text + unit if unit in {"", "°"} else f"{text} {unit}"


def duration(time_s: float) -> str:
    """Return a time in s if it is below 2 min, else in min: `3.2 s`, `15 min`."""
    if time_s < 120.0:
        return f"{time_s:.3g} s"
    return f"{time_s / 60.0:.3g} min"
