"""Long logs give the same numbers as short ones, with little memory."""

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.heat.logs import csv_tables as tables
from nao_testbed.experiments.heat.logs.bags import (
    BagTable,
    MessageBlock,
    MessageLayout,
)
from nao_testbed.experiments.heat.logs.csv_tables import LongCsvTable, read_csv
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import LONG_ROWS, Log
from nao_testbed.experiments.heat.xray.standing import find_standing
from nao_testbed.models import BadInput, Robot
from studies import log_writers as writers

SINGLE = 1e-6
"""Relative precision of the signals of a long log."""


def assert_same(one: Log, other: Log) -> None:
    assert one.signals.keys() == other.signals.keys()
    assert [r.what for r in one.repairs] == [r.what for r in other.repairs]
    np.testing.assert_array_equal(one.time_s, other.time_s)
    for signal, members in one.signals.items():
        for name, values in members.items():
            also = other.signals[signal][name]
            np.testing.assert_allclose(values, also, rtol=SINGLE, atol=1e-9)


@pytest.mark.parametrize("writer", [writers.plotjuggler, writers.rostopic])
def test_a_csv_file_read_in_blocks_gives_the_same_log(
    writer: Callable[[pd.DataFrame, Robot, Path], Path],
    nao_frame: pd.DataFrame,
    nao: Robot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Empty cells, epoch times and columns of text included."""
    path = writer(nao_frame, nao, tmp_path)
    short = read_log(path, nao)
    monkeypatch.setattr(tables, "LONG_BYTES", 0)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 10_000)
    assert isinstance(read_csv(path), LongCsvTable)
    assert_same(read_log(path, nao), short)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s,q.a\n0,1\n" + "1,2\n" * 9000 + "2,oops\n", r":9003: .*'oops'"),
        ("time_s,q.a\n0,1\n" + "1,2\n" * 9000 + "2\n", None),
        ("time_s,q.a\n0,\n1,2\n", None),
        ("\ufefftime_s;q.a\n0,5;1,5\n1,5;2,5\n", None),
        ("# made by hand\ntime_s,q.a\n0,1\n1,2\n", None),
        ("time_s q.a\n0 1\n1 2\n", None),
        ("2020-01-01 00:00:00,1\n2020-01-01 00:00:01,1\n", "header"),
    ],
)
def test_unusual_files_are_read_or_rejected_like_short_ones(
    text: str, message: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    if message is None:
        short = read_log(path)
        monkeypatch.setattr(tables, "LONG_BYTES", 0)
        assert_same(read_log(path), short)
        return
    monkeypatch.setattr(tables, "LONG_BYTES", 0)
    with pytest.raises(BadInput, match=message):
        read_log(path)


@pytest.mark.slow
def test_a_long_parquet_log_takes_little_more_than_its_signals(
    nao_frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    """Single precision, one column at a time: half the size of the data frame."""
    names = [f"{s}.{n}" for s in ("q", "target") for n in nao.joint_names]
    names += [f"current.{n}" for n in nao.motor_names]
    last = nao_frame[names].tail(60)
    frame = last.iloc[np.arange(LONG_ROWS + 1) % len(last)].reset_index(drop=True)
    frame.insert(0, "time_s", 0.02 * np.arange(len(frame)))
    path = tmp_path / "long.parquet"
    frame.to_parquet(path)
    size = int(frame.memory_usage(index=False).sum())
    tracemalloc.start()
    log = read_log(path, nao)
    _, peak = tracemalloc.get_traced_memory()
    assert peak < 0.8 * size
    find_standing(log, nao)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.8 * size, "no copies in the analysis"
    assert log.time_s.dtype == np.float64
    np.testing.assert_array_equal(log.time_s, frame["time_s"])
    np.testing.assert_allclose(
        log.signals["q"]["LKneePitch"], frame["q.LKneePitch"], rtol=SINGLE
    )


def test_messages_of_one_time_stamp_share_a_row() -> None:
    """A bag keeps 8 bytes per number: topics are aligned when a column is read."""
    blocks: dict[tuple[str, ...], MessageBlock] = {
        ("a/x", "a/y"): MessageBlock(),
        ("b/z",): MessageBlock(),
    }
    for names, stamp, values in (
        (("a/x", "a/y"), 3, (3.0, 30.0)),
        (("a/x", "a/y"), 1, (1.0, 10.0)),
        (("b/z",), 2, (200.0,)),
        (("b/z",), 3, (300.0,)),
    ):
        blocks[names].stamps.append(stamp * 10**9)
        blocks[names].values.extend(values)
    table = BagTable(Path("log.mcap"), blocks)
    assert table.names == ["__time", "a/x", "a/y", "b/z"]
    np.testing.assert_array_equal(table.numbers("__time"), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(table.numbers("a/y"), [10.0, np.nan, 30.0])
    np.testing.assert_array_equal(table.numbers("b/z"), [np.nan, 200.0, 300.0])


NUMBERS = "<d3xfIqbH"
"""Numbers of all sizes after a text of three bytes."""


def _unpacked(raw: bytes) -> dict[str, float]:
    names = ("a", raw[8:11].decode("ascii"), *"cdef")
    return dict(zip(names, map(float, struct.unpack(NUMBERS, raw)), strict=True))


def test_messages_of_one_layout_are_decoded_together() -> None:
    first = bytearray(struct.pack(NUMBERS, np.nan, -0.0, 7, -8, -1, 9))
    first[8:11] = b"hip"
    layout = MessageLayout(_unpacked, bytes(first))
    second = bytearray(struct.pack(NUMBERS, 1.5, 2.5, 2**31, 2**40, 127, 65535))
    second[8:11] = b"hip"
    other = second.replace(b"hip", b"toe")
    numbers, fits = layout.numbers([bytes(first), bytes(second), bytes(other)])
    assert fits.tolist() == [True, True, False], "other name, other column"
    np.testing.assert_array_equal(numbers[0], [np.nan, -0.0, 7, -8, -1, 9])
    np.testing.assert_array_equal(numbers[1], [1.5, 2.5, 2**31, 2**40, 127, 65535])
    with pytest.raises(ValueError, match="0"):  # a number as text
        MessageLayout(lambda raw: {"degc": float(raw)}, b"38.5")
    with pytest.raises(ValueError, match="9000"):  # an image
        MessageLayout(lambda raw: {"width": float(raw[0])}, bytes(9000))
