"""What counts as a number where people and programs give one.

Python and numpy make numbers of texts, bytes and truths; a robot would then move to
where nobody sent it. Here these are none.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def as_number(value: object) -> float | None:
    """Return a real number as a float; None for what is none, or too large for one."""
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool):
        return None
    if not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def as_numbers(values: object) -> FloatArray | None:
    """Return an array of numbers as a copy; None for what is none.

    Args:
        values: an array of integers or floats; or a number, or lists of numbers, of
            which each counts by itself.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        with np.errstate(over="ignore"):
            return np.array(values, dtype=np.float64)
    if isinstance(values, np.ndarray) and values.ndim > 0:
        return None
    if not isinstance(values, list | tuple):
        number = as_number(values)
        return None if number is None else np.array(number)
    rows = [as_numbers(value) for value in values]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows) or len({row.shape for row in known}) > 1:
        return None
    return np.array(known, dtype=np.float64)


def is_fraction(value: object) -> bool:
    """Whether a value is a number from 0 to 1."""
    number = as_number(value)
    return number is not None and 0.0 <= number <= 1.0


def short(value: object) -> str:
    """Return what a message says of a value that is no number; it may be long."""
    try:
        said = repr(value)
    except Exception:  # noqa: BLE001  its own, or that of a number too long to say
        said = f"an object of type {type(value).__name__}"
    return said if len(said) <= 60 else f"{said[:57]}..."
