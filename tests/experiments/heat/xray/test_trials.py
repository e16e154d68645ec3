"""Robots with known errors: draws, scoring, and a complete trial."""

import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.xray import trials
from nao_testbed.experiments.heat.xray.results.tables import headline
from nao_testbed.experiments.heat.xray.standing_model import Assumptions
from nao_testbed.experiments.heat.xray.suspects import FLOOR_CAUSES
from nao_testbed.experiments.heat.xray.trials import (
    LARGEST_DEG,
    SMALLEST_DEG,
    Diagnosis,
    TrialsCfg,
    Watts,
    drawn_setting,
    outcome_table,
    run_one,
    summary_table,
)
from nao_testbed.experiments.heat.xray.xray import Xray, XrayCfg, xray
from nao_testbed.models import Robot, default_robot_folder
from tests.messages import Messages, each


def cfg(**given: object) -> TrialsCfg:
    rest = {"robots": 1, "seconds": 8.0, **given}
    return TrialsCfg(
        robot=default_robot_folder(),
        assumptions=Assumptions(),
        **rest,  # type: ignore[arg-type]
    )


def outcome(**given: object) -> Diagnosis:
    right = {
        "number": 0,
        "true_deg": {"LKneePitch": 1.0},
        "said_deg": {"LKneePitch": 1.1},
        "first": "LKneePitch",
        "inside": {"LKneePitch": True},
        "heat": Watts(said=1.0, true=1.05),
        **given,
    }
    return Diagnosis(**right)  # type: ignore[arg-type]


def drawn_errors(robot: Robot, cfg: TrialsCfg, k: int) -> dict[str, float]:
    return dict(drawn_setting(robot, cfg, k).misalignment_deg)


def test_errors_are_drawn_from_the_seed_alone(robot: Robot) -> None:
    drawn = [drawn_errors(robot, cfg(seed=3), k) for k in range(200)]
    assert drawn == [drawn_errors(robot, cfg(seed=3), k) for k in range(200)]
    assert drawn[:20] != [drawn_errors(robot, cfg(seed=4), k) for k in range(20)]
    assert {name for one in drawn for name in one} == set(robot.leg_joints)
    sizes = [value for one in drawn for value in one.values()]
    assert all(SMALLEST_DEG <= abs(size) <= LARGEST_DEG for size in sizes)
    assert {size > 0.0 for size in sizes} == {True, False}
    assert len(drawn_errors(robot, cfg(joints_off=3), 0)) == 3


def test_floor_friction_and_load_vary_on_request(robot: Robot) -> None:
    settings = [drawn_setting(robot, cfg(seed=30, varied=True), k) for k in range(90)]
    assert settings == [
        drawn_setting(robot, cfg(seed=30, varied=True), k) for k in range(90)
    ]
    for k, one in enumerate(settings):
        one.check(robot)
        assert len(one.misalignment_deg) == 1 + k % 3
    frictions = [one.gear_friction for one in settings]
    assert min(frictions) < 0.5
    assert max(frictions) > 2.0
    slopes = [abs(one.slope_deg) for one in settings]
    assert 0.3 * len(slopes) < slopes.count(0.0) < 0.7 * len(slopes)
    assert 2.0 < max(slopes) <= 3.0
    assert 0.3 < sum(bool(one.payload_kg) for one in settings) / len(settings) < 0.7
    level = drawn_setting(robot, cfg(seed=30), 0)
    assert (level.slope_deg, level.gear_friction, level.payload_kg) == (0.0, 1.0, {})


def test_named_causes_are_counted_by_probability() -> None:
    one = outcome(
        named={"LKneePitch": (0.95, True), "both ankles or floor, pitch": (0.8, False)}
    )
    summary = summary_table(cfg(robots=1, varied=True), [one])
    cells = {row.cells[0]: row.cells[1] for row in summary.rows}
    assert cells["headline names a false cause"] == "1 of 1 (100%)"
    assert cells["correct at 90% to 99%"] == "1 of 1 (100%)"
    assert cells["correct at 70% to 90%"] == "0 of 1 (0%)"
    assert "1 to 3 leg joint(s)" in summary.note
    assert "gear friction 0.3 to 3 times" in summary.note


def test_correct_needs_joint_and_size() -> None:
    assert outcome().is_named
    assert outcome().is_sized
    assert not outcome(said_deg={"LKneePitch": 1.31}).is_sized
    two = {"LKneePitch": 1.0, "LHipRoll": 0.2}
    assert not outcome(said_deg=two).is_named
    assert not outcome(why="fell").is_named


def test_a_fallen_robot_counts_as_missed() -> None:
    fell = outcome(number=1, why="fell", said_deg={}, inside={}, heat=None)
    summary = summary_table(cfg(robots=2), [outcome(), fell])
    cells = {row.cells[0]: row.cells[1] for row in summary.rows}
    assert cells["robots diagnosed"] == "1 of 2 (50%)"
    assert cells["exactly the true joints named"] == "1 of 2 (50%)"
    assert cells["heat of the legs within 10%"] == "1 of 1 (100%)"
    assert len(outcome_table(cfg(robots=2), [outcome(), fell]).rows) == 2


def test_powers_of_estimated_motors_are_percent(
    monkeypatch: pytest.MonkeyPatch, robot: Robot
) -> None:
    guessed = dataclasses.replace(robot, thermal="estimate")
    monkeypatch.setattr(trials, "load_robot", lambda _: guessed)
    table = outcome_table(cfg(), [outcome()])
    assert [c.head for c in table.columns[4:]] == [
        "heat, %",
        "needed, %",
        "useless, %",
        "saved, %",
    ]
    assert table.rows[0].cells[4] == "95.2 (100.0)"  # 1.00 of 1.05 W
    assert "percent of the true heat" in table.note
    assert " W." not in summary_table(cfg(), [outcome()]).note


def test_watts_are_correct_by_share_or_by_size() -> None:
    assert Watts(said=1.09, true=1.0).is_right
    assert not Watts(said=1.12, true=1.0).is_right
    assert Watts(said=0.06, true=0.02).is_right


@pytest.mark.slow
def test_one_robot_is_named_sized_and_its_heat_saved() -> None:
    found = run_one(cfg(seed=5, seconds=10.0), 2)  # RKneePitch by -1.1°
    assert found.is_sized, found
    for watts in (found.heat, found.needed, found.useless, found.saved):
        assert watts is not None
        assert watts.is_right, watts


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_a_sloping_floor_is_no_joint(engine: EngineName, robot: Robot) -> None:
    found = stand_and_analyse(RobotSetting(slope_deg=3.0, engine=engine, seed=3), robot)
    assert list(found.named) == [FLOOR_CAUSES[0]], headline(found)
    error = found.suspects.error_of(FLOOR_CAUSES[0])
    assert error.low_deg <= 3.0 <= error.high_deg
    assert "cannot distinguish them" in headline(found)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_stiff_gears_blame_no_correct_joint(engine: EngineName, robot: Robot) -> None:
    """Gear friction is three times the model's."""
    off = {"RAnklePitch": 1.5}
    setting = RobotSetting(misalignment_deg=off, gear_friction=3.0, engine=engine)
    found = stand_and_analyse(setting, robot)
    assert {*found.named} <= {*off}, headline(found)
    assert found.suspects.friction > 1.5


def stand_and_analyse(setting: RobotSetting, robot: Robot) -> Xray:
    """X-ray a stand of 8 s."""
    with TemporaryDirectory() as folder:
        cfg = TrialCfg.of(
            setting,
            controller="fixed",
            posture="PoseInit",
            duration_s=8.0,
            fast_forward=None,
            folder=Path(folder),
        )
        assert run_trial(cfg).failure is None
        return xray(XrayCfg(source=Path(folder)), robot)


def test_messages(messages: Messages) -> None:
    messages(
        numbers_out_of_range=each(
            cfg, robots=[0], seed=[-1], joints_off=[13], seconds=[2.0]
        )
    )
