"""Files of other programs give an equal log or one error sentence."""

import bz2
import csv
import gzip
import json
import lzma
from collections.abc import Callable
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
from nao_testbed.models import BadInput, Robot

ROWS = 60
NEAR = 1e-9


@pytest.fixture(scope="module")
def frame(nao_frame: pd.DataFrame) -> pd.DataFrame:
    names = ["time_s", *(n for n in nao_frame if str(n)[:2] in {"q.", "cu"})]
    return nao_frame[names].iloc[:ROWS].copy()


def text(frame: pd.DataFrame, **options: object) -> str:
    return str(frame.to_csv(index=False, **options))  # type: ignore[call-overload]


def zipped(frame: pd.DataFrame) -> bytes:
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("log.csv", text(frame))
    return data.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    data = BytesIO()
    frame.to_parquet(data)
    return gzip.compress(data.getvalue())


def columns(frame: pd.DataFrame) -> str:
    """Angles as a matrix, with names of joints; currents as an object of arrays."""
    angles = [n for n in frame if str(n).startswith("q.")]
    currents = [n for n in frame if str(n).startswith("cu")]
    return json.dumps(
        {
            "t": frame["time_s"].tolist(),
            "joint_names": [str(n)[2:] for n in angles],
            "position": frame[angles].to_numpy().tolist(),
            "current": {str(n)[8:]: frame[n].tolist() for n in currents},
        }
    )


def times(form: str) -> Callable[[pd.DataFrame], str]:
    """Times that cross midnight."""
    start = datetime(2024, 5, 3, 23, 59, 59, 500000)

    def write(frame: pd.DataFrame) -> str:
        at = [start + timedelta(seconds=t) for t in frame["time_s"]]
        texts = [one.strftime(form) for one in at]
        return text(frame.drop(columns="time_s").assign(time=texts))

    return write


def cells_of(word: str) -> Callable[[pd.DataFrame], str]:
    def write(frame: pd.DataFrame) -> str:
        lost = ",".join(["2.0", *[word] * (len(frame.columns) - 1)])
        return f"{text(frame)}{lost}\n"

    return write


def by_joint(frame: pd.DataFrame) -> pd.DataFrame:
    """Write a row per joint, from the columns of joints."""
    known = [str(n).partition(".")[::2] for n in frame.columns[1:]]
    signals = dict.fromkeys(signal for signal, _ in known)
    rows = []
    for joint in dict.fromkeys(joint for _, joint in known):
        part = {s: frame.get(f"{s}.{joint}", pd.Series(np.nan)) for s in signals}
        wide = pd.DataFrame({"time_s": frame["time_s"], **part}, frame.index)
        rows.append(wide.assign(joint_name=joint))
    return pd.concat(rows).sort_values("time_s", kind="stable")


def two_headers(*names: str | None) -> Callable[[pd.DataFrame], str]:
    """Write a header of pandas with signals above joints."""

    def write(frame: pd.DataFrame) -> str:
        wide = frame.set_index("time_s").rename_axis(index=names[0])
        parts = [tuple(str(name).split(".")) for name in wide.columns]
        wide.columns = pd.MultiIndex.from_tuples(parts, names=names[1:] or None)
        return str(wide.to_csv())

    return write


def npz(frame: pd.DataFrame) -> bytes:
    """Write matrices and the names of their columns."""
    data = BytesIO()
    angles = [str(n) for n in frame if str(n).startswith("q.")]
    rest = {str(n): frame[n] for n in frame if str(n) not in angles}
    names = [n[2:] for n in angles]
    np.savez(
        data, allow_pickle=False, joint_names=names, position=frame[angles], **rest
    )
    return data.getvalue()


def in_turns(frame: pd.DataFrame) -> pd.DataFrame:
    """Read the joints one after the other, each at a time of its own."""
    return frame.assign(time_s=frame["time_s"] + 1e-5 * (np.arange(len(frame)) % 26))


WORDS = ("--", "#N/A", "1.#QNAN", "?", "undefined")
FILES: dict[str, Callable[[pd.DataFrame], str | bytes]] = {
    "csv.gz": lambda f: gzip.compress(text(f).encode()),
    "csv.bz2": lambda f: bz2.compress(text(f).encode()),
    "csv.xz": lambda f: lzma.compress(text(f).encode()),
    "csv.zst": lambda f: pa.compress(text(f).encode(), "zstd", asbytes=True),
    "csv.zip": zipped,
    "parquet.gz": parquet,
    "jsonl.gz": lambda f: gzip.compress(
        f.to_json(orient="records", lines=True, double_precision=15).encode()
    ),
    "columns.json": columns,
    "pandas.json": lambda f: f.to_json(double_precision=15),
    "split.json": lambda f: f.to_json(orient="split", double_precision=15),
    "index.json": lambda f: f.to_json(orient="index", double_precision=15),
    "repr.txt": lambda f: "\n".join(map(repr, f.to_dict(orient="records"))),
    "sep.csv": lambda f: "sep=;\r\n" + text(f, sep=";", decimal=","),
    "quoted.csv": lambda f: text(f, quoting=csv.QUOTE_ALL, decimal=","),
    "title.csv": lambda f: "Robot;NAO\nDate;03.05.2024\n\n" + text(f, sep=";"),
    "utf16.csv": lambda f: text(f).encode("utf-16-le"),
    "again.csv": lambda f: text(f[:30]) + text(f[30:]),
    "cut.csv": lambda f: text(f) + "9.9,0.1,0.",
    "iso.csv": times("%Y-%m-%dT%H:%M:%S.%f+02:00"),
    "excel.csv": lambda f: text(  # day numbers
        f.drop(columns="time_s").assign(time=45415.9999 + f["time_s"] / 86400.0)
    ),
    "long.csv": lambda f: text(by_joint(f)),
    "turns.csv": lambda f: text(in_turns(by_joint(f))),
    "melt.csv": lambda f: text(f.melt("time_s")),
    "headers.csv": two_headers("time_s"),
    "headers2.csv": two_headers(None),
    "headers3.csv": two_headers("t", "signal", "joint"),
    "npz": npz,
    "german.csv": times("%d.%m.%Y %H:%M:%S,%f"),
    "us.csv": times("%m/%d/%Y %I:%M:%S.%f %p"),
    "clock.csv": times("%H:%M:%S.%f"),
    "colon.csv": times("%H:%M:%S:%f"),
    "list.yaml": lambda f: yaml.safe_dump(f.to_dict(orient="records"), sort_keys=False),
    "syslog.csv": times("%b %d %H:%M:%S.%f"),
    **{f"missing{k}.csv": cells_of(word) for k, word in enumerate(WORDS)},
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_gives_the_same_log(
    name: str, frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    data = FILES[name](frame)
    path = tmp_path / f"log.{name}"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    log = read_log(path, nao)
    since_s = log.time_s[:ROWS] - log.time_s[0]
    own_s = frame["time_s"] - frame["time_s"].iloc[0]
    np.testing.assert_allclose(since_s, own_s, atol=1e-6)
    for column in frame.columns[1:]:
        signal, _, member = str(column).partition(".")
        values = log.signals[signal][member][:ROWS]
        is_known = np.isfinite(values)  # `doubt` drops some
        assert is_known.mean() > 0.7
        np.testing.assert_allclose(
            values[is_known], frame[column][is_known], atol=NEAR, err_msg=str(column)
        )


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.csv.gz",
            gzip.compress(b"time_s,q.a\n0,1\n", mtime=0)[:-9],
            "cannot be decompressed",
        ),
        ("a.zip", zipped(pd.DataFrame())[:9], "cannot be decompressed"),
        ("a.npz", zipped(pd.DataFrame())[:9], "as NPZ: it is not an archive"),
        ("a.npz", b"junk", "as NPZ: it is not an archive of arrays, or incomplete;"),
        ("a.pkl.gz", b"", r"\.pkl files are not read; save the log as CSV"),
        ("a.tar.gz", b"", r"\.tar files are not read; save the log as CSV"),
        ("a.H5", b"", r"\.h5 files are not read; save the log as CSV"),
        ("a.csv", b"q.a\n1\n", "or record the time of each row"),
        (
            "two.jsonl",
            b'{"t": 0, "name": ["a", "b"], "position": [0, 1]}\n'
            b'{"t": 1, "name": ["b", "a"], "position": [1, 0]}\n',
            "column 'name.0' names a and b; give messages with the same joints",
        ),
        ("a.csv", b"", "no rows of text"),
        ("a.json", b"{}", "no rows"),
        ("a.json", b'{"t": [0, 1, 2], "q": [1, 2]}', "'q' has 2 values, others 3"),
        ("a.csv", b"time_s,q.a\n0,1\n1\n2,3\n", ":3: 1 cells in this row, 2 in the"),
    ],
)
def test_a_broken_file_is_refused(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadInput, match=message):
        read_log(path)


def test_pickled_arrays_are_refused_and_run_nothing(tmp_path: Path) -> None:
    class Program:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "ran",)

    np.savez(tmp_path / "log.npz", t=np.array([Program()], dtype=object))
    with pytest.raises(BadInput, match=r"log\.npz cannot be read as NPZ"):
        read_log(tmp_path / "log.npz")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("state", "no angle of LHipYawPitch, .*It has no other columns than times"),
        ("reading", r"Unknown columns: .*--map 'q\.\{joint\}=PATTERN'.*\(now 'nao'\)"),
    ],
)
def test_a_log_without_known_values_lists_its_columns(
    column: str, said: str, frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    rows = by_joint(frame)[["time_s", "joint_name", "q"]]
    rows[column] = rows.pop("q") if column == "reading" else "ok"
    path = tmp_path / "log.csv"
    rows.drop(columns="q", errors="ignore").to_csv(path, index=False)
    with pytest.raises(BadInput, match=said):
        check_sensors(read_log(path, nao), nao)
    if column == "reading":
        log = read_log(path, nao, ("q.{joint}=reading.{joint}",))
        assert set(nao.leg_joints) <= log.signals["q"].keys()


def test_a_folder_of_files_asks_for_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(BadInput, match=r"is a folder with a\.csv, not a run folder"):
        read_log(tmp_path)
