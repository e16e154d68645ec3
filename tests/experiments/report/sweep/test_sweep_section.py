"""The section of a sweep shows the values of its table."""

import contextlib
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.experiments.common.drawing.page import DataTable, Section
from nao_testbed.experiments.sweep.run_sweep import (
    MAX_FIRST_FAILURES,
    AllTrialsFailed,
    run_sweep,
)
from nao_testbed.experiments.sweep.spec import (
    Choice,
    Fixed,
    Grid,
    Normal,
    Uniform,
    Values,
)
from nao_testbed.experiments.sweep.summary import grid_columns, summary_of
from nao_testbed.experiments.sweep.summary.section import (
    parameter_table,
    sweep_section,
    values_from,
)
from nao_testbed.experiments.sweep.summary.tables import (
    count_table,
    sweep_tables,
    trial_tables,
)
from nao_testbed.experiments.sweep.sweep_table import SweepFolder, read_folder
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.sim.recording.run_meta import plain
from tests.experiments.report.conftest import MARKUP
from tests.experiments.sweep.files import ANKLES, spec_of
from tests.experiments.sweep.outcomes import BAND, PAIRS, heat, outcome, stand

Work = Callable[[SweepTrial], TrialOutcome]


@pytest.fixture(scope="module")
def found(sweep_folder: Path) -> SweepFolder:
    return read_folder(sweep_folder)


def of(folder: Path, text: str, work: Work) -> SweepFolder:
    with contextlib.suppress(AllTrialsFailed):
        run_sweep(spec_of(folder, text), folder / "out", work=work)
    return read_folder(folder / "out")


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> SweepFolder:
    return of(tmp_path_factory.mktemp("near"), BAND, stand)


def undrawn(found: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> Section:
    monkeypatch.setattr(
        "nao_testbed.experiments.sweep.summary.section._figures", lambda *_: []
    )
    return sweep_section(found, "run1")


def cells(table: DataTable, *first: str) -> tuple[str, ...]:
    """Return the remaining cells of the only row that begins so."""
    n = len(first)
    (row,) = [row for row in table.rows if row.cells[:n] == first]
    return row.cells[n:]


def test_each_requested_trial_is_counted_once(found: SweepFolder) -> None:
    table = count_table(found)
    assert cells(table, "fixed") == ("10", "10", "0", "0", "0")
    assert cells(table, "smart") == ("10", "7", "2", "1", "0")
    assert cells(table, "all") == ("30", "27", "2", "1", "0")


def test_comparison_equals_the_summary(found: SweepFolder) -> None:
    table = sweep_tables(found)[1]
    row = summary_of(found.sweep).loc["minheat"]
    texts = cells(table, "minheat")
    low, high = row["loss_low"], row["loss_high"]
    assert cells(table, "smart")[0] == "10, 2 fell, 1 failed"
    assert texts[:2] == ("10", f"{row['pairs']:.0f}")
    assert texts[2] == f"{row['loss_median']:.2f} ({low:.2f} to {high:.2f})"
    assert texts[3] == "2.00 (2.00 to 20.0)"
    assert texts[5:] == ("12, 14 s; 2 not settled", "0.40°")


def test_controllers_are_compared_on_robots_that_stood_with_both(
    found: SweepFolder,
) -> None:
    table = sweep_tables(found)[2]
    assert cells(table, "fixed") == ("–", "7 of 7", "8 of 10")
    assert cells(table, "minheat") == ("0 of 10", "2 of 7", "–")


def test_trial_without_a_result_has_its_reason(found: SweepFolder) -> None:
    lost, fell, every = trial_tables(found.sweep)
    assert cells(lost, "1", "0.5", "smart")[0] == f"BadInput: {MARKUP}"
    assert len(fell.rows) == 2
    assert cells(fell, "3", "0.7", "smart")[0] == "fell at 2 s"
    assert cells(every, "1", "0.5", "smart")[0] == "no result"
    assert cells(every, "3", "0.5", "smart")[0] == "fell"


def test_trial_has_its_ratio_to_the_same_robot(found: SweepFolder) -> None:
    every = trial_tables(found.sweep)[-1]
    place = [column.label for column in every.columns].index("× fixed")
    ratios = {row.cells[:3]: row.cells[place] for row in every.rows}
    assert len(ratios) == 30
    assert ratios["2", "0.5", "smart"] == "0.40"
    assert ratios["4", "0.7", "minheat"] == "1.00"
    assert ratios["3", "0.7", "smart"] == "–", "no ratio for a fallen robot"


def test_every_row_has_a_cell_for_every_column(
    found: SweepFolder, near: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (found, near):
        section = undrawn(folder, monkeypatch)
        for table in (*section.results, *section.trials, *section.settings):
            assert {len(row.cells) for row in table.rows} == {len(table.columns)}


def test_published_outcomes_are_compared_with_selected_robots(
    near: SweepFolder,
) -> None:
    section = sweep_section(near, "run1")
    band = section.results[-1]
    assert cells(band, "hotter leg, sum of rises, K", "fixed")[-2] == "109.0"
    ratio = ("", "smart", "3", "0.40", "0.40 to 0.46", "0.44", "67 %")
    assert band.rows[-1].cells == ratio
    assert "3 of 4 are near the selected outcome" in section.results[0].note
    assert cells(section.results[0], "smart") == ("3", "3", "0", "0", "0")
    assert "Left out, as their robots were not kept: 1." in section.trials[-1].note
    assert "Published outcomes" in section.figures[-1].caption


def test_incomplete_sweep_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = of(tmp_path, PAIRS, heat).folder
    for path in sorted(folder.glob("trials/*.json"))[-3:]:
        path.unlink()
    (folder / "table.parquet").unlink()
    section = undrawn(read_folder(folder), monkeypatch)
    assert section.warnings[0].startswith("3 of 30 trials are missing.")
    assert cells(section.results[0], "all") == ("30", "25", "2", "0", "3")


@pytest.mark.parametrize("ends", ["error", "fall", "no power"])
def test_sweep_without_comparable_trials_makes_a_section(
    tmp_path: Path, ends: str
) -> None:
    def work(trial: SweepTrial) -> TrialOutcome:
        if ends == "error":
            return TrialOutcome.lost("no such luck")
        fell = ends == "fall"
        return outcome(trial, fell=fell, failure="fell at 1 s" if fell else None)

    section = sweep_section(of(tmp_path, PAIRS, work), "run1")
    told = " ".join(section.warnings)
    assert ("No robot stood to the end" in told) == (ends != "no power")
    n = MAX_FIRST_FAILURES if ends == "error" else 30
    assert (f"{n} trials have no result" in told) == (ends == "error")
    assert not section.figures
    assert section.trials[-1].caption == f"All {n} trials"


def test_different_commits_are_reported(
    found: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = found.sweep.frame.assign(commit=["a"] * 29 + ["b"])
    sweep = dataclasses.replace(found.sweep, frame=frame)
    section = undrawn(dataclasses.replace(found, sweep=sweep), monkeypatch)
    assert "The trials were run with 2 commits of the source." in section.warnings


def test_joints_of_a_group_share_a_column_of_the_grid(tmp_path: Path) -> None:
    text = PAIRS.replace(
        "friction: [0.5, 0.7]",
        "misalignment_deg: {Legs: [0, 1], LElbowRoll: [0, 1]}",
    )
    sweep = of(tmp_path, text, heat).sweep
    columns = list(grid_columns(sweep).values())
    assert columns == [
        "misalignment_deg LHipYawPitch …",
        "misalignment_deg LElbowRoll",
    ]


@pytest.mark.parametrize(
    "values",
    [
        Fixed("PoseInit"),
        Grid((0.5, 0.7)),
        Uniform(-2.0, 2.0),
        Normal(0.0, 1.0),
        Normal(0.0, 1.0, (-2.0, 2.0)),
        Choice(("fixed", 1.0)),
    ],
)
def test_values_can_be_read_from_the_sweep_folder(values: Values) -> None:
    written = json.loads(json.dumps({type(values).__name__.lower(): plain(values)}))
    assert values_from(written) == values


@pytest.mark.parametrize("other", [None, 3, {}, {"grid": 3}, {"magic": {"value": 1}}])
def test_invalid_entries_give_no_values(other: object) -> None:
    assert values_from(other) is None


def test_requested_parameters_are_on_the_page(tmp_path: Path) -> None:
    text = f"{ANKLES}pushes: [{{at_s: 1, duration_s: 0.2, force_n: [5, 0, 0]}}]\n"
    table = parameter_table(of(tmp_path, text, heat).sweep.meta["identity"])
    assert cells(table, "friction") == ("", "each of 0.5, 0.7, 0.9")
    assert cells(table, "misalignment_deg", "LAnklePitch") == ("each of 0, 1",)
    assert ("push", "", "push of (5, 0, 0) N for 0.2 s at the base") in {
        row.cells for row in table.rows
    }
