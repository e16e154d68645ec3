"""An overheated head: revoked, refused, capped, held, and granted again."""

import numpy as np
import pytest

from examples.stories.hot_head import HeadStory, HeadStoryCfg, run_head_story
from examples.stories.trace_lines import story_lines
from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Frozen,
    Granted,
    MadeSafe,
    Rejected,
    Requested,
    Revoked,
    Thawed,
)
from nao_testbed.controllers.arbitration.tokens import LossCause, Refusal
from nao_testbed.models import Robot
from nao_testbed.testing import check_trace

pytestmark = pytest.mark.scenario

SHOWN = (Requested, Granted, Revoked, Frozen, Rejected, MadeSafe, Thawed)


@pytest.fixture(scope="module")
def story(nao: Robot) -> HeadStory:
    return run_head_story(nao)


def of_kind(story: HeadStory, *kinds: type[Event]) -> list[Event]:
    return [event for event in story.events if isinstance(event, kinds)]


@pytest.mark.requirement("RM-43", "RM-45", "RM-34")
def test_trace_has_all_events_in_order(story: HeadStory) -> None:
    kinds = [type(event) for event in of_kind(story, *SHOWN)]
    assert kinds == [
        Requested,
        Granted,
        Revoked,
        Frozen,
        Rejected,
        Requested,
        MadeSafe,
        Thawed,
        Granted,
    ]


@pytest.mark.requirement("RM-43", "AR-11")
def test_owner_is_revoked_and_its_next_command_refused(
    story: HeadStory,
) -> None:
    (revoked,) = of_kind(story, Revoked)
    assert isinstance(revoked, Revoked)
    assert (revoked.why, revoked.by) == (LossCause.FROZEN, "hotEngine")
    assert (revoked.token, revoked.lost) == (story.first_token, ("HeadYaw",))
    (refused,) = story.refused
    assert (refused.reason, refused.tick) == (Refusal.REVOKED, revoked.tick)


@pytest.mark.requirement("RM-43")
def test_joint_freezes_at_threshold_and_thaws_when_cool(
    story: HeadStory,
) -> None:
    (frozen,), (thawed,) = of_kind(story, Frozen), of_kind(story, Thawed)
    assert story.hot_degc == 76.0  # reported in steps of 1 K
    assert story.cool_degc == 69.0
    assert story.hot_s == pytest.approx(frozen.tick * story.tick_s)
    assert story.cool_s == pytest.approx(thawed.tick * story.tick_s)


@pytest.mark.requirement("RM-43")
def test_cooling_follows_the_heating_equation(nao: Robot, story: HeadStory) -> None:
    """From 75.5..76.5 to 69.5 °C at no torque: t = C/λ ln(u₀/u₁), u above ambient.

    Holding the head needs almost no torque, so cooling takes at most 2 % longer.
    """
    heat = nao.motors[nao.motor_names.index("HeadYaw")].one_node
    time_constant = heat.heat_capacity / heat.conductance
    end = 69.5 - heat.ambient_degc
    shortest, longest = (
        time_constant * np.log((degc - heat.ambient_degc) / end)
        for degc in (75.5, 76.5)
    )
    took = story.cool_s - story.hot_s
    assert shortest <= took <= 1.02 * longest


@pytest.mark.requirement("RM-43")
def test_effort_is_capped_until_cooled(story: HeadStory) -> None:
    assert story.before.stiffness.max() == 1.0
    np.testing.assert_array_equal(story.while_hot.stiffness, 0.2)
    np.testing.assert_array_equal(story.after.stiffness, 1.0)


@pytest.mark.requirement("RM-43")
def test_frozen_joint_holds_its_safe_set_point(nao: Robot, story: HeadStory) -> None:
    """The set-point is constant and within the lag of full torque."""
    joint = nao.joints[nao.joint_index("HeadYaw")]
    lag = joint.effort_limit / joint.kp + joint.encoder_step
    held = story.while_hot
    assert np.ptp(held.set_point_rad) == 0.0
    assert abs(held.set_point_rad[0] - story.before.angle_rad[-1]) <= lag
    assert held.turned_rad <= lag + joint.encoder_step


@pytest.mark.requirement("RM-45", "AR-26")
def test_new_token_is_granted_at_thaw_and_head_moves_again(
    story: HeadStory,
) -> None:
    (thawed,) = of_kind(story, Thawed)
    granted = of_kind(story, Granted)[-1]
    assert isinstance(granted, Granted)
    assert granted.tick == thawed.tick
    assert granted.token == story.new_token
    assert story.new_token is not None
    assert story.new_token > story.first_token
    assert story.before.turned_rad > 0.3
    assert story.after.turned_rad > 0.3


@pytest.mark.requirement("RM-43", "RM-44")
def test_every_invariant_holds_on_the_trace(story: HeadStory) -> None:
    """Including I-22: no command runs while `hotEngine` holds the joint."""
    assert list(check_trace(story.events)) == []
    (frozen,), (thawed,) = of_kind(story, Frozen), of_kind(story, Thawed)
    ticks = [event.tick for event in of_kind(story, Executed)]
    assert not [tick for tick in ticks if frozen.tick <= tick < thawed.tick]
    assert min(ticks) < frozen.tick
    assert max(ticks) > thawed.tick


def test_moving_a_frozen_joint_violates_an_invariant(story: HeadStory) -> None:
    """Inserting one executed command fails the check above."""
    events = list(story.events)
    place = next(i for i, event in enumerate(events) if isinstance(event, Rejected))
    refused = events[place]
    assert isinstance(refused, Rejected)
    events[place] = Executed(
        tick=refused.tick,
        command=refused.command,
        token=story.first_token,
        resource=refused.resource,
    )
    assert {found.rule for found in check_trace(events)} & {"gate", "frozen"}


@pytest.mark.requirement("RM-20")
def test_short_patience_does_not_regain_the_joint(nao: Robot) -> None:
    story = run_head_story(nao, HeadStoryCfg(patience_s=60.0))
    assert story.new_token is None
    assert story.after.turned_rad < 0.05


def test_summary_names_cause_and_reason(story: HeadStory) -> None:
    text = "\n".join(story_lines(story.events, story.tick_s))
    for words in ("hotEngine freezes HeadYaw, stiffness at most 0.2", "REVOKED", "1.2"):
        assert words in text
    assert len(text.splitlines()) < 20
