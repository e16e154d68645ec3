"""Files of measured temperatures: repairs are reported, doubtful data rejected."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.experiments.heat.identification.heat_log import (
    HeatLog,
    HeatLogCfg,
    heat_log_of_file,
)
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.models import BadInput, load_robot
from studies.example_log import (
    LOST_ROWS,
    PAUSE_S,
    STEP_S,
    example_log,
)
from tests.messages import Messages, each

ROOT = Path(__file__).resolve().parents[4]
SHIPPED = ROOT / "notebooks" / "data" / "knee_log.csv"
HEADER = "time_s,temperature_degc,current_a"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def rows(n: int = 20) -> list[str]:
    return [f"{k},{30 + k / 10:.1f},{0.5 + k / 100:.2f}" for k in range(n)]


def read(
    file: Path, lines: Iterable[str], header: str = HEADER, **cfg: object
) -> HeatLog:
    file.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return heat_log_of_file(read_log(file), HeatLogCfg(**cfg))  # type: ignore[arg-type]


def kinds(log: HeatLog) -> list[tuple[str, int]]:
    return [(repair.kind, repair.rows) for repair in log.repairs]


def test_a_valid_file_needs_no_repair(file: Path) -> None:
    log = read(file, rows())
    (record,) = log.records
    assert log.repairs == ()
    assert_allclose(record.time_s, np.arange(20.0))
    assert_allclose(record.degc, 30.0 + np.arange(20.0) / 10.0)
    square = (0.5 + np.arange(20.0) / 100.0) ** 2
    assert_allclose(record.mean_square_current, (square[1:] + square[:-1]) / 2.0)


@pytest.mark.slow
@given(order=st.permutations(range(20)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_in_any_order_are_the_same_record(file: Path, order: list[int]) -> None:
    right, mixed = (
        read(file, [rows()[k] for k in o]).records[0] for o in (range(20), order)
    )
    assert_allclose(mixed.time_s, right.time_s)
    assert_allclose(mixed.degc, right.degc)
    assert_allclose(mixed.mean_square_current, right.mean_square_current)


def test_a_row_out_of_order_is_reported(file: Path) -> None:
    lines = rows()
    lines[4], lines[5] = lines[5], lines[4]
    assert kinds(read(file, lines)) == [("order", 1)]


def test_rows_of_equal_time_are_averaged(file: Path) -> None:
    log = read(file, [*rows(), "3,40.3,0.53", "3,,"])
    assert kinds(log) == [("order", 1), ("duplicate", 2)]
    assert log.records[0].degc[3] == pytest.approx((30.3 + 40.3) / 2.0)


@pytest.mark.parametrize("cell", ["", "nan", "NaN", "NA", "null", "-"])
def test_a_missing_temperature_keeps_its_current(file: Path, cell: str) -> None:
    log = read(file, [*rows(5), f"5,{cell},0.9", *rows()[6:]])
    assert kinds(log) == [("missing", 1)]
    assert np.isnan(log.records[0].degc[5])
    assert log.records[0].mean_square_current[5] == pytest.approx((0.81 + 0.56**2) / 2)


def test_an_infinite_number_is_a_missing_one(file: Path) -> None:
    log = read(file, [*rows(), "20,inf,0.7"])
    assert kinds(log) == [("missing", 1), ("missing", 1)]
    assert log.records[0].is_known.sum() == 20


def test_a_missing_current_is_interpolated(file: Path) -> None:
    lines = rows()
    lines[7] = "7,30.7,"
    log = read(file, lines)
    assert kinds(log) == [("missing", 1)]
    whole = read(file, rows()).records[0]
    assert_allclose(
        log.records[0].mean_square_current, whole.mean_square_current, rtol=1e-6
    )


def test_a_long_gap_in_current_ends_a_record(file: Path) -> None:
    lines = rows(60)
    lines[20:40] = [f"{k},33.0," for k in range(20, 40)]
    log = read(file, lines)
    assert kinds(log) == [("missing", 20), ("gap", 1)]
    assert [record.time_s[0] for record in log.records] == [0.0, 40.0]


def test_a_new_record_starts_after_a_gap(file: Path) -> None:
    late = [f"{k + 100},35.0,0.5" for k in range(8)]
    log = read(file, [*rows(), *late])
    assert kinds(log) == [("gap", 1)]
    assert "gap of 81 s after 19 s" in log.repairs[0].what
    assert len(log.records) == 2
    assert len(read(file, [*rows(), *late], gap_s=200.0).records) == 1


def test_a_piece_too_short_for_a_record_is_left_out(file: Path) -> None:
    log = read(file, [*rows(), "300,35,0.5", "301,35,0.5"])
    assert kinds(log) == [("gap", 1), ("short", 2)]
    assert len(log.records) == 1


def test_units_in_the_header_are_applied(file: Path) -> None:
    right = read(file, rows()).records[0]
    other = [
        f"{1000 * k},{(30 + k / 10) * 1.8 + 32:.2f},{500 + 10 * k}" for k in range(20)
    ]
    log = read(file, other, "time_ms,temperature_degf,current_ma")
    assert kinds(log) == [("unit", 20)]
    assert_allclose(log.records[0].time_s, right.time_s)
    assert_allclose(log.records[0].degc, right.degc, atol=1e-9)
    assert_allclose(log.records[0].mean_square_current, right.mean_square_current)


def test_a_table_with_semicolons_and_decimal_commas_is_read(file: Path) -> None:
    lines = [line.replace(",", ";").replace(".", ",") for line in rows()]
    log = read(file, ["# from a sheet", *lines], "\ufeff" + HEADER.replace(",", ";"))
    assert kinds(log) == [("unit", 20)]
    assert_allclose(log.records[0].degc, read(file, rows()).records[0].degc)


def test_torques_become_currents_by_a_known_constant(file: Path) -> None:
    header = "time_s,temperature_degc,effort_nm"
    with pytest.raises(BadInput, match="give the torque constant"):
        read(file, rows(), header)
    log = read(file, rows(), header, torque_constant=2.0)
    right = read(file, rows()).records[0].mean_square_current
    assert_allclose(log.records[0].mean_square_current, right / 4.0)


FAHRENHEIT = [f"{k},{86 + k},0.5" for k in range(20)]


def test_unlikely_units_are_accepted_with_trusts_units(file: Path) -> None:
    (record,) = read(file, FAHRENHEIT, trusts_units=True).records
    assert record.degc[0] == 86.0


def test_binary_is_rejected(file: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_log(file)
    for content, message in (
        (b"\x81\x8d", "not UTF-8 text"),
        (b"", "has no rows of text"),
        (b"a,b\0\n1,2\n", "has no rows of text"),
    ):
        file.write_bytes(content)
        with pytest.raises(BadInput, match=message):
            read_log(file)
    with pytest.raises(BadInput, match="not a run folder"):
        read_log(file.parent)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_options_for_a_file_are_validated(value: float) -> None:
    with pytest.raises(BadInput, match=r"torque constant in N·m/A = .*; give"):
        HeatLogCfg(torque_constant=value)
    with pytest.raises(BadInput, match="gap = "):
        HeatLogCfg(gap_s=value)


def test_the_shipped_file_equals_the_generated_one() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == example_log(load_robot())


def test_repairs_of_the_shipped_file_match_its_errors() -> None:
    log = heat_log_of_file(read_log(SHIPPED))
    lost = sum(not PAUSE_S[0] < k * STEP_S < PAUSE_S[1] for k in LOST_ROWS)
    assert kinds(log) == [
        ("order", 1), ("duplicate", 1), ("missing", lost), ("gap", 1)
    ]  # fmt: skip
    assert [record.time_s[0] for record in log.records] == [0.0, PAUSE_S[1]]


def test_messages(messages: Messages, file: Path) -> None:
    messages(
        what_is_unsure_or_wrong=each(
            lambda *lines: read(file, lines),
            tuple(FAHRENHEIT),
            tuple(f"{k},{303 + k},0.5" for k in range(20)),
            (*rows(), "20,-99,0.5"),
            (*rows(), "20,32,500"),
            ("0,30,1", "1,30,1", "2,hot,1"),
            ("0,30,1", "1,3_0,1"),
            ("0,30,1", "x" * 200_000),
            ("0,30,1", "1,30"),
            tuple(rows(3)),
            tuple(f"{k},,0.5" for k in range(20)),
            (),
        ),
        a_header_must_name_its_columns=each(
            lambda header: read(file, rows(), header),
            "time_s,temp,current_a",
            "time,temperature_degc,current_a",
            "time_s,temperature_degc,amps",
            "time_s,temperature_degc,time_s",
            "time_s,temperature_degc,temperature_k",
        ),
    )
