"""Numbers of a page equal those in the run's files or follow from its rows."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.common.drawing.number_text import duration, number, signed
from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.heat.figures.charts import shift_history_figure, shifts_deg
from nao_testbed.experiments.heat.figures.section import read_heat_result
from nao_testbed.experiments.heat.figures.tables import (
    heat_tables,
    joint_table,
    outcome_table,
    published_table,
)
from nao_testbed.experiments.heat.published import PUBLISHED, HeatResult
from nao_testbed.experiments.report.run_contents import (
    event_tables,
    heat_from_rows,
    settings_tables,
    trial_from_rows,
)
from nao_testbed.experiments.report.run_source import RecordedTrial, read_source
from nao_testbed.models import load_robot

Make = Callable[..., HeatResult]
NAO = load_robot()
RTOL_MOMENTS = 0.15  # rows sample torques, while the run averages over ticks


def cells(table: DataTable, first: str) -> tuple[str, ...]:
    """Return the cells of the row that begins so."""
    (row,) = [row for row in table.rows if row.cells[0] == first]
    return row.cells[1:]


def apart(trials: tuple[RecordedTrial, ...]) -> list[RecordedTrial]:
    """Return the robots, each with a different start second."""
    return [
        dataclasses.replace(
            trial,
            run=dataclasses.replace(
                trial.run,
                meta=dataclasses.replace(
                    trial.run.meta, started_utc=f"2026-01-01T00:00:{i:02}+00:00"
                ),
            ),
        )
        for i, trial in enumerate(trials)
    ]


def test_result_survives_a_json_round_trip(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    data = json.loads(json.dumps(result.as_json()))
    assert read_heat_result(Path("heat.json"), data) == result


def test_result_with_unknown_or_missing_fields_is_read(
    make_heat_result: Make,
) -> None:
    data = make_heat_result("fixed").as_json()
    data["trials"]["fixed"]["of_the_future"] = 1
    del data["trials"]["fixed"]["settled_s"]
    result = read_heat_result(Path("heat.json"), data)
    assert result.trials["fixed"].settled_s is None


def test_result_with_the_key_of_older_files_is_read(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    data = result.as_json()
    data["arms"] = data.pop("trials")
    assert read_heat_result(Path("heat.json"), data) == result


def test_results_from_rows_agree_with_the_recorded_results(heat_folder: Path) -> None:
    source = read_source(heat_folder)
    assert source.heat is not None
    for trial in source.trials:
        ours = trial_from_rows(trial, NAO)
        theirs = source.heat.trials[trial.name]
        assert ours is not None
        assert ours.sim_s == pytest.approx(theirs.sim_s)
        for joint, row in theirs.joints.items():
            again = ours.joints[joint]
            assert again.end_degc == pytest.approx(row.end_degc, abs=1e-4), joint
            assert again.start_degc == pytest.approx(row.start_degc, abs=0.02), joint
        legs = [joint for joint in theirs.joints if "Ankle" in joint or "Hip" in joint]
        for field in ("mean_abs_effort_nm", "joule_loss_j"):
            both = [
                [getattr(result.joints[joint], field) for joint in legs]
                for result in (ours, theirs)
            ]
            total, expected = np.sum(both, axis=1)
            assert total == pytest.approx(expected, rel=RTOL_MOMENTS), field


@pytest.mark.requirement("ST-24")
def test_difference_from_the_published_numbers_is_shown(
    make_heat_result: Make,
) -> None:
    result = make_heat_result("fixed", "smart")
    table = published_table(result)
    shown = {row.cells[:2]: row.cells[2:] for row in table.rows}
    for name in ("fixed", "smart"):
        published = PUBLISHED[name].end_degc["LAnklePitch"]
        ours = result.trials[name].joints["LAnklePitch"].end_degc
        assert shown[name, "LAnklePitch at the end, °C"] == (
            f"{published:.0f}",
            f"{ours:.1f}",
            signed(ours - published),
        )
    legs = shown["fixed", "temperature rise, left leg, K"]
    assert legs[0] == f"{PUBLISHED['fixed'].left_leg_rise_k:.0f}"


@pytest.mark.requirement("ST-24")
def test_other_experiments_are_not_compared_with_published_numbers(
    other_experiment: tuple[str, HeatResult],
) -> None:
    why, result = other_experiment
    assert not published_table(result).rows
    assert why in joint_table(result).note


@pytest.mark.requirement("ST-24")
def test_result_from_rows_knows_its_experiment(heat_folder: Path) -> None:
    """A crashed run has no heat.json; the robot folders hold its settings."""
    trials = read_source(heat_folder).trials
    ours = {
        trial.name: found for trial in trials if (found := trial_from_rows(trial, NAO))
    }
    result = heat_from_rows(ours, trials[0])
    assert not published_table(result).rows
    assert "the duration is 0.05 min, not 15." in joint_table(result).note
    whole = dataclasses.replace(result, minutes=15.0)
    cut = joint_table(whole).note
    assert "fixed ended after 3 s, smart ended after 3 s." in cut
    trials_15 = {
        n: dataclasses.replace(trial, sim_s=900.0) for n, trial in ours.items()
    }
    assert published_table(dataclasses.replace(whole, trials=trials_15)).rows


def test_power_is_compared_with_both_minima(
    make_heat_result: Make,
) -> None:
    result = make_heat_result("fixed")
    trial = dataclasses.replace(
        result.trials["fixed"],
        legs_power_w=1.2,
        least_power_w=0.6,
        least_with_gears_w=0.3,
    )
    table = outcome_table(dataclasses.replace(result, trials={"fixed": trial}))
    assert cells(table, "minimum, no gear friction") == ("0.60 W",)
    assert cells(table, "ratio to it") == ("2.00 ×",)
    assert cells(table, "minimum power") == ("0.30 W",)
    assert cells(table, "ratio to the minimum power") == ("4.00 ×",)


def test_every_row_has_a_cell_for_every_column(
    make_heat_result: Make, two_leg_result: HeatResult, heat_folder: Path
) -> None:
    source = read_source(heat_folder)
    tables = [
        *heat_tables(make_heat_result("fixed", "smart", "constant:0.6")),
        *heat_tables(two_leg_result),
        *event_tables(source.trials),
        *settings_tables(apart(source.trials)),
    ]
    assert len(tables) == 3 + 2 + 1 + 3
    for table in tables:
        assert {len(row.cells) for row in table.rows} == {len(table.columns)}


def test_leg_table_ends_with_the_sum_of_a_leg(make_heat_result: Make) -> None:
    result = make_heat_result("fixed")
    table = heat_tables(result)[1]
    assert cells(table, "left leg, sum")[2] == signed(
        result.trials["fixed"].left_leg_rise_k
    )


def test_pushes_are_among_the_events(heat_folder: Path) -> None:
    table = event_tables(read_source(heat_folder).trials)[0]
    assert table.rows[0].cells == (
        "2.50",
        "fixed",
        "push of (3, 0, 0) N for 0.2 s at the base",
    )


def test_common_and_differing_settings_are_separate_tables(
    heat_folder: Path,
) -> None:
    trials = apart(read_source(heat_folder).trials)
    origin, differing, settings = settings_tables(trials)
    assert cells(origin, "seed") == ("0",)
    assert cells(differing, "started (UTC)") == (
        "2026-01-01 00:00:00",
        "2026-01-01 00:00:01",
    )
    assert "LAnklePitch 0.78" in cells(settings, "simulation.misalignment_deg")[0]
    assert not {row.cells[0] for row in differing.rows} & {
        row.cells[0] for row in settings.rows
    }


def test_shift_is_the_set_point_minus_the_posture(heat_folder: Path) -> None:
    frame = read_source(heat_folder).trials[0].frame.copy()
    posture = NAO.posture("PoseInit").angles
    assert shift_history_figure({"fixed": frame}, NAO, posture) is None, (
        "the approach is not a shift"
    )
    late = frame.index > 2.5
    frame.loc[late, "target.RHipRoll"] += np.deg2rad(1.5)
    shift = shifts_deg(frame, NAO, posture)
    assert shift is not None
    j = NAO.joint_index("RHipRoll")
    np.testing.assert_allclose(shift[late, j], 1.5, atol=1e-3)
    assert np.abs(np.delete(shift, j, axis=1)).max() < 1e-3
    figure = shift_history_figure({"fixed": frame}, NAO, posture)
    assert figure is not None
    _, labels = figure.axes[0].get_legend_handles_labels()
    assert labels == ["RHipRoll"]


def test_joint_has_the_same_style_under_every_controller(heat_folder: Path) -> None:
    """The style is independent of other shifted joints, and unique to the joint."""
    posture = NAO.posture("PoseInit").angles
    frame = read_source(heat_folder).trials[0].frame
    late = frame.index > 2.5

    def shifted(**degrees: float) -> pd.DataFrame:
        rows = frame.copy()
        for joint, angle in degrees.items():
            rows.loc[late, f"target.{joint}"] += np.deg2rad(angle)
        return rows

    frames = {
        "one": shifted(LKneePitch=1.0, RKneePitch=0.5, LAnkleRoll=0.2, HeadYaw=0.1),
        "other": shifted(LAnkleRoll=2.0, RKneePitch=-1.0, LKneePitch=0.3),
    }
    figure = shift_history_figure(frames, NAO, posture)
    assert figure is not None
    looks = [
        {
            line.get_label(): (line.get_color(), line.get_linestyle())
            for line in axes.get_lines()[1:]  # without the zero line
        }
        for axes in figure.axes
    ]
    assert set(looks[0]) == {"LKneePitch", "RKneePitch", "LAnkleRoll", "HeadYaw"}
    assert len(set(looks[0].values())) == 4
    assert looks[1].items() <= looks[0].items()
    assert looks[0]["LKneePitch"][0] == looks[0]["RKneePitch"][0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.04, "0.0"), (-1.25, "−1.2"), (None, "–"), (math.nan, "–"), (math.inf, "∞")],
)
def test_numbers_have_true_minus_signs_and_no_negative_zero(
    value: float | None, text: str
) -> None:
    assert number(value) == text


def test_duration_has_a_suitable_unit() -> None:
    assert [duration(t) for t in (0.6, 90.0, 900.0)] == ["0.6 s", "90 s", "15 min"]
