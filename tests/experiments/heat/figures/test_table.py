import dataclasses
import io
import re
from collections.abc import Callable

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from rich.console import Console

from nao_testbed.experiments.closed_loop.trial_result import JointResult
from nao_testbed.experiments.common.drawing.page import Quantity
from nao_testbed.experiments.heat.figures import tables
from nao_testbed.experiments.heat.figures.section import outcome_rows
from nao_testbed.experiments.heat.figures.tables import joint_table, terminal_tables
from nao_testbed.experiments.heat.published import PUBLISHED, HeatResult

Make = Callable[..., HeatResult]


def printed_lines(tables: object, width: int = 80) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(tables)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def printed(result: HeatResult, width: int = 80) -> str:
    """Return the output for a pipe."""
    return "\n".join(printed_lines(terminal_tables(result), width)) + "\n"


@pytest.mark.requirement("ST-24")
@pytest.mark.parametrize(
    "controllers",
    [
        ("fixed",),
        ("fixed", "smart"),
        ("fixed", "smart", "constant:0.6"),
        ("fixed", "smart", "smart-full", "constant:0.6"),
    ],
    ids=len,
)
def test_a_pipe_gets_this_table(
    make_heat_result: Make,
    controllers: tuple[str, ...],
    file_regression: FileRegressionFixture,
) -> None:
    """Regenerate with `pytest --force-regen` and review the diff."""
    file_regression.check(printed(make_heat_result(*controllers)), encoding="utf-8")


def test_leg_sums_stay_below_the_rises_with_a_new_column(
    make_heat_result: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = Quantity[JointResult]("loss", lambda joint: joint.joule_loss_j, "J", 0)
    monkeypatch.setattr(tables, "OF_JOINTS", (loss, *tables.OF_JOINTS))
    result = make_heat_result("fixed", "smart")
    table = joint_table(result)
    sums = next(row for row in table.rows if row.cells[0] == "left leg, sum")
    found = {
        (column.group, column.label): cell
        for column, cell in zip(table.columns, sums.cells, strict=True)
        if cell and column.group
    }
    rises = [trial.left_leg_rise_k for trial in result.trials.values()]
    assert found == {
        (name, "rise"): f"{rise:+.1f}"
        for name, rise in zip(("fixed", "smart"), rises, strict=True)
    }


def test_a_robot_with_other_legs_shows_its_hottest_joints(
    two_leg_result: HeatResult, file_regression: FileRegressionFixture
) -> None:
    file_regression.check(printed(two_leg_result), encoding="utf-8")


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_line_is_wider_than_80_columns_or_cut(
    make_heat_result: Make, n: int
) -> None:
    names = ("fixed", "smart", "smart-full", "constant:0.6")[:n]
    text = printed(make_heat_result(*names))
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_a_pipe_gets_no_escape_codes(make_heat_result: Make) -> None:
    assert "\x1b" not in printed(make_heat_result("fixed", "smart"))


@pytest.mark.requirement("ST-24")
def test_every_published_number_has_a_simulated_one(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    text = printed(result)
    for name in ("fixed", "smart"):
        trial, published = result.trials[name], PUBLISHED[name]
        pairs = [
            (f"{joint} at the end, °C", degc, trial.joints[joint].end_degc)
            for joint, degc in published.end_degc.items()
        ]
        pairs += [
            (
                f"temperature rise, {side} leg, K",
                getattr(published, rise),
                getattr(trial, rise),
            )
            for side in ("left", "right")
            for rise in (f"{side}_leg_rise_k",)
        ]
        for label, wanted, simulated in pairs:
            row = re.search(rf"{name} +{label}(.*)", text)
            assert row is not None
            numbers = [float(x) for x in row[1].split()]
            assert numbers == [wanted, simulated, simulated - wanted]


def test_fitted_and_predicted_columns_are_named(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    told = (
        "The preset “document” was fitted to the published values of fixed. The "
        "values of smart are predictions."
    )
    assert told in " ".join(printed(result).split())


@pytest.mark.requirement("ST-24")
def test_unpublished_experiments_are_not_compared(
    other_experiment: tuple[str, HeatResult],
) -> None:
    """Differences to another experiment are meaningless: one line gives the reason."""
    why, result = other_experiment
    text = printed(result)
    assert "Comparison with" not in text
    words = " ".join(text.split())  # the line may be wrapped
    assert f"Not compared with the published experiment: {why}" in words


@pytest.mark.parametrize("controllers", [("nudge",), ("minheat", "constant:0.6")])
def test_unpublished_controllers_get_no_remark(
    make_heat_result: Make, controllers: tuple[str, ...]
) -> None:
    result = dataclasses.replace(make_heat_result(*controllers), minutes=1.0)
    assert "publ" not in printed(result)


def test_many_differences_are_counted(make_heat_result: Make) -> None:
    result = make_heat_result("fixed")
    settings = {"robot": "nao", "protection": "nao", "servo": "pybullet"}
    other = dataclasses.replace(
        result, minutes=1.0, misalignment_deg={}, settings=settings
    )
    assert other.not_comparable == (
        "Not compared with the published experiment: the duration is 1 min, not 15, "
        "no joint is misaligned, 2 more differences."
    )


def test_simulated_is_never_negative_zero(make_heat_result: Make) -> None:
    result = make_heat_result("smart")
    smart = dataclasses.replace(result.trials["smart"], left_leg_rise_k=-0.01)
    text = printed(dataclasses.replace(result, trials={"smart": smart}))
    assert re.search(r"temperature rise, left leg, K +42 +0\.0 +-42\.0", text)


def test_fallbacks_of_a_controller_are_named(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    flags = {"COM_OUTSIDE_SUPPORT": 12, "CLIPPED": 3}
    smart = dataclasses.replace(result.trials["smart"], flags=flags)
    trials = {"fixed": result.trials["fixed"], "smart": smart}
    text = printed(dataclasses.replace(result, trials=trials))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "flag: com outside support 0 cycles 12 cycles" in lines
    assert "flag: clipped 0 cycles 3 cycles" in lines


def test_all_rows_are_printed_on_request(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    short, whole = (
        printed_lines(terminal_tables(result, shows_all=shows))
        for shows in (False, True)
    )
    assert "--all prints 5 more rows." in short
    assert len(whole) == len(short) + 5 - 1
    assert not [line for line in whole if "--all" in line]


def test_a_fall_is_reported(two_leg_result: HeatResult) -> None:
    assert "fell at 3.20 s" in printed(two_leg_result, width=100)


def test_powers_of_estimated_motors_are_relative_to_fixed(
    make_heat_result: Make,
) -> None:
    """Kt and R are unknown, so W and J of the robot are unknown; ratios are known."""
    known = make_heat_result("smart", "fixed")
    watts = {"smart": 3.0, "fixed": 12.0}
    trials = {
        name: dataclasses.replace(trial, legs_power_w=watts[name])
        for name, trial in known.trials.items()
    }
    known = dataclasses.replace(known, trials=trials)
    guessed = dataclasses.replace(known, settings={"thermal": "estimate"})
    assert " W" in printed(known)
    for text in (printed(guessed), terminal_tables_all(guessed)):
        assert not re.search(r"\d [WJ]\b", text)
        assert "relative" in " ".join(text.split())
    (row,) = (x for x in terminal_rows(guessed) if x.startswith("final power"))
    assert row.split()[-4:] == ["0.25", "×", "1.00", "×"]
    cells = [cell for row in outcome_rows("run", guessed) for cell in row.cells]
    assert "12.00" not in cells
    assert "12.00" in [c for row in outcome_rows("run", known) for c in row.cells]


def terminal_tables_all(result: HeatResult) -> str:
    return "\n".join(terminal_rows(result))


def terminal_rows(result: HeatResult) -> list[str]:
    return printed_lines(terminal_tables(result, shows_all=True), 160)
