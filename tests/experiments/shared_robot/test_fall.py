"""A pushed robot that falls leaves state Stand, which revokes its owner."""

import pytest

from examples.stories.fall import FallStory, FallStoryCfg, run_fall_story
from nao_testbed.controllers.arbitration.events import (
    Executed,
    Granted,
    Revoked,
    StateChanged,
)
from nao_testbed.controllers.arbitration.tokens import LossCause, Refusal
from nao_testbed.models import Robot
from nao_testbed.testing import check_trace, trace_hash

pytestmark = pytest.mark.scenario


@pytest.fixture(scope="module", params=[("Back", -60.0), ("Belly", 60.0)])
def story(nao: Robot, request: pytest.FixtureRequest) -> tuple[str, FallStory]:
    lying, force = request.param
    cfg = FallStoryCfg(force_newton=(force, 0.0, 0.0), lying=lying)
    return lying, run_fall_story(nao, cfg)


@pytest.mark.requirement("RM-53", "RM-51")
def test_fall_revokes_owner_that_needs_standing(
    story: tuple[str, FallStory],
) -> None:
    lying, told = story
    assert told.has_fallen
    (revoked,) = (event for event in told.events if isinstance(event, Revoked))
    assert (revoked.owner, revoked.why) == ("keep standing", LossCause.STATE_LEFT)
    assert revoked.lost == ("Stand",)
    assert len(revoked.freed) == 11  # the legs go with it (AR-19)
    left_s = revoked.tick * told.tick_s - told.pushed_s
    assert 0.1 < left_s < 0.6  # during the fall, before the robot lies
    assert told.state == lying


@pytest.mark.requirement("RM-51", "RM-52")
def test_states_follow_the_body_and_grants_follow_states(
    story: tuple[str, FallStory],
) -> None:
    lying, told = story
    changes = [event for event in told.events if isinstance(event, StateChanged)]
    assert [event.active for event in changes] == ["Stand", None, lying]
    granted = [event for event in told.events if isinstance(event, Granted)]
    assert [event.owner for event in granted] == ["keep standing", "get up"]
    assert [event.tick for event in granted] == [changes[0].tick, changes[2].tick]


@pytest.mark.requirement("RM-53", "AR-11")
def test_revoked_owners_commands_are_refused_after_the_fall(
    story: tuple[str, FallStory],
) -> None:
    _, told = story
    (revoked,) = (event for event in told.events if isinstance(event, Revoked))
    acted = [event for event in told.events if isinstance(event, Executed)]
    its = [event for event in acted if event.token == revoked.token]
    assert its
    assert all(event.tick < revoked.tick for event in its)
    assert told.standing.refused is not None
    assert told.standing.refused.reason is Refusal.REVOKED
    assert told.standing.refused.tick == revoked.tick


def test_every_invariant_holds_on_the_trace(story: tuple[str, FallStory]) -> None:
    assert list(check_trace(story[1].events)) == []


@pytest.mark.slow
def test_same_seed_gives_the_same_trace(nao: Robot) -> None:
    cfg = FallStoryCfg(observed_s=1.0)
    hashes = {trace_hash(run_fall_story(nao, cfg).events) for _ in range(2)}
    assert len(hashes) == 1


@pytest.mark.slow
@pytest.mark.requirement("RM-53")
def test_swaying_robot_keeps_its_state(nao: Robot) -> None:
    told = run_fall_story(nao, FallStoryCfg(force_newton=(15.0, 0.0, 0.0)))
    assert not told.has_fallen
    assert told.state == "Stand"
    assert not any(isinstance(event, Revoked) for event in told.events)
    assert told.rising.ticket.outcome is None
