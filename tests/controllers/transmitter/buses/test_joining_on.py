"""What follows a stream starts in the very next slot; its sender is told in time."""

import pytest

from controllers.arbitration.tokens import Token
from controllers.transmitter.events import GroupStarted
from controllers.transmitter.receipt import EndReason, NotReceived, Receipt, StreamState
from models import BadInput, Robot
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    Clip,
    TransmitterWorld,
    tag,
)

A, B, C = LEAVES[:3]


@pytest.fixture
def stage(nao: Robot) -> TransmitterWorld:
    return TransmitterWorld.of(nao)


@pytest.fixture
def token(stage: TransmitterWorld) -> Token:
    return stage.take("greet", *LEAVES)


@pytest.mark.requirement("SY-1", "SY-18", "SY-22")
def test_a_group_whose_data_is_there_early_starts_after_the_initial_motion(
    stage: TransmitterWorld, token: Token
) -> None:
    """Last item of that in slot 6, all first items of this in slot 7."""
    motion = stage.receive(Clip(token, [A], 6))
    group = [stage.receive(Clip(token, [x]), tag(50), after=motion) for x in (B, C)]
    stage.slots(6)
    assert motion.ended_tick == 6
    assert {one.state for one in group} == {StreamState.WAITING}
    stage.slot()
    assert {one.started_tick for one in group} == {7}


@pytest.mark.requirement("SY-14")
def test_a_complete_group_that_is_held_does_not_expire(
    stage: TransmitterWorld, token: Token
) -> None:
    """A time to live is for members that never come."""
    motion = stage.receive(Clip(token, [A], 30))
    receipt = stage.receive(Clip(token, [B]), tag(100), after=motion)
    stage.slots(31)
    assert receipt.started_tick == 31


def test_independent_streams_make_a_chain(
    stage: TransmitterWorld, token: Token
) -> None:
    """As the transitions from one posture to another do."""
    first = stage.receive(Clip(token, [A], 3))
    second = stage.receive(Clip(token, [A], 2), after=first)
    third = stage.receive(Clip(token, [A], 2), after=second)
    stage.slots(7)
    chain = [(one.started_tick, one.ended_tick) for one in (first, second, third)]
    assert chain == [(1, 3), (4, 5), (6, 7)]


def test_what_follows_a_stream_that_is_done_starts_at_once(
    stage: TransmitterWorld, token: Token
) -> None:
    first = stage.receive(Clip(token, [A], 2))
    stage.slots(4)
    second = stage.receive(Clip(token, [A], 2), after=first)
    stage.slot()
    assert second.started_tick == 5


@pytest.mark.requirement("SY-2")
def test_what_follows_a_stream_that_fails_is_deleted(
    stage: TransmitterWorld, token: Token
) -> None:
    """The robot is not where it begins; late members are told so."""
    motion = stage.receive(Clip(token, [A], 6))
    held = [
        stage.receive(Clip(token, [B]), tag(100), after=motion),
        stage.receive(Clip(token, [C]), after=motion),
    ]
    half = stage.receive(Clip(token, [B]), tag(50, "half"), after=motion)
    stage.slots(2)
    stage.transmitter.withdraw(motion, stage.tick)
    assert {one.reason for one in held} == {EndReason.DELETED}
    assert held[0].detail == "stream 1, which it follows, is revoked"
    late = stage.receive(Clip(token, [C]), tag(50, "half"), after=motion)
    assert late.refused is NotReceived.AFTER_FAILED
    last = stage.receive(Clip(token, [C]), tag(50, "half"))
    assert {half.reason, last.reason} == {EndReason.DELETED}
    stage.slots(3)
    assert len(stage.robot.commands) == 2


def test_a_group_may_follow_several_streams(
    stage: TransmitterWorld, token: Token
) -> None:
    first = stage.receive(Clip(token, [A], 3))
    second = stage.receive(Clip(token, [B], 5))
    group = [
        stage.receive(Clip(token, [A]), tag(50), after=first),
        stage.receive(Clip(token, [B]), tag(50), after=second),
    ]
    stage.slots(6)
    assert {one.started_tick for one in group} == {6}


def test_no_stream_follows_one_of_its_own_group(
    stage: TransmitterWorld, token: Token
) -> None:
    first = stage.receive(Clip(token, [A]), tag(50))
    with pytest.raises(BadInput, match="follows stream 1 of its own group"):
        stage.receive(Clip(token, [B]), tag(50), after=first)


def test_an_independent_follower_waits_for_a_group_on_its_leaf(
    stage: TransmitterWorld, token: Token
) -> None:
    motion = stage.receive(Clip(token, [A], 2))
    follower = stage.receive(Clip(token, [B], 2), after=motion)
    stage.receive(Clip(token, [B], 4), tag(100))
    stage.slots(5)
    assert follower.started_tick == 5


@pytest.mark.parametrize(
    ("left", "told"), [(0, 6), (1, 5), (4, 2), (5, 1), (6, 1), (99, 1)]
)
@pytest.mark.requirement("SY-3", "SY-21", "SY-22")
def test_the_sender_is_told_once_so_many_items_are_left(
    stage: TransmitterWorld, token: Token, left: int, told: int
) -> None:
    """Counted after the slot's item has gone out; 0 is the end, after that once."""
    seen: list[int] = []
    stage.transmitter.receive(
        Clip(token, [A], 6), None, stage.tick, signal_at=left, on_signal=seen.append
    )
    stage.slots(9)
    assert seen == [told]


@pytest.mark.requirement("SY-21")
def test_no_signal_comes_from_a_stream_that_is_paused_or_over(
    stage: TransmitterWorld, token: Token
) -> None:
    seen: list[int] = []
    receipt: Receipt = stage.transmitter.receive(
        Clip(token, [A], 6), None, stage.tick, signal_at=3, on_signal=seen.append
    )
    stage.slots(2)
    stage.transmitter.interrupt(Clip(token, [A], 4), stage.tick)
    stage.slots(4)
    assert seen == []
    stage.slot()
    assert seen == [7]
    other = stage.transmitter.receive(
        Clip(token, [B], 6), None, stage.tick, signal_at=0, on_signal=seen.append
    )
    stage.slot()
    stage.transmitter.withdraw(other, stage.tick)
    stage.slots(8)
    assert receipt.is_done
    assert seen == [7]


def test_time_does_not_go_back(stage: TransmitterWorld, token: Token) -> None:
    stage.slots(3)
    with pytest.raises(BadInput, match="tick is 1, but the transmitter stands at 3"):
        stage.transmitter.step(1)
    with pytest.raises(BadInput, match="tick is 2, but the transmitter stands at 3"):
        stage.transmitter.receive(Clip(token, [A]), None, 2)


def test_how_many_items_are_left_is_known_once_it_has_started(
    stage: TransmitterWorld, token: Token
) -> None:
    receipt = stage.receive(Clip(token, [A], 3))
    assert receipt.items_left is None
    stage.slots(2)
    assert receipt.items_left == 1


def test_a_follower_replaces_the_independent_stream_on_its_leaf(
    stage: TransmitterWorld, token: Token
) -> None:
    """It starts later, though it came before."""
    motion = stage.receive(Clip(token, [A], 3))
    follower = stage.receive(Clip(token, [B], 2), after=motion)
    other = stage.receive(Clip(token, [B], 9))
    stage.slots(4)
    assert follower.started_tick == 4
    assert other.reason is EndReason.REPLACED


def test_what_is_new_replaces_a_follower_that_would_start_in_its_slot(
    stage: TransmitterWorld, token: Token
) -> None:
    motion = stage.receive(Clip(token, [A], 3))
    follower = stage.receive(Clip(token, [A], 2), after=motion)
    stage.slots(3)
    new = stage.receive(Clip(token, [A], 2))
    stage.slot()
    assert new.started_tick == 4
    assert (follower.reason, follower.sent) == (EndReason.REPLACED, 0)


@pytest.mark.requirement("SY-1")
def test_a_group_waits_for_the_last_of_several_streams(
    stage: TransmitterWorld, token: Token
) -> None:
    """Of which none has a leaf of the group."""
    before = [stage.receive(Clip(token, [LEAVES[n]], 2 + 3 * n)) for n in (0, 1)]
    for n, first in enumerate(before):
        stage.receive(Clip(token, [LEAVES[2 + n]], 1), tag(50), after=first)
    stage.slots(7)
    (started,) = stage.told(GroupStarted)
    assert (before[0].ended_tick, before[1].ended_tick) == (2, 5)
    assert started.tick == 6
