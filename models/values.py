"""Validation of values from users and programs: numbers, fractions, times, names.

Python and numpy convert texts, bytes and booleans to numbers, and a robot would move to
unintended positions. The functions here reject them (`as_number`, `as_numbers`,
`is_fraction`). The types below define the ranges of numbers and names in all files that
the project reads.
"""

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from nao_testbed.models.errors import BadInput

FloatArray = NDArray[np.float64]


def as_number(value: object) -> float | None:
    """Return a real number as a float; None for other values and for overflow."""
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
    """Return an array of numbers as a copy; None for other values.

    Args:
        values: an array of integers or floats; a number; or lists of numbers, which are
            checked one by one.
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return np.array(values)
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
    """Return True if a value is a number from 0 to 1."""
    number = as_number(value)
    return number is not None and 0.0 <= number <= 1.0


def check_seconds(
    value: object, name: str, accepted: str = "give a number from 0", least: float = 0.0
) -> float:
    """Return a time in s, finite and at least `least`.

    Raises:
        BadInput: the value is not such a number; the message contains `accepted`.
    """
    seconds = as_number(value)
    if seconds is None or not least <= seconds < float("inf"):
        raise BadInput(f"{name} is {short(value)} s; {accepted}.")
    return seconds


def short(value: object) -> str:
    """Return the text of an invalid value for a message, at most 60 characters."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  of its repr, or a number too long
        text = f"an object of type {type(value).__name__}"
    text = " ".join(line.strip() for line in text.splitlines())
    return text if len(text) <= 60 else f"{text[:57]}..."


def number_of(text: str) -> float:
    """Return the number in a text from a table cell or a command line.

    Raises:
        ValueError: the text is not a number, or has underscores, which Python accepts:
            1_5 more likely means 1.5 than 15.
    """
    if "_" in text:
        raise ValueError(f"{text} has an underscore; write the number without it")
    return float(text)


def _without_underscore(value: object) -> object:
    return number_of(value) if isinstance(value, str) and "_" in value else value


Plain = BeforeValidator(_without_underscore)
Real = Annotated[float, Field(allow_inf_nan=False), Plain]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False), Plain]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False), Plain]

LONGEST_S = 86_400.0
"""Largest time in a file, in s: a day, like the longest scenario."""
LONGEST_ENTRY_S = 600.0
"""Longest motion, light pattern or tone, in s: it is sampled before its start."""
Seconds = Annotated[float, Field(ge=0.0, le=LONGEST_S, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(gt=0.0, le=LONGEST_S, allow_inf_nan=False)]

Name = Annotated[str, Field(min_length=1, pattern=r"^\S+$")]
ResourceName = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
"""Name that may contain spaces inside, such as `Left leg`."""
NoneIfEmpty = BeforeValidator(lambda text: text if text else None)
Status = Literal["published", "derived", "estimate"]


def printable(text: str) -> str:
    """Return an untrusted text with control characters replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
