"""Each assertion passes at its bound and fails beyond it with one sentence."""

import dataclasses
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nao_testbed.experiments.regression import (
    Push,
    StandingCfg,
    StandingTrial,
    run_standing_trial,
)
from nao_testbed.experiments.regression.monitored_controller import Decisions, StepTimes
from nao_testbed.models import BadInput
from tests.messages import Messages, each


def with_result(trial: StandingTrial, **changed: Any) -> StandingTrial:
    return replace(trial, result=replace(trial.result, **changed))


def with_decisions(trial: StandingTrial, **changed: Any) -> StandingTrial:
    return replace(trial, decisions=replace(trial.decisions, **changed))


def sentence_of(assertion: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(AssertionError) as failed:
        assertion(*args, **kwargs)
    sentence = str(failed.value)
    assert sentence.endswith(".")
    assert sentence.startswith(("fixed ", "smart ", "constant:0.01 "))
    return sentence


def test_good_trial_passes_all_assertions(fixed: StandingTrial) -> None:
    fixed.keeps_its_contract()
    fixed.stays_up()
    fixed.never_above(60.0)
    fixed.respects_limit(1.0)
    fixed.shifts_at_most(0.0)
    fixed.does_not_chatter(0)
    fixed.ticks_under(1.0)  # generous, since the machine may be busy


def test_fallen_robot_fails_every_assertion(
    weak: StandingTrial, fixed: StandingTrial
) -> None:
    assert re.fullmatch(
        r"constant:0\.01 does not stay upright: it fell at \d\.\d\d s of 2 s\.",
        sentence_of(weak.stays_up),
    )
    judged = (
        (weak.never_above, 500.0),
        (weak.respects_limit, 1.0),
        (weak.shifts_at_most, 180.0),
        (weak.does_not_chatter, 1000),
        (weak.ticks_under, 1.0),
        (weak.settles_within, 100.0),
        (weak.is_near_the_least_loss, 100.0),
        (weak.is_cooler_than, fixed),
        (fixed.is_cooler_than, weak),
    )
    for assertion, bound in judged:
        sentence = sentence_of(assertion, bound)
        assert "constant:0.01 cannot be evaluated: it fell at" in sentence


def test_cooler_compares_with_the_requested_share(fixed: StandingTrial) -> None:
    hot = with_result(fixed, legs_joule_loss_j=10.0)
    cool = with_result(fixed, legs_joule_loss_j=7.0)
    cool.is_cooler_than(hot)
    cool.is_cooler_than(hot, by=0.3)
    assert sentence_of(cool.is_cooler_than, hot, by=0.31) == (
        "fixed is not cool enough: the legs dissipated 7 J, 30.0 % less than "
        "fixed (10 J); required: at least 31 % less."
    )
    assert "42.9 % more than" in sentence_of(hot.is_cooler_than, cool)
    assert "as much as" in sentence_of(hot.is_cooler_than, hot)


def test_least_loss_bound_is_a_multiple(fixed: StandingTrial) -> None:
    near = with_result(fixed, legs_power_w=1.3, least_power_w=1.0)
    near.is_near_the_least_loss(1.3)
    assert "1.30 times the minimum of 1 W" in sentence_of(
        near.is_near_the_least_loss, 1.29
    )
    with pytest.raises(BadInput, match="unknown"):
        with_result(fixed, least_power_w=None).is_near_the_least_loss()
    helped = with_result(fixed, legs_power_w=1.3, least_with_gears_w=0.5)
    helped.is_near_the_least_loss(2.6, gears_help=True)
    sentence = sentence_of(helped.is_near_the_least_loss, 2.0, gears_help=True)
    assert "2.60 times the minimum of 0.5 W" in sentence


def test_power_of_guessed_motors_is_not_printed(fixed: StandingTrial) -> None:
    hot = with_result(fixed, legs_joule_loss_j=10.0, legs_power_w=2, least_power_w=1)
    cool = with_result(fixed, legs_joule_loss_j=7.0)
    meta = fixed.run.meta
    data = {**meta.robot_data, "thermal": "estimate"}
    run = dataclasses.replace(
        fixed.run, meta=dataclasses.replace(meta, robot_data=data)
    )
    for trial in (hot, cool):
        vars(trial)["run"] = run
    assert sentence_of(cool.is_cooler_than, hot, by=0.31) == (
        "fixed is not cool enough: the legs dissipated 30.0 % less than fixed; "
        "required: at least 31 % less."
    )
    sentence = sentence_of(hot.is_near_the_least_loss)
    assert "dissipate 2.00 times the minimum of the posture" in sentence


def test_late_or_missing_settling_is_reported(fixed: StandingTrial) -> None:
    settled = with_result(fixed, settled_s=12.0)
    settled.settles_within(12.0)
    assert "settled at 12.0 s; it must settle within 11 s" in sentence_of(
        settled.settles_within, 11.0
    )
    never = with_result(fixed, settled_s=None)
    assert "has not settled" in sentence_of(never.settles_within, 1e9)


def test_hottest_motor_and_its_time_are_reported(fixed: StandingTrial) -> None:
    truth = fixed.run.channel("true_temperature")
    peak = float(truth.to_numpy().max())
    motor = truth.max().idxmax()
    fixed.never_above(peak)
    sentence = sentence_of(fixed.never_above, peak - 0.01)
    assert f"motor {motor} was above" in sentence
    assert sentence.endswith(f"reached {peak:.1f} °C.")


def test_limit_applies_to_all_joints_or_one(fixed: StandingTrial) -> None:
    fixed.respects_limit({"left_knee": 1.0})
    fixed.respects_limit(0.7, margin=0.3)
    assert sentence_of(fixed.respects_limit, {"left_knee": 0.6}) == (
        "fixed ignores the limit: the stiffness of left_knee was 1.000 at 0.00 s; "
        "the limit is 0.600."
    )
    made = fixed.decisions
    stiffness = np.full_like(made.stiffness, 0.5)
    stiffness[40, made.joint_names.index("right_hip")] = 0.9
    one = with_decisions(fixed, stiffness=stiffness)
    assert (
        f"right_hip was 0.900 at {made.time_s[40]:.2f} s; the limit is 0.500, with a "
        "margin of 0.1" in sentence_of(one.respects_limit, 0.5, margin=0.1)
    )
    one.respects_limit(0.5, joints=["left_hip", "left_knee"])
    one.respects_limit(0.5, after_s=float(made.time_s[41]))


def test_limit_can_be_another_controller(
    fixed: StandingTrial, short: StandingCfg, tmp_path: Any
) -> None:
    """`smart` respects the limit of `smart` exactly; `fixed` exceeds it."""
    smart = run_standing_trial("smart", short, tmp_path)
    smart.respects_limit(of="smart")
    smart.respects_limit(of="constant:1.0")
    assert "; constant:0.05 allows 0.050" in sentence_of(
        smart.respects_limit, of="constant:0.05"
    )
    assert "; smart allows 0." in sentence_of(fixed.respects_limit, of="smart")


def test_shift_is_bounded_in_both_directions(fixed: StandingTrial) -> None:
    shift = np.zeros_like(fixed.decisions.shift)
    shift[30, 2] = np.deg2rad(-3.0)
    shifts = with_decisions(fixed, shift=shift)
    shifts.shifts_at_most(3.0)
    sentence = sentence_of(shifts.shifts_at_most, 2.99)
    joint, time_s = fixed.decisions.joint_names[2], fixed.decisions.time_s[30]
    assert f"{joint} by -3.00 degrees at {time_s:.2f} s" in sentence


@pytest.mark.parametrize("what", ["stiffness", "shift"])
def test_oscillation_after_a_push_is_not_chatter(
    fixed: StandingTrial, what: str
) -> None:
    time_s = np.arange(0.0, 10.0, 0.02)
    calm = np.full((len(time_s), 6), 0.5)
    rocking = calm.copy()
    after = (time_s > 4.0) & (time_s < 7.0)
    rocking[after, 1] += 0.1 * np.sign(np.sin(20.0 * time_s[after]))
    commands = {"stiffness": calm, "shift": calm} | {what: rocking}
    made = Decisions(time_s=time_s, joint_names=fixed.decisions.joint_names, **commands)
    trial = replace(fixed, decisions=made)
    sentence = sentence_of(trial.does_not_chatter)
    assert f"the {what} of {made.joint_names[1]} changed direction 7 times" in sentence
    push = Push(at_s=4.0, duration_s=0.2)
    pushed = replace(trial, setting=replace(fixed.setting, pushes=(push,)))
    pushed.does_not_chatter()


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, "2", None, True])
def test_invalid_bound_is_refused(fixed: StandingTrial, value: Any) -> None:
    judged: tuple[Any, ...] = (
        fixed.never_above,
        fixed.respects_limit,
        fixed.shifts_at_most,
        fixed.does_not_chatter,
        fixed.ticks_under,
        fixed.settles_within,
        fixed.is_near_the_least_loss,
        lambda by: fixed.is_cooler_than(fixed, by=by),
        lambda margin: fixed.respects_limit(1.0, margin=margin),
        lambda after_s: fixed.respects_limit(1.0, after_s=after_s),
    )
    for assertion in judged:
        with pytest.raises(BadInput, match=r"give|needs either a limit"):
            assertion(value)


def test_messages(messages: Messages, fixed: StandingTrial) -> None:
    messages(
        only_trials_of_one_setting_are_compared=lambda: fixed.is_cooler_than(
            replace(fixed, setting=replace(fixed.setting, slope_deg=1.0))
        ),
        too_short_a_trial_has_no_tick=lambda: replace(
            fixed, step_times=StepTimes(wall_s=np.zeros(3), cpu_s=np.zeros(3))
        ).ticks_under(1e-3),
        a_limit_without_meaning=each(
            fixed.respects_limit,
            {},
            {"limit": 0.5, "of": "smart"},
            {"limit": 0.5, "joints": ["left_kne"]},
            {"limit": 1.0, "after_s": 3.0},
            limit=[1.5, {"left_kne": 0.5}],
            of=["smrt", "constant:"],
        ),
        a_robot_without_legs_is_not_compared=lambda: with_result(
            fixed, legs_joule_loss_j=None
        ).is_cooler_than(fixed),
    )
