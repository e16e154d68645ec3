"""Several runs are compared in one table."""

import dataclasses
from collections.abc import Callable

from nao_testbed.experiments.common.drawing.page import Section
from nao_testbed.experiments.heat.figures.section import (
    COLUMNS,
    outcome_rows,
    overview_table,
)
from nao_testbed.experiments.heat.published import HeatResult

Make = Callable[..., HeatResult]


def section(name: str, result: HeatResult | None) -> Section:
    rows = () if result is None else outcome_rows(name, result)
    return Section(name=name, title="t", lead="l", outcome=rows)


def test_each_robot_of_each_run_has_a_row(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    trial = dataclasses.replace(
        result.trials["smart"], legs_power_w=1.2, least_with_gears_w=0.3, failure="fell"
    )
    other = dataclasses.replace(result, trials={"smart": trial})
    table = overview_table([section("a", result), section("b", other)])
    assert table is not None
    assert [row.cells[:2] for row in table.rows] == [
        ("a", "fixed"),
        ("a", "smart"),
        ("b", "smart"),
    ]
    assert table.rows[2].cells[-3:] == ("1.20", "4.00 ×", "fell")
    assert {len(row.cells) for row in table.rows} == {len(COLUMNS)}


def test_a_single_run_has_no_comparison(make_heat_result: Make) -> None:
    one = section("a", make_heat_result("fixed"))
    assert overview_table([one]) is None
    assert overview_table([one, section("sweep", None)]) is None
