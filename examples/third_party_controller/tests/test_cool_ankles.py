"""Requirements on `cool_ankles`, on a slope, with an ankle 2 degrees off."""

import pytest
from cool_ankles import ANKLES, CoolAnkles, make_controller

from nao_testbed import BadInput
from nao_testbed.experiments.regression import (
    GoldenRun,
    Push,
    RunStanding,
    StandingTrial,
)

HOT_ANKLES = dict.fromkeys(ANKLES, 55.0)

hot_ankles = pytest.mark.standing(
    controller="cool_ankles",
    misalignment_deg={"LAnklePitch": 2.0},
    slope_deg=1.0,
    start_degc=HOT_ANKLES,
    pushes=Push(at_s=3.0, duration_s=0.2, force_n=(5.0, 0.0, 0.0)),
    seconds=7.0,
)


@hot_ankles
def test_robot_stands_and_is_cooler(
    standing_trial: StandingTrial, fixed_trial: StandingTrial
) -> None:
    standing_trial.stays_up()
    standing_trial.is_cooler_than(fixed_trial, by=0.3)
    standing_trial.never_above(60.0)


@hot_ankles
def test_commands_are_sound(standing_trial: StandingTrial) -> None:
    standing_trial.respects_limit(0.35, joints=ANKLES, after_s=2.0)
    standing_trial.shifts_at_most(0.0)
    standing_trial.does_not_chatter()
    standing_trial.ticks_under(2e-3)


@hot_ankles
def test_run_is_the_golden_one(
    standing_trial: StandingTrial, golden_run: GoldenRun
) -> None:
    golden_run.check(standing_trial, tolerances={"true_temperature": 0.2})


@pytest.mark.standing(seconds=2.0)
def test_cold_ankles_are_left_alone(
    run_standing: RunStanding, fixed_trial: StandingTrial
) -> None:
    cold = run_standing(CoolAnkles)
    assert (cold.decisions.stiffness == 1.0).all()
    assert cold.result.legs_joule_loss_j == fixed_trial.result.legs_joule_loss_j


def test_an_ankle_keeps_its_least(run_standing: RunStanding) -> None:
    trial = run_standing(CoolAnkles(0.6), seconds=2.0, start_degc=HOT_ANKLES)
    trial.stays_up()
    assert trial.decisions.stiffness.min() == pytest.approx(0.6)


@pytest.mark.parametrize("argument", ["much", "1.5", "-0.1", "nan"])
def test_an_argument_without_meaning_is_refused(argument: str) -> None:
    with pytest.raises(BadInput, match="stiffness"):
        make_controller(argument)
