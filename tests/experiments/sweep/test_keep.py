"""Selection of the robots that run with the other controllers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.experiments.heat.published import PUBLISHED
from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.spec import Keep, Target, kept_robots, mirror
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models import BadInput
from nao_testbed.models.files.yaml_forms import FileErrors
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import outcome

NEAR = {"left_leg_rise_k": 100.0, "right_leg_rise_k": 40.0, "end_degc.LHip": 80.0}
TOLERANCES = {"left_leg_rise_k": 20.0, "right_leg_rise_k": 10.0, "end_degc.LHip": 5.0}
KEEP = Keep(
    controller="fixed",
    targets={n: Target(value=v, tolerance=TOLERANCES[n]) for n, v in NEAR.items()},
    mirrored=True,
)


def row(robot: int, **outcomes: Any) -> dict[str, Any]:
    plain = {"end_degc.RHip": 30.0, "error": None, "failure": None}
    return {"robot": robot, "controller": "fixed", **NEAR, **plain, **outcomes}


def swapped(row: Mapping[str, Any]) -> dict[str, Any]:
    return {mirror(name, row): value for name, value in row.items()}


def test_a_robot_within_all_tolerances_is_kept() -> None:
    rows = [
        row(0),
        row(1, left_leg_rise_k=120.0),
        row(2, left_leg_rise_k=120.1),
        row(3, **{"end_degc.LHip": 74.9}),
    ]
    kept = kept_robots(KEEP, rows)
    assert kept.keys() == {0, 1}
    assert kept[0].distance == 0.0
    assert kept[1].distance == 1.0


@pytest.mark.parametrize(
    "flaw",
    [
        {"failure": "fell at 3 s"},
        {"error": "it was killed"},
        {"left_leg_rise_k": None},
    ],
)
def test_a_robot_with_an_incomplete_outcome_is_not_kept(flaw: dict[str, Any]) -> None:
    assert kept_robots(KEEP, [row(0, **flaw)]) == {}


def test_every_trial_of_a_robot_counts() -> None:
    rows = [row(0), row(0, left_leg_rise_k=500.0), row(1), row(1)]
    assert kept_robots(KEEP, rows).keys() == {1}


def test_other_controllers_do_not_matter() -> None:
    """A selection by the predicted values would invalidate the prediction."""
    rows = [row(0), row(0, controller="smart", left_leg_rise_k=500.0)]
    assert kept_robots(KEEP, rows).keys() == {0}
    assert kept_robots(KEEP, [row(0, controller="smart")]) == {}


numbers = st.floats(0.0, 200.0)


@given(left=numbers, right=numbers, left_hip=numbers, right_hip=numbers)
def test_a_robot_and_its_mirror_are_kept_alike(
    left: float, right: float, left_hip: float, right_hip: float
) -> None:
    one = row(0, left_leg_rise_k=left, right_leg_rise_k=right)
    one |= {"end_degc.LHip": left_hip, "end_degc.RHip": right_hip}
    here, there = kept_robots(KEEP, [one]), kept_robots(KEEP, [swapped(one)])
    assert here.keys() == there.keys()
    for robot, fit in here.items():
        assert there[robot].distance == fit.distance
        if one != swapped(one):
            assert there[robot].is_mirrored != fit.is_mirrored


def test_a_mirror_is_kept_only_if_allowed() -> None:
    strict = Keep(controller="fixed", targets=KEEP.targets, mirrored=False)
    assert kept_robots(KEEP, [swapped(row(0))])[0].is_mirrored
    assert kept_robots(strict, [swapped(row(0))]) == {}


def test_columns_without_a_side_are_their_own_mirror() -> None:
    columns = ["left_leg_rise_k", "right_leg_rise_k", "end_degc.LHip", "end_degc.Lid"]
    assert mirror("left_leg_rise_k", columns) == "right_leg_rise_k"
    assert mirror("right_leg_rise_k", columns) == "left_leg_rise_k"
    assert mirror("end_degc.LHip", columns) == "end_degc.LHip"
    assert mirror("legs_power_w", columns) == "legs_power_w"


# -- in a sweep ---------------------------------------------------------------------

STAGED = """\
name: staged
controller: [fixed, smart, "constant:0.7"]
friction: [0.5, 0.7]
slope_deg: {uniform: [-2, 2]}
robots: 6
keep:
  controller: fixed
  near: {left_leg_rise_k: 100}
  within: {left_leg_rise_k: 10}
"""


def heat_up(trial: SweepTrial) -> TrialOutcome:
    """Robots 1 and 4 are near; robot 5 falls."""
    rise = 100.0 if trial.robot % 3 == 1 else 50.0
    failure = "fell at 2 s" if trial.robot == 5 else None
    return outcome(trial, left_leg_rise_k=rise, failure=failure, fell=bool(failure))


def test_only_kept_robots_run_with_the_other_controllers(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STAGED)
    totals: list[int] = []
    sweep = run_sweep(
        spec,
        tmp_path / "out",
        on_tally=lambda tally: totals.append(tally.total),
        work=heat_up,
    )
    for controller, robots in (("fixed", 6), ("smart", 2), ("constant:0.7", 2)):
        rows = sweep.frame[sweep.frame.controller == controller]
        assert (rows.robot.nunique(), len(rows)) == (robots, 2 * robots)
    assert set(sweep.frame[sweep.frame.kept].robot) == {1, 4}
    assert totals[0] == 12
    assert totals[-1] == len(sweep.frame) == 20


def test_a_stopped_sweep_resumes_in_its_second_stage(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STAGED)
    ran: list[SweepTrial] = []

    def stop_in_stage_two(trial: SweepTrial) -> TrialOutcome:
        if len(ran) == 14:
            raise KeyboardInterrupt
        ran.append(trial)
        return heat_up(trial)

    with pytest.raises(KeyboardInterrupt):
        run_sweep(spec, tmp_path / "out", work=stop_in_stage_two)
    before = len(ran)

    def go_on(trial: SweepTrial) -> TrialOutcome:
        ran.append(trial)
        return heat_up(trial)

    sweep = run_sweep(spec, tmp_path / "out", work=go_on)
    assert before == 14
    assert len(ran) == len({trial.key for trial in ran}) == len(sweep.frame) == 20


def test_published_is_the_column_without(tmp_path: Path) -> None:
    text = """\
name: published
controller: [fixed, smart]
robots: 2
keep:
  controller: fixed
  near: published
  within: {left_leg_rise_k: 30, RHipPitch: 15, hottest_degc: 5}
  mirrored: true
"""
    keep = spec_of(tmp_path, text).keep
    assert keep is not None
    without = PUBLISHED["fixed"]
    assert keep.mirrored
    assert keep.targets == {
        "left_leg_rise_k": Target(value=without.left_leg_rise_k, tolerance=30.0),
        "end_degc.RHipPitch": Target(value=60.0, tolerance=15.0),
        "hottest_degc": Target(value=80.0, tolerance=5.0),
    }


BAD = """\
name: bad
controller: [fixed, smart]
keep:
  controller: smarty
  near: {left_leg_rise: 100, LAnklePitch: 80}
  within: {right_leg_rise_k: 30, LAnkelPitch: 15}
"""


def test_all_errors_are_reported_with_their_lines(tmp_path: Path) -> None:
    with pytest.raises(FileErrors) as found:
        spec_of(tmp_path, BAD)
    text = str(found.value)
    assert "sweep.yaml:4" in text
    assert "Did you mean 'smart'" in text
    assert "sweep.yaml:5" in text
    assert "Did you mean 'left_leg_rise_k'" in text
    assert "sweep.yaml:6" in text
    assert "Did you mean 'LAnklePitch'" in text
    assert "near has no right_leg_rise_k" in text


def test_a_drawn_controller_cannot_choose(tmp_path: Path) -> None:
    text = BAD.replace("[fixed, smart]", "{choice: [fixed, smart]}")
    with pytest.raises(FileErrors, match="with keep, give a list"):
        spec_of(tmp_path, text)


def test_another_keep_is_another_sweep(tmp_path: Path) -> None:
    run_sweep(spec_of(tmp_path, STAGED), tmp_path / "out", work=heat_up)
    other = STAGED.replace("_rise_k: 10}", "_rise_k: 20}")
    with pytest.raises(BadInput, match="keep was"):
        run_sweep(spec_of(tmp_path, other), tmp_path / "out", work=heat_up)
