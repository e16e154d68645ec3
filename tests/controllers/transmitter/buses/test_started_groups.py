"""A started group finishes or is revoked as a whole."""

import pytest

from nao_testbed.controllers.arbitration.events import Executed
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    Sent,
    StreamEnded,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    StreamState,
)
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    LIGHT,
    MOTION,
    SOUND,
    Clip,
    World,
    tag,
)

HELLO = GroupKey(100, "hello")
A, B, C = LEAVES[:3]


@pytest.mark.requirement("SY-12")
def test_longer_stream_of_a_group_continues_alone(stage: World) -> None:
    """Interpretation of figure 18: the rest keeps the order of units."""
    stage.receive(stage.clip([A], 1, unit=LIGHT), tag(50))
    stage.receive(stage.clip([B], 3, unit=SOUND), tag(25))
    stage.receive(stage.clip([C], 2, unit=MOTION), tag(25))
    stage.slots(4)
    assert stage.sent() == [(3, 0), (1, 0), (2, 0), (3, 1), (2, 1), (2, 2)]
    ends = [(event.stream, event.tick) for event in stage.told(StreamEnded)]
    assert ends == [(1, 1), (3, 2), (2, 3)]


@pytest.mark.requirement("SY-12")
def test_empty_item_keeps_its_slot(stage: World) -> None:
    stage.receive(stage.clip([A], 3, unit=LIGHT, empty=(0, 2)), tag(50))
    stage.receive(stage.clip([B], 3, unit=SOUND, empty=(0,)), tag(50))
    stage.slots(3)
    values = [(x.tick, x.stream, x.values) for x in stage.told(Sent)]
    assert values == [(1, 1, 0), (1, 2, 0), (2, 1, 1), (2, 2, 1), (3, 1, 0), (3, 2, 1)]
    assert len(stage.robot.commands) == 2


@pytest.mark.requirement("I-23")
def test_member_that_cannot_begin_keeps_its_group_from_starting(
    stage: World,
) -> None:
    receipts = [
        stage.receive(stage.clip([A]), tag(50)),
        stage.receive(stage.clip([B], cannot="too far"), tag(50)),
    ]
    stage.slots(2)
    assert {receipt.reason for receipt in receipts} == {EndReason.CANNOT_BEGIN}
    assert not stage.told(StreamStarted)
    assert not stage.robot.commands


@pytest.mark.parametrize("in_the_slot", [True, False])
@pytest.mark.requirement("I-23")
def test_member_that_loses_its_right_ends_the_whole_group(
    stage: World, in_the_slot: bool
) -> None:
    """In that slot, and later, no member is written."""
    left, right = stage.take("left", A), stage.take("right", B)
    receipts = [
        stage.receive(Clip(left, [A], 9), tag(50)),
        stage.receive(Clip(right, [B], 9), tag(50)),
    ]
    stage.slots(3)
    if in_the_slot:
        stage.between = lambda: stage.ledger.release(right, stage.tick)
    else:
        stage.ledger.release(right, stage.tick)
    stage.slots(3)
    assert [receipt.sent for receipt in receipts] == [3, 3]
    assert {receipt.reason for receipt in receipts} == {EndReason.REVOKED}
    assert {receipt.ended_tick for receipt in receipts} == {4}
    assert {event.tick for event in stage.told(Executed)} == {1, 2, 3}


@pytest.mark.requirement("I-23")
def test_group_that_loses_a_right_in_its_first_slot_never_starts(
    stage: World,
) -> None:
    left, right = stage.take("left", A), stage.take("right", B)
    stage.receive(Clip(left, [A]), tag(50))
    stage.receive(Clip(right, [B]), tag(50))
    stage.between = lambda: stage.ledger.drop("left", stage.tick)
    stage.slot()
    assert not stage.told(GroupStarted)
    assert not stage.told(Executed)
    assert [event.reason for event in stage.told(StreamEnded)] == [
        EndReason.REVOKED
    ] * 2


def test_right_of_a_stream_with_empty_items_is_checked(stage: World) -> None:
    """The group ends although the stream has nothing to write."""
    left, right = stage.take("left", A), stage.take("right", B)
    motion = stage.receive(Clip(left, [A], 9), tag(50))
    stage.receive(Clip(right, [B], 9, unit=LIGHT, empty=range(1, 9)), tag(50))
    stage.slots(3)
    stage.ledger.release(right, stage.tick)
    stage.slot()
    assert (motion.reason, motion.detail) == (EndReason.REVOKED, f"{B}: RELEASED")


def test_finished_member_no_longer_needs_its_right(stage: World) -> None:
    left, right = stage.take("left", A), stage.take("right", B)
    short = stage.receive(Clip(left, [A], 1), tag(50))
    long = stage.receive(Clip(right, [B], 3), tag(50))
    stage.slot()
    stage.ledger.release(left, stage.tick)
    stage.slots(2)
    assert short.is_done
    assert long.is_done


@pytest.mark.requirement("SY-18", "I-23")
def test_deletion_of_a_running_group_revokes_it(stage: World) -> None:
    receipts = [stage.receive(stage.clip([x], 9), tag(50)) for x in (A, B)]
    stage.slots(2)
    late = stage.receive(stage.clip([C]), tag(1))
    assert late.refused is NotReceived.GROUP_STARTED
    assert stage.transmitter.delete_group(HELLO, stage.tick)
    stage.slots(3)
    assert [receipt.sent for receipt in receipts] == [2, 2]
    assert {receipt.reason for receipt in receipts} == {EndReason.REVOKED}
    assert len(stage.robot.commands) == 2


def test_two_groups_run_side_by_side(stage: World) -> None:
    for group, leaves in (("one", LEAVES[:2]), ("two", LEAVES[2:4])):
        stage.receive(stage.clip([leaves[0]], 2, unit=LIGHT), tag(50, group))
        stage.receive(stage.clip([leaves[1]], 2, unit=MOTION), tag(50, group))
    stage.slots(2)
    assert stage.sent() == [
        (2, 0),
        (4, 0),
        (1, 0),
        (3, 0),
        (2, 1),
        (4, 1),
        (1, 1),
        (3, 1),
    ]


def test_group_begins_from_the_present_set_points(stage: World) -> None:
    first, second = stage.clip([A], 3), stage.clip([A], 3)
    before = stage.receive(first)
    stage.receive(second, tag(100), after=before)
    stage.slots(4)
    assert first.begun[0][A] == -0.5
    assert second.begun[0][A] == first.angle(2)


@pytest.mark.requirement("I-23")
def test_item_of_an_unflushed_slot_is_sent_in_the_next(
    stage: World,
) -> None:
    """For example after an error of the robot; the slot is repeated."""
    receipt = stage.receive(stage.clip([A], 3), tag(100))
    stage.transmitter.step(stage.tick)
    stage.slots(3)
    assert receipt.is_done
    assert stage.sent() == [(1, 0), (1, 1), (1, 2)]
    assert receipt.state is StreamState.ENDED


@pytest.mark.parametrize("lost", ["rests", "moves one of two"])
@pytest.mark.requirement("I-23")
def test_right_lost_in_the_slot_counts_for_an_empty_item(
    stage: World, lost: str
) -> None:
    """In that slot no member is written."""
    left, right = stage.take("left", A), stage.take("right", B, C)
    motion = stage.receive(Clip(left, [A], 9), tag(50))
    rest = Clip(right, [B, C], 9, unit=LIGHT, empty=range(1, 9))
    if lost != "rests":
        rest.item = lambda k: {B: rest.angle(k)}  # type: ignore[method-assign]
    light = stage.receive(rest, tag(50))
    stage.slots(3)
    stage.between = lambda: stage.ledger.release(right, stage.tick, [C])
    stage.slots(2)
    assert [motion.sent, light.sent] == [3, 3]
    assert (motion.reason, motion.detail) == (EndReason.REVOKED, f"{C}: NOT_COVERED")
    assert {event.tick for event in stage.told(Executed)} == {1, 2, 3}
