"""Summary of a sweep by controller, against numbers by hand."""

import io
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.heat.published import PUBLISHED
from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.summary import (
    MEASURES,
    band_robots,
    hotter_on,
    is_near_published,
    paired,
    published_band,
    reference_of,
    summary_of,
)
from nao_testbed.experiments.sweep.summary.show import show_summary, summary_json
from nao_testbed.experiments.sweep.summary.sweep_figures import (
    band_figure,
    paired_figure,
)
from nao_testbed.experiments.sweep.summary.tables import summary_table, trial_tables
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import BAND, PAIRS, heat, outcome, stand


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("pairs")
    return run_sweep(spec_of(folder, PAIRS), folder / "out", work=heat)


def test_a_robot_is_compared_with_itself(sweep: Sweep) -> None:
    """Robots differ by a factor of 5, the ratios of a controller do not."""
    row = summary_of(sweep).loc["smart"]
    assert (row["loss_low"], row["loss_median"], row["loss_high"]) == (0.4, 0.4, 0.4)


def test_the_band_contains_values_between_its_quantiles(sweep: Sweep) -> None:
    row = summary_of(sweep).loc["minheat"]
    ratios = 2 * [0.1, 0.1, 0.1, 0.1, 1.0]  # ten pairs, two grid points
    assert row["pairs"] == 10
    assert row["loss_median"] == pytest.approx(0.1)
    assert row["loss_high"] == pytest.approx(np.quantile(ratios, 0.95))
    assert row["multiple_median"] == pytest.approx(2.0)
    assert row["with_gears_median"] == pytest.approx(4.0)
    assert row["multiple_high"] == pytest.approx(20.0)


def test_fallen_robots_are_counted_but_not_compared(sweep: Sweep) -> None:
    row = summary_of(sweep).loc["smart"]
    assert (row["trials"], row["fell"], row["failed"], row["pairs"]) == (10, 2, 0, 8)
    assert paired(sweep, "legs_power_w")["smart"].max() == 4.0  # not 1e6


def test_settled_and_unsettled_trials_are_separate(sweep: Sweep) -> None:
    row = summary_of(sweep).loc["minheat"]
    assert row["settled"] == 8
    assert row["settled_median_s"] == 12.5
    assert row["settled_last_s"] == 14.0
    assert row["largest_shift_deg"] == pytest.approx(0.4)


def test_time_to_first_hot_joint_covers_all_standing_robots(
    tmp_path: Path,
) -> None:
    def crouch(trial: SweepTrial) -> TrialOutcome:
        """Minute 10 + robot at one joint, later at another; nudge: robot 4 only."""
        is_hot = trial.controller != "nudge" or trial.robot == 4
        times = (600.0 + 60.0 * trial.robot, 6000.0) if is_hot else (None, None)
        told: dict[str, float | None] = {"end_degc": 0, "rise_k": 1, "joule_loss_j": 1}
        joints = {
            name: told | {"time_to_80_degc_s": time}
            for name, time in zip(("LKneePitch", "LHipPitch"), times, strict=True)
        }
        fell = trial.controller == "smart" and trial.robot == 0
        failure = "fell at 2 s" if fell else None
        return outcome(trial, fell=fell, failure=failure, joints=joints)

    text = "name: hot\ncontroller: [smart, nudge, fixed]\nrobots: 5\n"
    sweep = run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=crouch)
    row = summary_of(sweep).loc
    hot, first, median = "hot", "until_80_degc_first_s", "until_80_degc_median_s"
    assert tuple(row["fixed", [hot, first, median]]) == (5, 600.0, 720.0)
    assert tuple(row["smart", [hot, first, median]]) == (4, 660.0, 750.0)
    assert tuple(row["nudge", [hot, first]]) == (1, 840.0)
    assert row["nudge"].isna()[median]
    cells = {line.cells[0]: line.cells[-1] for line in summary_table(sweep).rows}
    assert cells["smart"] == "4 of 4, 11 min, 12.5 min"
    assert cells["nudge"] == "1 of 5, 14 min"


def test_robots_caught_by_the_guard_are_counted(tmp_path: Path) -> None:
    def rock(trial: SweepTrial) -> TrialOutcome:
        """With smart the guard catches robot r for r of ten seconds."""
        cycles = 50 * trial.robot if trial.controller == "smart" else 0
        flags = {"CATCHING": cycles} if cycles else {}
        return outcome(trial, flags=flags, physics_s=10.0)

    text = "name: rocks\ncontroller: [smart, fixed]\nrobots: 5\n"
    sweep = run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=rock)
    assert list(sweep.frame.groupby("controller").caught_s.sum()) == [0.0, 10.0]
    cells = {line.cells[0]: line.cells[-1] for line in summary_table(sweep).rows}
    assert cells == {"smart": "4 of 5, 20.00 %", "fixed": "0 of 5"}


def test_without_an_alarm_the_guard_is_not_mentioned(sweep: Sweep) -> None:
    assert "guard" not in str(summary_table(sweep).columns)


def test_without_a_hot_joint_there_is_no_80_degc_column(sweep: Sweep) -> None:
    assert "80" not in str(summary_table(sweep).columns)


def test_each_robot_on_which_a_controller_is_hotter_is_counted(sweep: Sweep) -> None:
    counts = hotter_on(sweep)
    assert counts.loc["fixed", "smart"] == 8
    assert counts.loc["fixed", "minheat"] == 8  # not robot 4, where they are equal
    assert counts.loc["minheat", "smart"] == 2
    assert counts.loc["minheat", "fixed"] == 0


def test_a_grid_of_a_group_is_one_grid(tmp_path: Path) -> None:
    """Twelve joints with the same six values are six points, not 6¹²."""
    text = PAIRS.replace(
        "friction: [0.5, 0.7]",
        "misalignment_deg: {Legs: [-2, -1, 0, 1, 2, 3]}",
    )
    sweep = run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=heat)
    assert len(paired(sweep, "legs_power_w")) == 5 * 6
    assert sweep.meta["points"] == 3 * 6


def test_without_fixed_the_first_controller_is_the_reference(tmp_path: Path) -> None:
    text = PAIRS.replace("[fixed, smart, minheat]", "[smart, minheat]")
    sweep = run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=heat)
    assert reference_of(sweep) == "smart"
    assert summary_of(sweep).loc["minheat", "loss_median"] == pytest.approx(0.25)


def test_a_summary_is_json_without_nan(sweep: Sweep) -> None:
    data = summary_json(sweep)
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["controllers"]["smart"]["fell"] == 2
    assert data["published_band"] is None


def test_powers_of_estimated_motors_are_ratios_to_median(sweep: Sweep) -> None:
    """W and J of a robot with `thermal: estimate` are unknown; ratios are known."""
    meta = {**sweep.meta, "thermal": "estimate"}
    guessed = Sweep(frame=sweep.frame, spec=sweep.spec, meta=meta)
    known, table = trial_tables(sweep)[-1], trial_tables(guessed)[-1]
    heads = [column.label for column in table.columns]
    for found, units in ((known, ["J", "W"]), (table, ["×", "×"])):
        columns = [found.columns[heads.index(of)] for of in ("Joule loss", "power")]
        assert [column.unit for column in columns] == units
    power = {row.cells[2]: row.cells[heads.index("power")] for row in table.rows}
    assert power == {"fixed": "1.00", "smart": "0.40", "minheat": "0.10"} | power
    assert "multiples of the median of fixed" in table.note
    label = paired_figure(guessed).axes[0].get_ylabel()
    assert label == "Final Joule loss of the legs / median of fixed"


# -- the published outcomes ---------------------------------------------------------


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("band")
    return run_sweep(spec_of(folder, BAND), folder / "out", work=stand)


def test_a_mirrored_robot_is_mirrored_back(near: Sweep) -> None:
    robots = band_robots(near)
    fixed = robots[robots["controller"] == "fixed"].set_index("robot")
    assert fixed.index.tolist() == [0, 1, 2]
    for robot in (0, 2):
        row = fixed.loc[robot]
        assert row["hot_leg_rise_k"] == 110.0
        assert row["other_leg_rise_k"] == 50.0
        assert row["hot_joint_degc"] == 85.0
        assert row["other_joint_degc"] == 45.0


def test_the_rank_of_the_published_outcome_is_stated(near: Sweep) -> None:
    band = published_band(near)
    row = band.xs(("hot_leg_rise_k", "smart"))
    assert row["published"] == PUBLISHED["smart"].left_leg_rise_k == 42.0
    assert (row["robots"], row["median"]) == (3, 44.0)
    assert row["below"] == 0.0
    row = band.xs(("other_leg_rise_k", "smart"))
    assert (row["published"], row["below"]) == (28.0, 1.0)
    ratio = band.xs(("rise_ratio", "smart"))
    assert ratio["median"] == pytest.approx(64.0 / 160.0)
    assert ratio["published"] == pytest.approx(70.0 / 159.0)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("minutes: 5", "minutes is not 15.0 in all trials"),
        ("minutes: [15, 20]", "minutes is not 15.0 in all trials"),
        ("posture: Stand", "posture is not PoseInit in all trials"),
        ("protection: document", "protection is not none in all trials"),
        (
            "pushes: [{at_s: 2, force_n: [10, 0, 0]}]",
            "robots are pushed",
        ),
    ],
)
def test_robots_in_another_setting_are_not_compared(
    tmp_path: Path, line: str, why: str
) -> None:
    """Even with near outcomes: the published robots stood 15 min in PoseInit."""
    text = f"{BAND}{line}\n"
    sweep = run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=stand)
    assert not is_near_published(sweep)
    printed = io.StringIO()
    show_summary(sweep, tmp_path, Console(file=printed, width=100))
    assert f"Not compared with the published experiment: {why}." in printed.getvalue()
    assert "Robots near the published outcome" not in printed.getvalue()


@pytest.mark.slow(covers=True)
def test_the_figures_are_drawn_beside_the_tables(near: Sweep, tmp_path: Path) -> None:
    frame = near.frame.assign(
        legs_power_w=2.0, least_power_w=1.0, least_with_gears_w=0.5
    )
    whole = Sweep(frame=frame, spec=near.spec, meta=near.meta)
    printed = io.StringIO()
    show_summary(whole, tmp_path, Console(file=printed, width=100))
    text = printed.getvalue()
    for name in ("robots", "published"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (tmp_path / f"{name}.svg").exists()
    assert "Robots near the published outcome without the method" in text
    assert "2.00" in text


def test_titles_of_the_band_are_aligned(near: Sweep) -> None:
    """Each title has its unit; none extends into the next panel."""
    figure = band_figure(near)
    figure.draw_without_rendering()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len({title.count("\n") for title in titles}) == 1
    assert len(titles) == len(MEASURES)
    for axes in figure.axes:
        words = axes.get_title(loc="left").split()
        assert "_" not in axes.get_title(loc="left")
        assert len(words) >= 7
    boxes = [axes._left_title.get_window_extent() for axes in figure.axes]  # type: ignore[attr-defined]  # no other way
    assert len({round(box.y1) for box in boxes}) == 1
    assert not any(box.overlaps(other) for box, other in pairwise(boxes))


def test_an_empty_sweep_shows_nothing(tmp_path: Path, sweep: Sweep) -> None:
    empty = Sweep(frame=sweep.frame.iloc[:0], spec=sweep.spec, meta=sweep.meta)
    printed = io.StringIO()
    show_summary(empty, tmp_path, Console(file=printed))
    assert printed.getvalue() == ""
    assert summary_json(empty)["controllers"] == {}


@pytest.mark.parametrize("power", [np.nan, 0.0])
def test_without_power_there_is_no_figure(
    tmp_path: Path, near: Sweep, power: float
) -> None:
    """Robots are not measured, or all are shut down."""
    frame = near.frame.assign(legs_power_w=power)
    bare = Sweep(frame=frame, spec=near.spec, meta=near.meta)
    assert summary_of(bare)["multiple_median"].fillna(0.0).eq(0.0).all()
    show_summary(bare, tmp_path, Console(file=io.StringIO(), width=100))
    assert not list(tmp_path.glob("*.png"))


# -- the command --------------------------------------------------------------------


def show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["nao-testbed", "sweep", "--show", *words])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_a_sweep_can_be_shown_later(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PAIRS.replace("[fixed, smart, minheat]", "minheat")
    run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=heat)
    status, out, err = show(monkeypatch, capsys, str(tmp_path / "out"), "--json", "-")
    assert status == 0
    assert json.loads(out)["controllers"]["minheat"]["trials"] == 10
    assert "Controllers on the same robots" in err


def test_a_killed_sweep_shows_its_finished_trials(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    text = PAIRS.replace("[fixed, smart, minheat]", "minheat")
    run_sweep(spec_of(tmp_path, text), out, work=heat)
    (out / "table.parquet").unlink()
    next(out.glob("trials/00004-*.json")).unlink()
    status, _, err = show(monkeypatch, capsys, str(out), "--json", "-")
    assert status == 0
    assert "1 of 10 trials are missing." in err


def test_a_folder_without_a_sweep_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = show(monkeypatch, capsys, str(tmp_path))
    assert (status, out) == (2, "")
    assert "there is no table" in err
