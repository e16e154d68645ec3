"""Cases of a sweep: points outside a grid, each with its own values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nao_testbed.experiments.common.form_parts import Notes
from nao_testbed.experiments.sweep.spec import (
    CASE,
    Grid,
    Parameter,
    Values,
    extremes_of,
)
from nao_testbed.experiments.sweep.sweep_trial import Value
from nao_testbed.models import BadInput, Robot, UnknownName

Cases = Mapping[str, Mapping[str, Value]]
"""Name of a case to its values by column."""


def read_cases(
    form: Mapping[str, Mapping[str, Any]],
    parameters: Sequence[Parameter],
    robot: Robot,
    check: Callable[[Robot, str, Value], None],
    notes: Notes,
) -> Cases:
    """Return the values of each case, with integers as floats.

    Args:
        form: form of the file.
        parameters: all parameters of the sweep.
        robot: robot of the sweep.
        check: function that raises `BadInput` for an invalid value of a column.
        notes: collector of all problems.
    """
    columns = {c: p.values for p in parameters for c in p.columns}
    cases: dict[str, dict[str, Value]] = {}
    for name, given in form.items():
        cases[name] = {}
        for column, value in given.items():
            place = (f"{CASE}s", name, column)
            read: Value = value if isinstance(value, str) else float(value)
            before = len(notes.problems)
            notes.attempt(place, _check_column, column, columns, read)
            if len(notes.problems) == before:
                notes.attempt(place, check, robot, column, read)
            if len(notes.problems) == before:
                cases[name][column] = read
    return cases


def _check_column(column: str, columns: Mapping[str, Values], value: Value) -> None:
    """Check that a column exists, is not swept otherwise, and has the right type.

    Raises:
        UnknownName: the column does not exist.
        BadInput: the column has a grid, or the value is a number instead of a text.
    """
    if column not in columns:
        where = "this sweep, which gives each column of a case a value first"
        raise UnknownName("Column", column, tuple(columns), where)
    if isinstance(columns[column], Grid) or column == "minutes":
        raise BadInput(
            f"a case cannot set {column!r}: it is a grid of the sweep, or the "
            "duration; give a column with one value or a distribution."
        )
    is_text = isinstance(extremes_of(columns[column])[0], str)
    if is_text != isinstance(value, str):
        kind = "a name" if is_text else "a number"
        raise BadInput(f"{column} is {value!r}; give {kind}.")
