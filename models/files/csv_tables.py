"""CSV tables as validated rows with file and line; JSON validated by a form."""

import csv
import dataclasses
import io
from collections.abc import Collection, Iterator
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

from nao_testbed.models import files
from nao_testbed.models.errors import BadInput, RobotDataError, UnknownName

RowT = TypeVar("RowT")
FormT = TypeVar("FormT")


@dataclass(frozen=True, kw_only=True)
class Table(Generic[RowT]):
    """Rows by their key, in the order of the file."""

    path: Path
    kind: str
    """Kind of a row, for messages: `joint`, `motor`."""
    rows: dict[str, RowT]
    lines: dict[str, int]

    def __iter__(self) -> Iterator[RowT]:
        """Return an iterator over the rows in the order of the file."""
        return iter(self.rows.values())

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise an error at the line of a row."""
        raise RobotDataError(self.path, self.lines[key], problem)

    def need(
        self,
        key: str,
        kind: str,
        name: str,
        known: Collection[str],
        where: str,
        before: str = "",
    ) -> None:
        """Check that a name in a row is known; raise with the text of `UnknownName`."""
        if name not in known:
            self.fail(key, f"{before}{UnknownName(kind, name, known, where)}")


def read_text_of(path: Path) -> str:
    """Return a file's text.

    Raises:
        RobotDataError: the file is missing, unreadable or not UTF-8.
    """
    try:
        return files.read_text(path)
    except FileNotFoundError:
        raise RobotDataError(
            path, None, "file is missing; a robot folder must have it."
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        problem = f"is not UTF-8 text: it has the byte {byte:#04x}; give a text file."
        raise RobotDataError(path, line, problem) from error
    except OSError as error:
        problem = f"cannot be read: {files.cause_of(error)}."
        raise RobotDataError(path, None, problem) from error


def read_cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells of each row of a CSV file.

    Raises:
        RobotDataError: no header, a duplicate column, an odd row length or a long cell.
    """
    rows = _rows(path)
    _, header = next(rows, (0, []))
    if not header:
        raise RobotDataError(path, 1, "the table has no header.")
    double = sorted({column for column in header if header.count(column) > 1})
    if double:
        raise RobotDataError(path, 1, f"column {double[0]!r} appears twice.")
    for line, cells in rows:
        if not cells:
            continue
        if len(cells) != len(header):
            problem = f"row has {len(cells)} cells; the header has {len(header)}."
            raise RobotDataError(path, line, problem)
        yield line, dict(zip(header, cells, strict=True))


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(read_text_of(path)))
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            problem = f"a cell cannot be read: {error}; check its quotation marks."
            raise RobotDataError(path, max(reader.line_num, 1), problem) from error
        if cells is None:
            return
        yield reader.line_num, cells


def read_table(path: Path, row_type: type[RowT], key: str, kind: str) -> Table[RowT]:
    """Read and validate a table with rows identified by column `key`.

    Raises:
        RobotDataError: a column is missing or unknown, a cell is invalid, or a key is
            duplicated.
    """
    rows: dict[str, RowT] = {}
    lines: dict[str, int] = {}
    for line, cells in read_cells(path):
        check_columns(path, set(cells), row_type)
        try:
            row = _reader_of(row_type).validate_python(cells)
        except ValidationError as error:
            first = error.errors()[0]
            column = str(first["loc"][0])
            problem = f"{column} is {cells.get(column)!r}: {message_of(first)}."
            raise RobotDataError(path, line, problem) from error
        name = str(getattr(row, key)) if key else str(line)
        if name in rows:
            problem = f"{kind} {name!r} appears twice, first in line {lines[name]}."
            raise RobotDataError(path, line, problem)
        rows[name] = row
        lines[name] = line
    return Table(path=path, kind=kind, rows=rows, lines=lines)


_READERS: dict[Any, TypeAdapter[Any]] = {}
"""Cache of validators by form: creating one takes 3 ms, longer than reading a table."""


def _reader_of(form: type[FormT]) -> TypeAdapter[FormT]:
    if form not in _READERS:
        _READERS[form] = TypeAdapter(form)
    return _READERS[form]


def check_columns(path: Path, found: set[str], row_type: type[Any]) -> None:
    """Check that a header has the required columns and no unknown ones."""
    if dataclasses.is_dataclass(row_type):
        known = {f.name: f.default is MISSING for f in dataclasses.fields(row_type)}
    else:
        known = {name: f.is_required() for name, f in row_type.model_fields.items()}
    needed = {name for name, is_needed in known.items() if is_needed}
    if missing := sorted(needed - found):
        raise RobotDataError(path, 1, f"columns are missing: {', '.join(missing)}.")
    if extra := sorted(found - set(known)):
        accepted = ", ".join(known)
        problem = f"unknown columns: {', '.join(extra)}. Accepted: {accepted}."
        raise RobotDataError(path, 1, problem)


def json_as(
    path: Path, text: str | bytes, form: type[FormT], prefix: str = ""
) -> FormT:
    """Parse JSON text into a form: a dataclass or model of plain data.

    Types are strict: `"1"` is not a number, 1.0 is not an integer. Unknown keys are
    ignored.

    Args:
        path: path of the file, for the message.
        text: text of the file, or of a part of it.
        form: expected form.
        prefix: prefix of the keys, for the message, if the text is a part.

    Raises:
        BadInput: a key is wrong; the message names key, value and accepted values.
    """
    try:
        return _reader_of(form).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
    if first["type"] == "json_invalid":
        raise BadInput(f"{path} cannot be read: not JSON, {first['ctx']['error']}.")
    place = ".".join(map(str, (*([prefix] if prefix else []), *first["loc"])))
    if first["type"] in {"missing", "unexpected_keyword_argument"}:
        raise BadInput(f"{path} is damaged: {place} is missing.")
    found = repr(first["input"])
    shown = found if len(found) <= 40 else f"{found[:37]}..."
    where = f"{place} is {shown}" if place else f"it holds {shown}"
    raise BadInput(f"{path} is damaged: {where}; {message_of(first)}.")


_WORDS = {
    "dataclass_type": "give keys with values",
    "mapping_type": "give keys with values",
    "dict_type": "give keys with values",
    "model_type": "give keys with values",
    "list_type": "give a list",
    "tuple_type": "give a list",
    "string_type": "give a text",
    "float_type": "give a number",
    "int_type": "give a whole number",
    "bool_type": "give true or false",
}
"""Kind of a validation error to a text for users, replacing pydantic's."""


def message_of(error: Any) -> str:
    """Return the text of a validation error, as the end of a sentence."""
    if error["type"] in _WORDS:
        return _WORDS[error["type"]]
    if error["type"] == "string_pattern_mismatch":
        where = "" if error["ctx"]["pattern"] == r"^\S+$" else " at its ends"
        return f"give a name without blanks{where}"
    if error["type"] == "too_short":
        least = error["ctx"]["min_length"]
        return f"give at least {least} item{'s' if least > 1 else ''}"
    if error["type"] == "too_long":
        return f"give at most {error['ctx']['max_length']} items"
    text = str(error["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
