"""Robots with known errors: what is drawn, what counts as right, one trial whole."""

import pytest

from experiments.heat.xray.standing_model import Assumptions
from experiments.heat.xray.trials import (
    LARGEST_DEG,
    SMALLEST_DEG,
    Outcome,
    TrialsCfg,
    Watts,
    drawn_errors,
    outcome_table,
    run_one,
    summary_table,
)
from models import BadInput, Robot, default_robot_folder


def cfg(**given: object) -> TrialsCfg:
    rest = {"robots": 1, "seconds": 8.0, **given}
    return TrialsCfg(
        robot=default_robot_folder(),
        assumptions=Assumptions(),
        **rest,  # type: ignore[arg-type]
    )


def outcome(**given: object) -> Outcome:
    right = {
        "number": 0,
        "true_deg": {"LKneePitch": 1.0},
        "said_deg": {"LKneePitch": 1.1},
        "first": "LKneePitch",
        "inside": {"LKneePitch": True},
        "heat": Watts(said=1.0, true=1.05),
        **given,
    }
    return Outcome(**right)  # type: ignore[arg-type]


def test_errors_are_drawn_from_the_seed_alone(robot: Robot) -> None:
    drawn = [drawn_errors(robot, cfg(seed=3), k) for k in range(200)]
    assert drawn == [drawn_errors(robot, cfg(seed=3), k) for k in range(200)]
    assert drawn[:20] != [drawn_errors(robot, cfg(seed=4), k) for k in range(20)]
    assert {name for one in drawn for name in one} == set(robot.leg_joints)
    sizes = [value for one in drawn for value in one.values()]
    assert all(SMALLEST_DEG <= abs(size) <= LARGEST_DEG for size in sizes)
    assert {size > 0.0 for size in sizes} == {True, False}
    assert len(drawn_errors(robot, cfg(joints_off=3), 0)) == 3


def test_right_is_the_joint_and_its_size() -> None:
    assert outcome().is_named
    assert outcome().is_sized
    assert not outcome(said_deg={"LKneePitch": 1.31}).is_sized
    two = {"LKneePitch": 1.0, "LHipRoll": 0.2}
    assert not outcome(said_deg=two).is_named
    assert not outcome(why="fell").is_named


def test_a_robot_that_fell_counts_as_missed() -> None:
    fell = outcome(number=1, why="fell", said_deg={}, inside={}, heat=None)
    summary = summary_table(cfg(robots=2), [outcome(), fell])
    cells = {row.cells[0]: row.cells[1] for row in summary.rows}
    assert cells["robots X-rayed"] == "1 of 2 (50%)"
    assert cells["said just which joints are off"] == "1 of 2 (50%)"
    assert cells["heat of the legs to 10%"] == "1 of 1 (100%)"
    assert len(outcome_table(cfg(robots=2), [outcome(), fell]).rows) == 2


def test_watts_are_right_by_share_or_by_size() -> None:
    assert Watts(said=1.09, true=1.0).is_right
    assert not Watts(said=1.12, true=1.0).is_right
    assert Watts(said=0.06, true=0.02).is_right


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"robots": 0}, "--trials is 0"),
        ({"seed": -1}, "--seed is -1"),
        ({"joints_off": 13}, "--joints-off is 13"),
        ({"seconds": 2.0}, "--seconds is 2"),
    ],
)
def test_numbers_out_of_range_are_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        cfg(**given)


@pytest.mark.slow
def test_one_robot_is_named_sized_and_its_heat_saved() -> None:
    found = run_one(cfg(seed=5, seconds=10.0), 2)  # RKneePitch by -1.1°
    assert found.is_sized, found
    for watts in (found.heat, found.needed, found.useless, found.saved):
        assert watts is not None
        assert watts.is_right, watts
