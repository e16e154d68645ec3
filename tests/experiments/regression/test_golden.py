"""Golden runs: compared within tolerances, changed only on request."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.regression import GoldenRun, StandingTrial
from nao_testbed.experiments.regression.golden import (
    BY_UNIT,
    number_differences,
    table_of,
    tolerances_of,
)
from nao_testbed.models import BadInput
from tests.messages import Messages, each


def golden(folder: Path, *, regenerate: bool = False) -> GoldenRun:
    return GoldenRun(folder, "test_it", regenerate=regenerate)


@pytest.fixture
def kept(fixed: StandingTrial, tmp_path: Path) -> Path:
    """Folder with the golden run of a trial."""
    golden(tmp_path, regenerate=True).check(fixed)
    return tmp_path


def other_number(folder: Path, column: str, row: int, by: float) -> None:
    """Change one number of the table."""
    path = folder / "test_it.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    place = lines[0].split(",").index(column)
    cells = lines[1 + row].split(",")
    cells[place] = f"{float(cells[place]) + by:.5f}"
    lines[1 + row] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_unchanged_trial_matches_its_golden_run(
    fixed: StandingTrial, kept: Path
) -> None:
    golden(kept).check(fixed)
    assert sorted(p.name for p in kept.iterdir()) == ["test_it.csv", "test_it.json"]


def test_no_file_is_written_without_the_option(
    fixed: StandingTrial, kept: Path
) -> None:
    before = {path: path.read_bytes() for path in kept.iterdir()}
    other_number(kept, "motor_torque.left_knee", 2, 1.0)
    changed = (kept / "test_it.csv").read_bytes()
    with pytest.raises(AssertionError):
        golden(kept).check(fixed)
    assert (kept / "test_it.csv").read_bytes() == changed
    assert (kept / "test_it.json").read_bytes() == before[kept / "test_it.json"]


def test_missing_golden_run_message_says_how_to_create_it(
    fixed: StandingTrial, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="--nao-testbed-regenerate, review it"):
        golden(tmp_path).check(fixed)
    assert not list(tmp_path.iterdir())


def test_difference_is_reported_with_column_time_and_tolerance(
    fixed: StandingTrial, kept: Path
) -> None:
    other_number(kept, "motor_torque.left_knee", 2, 0.015)
    golden(kept).check(fixed)
    other_number(kept, "motor_torque.left_knee", 2, 0.015)
    with pytest.raises(AssertionError) as failed:
        golden(kept).check(fixed)
    said = str(failed.value)
    assert said.startswith(
        "fixed differs from its golden run: motor_torque.left_knee was "
    )
    assert "N·m at 1.50 s" in said
    assert "the tolerance is 0.02 N·m. 1 of 24 columns differ." in said
    assert "run pytest with --nao-testbed-regenerate" in said
    golden(kept).check(fixed, tolerances={"motor_torque": 0.05})
    golden(kept).check(
        fixed, tolerances={"motor_torque": 0.001, "motor_torque.left_knee": 0.05}
    )


def test_changed_versions_are_reported(fixed: StandingTrial, kept: Path) -> None:
    path = kept / "test_it.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["versions"] |= {"numpy": "1.0", "machine": "another"}
    path.write_text(json.dumps(said), encoding="utf-8")
    golden(kept).check(fixed)
    other_number(kept, "limits.left_knee", 0, -0.5)
    with pytest.raises(
        AssertionError, match=r"Versions changed: numpy 1\.0, now .*\.$"
    ):
        golden(kept).check(fixed)


@pytest.mark.parametrize("name", ["test_it.csv", "test_it.json"])
@pytest.mark.parametrize("text", ["", "{}", "time_s,a\n1,2\n", "time_s,a\n1,x\n"])
def test_damaged_file_is_refused(
    fixed: StandingTrial, kept: Path, name: str, text: str
) -> None:
    (kept / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="Regenerate"):
        golden(kept).check(fixed)


def test_fallen_robot_has_no_golden_run(weak: StandingTrial, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="does not stay upright"):
        golden(tmp_path, regenerate=True).check(weak)
    assert not list(tmp_path.iterdir())


def test_two_golden_runs_of_a_test_need_names(
    fixed: StandingTrial, tmp_path: Path
) -> None:
    run = golden(tmp_path, regenerate=True)
    run.check(fixed)
    run.check(fixed, name="again/and again", columns=("gyro",))
    with pytest.raises(BadInput, match="checked twice"):
        run.check(fixed)
    assert [path.name for path in run.written] == [
        "test_it.csv",
        "test_it-again-and-again.csv",
    ]


def test_unknown_column_is_named(fixed: StandingTrial, kept: Path) -> None:
    with pytest.raises(BadInput, match="Did you mean 'motor_torque'"):
        golden(kept).check(fixed, columns=("motor_torqe",))


def test_every_recorded_unit_has_a_tolerance(fixed: StandingTrial) -> None:
    units = set(fixed.run.meta.columns.values())
    assert units <= set(BY_UNIT)
    assert all(usual < most for usual, most in BY_UNIT.values())


def test_table_holds_the_latest_values_before_its_times(fixed: StandingTrial) -> None:
    table = table_of(fixed.run, fixed.setting.robot, ("q.left_knee",), 0.3)
    frame = fixed.run.frame["q.left_knee"]
    values = table["q.left_knee"].tolist()
    for time_s, value in zip(table.index, values, strict=True):
        newest = frame[frame.index <= time_s + 1e-6].iloc[-1]
        assert value == pytest.approx(newest, abs=1e-5)


def test_nan_differs_from_a_number() -> None:
    units = {"q.knee": "rad", "q.hip": "rad"}
    was = pd.DataFrame({"q.knee": [0.0, np.nan], "q.hip": [1.0, 1.0]}, index=[0.5, 1.0])
    said = number_differences(was, was.fillna(0.0), units, tolerances_of(units, {}))
    assert said
    assert said.startswith("q.knee was nan rad at 1.00 s and is 0 rad")
    assert "1 of 2 columns" in said
    assert number_differences(was, was, units, tolerances_of(units, {})) is None


def test_messages(messages: Messages, fixed: StandingTrial, kept: Path) -> None:
    messages(
        another_setting=lambda: golden(kept).check(
            replace(fixed, setting=replace(fixed.setting, slope_deg=1.0))
        ),
        other_columns_and_rows=[
            lambda: golden(kept).check(fixed, columns=("gyro",)),
            lambda: golden(kept).check(fixed, every_s=0.25),
        ],
        an_argument_without_meaning=each(
            lambda **arguments: golden(kept).check(fixed, **arguments),
            columns=[()],
            every_s=[0.0, 5.0],
            tolerances=[
                {"motor_torqe": 1.0},
                {"limits": -1.0},
                {"limits": float("nan")},
                {"limits": True},
                {"limits.left_knee": 1.0},
            ],
        ),
    )
