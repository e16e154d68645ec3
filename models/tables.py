"""CSV tables and YAML files as validated rows, each knowing its file and line."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from models.errors import RobotDataError

RowT = TypeVar("RowT", bound=BaseModel)
ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Table(Generic[RowT]):
    """Rows by their key, in the order of the file."""

    path: Path
    kind: str
    """What a row is, for messages: `joint`, `motor`."""
    rows: dict[str, RowT]
    lines: dict[str, int]

    def __iter__(self) -> Iterator[RowT]:
        """Go through the rows in the order of the file."""
        return iter(self.rows.values())

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise an error at the line of a row."""
        raise RobotDataError(self.path, self.lines[key], problem)


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        RobotDataError: it is missing, unreadable or no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RobotDataError(
            path, None, "file is missing; a robot folder must hold it."
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        problem = (
            f"is no text in UTF-8: it holds the byte {byte:#04x}; give a text file."
        )
        raise RobotDataError(path, line, problem) from error
    except OSError as error:
        raise RobotDataError(path, None, f"cannot be read: {error}.") from error


def read_cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells of each row of a CSV file.

    Raises:
        RobotDataError: no header, a column twice, or a row of another length.
    """
    reader = csv.reader(io.StringIO(read_text(path)))
    header = next(reader, None)
    if not header:
        raise RobotDataError(path, 1, "the table has no header.")
    double = sorted({column for column in header if header.count(column) > 1})
    if double:
        raise RobotDataError(path, 1, f"column {double[0]!r} appears twice.")
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise RobotDataError(
                path,
                reader.line_num,
                f"row has {len(cells)} cells; the header has {len(header)}.",
            )
        yield reader.line_num, dict(zip(header, cells, strict=True))


def read_table(path: Path, row_type: type[RowT], key: str, kind: str) -> Table[RowT]:
    """Read and validate a table whose rows are told apart by column `key`.

    Raises:
        RobotDataError: columns are missing or unknown, a cell is wrong, or a key
            appears twice.
    """
    rows: dict[str, RowT] = {}
    lines: dict[str, int] = {}
    for line, cells in read_cells(path):
        check_columns(path, set(cells), row_type)
        try:
            row = row_type.model_validate(cells)
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


def check_columns(path: Path, found: set[str], row_type: type[BaseModel]) -> None:
    """Refuse a header with columns too many or too few."""
    fields = row_type.model_fields
    needed = {name for name, field in fields.items() if field.is_required()}
    if missing := sorted(needed - found):
        raise RobotDataError(path, 1, f"columns are missing: {', '.join(missing)}.")
    if extra := sorted(found - set(fields)):
        known = ", ".join(fields)
        problem = f"unknown columns: {', '.join(extra)}. Accepted: {known}."
        raise RobotDataError(path, 1, problem)


@dataclass(frozen=True, kw_only=True)
class YamlFile(Generic[ModelT]):
    """A validated YAML file that still knows the line of each of its keys."""

    path: Path
    value: ModelT
    tree: Any

    def line(self, *place: str | int) -> int | None:
        """Return the line of the key or item at `place`, or of its nearest parent."""
        return yaml_line(self.tree, place)

    def fail(self, problem: str, *place: str | int) -> NoReturn:
        """Raise an error at the line of `place`."""
        raise RobotDataError(self.path, self.line(*place), problem)


def read_yaml(path: Path, model: type[ModelT]) -> YamlFile[ModelT]:
    """Read and validate a YAML 1.2 file; duplicate keys are refused.

    Raises:
        RobotDataError: the file is no YAML, or a value is missing, unknown or wrong.
    """
    tree = read_tree(path)
    try:
        value = model.model_validate({} if tree is None else tree)
    except ValidationError as error:
        place, problem = _first_problem(error)
        raise RobotDataError(path, yaml_line(tree, place), problem) from error
    return YamlFile(path=path, value=value, tree=tree)


def read_tree(path: Path) -> Any:
    """Read a YAML 1.2 file into maps and lists that know their lines.

    Returns:
        What `yaml_line` takes; None of an empty file.

    Raises:
        RobotDataError: the file is no YAML, or holds a key twice.
    """
    text = read_text(path)
    try:
        return YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        problem = str(error.problem).strip().splitlines()[0]
        if "another document" in problem:
            problem = "the file holds two documents; keep one, without a line of ---"
        elif "duplicate key" not in problem:
            problem = f"is no YAML: {problem}; mend this line, or what is before it"
        raise RobotDataError(path, line, f"{problem}.") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RobotDataError(path, line, f"is no text: {error.reason}.") from error
    except YAMLError as error:
        raise RobotDataError(path, None, f"is no YAML: {error}.") from error
    except RecursionError as error:
        problem = "is nested too deeply to be read; write it flatter."
        raise RobotDataError(path, None, problem) from error


def _first_problem(error: ValidationError) -> tuple[tuple[str | int, ...], str]:
    """Return place and words; unknown keys first, they explain the missing ones."""
    problems = error.errors()
    missing = [str(p["loc"][-1]) for p in problems if p["type"] == "missing"]
    first = min(problems, key=lambda p: p["type"] != "extra_forbidden")
    place = tuple(first["loc"])
    where = ".".join(str(part) for part in place)
    if first["type"] == "extra_forbidden":
        close = get_close_matches(str(place[-1]), missing, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else " Remove it."
        return place, f"unknown key {where!r}.{hint}"
    if first["type"] == "missing":
        return place, f"key {where!r} is missing."
    return place, f"{where} is {first['input']!r}: {message_of(first)}."


_WORDS = {
    "dict_type": "give keys with values",
    "model_type": "give keys with values",
    "list_type": "give a list",
    "tuple_type": "give a list",
    "string_type": "give a text",
    "float_type": "give a number",
    "int_type": "give a whole number",
    "bool_type": "give true or false",
}
"""Kind of a validation error to our words, where its own are for programmers."""


def message_of(error: Any) -> str:
    """Return what a validation error says, as the end of a sentence."""
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


def yaml_line(tree: Any, place: tuple[str | int, ...]) -> int | None:
    """Return the line of the key or item at `place`, or of its nearest parent."""
    line = tree.lc.line + 1 if isinstance(tree, CommentedBase) else 1
    for part in place:
        try:
            known = tree.lc.data[part][0] + 1
            tree = tree[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            return line
        line = known
    return line
