"""Tests that all fail, each with a message that states the reason."""

from typing import Any

import pytest

from nao_testbed.experiments.regression import RunStanding, StandingTrial

SHORT: dict[str, Any] = {"seconds": 2.0, "fast_forward": False}


@pytest.mark.standing(controller="chatterbox", **SHORT)
def test_chatterbox(standing_trial: StandingTrial) -> None:
    standing_trial.does_not_chatter()


@pytest.mark.standing(controller="limitless", **SHORT)
def test_limitless(standing_trial: StandingTrial) -> None:
    standing_trial.respects_limit(0.8)


@pytest.mark.standing(controller="limitless", **SHORT)
def test_limitless_beside_smart(standing_trial: StandingTrial) -> None:
    standing_trial.respects_limit(of="smart", joints=["LKneePitch"], after_s=1.0)


@pytest.mark.standing(controller="sluggish", **SHORT)
def test_sluggish(standing_trial: StandingTrial) -> None:
    standing_trial.ticks_under(2e-3)


@pytest.mark.standing(controller="nan", **SHORT)
def test_nan(standing_trial: StandingTrial) -> None:
    standing_trial.never_above(80.0)


@pytest.mark.standing(controller="toppler", **SHORT)
def test_toppler(standing_trial: StandingTrial) -> None:
    standing_trial.stays_up()


@pytest.mark.standing(controller="toppler", **SHORT)
def test_toppler_is_not_called_cool(
    standing_trial: StandingTrial, fixed_trial: StandingTrial
) -> None:
    standing_trial.is_cooler_than(fixed_trial)


@pytest.mark.standing(controller="overreacher", **SHORT)
def test_overreacher(standing_trial: StandingTrial) -> None:
    standing_trial.shifts_at_most(3.0)


@pytest.mark.standing(controller="limitless", **SHORT)
def test_limitless_is_no_cooler(
    standing_trial: StandingTrial, fixed_trial: StandingTrial
) -> None:
    standing_trial.is_cooler_than(fixed_trial, by=0.3)


@pytest.mark.standing(controller="limitless", **SHORT)
def test_limitless_is_too_hot(standing_trial: StandingTrial) -> None:
    standing_trial.never_above(29.0)


@pytest.mark.parametrize(
    "controller", ["generous", "silent", "short", "fumbler", "unready"]
)
def test_contract(run_standing: RunStanding, controller: str) -> None:
    run_standing(controller, **SHORT)


@pytest.mark.standing(controller="fumbler", **SHORT)
def test_no_assertion_is_needed(standing_trial: StandingTrial) -> None:
    pass
