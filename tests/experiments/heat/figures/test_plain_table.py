"""Tables on a narrow terminal: no value is cut or without its unit."""

import io
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.heat.figures.tables import terminal_tables
from nao_testbed.experiments.heat.published import HeatResult

FOUR = ("fixed", "smart", "nudge", "minheat-no-gear")


def printed(table: object, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(table)
    return file.getvalue()


def numbers(table: Table) -> list[str]:
    """Return the numbers in the cells of a table, each with its unit."""
    cells = [cell for column in table.columns for cell in column.cells]
    texts = [cell.plain if isinstance(cell, Text) else str(cell) for cell in cells]
    found = (re.findall(r"[+-]?\d[\d.]*(?: [^\W\d]\S*| °C)?", text) for text in texts)
    return [number for some in found for number in some]


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_four_controllers_keep_their_numbers_and_units(
    make_heat_result: Callable[..., HeatResult], width: int
) -> None:
    group = terminal_tables(make_heat_result(*FOUR))
    text = printed(group, width)
    assert max(map(len, text.splitlines())) <= width
    for table in group.renderables:
        assert isinstance(table, DataTable)
        assert [n for n in numbers(table.plain) if n not in text] == []


def test_a_few_long_rows_are_turned() -> None:
    table = plain_table("Turned")
    table.add_column("what")
    for i in range(8):
        table.add_column(f"column {i}", justify="right")
    table.add_row("one", *(f"{i}.25 N·m" for i in range(8)))
    lines = printed(table, 60).splitlines()
    assert len(lines) == 11
    assert lines[-1].split() == ["column", "7", "7.25", "N·m"]


@given(
    width=st.integers(40, 160),
    heads=st.lists(st.text("abc de", min_size=1, max_size=20), min_size=1, max_size=9),
    rows=st.lists(st.floats(-1e6, 1e6), max_size=9),
)
def test_no_value_is_cut_at_any_width(
    width: int, heads: list[str], rows: list[float]
) -> None:
    table = plain_table("Some")
    table.add_column("what", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right")
    for i, value in enumerate(rows):
        table.add_row(f"row {i}", *(f"{value:.2f} N·m" for _ in heads))
    text = printed(table, width)
    assert [n for n in numbers(table) if n not in text] == []
    assert max(map(len, text.splitlines()), default=0) <= width
