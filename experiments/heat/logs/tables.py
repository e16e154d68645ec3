"""Rows and columns of a log file from any program.

    table = CsvTable(Path("log.csv"))
    table.numbers("q.LKneePitch")

In CSV files, separators, decimal commas and missing cells are detected. Every error
names the file, and the line if there is one.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nao_testbed.experiments.heat.logs.bags import JOINT_FIELDS
from nao_testbed.models import BadInput
from nao_testbed.models.files import read_bytes, read_text
from nao_testbed.models.values import FloatArray, number_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SEPARATORS = (",", ";", "\t", "|")
MISSING = frozenset({"", "-", "na", "n/a", "nan", "none", "null"})
"""Cells that mean a missing value; case is ignored."""
MAX_BAD_CELLS = 5
"""Largest number of invalid cells listed in a message."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"\s*\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:")
_CLOCK = re.compile(r"\s*\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\s*")
_LIST = re.compile(
    r"\s*(?:array\()?(?:'\w', *)?[\[(](.*?)[\])](?:, dtype=\w+)?\)?\s*", re.DOTALL
)
_JSON = re.compile(r"\s*[\[{]")
_ECHO = re.compile(r"(?:---)?\s*\w+:\s*\n\s+\w+:")
"""First lines of a message as printed by `ros2 topic echo`."""
_COMMENT = re.compile(r"#|//|%(?!time)")


class LogTable(Protocol):
    """Table of a log with columns accessed by name."""

    @property
    def path(self) -> Path:
        """Path of the log file."""
        ...

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        ...

    @property
    def lines(self) -> Sequence[int]:
        """(n,) line number of each row in a text file; empty for other files."""
        ...

    @property
    def comma_rows(self) -> int:
        """Rows with decimal commas in the columns read so far."""
        ...

    @property
    def run_state(self) -> str | None:
        """`Run.state`; None for a file."""
        ...

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN for empty cells, dates in s.

        Raises:
            BadInput: a cell is not a number.
        """
        ...

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        ...


class FrameTable:
    """Table from a data frame."""

    lines: Sequence[int] = ()
    comma_rows = 0

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
            return _seconds(values)
        is_text = values.dtype.kind == "O" and isinstance(values.iloc[0], str)
        times = _times(values.astype(str).tolist()) if is_text else None
        if times is not None:
            return times
        if values.dtype.kind not in "iuf":
            example = values.iloc[0] if len(values) else values.dtype
            raise BadInput(
                f"{self.path}: column {name!r} holds {example!r} ({values.dtype}); "
                "give numbers."
            )
        return values.to_numpy(np.float64, na_value=np.nan)

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return str(self._frame[name].iloc[0]) if len(self._frame) else ""


class ParquetTable:
    """Table from a Parquet file, whose columns are read one at a time."""

    lines: Sequence[int] = ()
    comma_rows = 0
    run_state = None

    def __init__(self, path: Path) -> None:
        """Open a file; its index becomes a column, if it has a name or dates.

        Raises:
            OSError, ValueError, pyarrow.ArrowException: it cannot be read.
        """
        import pyarrow as pa  # noqa: PLC0415  # slow
        import pyarrow.parquet as pq  # noqa: PLC0415  # slow

        self.path = path
        self._file = pq.ParquetFile(path)
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
            parts = [_array(chunk) for chunk in column.chunks]
            return np.concatenate(parts).astype(np.float64, copy=False)
        return FrameTable(self.path, column.to_pandas().to_frame(name)).numbers(name)

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return str(self._column(name)[0])

    def _column(self, name: str) -> "pa.ChunkedArray":
        return self._file.read([self._stored[name]], use_threads=False).column(0)


def read_parquet(path: Path) -> LogTable:
    """Open a Parquet file; its index and the items of lists become columns.

    Raises:
        BadInput: the file is not a Parquet file, or has no rows.
    """
    import pyarrow as pa  # noqa: PLC0415  # slow

    try:
        table = ParquetTable(path)
        if not table.is_nested:
            return table
        import pandas as pd  # noqa: PLC0415  # slow

        return FrameTable(path, _without_lists(pd.read_parquet(path), path))
    except (OSError, ValueError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise BadInput(
            f"{path} cannot be read as Parquet: {why}. Give a Parquet file, a CSV file "
            "(.csv) or a run folder."
        ) from error


def read_data_set(path: Path, files: Sequence[Path]) -> FrameTable:
    """Read the files of a LeRobot data set, with the rows of all episodes."""
    import pandas as pd  # noqa: PLC0415  # slow

    frames = [_without_lists(pd.read_parquet(file), file) for file in files]
    return FrameTable(path, pd.concat(frames, ignore_index=True))


def read_records(path: Path) -> FrameTable:
    """Read JSON objects, or the YAML documents of `ros2 topic echo`, one for each row.

    The objects are in an array, or one in each line; `motor_state.0.q` is a column.

    Raises:
        BadInput: the text has other contents, or no rows.
    """
    import pandas as pd  # noqa: PLC0415  # slow

    text = _text_of(path)
    rows = []
    records = _json_records(text) if _JSON.match(text) else _yaml_records(path, text)
    for place, record in records:
        if not isinstance(record, dict):
            raise BadInput(
                f"{path}{place}: this is not a JSON object; give an object such as "
                '{"time_s": 0.0, "q.JOINT": 0.1} in each line or in an array, or '
                "a CSV file."
            )
        rows.append(dict(_leaves("", record)))
    if not rows:
        raise BadInput(f"{path} has no rows; give a file with data.")
    return FrameTable(path, pd.DataFrame(rows))


def _json_records(text: str) -> Iterator[tuple[str, object]]:
    """Yield the objects of an array, or of lines, with their places."""
    with suppress(ValueError, RecursionError):
        whole = json.loads(text)
        if isinstance(whole, dict):  # an array beside other values
            arrays = [v for v in whole.values() if isinstance(v, list)]
            arrays = [v for v in arrays if v and isinstance(v[0], dict)]
            whole = arrays[0] if len(arrays) == 1 else whole
        if isinstance(whole, list):
            yield from ((f", record {k + 1}", one) for k, one in enumerate(whole))
            return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            record = None
            with suppress(ValueError, RecursionError):
                record = json.loads(line)
            yield f":{number}", record


def _yaml_records(path: Path, text: str) -> Iterator[tuple[str, object]]:
    import yaml  # noqa: PLC0415  # slow

    try:
        documents = yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        yield from (
            (f", message {k + 1}", one) for k, one in enumerate(documents) if one
        )
    except yaml.YAMLError as error:
        why = str(error).splitlines()[0]
        raise BadInput(
            f"{path} cannot be read as messages of `ros2 topic echo`: {why}; give the "
            "whole output, or record a bag."
        ) from error


def _leaves(name: str, value: object) -> Iterator[tuple[str, float | str | None]]:
    """Yield the numbers and texts of a JSON value, with their paths."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _leaves(f"{name}.{key}" if name else str(key), part)
    elif value is None or isinstance(value, str | int | float):
        yield name, value


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
        names = _item_names(path, str(name)) or list(map(str, range(len(first))))
        items = np.stack(values.tolist())
        titles = [f"{name}.{k}" for k in names[: items.shape[1]]]
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


def _times(texts: Sequence[str]) -> FloatArray | None:
    """Return dates in s since 1970, or times of day in s; None: neither."""
    import pandas as pd  # noqa: PLC0415  # slow

    if _CLOCK.fullmatch(texts[0]):
        words = pd.Series(texts).str.strip().str.replace(",", ".")
        clock = pd.to_timedelta(words, errors="coerce")
        return np.asarray(clock.dt.total_seconds(), np.float64)
    if not _DATE.match(texts[0]):
        return None
    words = pd.Series(texts).str.replace("/", "-").str.replace(",", ".")
    times = pd.to_datetime(words, errors="coerce", format="ISO8601")
    return _seconds(times) if times.dtype.kind == "M" else None


def _seconds(times: "pd.Series[pd.Timestamp]") -> FloatArray:
    """Return date times in s since 1970, NaN for missing ones."""
    import pandas as pd  # noqa: PLC0415  # slow

    since = times - pd.Timestamp(0, tz=times.dt.tz)
    return np.asarray(since.dt.total_seconds(), np.float64)


_Rows = list[tuple[int, list[str]]]
"""Line number and cells of each row."""


def _read_rows(path: Path) -> tuple[list[str], _Rows]:
    """Return the names of the columns, and all rows except comments (#).

    Raises:
        BadInput: the file cannot be read, has no header or no rows, names a column
            twice, or its rows differ in length.
    """
    text = _text_of(path)
    every = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    lines = [one for one in every if not _COMMENT.match(one[1])]
    if not lines or "\0" in text:
        raise BadInput(
            f"{path} has no rows of text; give a CSV file whose first row names the "
            f"columns."
        )
    before = every[: every.index(lines[0])]
    if before and _is_numbers(lines[0][1]):  # the header is a comment
        lines.insert(0, (before[-1][0], before[-1][1].lstrip("#/% ")))
    separator = max(SEPARATORS, key=lines[0][1].count)
    if separator in lines[0][1]:
        rows = _cells(path, lines, separator)
    else:
        rows = [(number, line.split()) for number, line in lines]
    if rows[0][1][-1] == "" or all(len(c) > len(rows[0][1]) for _, c in rows[1:]):
        rows = [(n, c[:-1] if c and not c[-1].strip() else c) for n, c in rows]
    header = _echoed(rows[0][1])
    body = rows if header else rows[1:]
    header = header or _header_of(path, *rows[0])
    if not body:
        raise BadInput(f"{path} has a header and no rows; give a file with data.")
    if len(body) > 1 and len(body[0][1]) == len(header) and _is_units(body):
        units = body.pop(0)[1]
        header = [f"{n} [{u.strip()}]" for n, u in zip(header, units, strict=True)]
    for number, cells in body:
        if len(cells) != len(header):
            raise BadInput(
                f"{path}:{number}: {len(cells)} cells in this row, {len(header)} in "
                "the header; give every row as many."
            )
    return _without_list_cells(path, header, body)


def _cells(path: Path, lines: list[tuple[int, str]], separator: str) -> _Rows:
    """Return the cells of each row; a cell in quotation marks may have several lines.

    Raises:
        BadInput: a cell cannot be read.
    """
    reader = csv.reader(
        (line + "\n" for _, line in lines), delimiter=separator, skipinitialspace=True
    )
    rows: _Rows = []
    while (begin := reader.line_num) < len(lines):
        try:
            cells = next(reader)
            if long := [c for c in cells if "\n" in c and not _LIST.fullmatch(c)]:
                raise csv.Error(f"{long[0][:20]!r} goes on in the next line")
        except csv.Error as error:
            raise BadInput(
                f"{path}:{lines[begin][0]}: a cell cannot be read: {error}; check its "
                "quotation marks."
            ) from error
        rows.append((lines[begin][0], cells))
    return rows


def _echoed(cells: list[str]) -> list[str]:
    """Return names for a JointState of `ros2 topic echo --csv`, which writes none.

    A row has seconds, nanoseconds and frame; the names of the joints; their positions,
    velocities and efforts, or an empty cell. Empty for the cells of another file.
    """
    n = next((k for k, cell in enumerate(cells[3:]) if _is_numbers(cell)), 0)
    if not n or not all(cell.isdecimal() for cell in cells[:2]):
        return []
    names = ["stamp.sec", "stamp.nanosec", "frame_id", *(f"name.{i}" for i in range(n))]
    for field in JOINT_FIELDS:
        is_empty = len(names) < len(cells) and not cells[len(names)].strip()
        names += [field] if is_empty else [f"{field}.{i}" for i in range(n)]
    names = names[: len(cells)]
    return names if len(names) == len(cells) else []


def _without_list_cells(
    path: Path, header: list[str], body: _Rows
) -> tuple[list[str], _Rows]:
    """Return rows in which each item of a list in a cell has its own column.

    Raises:
        BadInput: the lists of a column differ in length.
    """
    sizes = {k: len(_items(c)) for k, c in enumerate(body[0][1]) if _LIST.fullmatch(c)}
    if not sizes:
        return header, body
    spread: _Rows = []
    for number, cells in body:
        row: list[str] = []
        for k, cell in enumerate(cells):
            items = _items(cell) if k in sizes else [cell]
            if k in sizes and not cell.strip():
                items = [""] * sizes[k]
            if len(items) != sizes.get(k, 1):
                raise BadInput(
                    f"{path}:{number}: the list of column {header[k]!r} has "
                    f"{len(items)} items, that of the first row {sizes[k]}; give "
                    "every row as many."
                )
            row += items
        spread.append((number, row))
    names = []
    for k, name in enumerate(header):
        names += [f"{name}.{i}" for i in range(sizes[k])] if k in sizes else [name]
    return names, spread


def _items(cell: str) -> list[str]:
    """Return the items of a list such as `[0.1, 0.2]`, `['a' 'b']` or `(1; 2)`."""
    found = _LIST.fullmatch(re.sub(r"np\.\w+\((.*?)\)", r"\1", cell))
    items = re.split(r"[,;\s]+", found[1].strip(" ,;\n")) if found else [cell]
    return [item.strip("'\"") for item in items]


def _header_of(path: Path, first: int, names: list[str]) -> list[str]:
    """Return the names of the columns.

    Raises:
        BadInput: the row has numbers, or a name twice.
    """
    header = [name.strip() for name in names]
    if sum(map(_is_numbers, filter(None, header))) > len(header) / 2:
        raise BadInput(
            f"{path}:{first}: the first row has numbers; add a row with the names of "
            "the columns above it."
        )
    if header[0] == "" and "index" not in header:
        header[0] = "index"  # as pandas writes it
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise BadInput(
            f"{path}:{first}: the header names {', '.join(twice)} more than once; keep "
            f"one column of each name."
        )
    return header


def _text_of(path: Path) -> str:
    """Return the text of a file in UTF-8, or as Excel writes it: UTF-16, Windows.

    Raises:
        BadInput: the file cannot be read, or is no text.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}; give a run folder, "
            "a CSV file or a Parquet file."
        ) from error
    is_utf16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
    for encoding in ("utf-16",) if is_utf16 else ("utf-8-sig", "cp1252"):
        with suppress(UnicodeDecodeError):
            return data.decode(encoding)
    raise BadInput(f"{path} is not UTF-8 text; save it as CSV (UTF-8).")


def _is_units(body: _Rows) -> bool:
    """Return True if the first row has words where the second one has numbers."""
    first, second = (",".join(filter(None, cells)) for _, cells in body[:2])
    has_words = any(c.strip().lower() not in MISSING for c in body[0][1])
    return has_words and not re.search(r"\d", first) and _is_numbers(second)


def _is_numbers(line: str) -> bool:
    cells = re.split(r"[,;|\s]+", line.strip())
    return all(re.fullmatch(r"[-+.\deE]+|nan", cell, re.IGNORECASE) for cell in cells)


class CsvTable:
    """Table from a text file."""

    run_state = None

    def __init__(self, path: Path) -> None:
        """Read the rows of a file."""
        self.path = path
        self.names, self._rows = _read_rows(path)
        self.lines: Sequence[int] = tuple(number for number, _ in self._rows)
        self.comma_rows = 0

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return self._rows[0][1][self.names.index(name)].strip()

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN for empty cells, dates in s.

        Raises:
            BadInput: a cell is not a number.
        """
        place = self.names.index(name)
        texts = [cells[place] for _, cells in self._rows]
        if "_" not in "".join(texts):  # `float` is then as strict as `number_of`
            try:
                return np.array([float(text) for text in texts])
            except ValueError:
                pass  # empty cells, decimal commas, dates, or not a number
        if (times := _times(texts)) is not None:
            return times
        values, bad = [], []
        for (number, _), cell in zip(self._rows, texts, strict=True):
            text = cell.strip().removesuffix(" sec")  # as MATLAB writes it
            text = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text
            try:
                is_missing = text.lower() in MISSING
                values.append(np.nan if is_missing else number_of(text))
            except ValueError:
                bad.append(f"{self.path}:{number}: column {name!r} holds {cell!r}")
        if bad:
            more = len(bad) - MAX_BAD_CELLS
            rest = [f"and {more} more"] if more > 0 else []
            listed = "\n".join([*bad[:MAX_BAD_CELLS], *rest])
            raise BadInput(
                f"{listed}\ngive numbers; leave cells without a value empty."
            )
        if any(map(_DECIMAL_COMMA.fullmatch, map(str.strip, texts))):
            self.comma_rows = len(texts)
        return np.array(values)


LONG_BYTES = 20_000_000
"""Size above which a plain CSV file is read by pyarrow, in blocks."""
BLOCK_BYTES = 500_000
CLOCK = 0.7
"""Share of rows in which a clock advances; its column keeps double precision."""


class LongCsvTable:
    """Table from a long, plain CSV file; signals are kept in single precision.

    A file is plain if its first line names the columns and every cell below is a number
    or missing, except in columns of text. `read_csv` reads other files.
    """

    run_state = None
    comma_rows = 0

    def __init__(self, path: Path) -> None:
        """Read the rows of a file.

        Raises:
            ValueError, OSError, pyarrow.ArrowException: the file is not plain.
        """
        import pyarrow as pa  # noqa: PLC0415  # slow
        from pyarrow import csv as pacsv  # noqa: PLC0415  # slow

        self.path = path
        with path.open(encoding="utf-8-sig") as file:
            head, first = file.readline(), file.readline()
        separator = max(SEPARATORS, key=head.count)
        rows = csv.reader([head, first], delimiter=separator, skipinitialspace=True)
        names, self._first = ([cell.strip() for cell in row] for row in rows)
        is_plain = len(names) == len(self._first) == len({*names, ""}) - 1
        is_other = any(
            form.match(c)
            for c in self._first
            for form in (_DECIMAL_COMMA, _DATE, _CLOCK, _LIST)
        )
        is_other |= separator not in head or any(map(_is_number, names))
        if not is_plain or is_other or _COMMENT.match(head) or _is_numbers(head):
            raise ValueError(head)
        self.names = names
        cells = dict(zip(names, self._first, strict=True))
        numeric = [n for n, c in cells.items() if c.lower() in MISSING or _is_number(c)]
        kinds = dict.fromkeys(names, pa.string()) | dict.fromkeys(numeric, pa.float64())
        reader = pacsv.open_csv(
            path,
            pacsv.ReadOptions(
                column_names=names,
                skip_rows=1,
                block_size=BLOCK_BYTES,
                use_threads=False,
            ),
            pacsv.ParseOptions(delimiter=separator, ignore_empty_lines=False),
            pacsv.ConvertOptions(
                column_types=kinds,
                include_columns=numeric,
                null_values=[
                    v for m in MISSING for v in (m, m.upper(), m.title(), "NaN")
                ],
            ),
        )
        block = np.empty((len(numeric), _count_lines(path)), np.float32)
        self._columns: dict[str, NDArray[Any]] = {}
        n = 0
        for batch in reader:
            to = n + batch.num_rows
            for k, column in enumerate(batch.columns):
                values = _array(column)
                name = numeric[k]
                if not n:
                    is_clock = (np.diff(values) > 0.0).mean() > CLOCK
                    whole = np.empty(block.shape[1]) if is_clock else block[k]
                    self._columns[name] = whole
                self._columns[name][n:to] = values
            n = to
        self._columns = {name: values[:n] for name, values in self._columns.items()}
        self.lines = range(2, 2 + n)

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN for empty cells.

        Raises:
            BadInput: a cell is not a number.
        """
        if name in self._columns:
            return self._columns[name]
        return self._texts.numbers(name)  # the error names the cells

    @cached_property
    def _texts(self) -> CsvTable:
        return CsvTable(self.path)

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return self._first[self.names.index(name)]


def _array(column: "pa.Array") -> NDArray[Any]:
    """Return the numbers of a column, NaN for missing ones."""
    if column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    kind = np.float64 if str(column.type) == "double" else np.float32
    values = np.frombuffer(
        column.buffers()[1], kind
    )  # `to_numpy` imports pandas, 60 MB
    return values[column.offset : column.offset + len(column)]


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return 1 + sum(
            part.count(b"\n") for part in iter(partial(file.read, 1 << 20), b"")
        )


def _is_number(cell: str) -> bool:
    try:
        number_of(cell)
    except ValueError:
        return False
    return True


def read_csv(path: Path) -> LogTable:
    """Read a text file: CSV, JSON or messages of `ros2 topic echo`.

    Raises:
        BadInput: the file cannot be read, or has no rows.
    """
    head = ""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(200).decode("utf-8-sig", "replace")
    if _JSON.match(head) or _ECHO.match(head):
        return read_records(path)
    if path.is_file() and path.stat().st_size > LONG_BYTES:
        import pyarrow as pa  # noqa: PLC0415  # slow

        with suppress(ValueError, StopIteration, OSError, csv.Error, pa.ArrowException):
            return LongCsvTable(path)
    return CsvTable(path)
