"""What is said of wrong input: whole messages, held in regenerated files.

A test module has one table of calls that must raise, in named groups. The messages of
each, with the kind of its exception, stand in `messages/<module>.yml` beside it. Who
changes words runs `pytest --force-regen` and reads the difference.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_regressions.data_regression import DataRegressionFixture

Call = Callable[[], object]
Messages = Callable[..., None]
"""Takes groups of calls by name: `messages(speed=[lambda: run(-1.0)])`."""


def each(call: Callable[..., object], *rows: object, **fields: list[Any]) -> list[Call]:
    """Return a call for each row and for each value of each field.

    A row is a tuple of arguments, a dictionary of named ones, or the only argument. A
    field is an argument by name; the list has its values, one a call.
    """
    calls: list[Call] = []
    for row in (*rows, *({n: x} for n, values in fields.items() for x in values)):
        if isinstance(row, dict):
            calls.append(partial(call, **row))
        else:
            calls.append(partial(call, *(row if isinstance(row, tuple) else (row,))))
    return calls


def said(call: Call, folder: Path) -> str:
    """Return the kind and the whole message of what a call raises.

    `folder` is written as FOLDER, and lists of names that grow as one word.
    """
    from tests.experiments.common.known_names import without_lists

    try:
        call()
    except TypeError:
        raise  # a mistake of the table: no such argument
    except Exception as error:  # noqa: BLE001 whichever it is, the file has its kind
        message = str(error).replace(str(folder), "FOLDER")
        return f"{type(error).__name__}: {without_lists(message)}"
    pytest.fail(f"nothing is raised by {call}")


@pytest.fixture
def messages(
    request: pytest.FixtureRequest,
    data_regression: DataRegressionFixture,
    tmp_path: Path,
) -> Messages:
    """Return a function that holds the messages of a table of calls in groups."""

    def hold(**table: Call | Sequence[Call]) -> None:
        told = {
            group: [said(c, tmp_path) for c in ([calls] if callable(calls) else calls)]
            for group, calls in table.items()
        }
        held = request.path.parent / "messages" / f"{request.path.stem}.yml"
        data_regression.check(told, fullpath=held)

    return hold
