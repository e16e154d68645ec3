"""Falls of pushed robots, against numbers by hand."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.summary import compared, summary_of
from nao_testbed.experiments.sweep.summary.falls import bootstrap, falls_of, wilson
from nao_testbed.experiments.sweep.summary.show import draw_figures, summary_json
from nao_testbed.experiments.sweep.summary.sweep_figures import survival_figure
from nao_testbed.experiments.sweep.summary.tables import comparisons
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import outcome

PUSHED = """\
name: pushed
controller: [fixed, smart]
friction: [0.2, 0.7]
push: {direction_deg: [0, 90, 180, -90], size_n: [5, 20]}
minutes: 0.25
slope_deg: {uniform: [-2, 2]}
robots: 5
"""


def fall(trial: SweepTrial) -> TrialOutcome:
    """At 20 N `smart` falls forward and back, robot 4 with `fixed` to its left.

    Robot 3 falls before the push on slippery ground, and one trial fails.
    """
    values = trial.parameters
    direction, size = values["push.direction_deg"], values["push.size_n"]
    is_slippery = values["friction"] == 0.2
    if is_slippery and trial.robot == 3:
        return outcome(trial, fell=True, failure="fell at 2 s", sim_s=2.0)
    if not is_slippery and size == 20.0:
        if (trial.robot, direction, trial.controller) == (0, 90.0, "smart"):
            return TrialOutcome.lost("it was killed")
        smart_falls = trial.controller == "smart" and direction in (0.0, 180.0)
        if smart_falls or (trial.robot, direction) == (4, 90.0):
            joints = {"LHip": {"end_degc": 1.0, "rise_k": 1.0, "joule_loss_j": 1.0}}
            return outcome(
                trial,
                fell=True,
                failure="fell at 6.6 s",
                sim_s=6.6,
                legs_joule_loss_j=1.0,
                joints=joints,
            )
    return outcome(trial, sim_s=9.0, legs_joule_loss_j=9.0, legs_power_w=1.0)


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("pushed")
    return run_sweep(spec_of(folder, PUSHED), folder / "out", work=fall)


def row(
    sweep: Sweep, point: str, size_n: float, controller: str
) -> dict[Hashable, Any]:
    falls = falls_of(sweep)
    (found,) = falls[
        (falls["point"] == point)
        & (falls["size_n"] == size_n)
        & (falls["controller"] == controller)
    ].to_dict("records")
    return found


def test_falls_are_counted_by_ground_force_and_controller(pushed: Sweep) -> None:
    assert len(falls_of(pushed)) == 2 * 2 * 2
    smart = row(pushed, "friction 0.7", 20.0, "smart")
    # 5 robots forward and back, robot 4 to its left; the failed trial is excluded
    assert (smart["fell"], smart["trials"]) == (11, 19)
    assert (smart["robots_fell"], smart["robots"], smart["before"]) == (5, 5, 0)
    fixed = row(pushed, "friction 0.7", 20.0, "fixed")
    drawn = bootstrap(np.array([0.0, 0.0, 0.0, 0.0, 1.0]), np.full(5, 4.0))
    assert (fixed["low"], fixed["high"]) == (drawn[0], max(drawn[1], wilson(1, 20)[1]))
    assert fixed["low"] < wilson(1, 20)[0]
    assert (fixed["fell"], fixed["trials"], fixed["robots_fell"]) == (1, 20, 1)
    for controller in ("fixed", "smart"):
        none = row(pushed, "friction 0.7", 5.0, controller)
        assert (none["fell"], none["low"]) == (0, 0.0)
        assert none["high"] == pytest.approx(wilson(0, 20)[1])


def test_falls_before_the_push_are_reported(pushed: Sweep) -> None:
    found = row(pushed, "friction 0.2", 5.0, "fixed")
    assert (found["fell"], found["before"], found["robots_fell"]) == (4, 4, 1)
    table, *_ = comparisons(pushed)
    assert "16 of them fell before the push" in table.note


def test_robots_are_compared_push_by_push(pushed: Sweep) -> None:
    smart = row(pushed, "friction 0.7", 20.0, "smart")
    assert smart["pairs"] == 19
    assert (smart["fell_here"], smart["fell_there"]) == (10, 0)
    assert (smart["robots_more"], smart["robots_fewer"]) == (5, 0)
    assert smart["p"] == pytest.approx(2.0 / 2**5)  # five equal outcomes
    assert smart["difference"] == pytest.approx(10 / 19)
    assert np.isnan(smart["difference_low"])  # five robots are too few
    same = row(pushed, "friction 0.2", 20.0, "smart")
    assert (same["robots_more"], same["difference"], same["p"]) == (0, 0.0, 1.0)


def test_wilson_interval_matches_newcombe() -> None:
    """Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for (k, n), expected in {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }.items():
        assert wilson(k, n) == pytest.approx(expected, abs=5e-5)


def test_pushes_of_one_robot_are_not_independent() -> None:
    """Half of 50 robots fall in all eight directions: n is 50, not 400."""
    sums = np.repeat([0.0, 8.0], 25)
    low, high = bootstrap(sums, np.full(50, 8.0))
    deviation = np.sqrt(0.25 / 50)
    assert low == pytest.approx(0.5 - 1.96 * deviation, abs=0.02)
    assert high == pytest.approx(0.5 + 1.96 * deviation, abs=0.02)
    same = bootstrap(np.full(50, 4.0), np.full(50, 8.0))
    assert same == (0.5, 0.5)


def test_a_robot_on_the_ground_has_no_heat(pushed: Sweep) -> None:
    frame = pushed.frame
    fell = frame[frame["fell"].fillna(False)]
    assert set(fell["fell_s"]) == {2.0, 6.6}
    heat = ["legs_joule_loss_j", "hottest_degc", "legs_power_w"]
    assert fell[heat].isna().all(axis=None)
    assert "end_degc.LHip" not in frame or frame["end_degc.LHip"].isna().all()
    stood = frame[frame["failure"].isna() & frame["error"].isna()]
    assert stood["fell_s"].isna().all()
    assert (stood["legs_joule_loss_j"] == 9.0).all()


def test_trials_of_different_length_skip_energy(pushed: Sweep) -> None:
    assert compared(pushed)["legs_joule_loss_j"].isna().all()
    assert (summary_of(pushed)["pairs"] == 0).all()


def test_json_has_the_rows_and_null_for_missing_values(pushed: Sweep) -> None:
    falls = summary_json(pushed)["falls"]
    assert len(falls) == 8
    assert [falls[0][key] for key in ("controller", "trials", "p")] == [
        "fixed",
        20,
        None,
    ]


@pytest.mark.slow(covers=True)
def test_figure_has_panels_by_ground_and_lines_by_controller(
    pushed: Sweep, tmp_path: Path
) -> None:
    figure = survival_figure(pushed)
    assert isinstance(figure, Figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["friction 0.2", "friction 0.7"]
    smart = np.asarray(figure.axes[1].get_lines()[1].get_ydata(), float)
    np.testing.assert_allclose(smart, [100.0, 100.0 * 8 / 19])
    assert [path.name for path in draw_figures(pushed, tmp_path)] == ["survival.png"]


@pytest.mark.slow(covers=True)
def test_many_points_are_the_rows_of_one_panel(tmp_path: Path) -> None:
    """No point is omitted."""
    cases = "".join(f"  case {k}: {{push.at_s: {3 + k}}}\n" for k in range(8))
    spec = spec_of(tmp_path, f"{PUSHED.rstrip()}\ncases:\n{cases}")
    figure = survival_figure(run_sweep(spec, tmp_path / "out", work=fall))
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 8 * 2 * 2
    assert labels[0] == "friction 0.2, case 0, 5 N"
    assert {len(np.asarray(line.get_ydata())) for line in axes.get_lines()} == {32}


def test_many_drawn_sizes_are_put_into_classes(tmp_path: Path) -> None:
    text = PUSHED.replace("size_n: [5, 20]", "size_n: {uniform: [5, 20]}")
    text = text.replace("robots: 5", "robots: 20").replace("[fixed, smart]", "fixed")
    spec = spec_of(tmp_path, text.replace("[0, 90, 180, -90]", "0"))
    sweep = run_sweep(spec, tmp_path / "out", work=fall)
    falls = falls_of(sweep)
    assert falls["size_n"].nunique() == 5
    assert falls["trials"].sum() == spec.n_trials
    assert falls["size_n"].between(5.0, 20.0).all()
