"""Looks at the bounds that a test gives, so that none holds for naught."""

import numpy as np

from models import BadInput


def bound(name: str, value: float, unit: str = "", most: float = np.inf) -> float:
    """Return a bound that a test gave.

    Args:
        name: what a message calls it.
        value: what was given.
        unit: of it; empty for none.
        most: largest value with a meaning.

    Raises:
        BadInput: it is no finite number from 0 to `most`.
    """
    __tracebackhide__ = True
    is_number = isinstance(value, int | float | np.number)
    if isinstance(value, bool) or not is_number or not 0.0 <= float(value) <= most:
        upper = f" to {most:g}" if np.isfinite(most) else " up"
        raise BadInput(
            f"{name} is {value!r}; give a number from 0{upper}"
            f"{f', in {unit}' if unit else ''}."
        )
    if not np.isfinite(float(value)):
        raise BadInput(f"{name} is {value!r}, which nothing exceeds; give a number.")
    return float(value)
