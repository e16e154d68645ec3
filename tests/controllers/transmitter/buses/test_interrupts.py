"""Interrupts: a stream is inserted; the paused streams resume with their next item."""

import pytest

from nao_testbed.controllers.transmitter.events import Sent, StreamPaused, StreamResumed
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    StreamState,
)
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    Clip,
    World,
    tag,
)

A, B, C, D = LEAVES[:4]


def items(stage: World, stream: int) -> list[tuple[int, int]]:
    """Return slot and index of each item of a stream."""
    return [(x.tick, x.k) for x in stage.told(Sent) if x.stream == stream]


@pytest.mark.requirement("SY-4")
def test_interrupt_starts_in_the_next_slot_and_the_group_resumes(
    stage: World,
) -> None:
    """The whole group pauses, although only one leaf is shared."""
    group = [stage.receive(stage.clip([x], 4), tag(50)) for x in (A, B)]
    stage.slots(2)
    receipt = stage.transmitter.interrupt(stage.clip([B], 3), stage.tick)
    stage.slot()
    assert {one.state for one in group} == {StreamState.PAUSED}
    stage.slots(4)
    assert items(stage, 3) == [(3, 0), (4, 1), (5, 2)]
    for stream in (1, 2):
        assert items(stage, stream) == [(1, 0), (2, 1), (6, 2), (7, 3)]
    assert receipt.is_done
    assert all(one.is_done for one in group)
    assert [(x.tick, x.stream, x.by) for x in stage.told(StreamPaused)] == [
        (3, 1, 3),
        (3, 2, 3),
    ]
    assert [(x.tick, x.stream) for x in stage.told(StreamResumed)] == [(6, 1), (6, 2)]


@pytest.mark.requirement("SY-4")
def test_streams_without_a_shared_leaf_continue(stage: World) -> None:
    stage.receive(stage.clip([A], 6))
    stage.receive(stage.clip([B], 6))
    stage.slots(2)
    stage.transmitter.interrupt(stage.clip([B, C], 2), stage.tick)
    stage.slots(6)
    assert [slot for slot, _ in items(stage, 1)] == [1, 2, 3, 4, 5, 6]
    assert [slot for slot, _ in items(stage, 2)] == [1, 2, 5, 6, 7, 8]


@pytest.mark.requirement("SY-4")
def test_streams_are_led_back_before_they_resume(stage: World) -> None:
    """One needs two slots and the other one; both wait for the longer."""
    first, second = stage.clip([A], 4, leads=2), stage.clip([B], 4, leads=1)
    group = [stage.receive(clip, tag(50)) for clip in (first, second)]
    stage.slots(2)
    stage.transmitter.interrupt(stage.clip([A], 1), stage.tick)
    stage.slots(2)
    assert {one.state for one in group} == {StreamState.PAUSED}
    assert stage.target(A) == first.angle(-1)
    stage.slots(3)
    assert items(stage, 1) == [(1, 0), (2, 1), (4, -1), (5, -1), (6, 2), (7, 3)]
    assert items(stage, 2) == [(1, 0), (2, 1), (4, -1), (6, 2), (7, 3)]
    assert first.rejoined == second.rejoined == [2]
    assert all(one.is_done for one in group)


@pytest.mark.requirement("SY-4")
def test_interrupts_nest(stage: World) -> None:
    stage.receive(stage.clip([A, B], 3))
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A], 3), stage.tick)
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A, B], 2), stage.tick)
    stage.slots(6)
    assert items(stage, 1) == [(1, 0), (7, 1), (8, 2)]
    assert items(stage, 2) == [(2, 0), (5, 1), (6, 2)]
    assert items(stage, 3) == [(3, 0), (4, 1)]


def test_interrupt_while_another_stream_is_led_back(stage: World) -> None:
    """The stream is led back again from where the second interrupt ends."""
    clip = stage.clip([A], 3, leads=3)
    stage.receive(clip)
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A], 1), stage.tick)
    stage.slots(2)
    stage.transmitter.interrupt(stage.clip([A], 1), stage.tick)
    stage.slots(6)
    expected = [(1, 0), (3, -1), (5, -1), (6, -1), (7, -1), (8, 1), (9, 2)]
    assert items(stage, 1) == expected
    assert clip.rejoined == [1, 1]


@pytest.mark.requirement("SY-4", "SY-18")
def test_interrupt_can_delete_a_group_that_has_not_started(stage: World) -> None:
    motion = stage.receive(stage.clip([A], 9))
    group = [
        stage.receive(stage.clip([x]), tag(50, "later"), after=motion) for x in (A, B)
    ]
    stage.slots(2)
    later = GroupKey(100, "later")
    stage.transmitter.interrupt(stage.clip([A], 2), stage.tick, delete=[later])
    stage.slots(12)
    assert {one.reason for one in group} == {EndReason.DELETED}
    assert motion.is_done
    assert {x.stream for x in stage.told(Sent)} == {1, 4}


def test_interrupt_that_cannot_begin_pauses_nothing(stage: World) -> None:
    stage.receive(stage.clip([A], 4))
    stage.slot()
    clip = stage.clip([A], cannot="too far")
    receipt = stage.transmitter.interrupt(clip, stage.tick)
    stage.slots(3)
    assert receipt.reason is EndReason.CANNOT_BEGIN
    assert not stage.told(StreamPaused)
    assert [slot for slot, _ in items(stage, 1)] == [1, 2, 3, 4]


def test_interrupt_without_a_right_is_rejected(stage: World) -> None:
    stage.receive(stage.clip([A], 4))
    stage.slot()
    stage.ledger.release(stage.token, stage.tick, [B])
    receipt = stage.transmitter.interrupt(stage.clip([B]), stage.tick)
    assert receipt.refused is NotReceived.NO_TOKEN


@pytest.mark.requirement("SY-4", "I-23")
def test_paused_group_that_loses_a_right_ends(stage: World) -> None:
    stage.ledger.release(stage.token, stage.tick, [D])
    second = stage.take("second", D)
    group = [
        stage.receive(stage.clip([A], 9), tag(50)),
        stage.receive(Clip(second, [D], 9), tag(50)),
    ]
    stage.slots(2)
    receipt = stage.transmitter.interrupt(stage.clip([A], 5), stage.tick)
    stage.slots(2)
    stage.ledger.release(second, stage.tick)
    stage.slot()
    assert {one.reason for one in group} == {EndReason.REVOKED}
    assert {one.sent for one in group} == {2}
    stage.slots(3)
    assert receipt.is_done
    assert stage.receive(stage.clip([A])).refused is None


def test_streams_resume_when_the_interrupt_is_withdrawn(stage: World) -> None:
    stage.receive(stage.clip([A, B], 4))
    stage.slot()
    receipt = stage.transmitter.interrupt(stage.clip([A], 9), stage.tick)
    stage.slots(2)
    assert stage.transmitter.withdraw(receipt, stage.tick)
    stage.slots(3)
    assert receipt.reason is EndReason.REVOKED
    assert items(stage, 1) == [(1, 0), (4, 1), (5, 2), (6, 3)]


def test_paused_group_keeps_its_leaves(stage: World) -> None:
    """Neither an independent stream nor another group starts in between."""
    for leaf in (A, B):
        stage.receive(stage.clip([leaf], 4), tag(50))
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A], 2), stage.tick)
    stage.slot()
    assert stage.receive(stage.clip([B])).refused is NotReceived.IN_USE
    other = stage.receive(stage.clip([B]), tag(100, "other"))
    stage.slots(5)
    assert items(stage, 1)[-1] == (6, 3)
    assert other.started_tick == 7


def test_finished_member_is_not_led_back(stage: World) -> None:
    short, long = stage.clip([A], 1), stage.clip([B], 3)
    stage.receive(short, tag(50))
    stage.receive(long, tag(50))
    stage.slot()
    stage.transmitter.interrupt(stage.clip([B], 1), stage.tick)
    stage.slots(3)
    assert short.rejoined == []
    assert items(stage, 2) == [(1, 0), (3, 1), (4, 2)]


def test_stream_that_cannot_rejoin_ends_with_its_group(stage: World) -> None:
    clip = stage.clip([A], 4)
    group = [stage.receive(clip, tag(50)), stage.receive(stage.clip([B], 4), tag(50))]
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A], 1), stage.tick)
    clip.cannot_rejoin = "too far"
    stage.slots(3)
    assert {one.reason for one in group} == {EndReason.CANNOT_BEGIN}
    assert {one.sent for one in group} == {1}


@pytest.mark.requirement("I-23")
def test_item_of_an_unflushed_slot_is_not_written_in_a_pause(
    stage: World,
) -> None:
    """The previous slot was not flushed; its items are sent again after the pause."""
    first, second = stage.clip([A], 3), stage.clip([B], 3)
    for clip in (first, second):
        stage.receive(clip, tag(50))
    stage.slot()
    stage.transmitter.step(stage.tick)
    stage.tick += 1
    stage.transmitter.interrupt(stage.clip([A], 2), stage.tick)
    stage.slots(2)
    assert stage.target(B) == second.angle(0)
    stage.slots(2)
    assert items(stage, 2) == [(1, 0), (5, 1), (6, 2)]


def test_interrupt_in_the_slot_of_the_return_keeps_the_pause(stage: World) -> None:
    """There is no resume event without an item."""
    stage.receive(stage.clip([A], 3))
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A], 1), stage.tick)
    stage.slot()
    stage.transmitter.interrupt(stage.clip([A], 1), stage.tick)
    stage.slots(3)
    assert items(stage, 1) == [(1, 0), (4, 1), (5, 2)]
    assert len(stage.told(StreamPaused)) == len(stage.told(StreamResumed)) == 1
