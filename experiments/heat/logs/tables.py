"""Tables of a log: data frames, Parquet files, data sets, JSON and YAML.

    table = read_parquet(Path("log.parquet"))
    table.numbers("q.LKneePitch")

Every error names the file, and the line if there is one.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from nao_testbed.experiments.heat.logs.record import Repair
from nao_testbed.models import BadInput
from nao_testbed.models.files import read_text
from nao_testbed.models.files.packed import (
    open_log,
    packing_of,
    read_data,
    text_of,
)
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_JSON = re.compile(r"\s*[\[{]")
_ECHO = re.compile(r"(?:---)?\s*\w+:\s*\n\s+\w+:|\s*- \w+:")
"""First lines of a message as printed by `ros2 topic echo`, or of a list in YAML."""
_CLOCK = re.compile(r"\s*(?:\d{1,2}:)?\d{1,2}:\d\d(?:[.,]\d+)?\s*")
_DATE = re.compile(r"\s*\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:")
_OTHER_DATE = re.compile(r".*\d{1,2}:\d\d:\d\d|\s*\d{8}T\d{6}")
DAY_S = 86400.0


class LogTable:
    """Table of a log with columns accessed by name."""

    path: Path
    names: list[str]
    lines: Sequence[int] = ()
    """(n,) line number of each row in a text file; empty for other files."""
    repairs: Sequence[Repair] = ()
    """Faults of the text, and of the columns read so far."""
    run_state: str | None = None
    """`Run.state`; None for a file."""

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN for empty cells, dates in s.

        Raises:
            BadInput: a cell is not a number.
        """
        raise NotImplementedError

    def texts(self, _name: str) -> list[str]:
        """Return the (n,) cells of a column; empty in a table without texts."""
        return []

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return next(iter(self.texts(name)), "")

    def distinct_texts(self, name: str) -> set[str]:
        """Return the different cells of a column."""
        return {*self.texts(name)}


class FrameTable(LogTable):
    """Table from a data frame."""

    def __init__(
        self, path: Path, frame: "pd.DataFrame", run_state: str | None = None
    ) -> None:
        """Store the columns of a frame."""
        self.path, self._frame, self.run_state = path, frame, run_state
        self._frame.columns = frame.columns.astype(str)
        self.names = list(map(str, frame.columns))

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, dates in s.

        Raises:
            BadInput: the column has other contents.
        """
        values = self._frame[name]
        if values.dtype.kind == "M":
            return seconds_of(values)
        is_text = values.dtype.kind == "O" and isinstance(values.iloc[0], str)
        times = times_of(values.astype(str).tolist()) if is_text else None
        if times is not None:
            return times
        if values.dtype.kind not in "iuf":
            example = values.iloc[0] if len(values) else values.dtype
            raise BadInput(
                f"{self.path}: column {name!r} holds {example!r} ({values.dtype}); "
                "give numbers."
            )
        return values.to_numpy(np.float64, na_value=np.nan)

    def texts(self, name: str) -> list[str]:
        """Return the (n,) cells of a column."""
        return list(map(str, self._frame[name]))


class ParquetTable(LogTable):
    """Table from a Parquet file, whose columns are read one at a time."""

    def __init__(self, path: Path) -> None:
        """Open a file; its index becomes a column, if it has a name or dates.

        Raises:
            OSError, ValueError, pyarrow.ArrowException: it cannot be read.
        """
        import pyarrow as pa  # noqa: PLC0415  # slow
        import pyarrow.parquet as pq  # noqa: PLC0415  # slow

        self.path = path
        self._file = pq.ParquetFile(
            BytesIO(read_data(path)) if packing_of(path) else path
        )
        if not self._file.metadata.num_rows:
            raise BadInput(f"{path} has no rows; give a file with data.")
        schema = self._file.schema_arrow
        self.is_nested = any(map(pa.types.is_nested, schema.types))
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        index = [name for name in index if isinstance(name, str)]
        self._stored = {name: name for name in schema.names if name not in index}
        for name in index:
            if not name.startswith("__index_level"):
                self._stored = {name: name, **self._stored}
            elif pa.types.is_timestamp(schema.field(name).type):
                self._stored = {"index": name, **self._stored}
        self.names = list(self._stored)

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, dates in s.

        Raises:
            BadInput: the column has other contents.
        """
        column = self._column(name)
        if str(column.type) in {"float", "double"} and not column.null_count:
            parts = [array_of(chunk) for chunk in column.chunks]
            return np.concatenate(parts).astype(np.float64, copy=False)
        return FrameTable(self.path, column.to_pandas().to_frame(name)).numbers(name)

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return str(self._column(name)[0])

    def texts(self, name: str) -> list[str]:
        """Return the (n,) cells of a column."""
        return list(map(str, self._column(name).to_pylist()))

    def _column(self, name: str) -> "pa.ChunkedArray":
        return self._file.read([self._stored[name]], use_threads=False).column(0)


def is_parquet(path: Path) -> bool:
    """Return True for a file that begins as Parquet, possibly compressed."""
    with open_log(path) as file:
        return file.read(4) == b"PAR1"


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Report errors of a file that is not, or no longer, Parquet."""
    import pyarrow as pa  # noqa: PLC0415  # slow

    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise BadInput(
            f"{path} cannot be read as Parquet: {why}. Give a Parquet file, a CSV file "
            "(.csv) or a run folder."
        ) from error


def read_parquet(path: Path) -> LogTable:
    """Open a Parquet file; its index and the items of lists become columns.

    Raises:
        BadInput: the file is not a Parquet file, or has no rows.
    """
    with _reading(path):
        table = ParquetTable(path)
        return read_data_set(path, [path]) if table.is_nested else table


def read_data_set(path: Path, files: Sequence[Path]) -> FrameTable:
    """Read the files of a LeRobot data set, with the rows of all episodes.

    Raises:
        BadInput: a file cannot be read.
    """
    import pandas as pd  # noqa: PLC0415  # slow

    frames = []
    for file in files:
        with _reading(file):
            frame = pd.read_parquet(BytesIO(read_data(file)))
            frames.append(_without_lists(frame, file))
    return FrameTable(path, pd.concat(frames, ignore_index=len(files) > 1))


def read_arrays(path: Path) -> FrameTable:
    """Read the arrays of a NPZ file of numpy, except pickled objects.

    Raises:
        BadInput: the file cannot be read, or the arrays differ in length.
    """
    try:
        data = BytesIO(path.read_bytes())
        if not is_zipfile(data):  # numpy takes it for a pickle
            raise BadZipFile("it is not an archive of arrays, or incomplete")
        data.seek(0)
        with np.load(data, allow_pickle=False) as file:
            arrays = {name: file[name].tolist() for name in file.files}
    except (ValueError, OSError, EOFError, AttributeError, BadZipFile) as error:
        raise BadInput(
            f"{path} cannot be read as NPZ: {error}; give a file of numpy.savez with "
            "arrays of numbers and names."
        ) from error
    return _table_of(path, _columns(path, arrays))


def _table_of(path: Path, columns: Any) -> FrameTable:
    import pandas as pd  # noqa: PLC0415  # slow

    if not any(columns):
        raise BadInput(f"{path} has no rows; give a file with data.")
    return FrameTable(path, pd.DataFrame(columns))


def is_records(head: str) -> bool:
    """Return True for the first characters of JSON or of `ros2 topic echo`."""
    return bool(_JSON.match(head) or _ECHO.match(head))


def read_records(path: Path) -> FrameTable:
    """Read JSON, or the YAML documents of `ros2 topic echo`.

    JSON has an object for each row, in an array or one in each line, or an array for
    each column; `motor_state.0.q` is a column.

    Raises:
        BadInput: the text has other contents, or no rows.
    """
    text = text_of(path)
    whole = _listed(_parsed(text)) if _JSON.match(text) else None
    if isinstance(whole, dict) and (columns := _columns(path, whole)):
        return _table_of(path, columns)
    is_yaml = not _JSON.match(text)
    records = [*(_yaml_records(path, text) if is_yaml else _json_records(text, whole))]
    repairs: Sequence[Repair] = ()
    if len(records) > 1 and records[-1][1] is None:
        what = f"{path}{records.pop()[0]} is incomplete: left out"
        repairs = (Repair(kind="missing", rows=1, what=what),)
    rows = []
    for place, record in records:
        if not isinstance(record, dict):
            raise BadInput(
                f"{path}{place}: this is not a JSON object; give an object such as "
                '{"time_s": 0.0, "q.JOINT": 0.1} in each line or in an array, or '
                "a CSV file."
            )
        rows.append(dict(_leaves("", record)))
    table = _table_of(path, rows)
    table.repairs = repairs
    return table


def _parsed(text: str) -> object:
    """Return the value of a JSON text, or of a `dict` printed by Python; else None."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(text.strip())
    return None


def _json_records(text: str, whole: object) -> Iterator[tuple[str, object]]:
    """Yield the objects of an array, or of lines, with their places."""
    if isinstance(whole, dict):  # an array beside other values
        arrays = [v for v in whole.values() if isinstance(v, list)]
        arrays = [v for v in arrays if v and isinstance(v[0], dict)]
        whole = arrays[0] if len(arrays) == 1 else [whole]
    if isinstance(whole, list):
        yield from ((f", record {k + 1}", one) for k, one in enumerate(whole))
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield f":{number}", _parsed(line)


def _listed(value: object) -> object:
    """Return a value in which objects with the keys 0, 1, 2 ... are lists."""
    if not isinstance(value, dict):
        return value
    if value and all(str(key).isdecimal() for key in value):
        return list(value.values())
    return {key: _listed(part) for key, part in value.items()}


def _columns(path: Path, whole: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of an object of arrays; empty for another object.

    Raises:
        BadInput: the arrays differ in length.
    """
    if isinstance(whole.get("columns"), list) and isinstance(whole.get("data"), list):
        names, rows = whole["columns"], whole["data"]  # as pandas splits them
        return dict(zip(map(str, names), zip(*rows, strict=True), strict=True))
    arrays = {name: array for name, array in _arrays("", whole) if array}
    first = {name: array[0] for name, array in arrays.items()}
    numbers = [n for n in arrays if not isinstance(first[n], list | dict | str)]
    sizes = Counter(len(arrays[name]) for name in numbers)
    if not sizes or max(sizes) < 2:
        return {}
    n = sizes.most_common(1)[0][0]
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        if isinstance(first[name], str) and len(array) != n:  # names of the joints
            found |= {f"name.{i}": text for i, text in enumerate(array)}
        elif isinstance(first[name], list):
            across = len(array) != n and len(first[name]) == n
            items = array if across else zip(*array, strict=False)
            found |= {f"{name}.{i}": item for i, item in enumerate(items)}
        elif not isinstance(first[name], dict):
            found[name] = array
    for name, array in found.items():
        if not isinstance(array, str) and len(array) != n:
            raise BadInput(
                f"{path}: array {name!r} has {len(array)} values, others {n}; give "
                "arrays of one length."
            )
    return found


def _arrays(name: str, value: object) -> Iterator[tuple[str, list[Any]]]:
    """Yield the arrays of an object, with their paths."""
    if isinstance(value, list):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _arrays(f"{name}.{key}" if name else str(key), part)


def _yaml_records(path: Path, text: str) -> Iterator[tuple[str, object]]:
    import yaml  # noqa: PLC0415  # slow

    try:
        documents = yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        lists = (one if isinstance(one, list) else [one] for one in documents if one)
        records = enumerate(chain.from_iterable(lists), start=1)
        yield from ((f", message {k}", one) for k, one in records)
    except yaml.YAMLError as error:
        why = str(error).splitlines()[0]
        raise BadInput(
            f"{path} cannot be read as messages of `ros2 topic echo`: {why}; give the "
            "whole output, or record a bag."
        ) from error


def _leaves(name: str, value: object) -> Iterator[tuple[str, float | str | None]]:
    """Yield the numbers and texts of a JSON value, with their paths."""
    if isinstance(value, dict | list):
        for key, part in (
            value.items() if isinstance(value, dict) else _listed_parts(value)
        ):
            yield from _leaves(f"{name}.{key}" if name else str(key), part)
    elif value is None or isinstance(value, str | int | float):
        yield name, value


def _listed_parts(values: list[Any]) -> Iterator[tuple[object, Any]]:
    """Return the items of a list by their names or ids, else by their places."""
    keys = [v.get("name", v.get("id")) for v in values if isinstance(v, dict)]
    is_named = len({*map(str, keys)}) == len(values) and None not in keys
    return zip(keys if is_named else range(len(values)), values, strict=True)


def _without_lists(frame: "pd.DataFrame", path: Path) -> "pd.DataFrame":
    """Return a frame in which each item of lists of numbers has its own column.

    Items have the names given in `meta/info.json` of a LeRobot data set, or numbers.
    """
    import pandas as pd  # noqa: PLC0415  # slow

    parts = []
    for name, values in frame.items():
        first = values.iloc[0] if len(values) else None
        if not isinstance(first, np.ndarray | list) or np.ndim(first) != 1:
            parts.append(values.to_frame())
            continue
        items = np.stack(values.tolist())
        names = _item_names(path, str(name))
        if len({*names}) != items.shape[1]:
            names = [*map(str, range(items.shape[1]))]
        titles = [f"{name}.{k}" for k in names]
        parts.append(pd.DataFrame(items, frame.index, titles))
    return pd.concat(parts, axis=1) if parts else frame


def _item_names(path: Path, column: str) -> list[str]:
    """Return the names of a list's items in a LeRobot data set; empty if unknown."""
    for folder in path.absolute().parents[:4]:
        file = folder / "meta" / "info.json"
        if file.is_file():
            try:
                names = json.loads(read_text(file))["features"][column]["names"]
            except (ValueError, KeyError, TypeError):
                return []
            if isinstance(names, dict):
                names = next(iter(names.values()), [])
            return [str(name) for name in names or []]
    return []


def times_of(texts: Sequence[str]) -> FloatArray | None:
    """Return dates in s since 1970, or times of day in s; None: neither."""
    import pandas as pd  # noqa: PLC0415  # slow

    words = pd.Series(texts).str.strip().str.replace(",", ".")
    words = words.str.replace(r"^(\d+:\d\d:\d\d):", r"\1.", regex=True)
    if _CLOCK.fullmatch(words[0]):
        if words[0].count(":") == 1:  # minutes and seconds
            words = "00:" + words
        clock = pd.to_timedelta(words, errors="coerce").dt.total_seconds()
        falls = clock.dropna().diff() < -0.5 * DAY_S  # past midnight
        days = falls.cumsum().reindex(clock.index, method="ffill").fillna(0)
        return np.asarray(clock + DAY_S * days, np.float64)
    if _DATE.match(texts[0]):
        words = words.str.replace("/", "-")
        times = pd.to_datetime(words, errors="coerce", format="ISO8601")
    elif _OTHER_DATE.match(texts[0]):
        is_dotted = bool(re.match(r"\s*\d+[.]", texts[0]))
        if not re.search(r"\b\d{4}\b|\d{8}T", texts[0]):  # as of syslog
            words = "2000 " + words
        times = pd.to_datetime(
            words, errors="coerce", format="mixed", dayfirst=is_dotted
        )
    else:
        return None
    return seconds_of(times) if times.dtype.kind == "M" else None


def seconds_of(times: "pd.Series[pd.Timestamp]") -> FloatArray:
    """Return date times in s since 1970, NaN for missing ones."""
    import pandas as pd  # noqa: PLC0415  # slow

    since = times - pd.Timestamp(0, tz=times.dt.tz)
    return np.asarray(since.dt.total_seconds(), np.float64)


def array_of(column: "pa.Array") -> NDArray[Any]:
    """Return the numbers of a column, NaN for missing ones."""
    if column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    kind = np.float64 if str(column.type) == "double" else np.float32
    values = np.frombuffer(
        column.buffers()[1], kind
    )  # `to_numpy` imports pandas, 60 MB
    return values[column.offset : column.offset + len(column)]
