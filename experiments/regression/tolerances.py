"""How far a column of a golden run may be off.

Runs repeat bit for bit on one machine; another rounds otherwise. In the project's own
golden runs that shifts angles by up to 1.6e-5 rad and torques by up to 0.0024 N·m; a
reported angle jumps by a count of its encoder (0.0015 rad). The tolerances by unit are
several times that, and far below what a change of a controller does.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from models import BadInput, UnknownName

BY_UNIT: Mapping[str, float] = {
    "rad": 2e-3,
    "rad/s": 0.05,
    "N·m": 0.02,
    "1": 0.01,
    "degC": 0.1,
    "A": 0.01,
    "N": 1.0,
    "m/s²": 0.2,
    "m": 1e-3,
    "s": 1e-6,
}
"""Unit to tolerance in it."""
MOST: Mapping[str, float] = {
    "rad": 0.5,
    "rad/s": 10.0,
    "N·m": 2.0,
    "1": 0.5,
    "degC": 30.0,
    "A": 1.0,
    "N": 50.0,
    "m/s²": 10.0,
    "m": 0.1,
    "s": 1.0,
}
"""Unit to the largest that is taken: beyond it no standing robot would ever fail."""


def tolerances_of(
    units: Mapping[str, str], asked: Mapping[str, float]
) -> dict[str, float]:
    """Return the tolerance of every column.

    Args:
        units: column to unit.
        asked: column, or channel, to a tolerance in place of that of the unit; a
            column's goes before its channel's.

    Raises:
        BadInput: a tolerance is no positive number, is absurd, or of an unknown column.
    """
    channels = {name.partition(".")[0] for name in units}
    for name in asked:
        if name not in units and name not in channels:
            known: Sequence[str] = [*sorted(channels), *units]
            raise UnknownName("Tolerance", name, known, "the golden run's columns")
    tolerances = {}
    for column, unit in units.items():
        own = asked.get(column, asked.get(column.partition(".")[0]))
        tolerances[column] = (
            BY_UNIT.get(unit, 1e-6) if own is None else _checked(column, unit, own)
        )
    return tolerances


def _checked(column: str, unit: str, value: float) -> float:
    is_number = isinstance(value, int | float | np.number) and not isinstance(
        value, bool
    )
    most = MOST.get(unit, np.inf)
    if not (is_number and np.isfinite(value) and 0.0 < value <= most):
        raise BadInput(
            f"tolerance of {column} is {value!r} {unit}; give a number above 0, at "
            f"most {most:g} {unit}: a larger one would never fail."
        )
    return float(value)
