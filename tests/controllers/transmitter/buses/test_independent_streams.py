"""Independent streams start at once, with any number of waiting groups."""

import pytest

from nao_testbed.controllers.arbitration.events import Executed
from nao_testbed.controllers.transmitter.events import Sent, StreamEnded
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    NotReceived,
    StreamState,
)
from nao_testbed.models import Robot
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    Clip,
    World,
    tag,
)


@pytest.mark.requirement("SY-15", "I-24")
def test_independent_stream_passes_100_waiting_groups(stage: World) -> None:
    for n in range(100):
        stage.receive(stage.clip(["HeadYaw"]), tag(20, f"group {n}"))
    receipt = stage.receive(stage.clip(["HeadYaw"], 2))
    stage.slots(2)
    assert (receipt.started_tick, receipt.ended_tick) == (1, 2)
    assert stage.sent() == [(101, 0), (101, 1)]


@pytest.mark.requirement("I-24")
def test_later_independent_stream_replaces_one_on_its_leaf(stage: World) -> None:
    first = stage.receive(stage.clip(["HeadPitch", "HeadYaw"], 9))
    beside = stage.receive(stage.clip(["LElbowYaw"], 9))
    stage.slots(2)
    second = stage.receive(stage.clip(["HeadYaw"], 9))
    stage.slot()
    assert (first.reason, first.ended_tick) == (EndReason.REPLACED, 3)
    assert first.detail == "by stream 3"
    assert second.started_tick == 3
    assert beside.state is StreamState.RUNNING


@pytest.mark.requirement("I-23", "I-24")
def test_leaf_in_use_by_a_started_group_is_rejected(stage: World) -> None:
    """The group finishes, although the token covers the leaf for both."""
    group = [stage.receive(stage.clip([leaf], 4), tag(50)) for leaf in LEAVES[:2]]
    stage.slot()
    refused = stage.receive(stage.clip([LEAVES[1], LEAVES[2]]))
    assert refused.refused is NotReceived.IN_USE
    assert stage.receive(stage.clip([LEAVES[2]])).refused is None
    stage.slots(3)
    assert all(receipt.is_done for receipt in group)
    assert stage.receive(stage.clip([LEAVES[1]])).refused is None


@pytest.mark.requirement("SY-13", "SY-15")
def test_independent_stream_waits_for_no_leaf_and_no_bus(nao: Robot) -> None:
    """Only groups ask the bus controllers (from S5 straight to S10)."""
    stage = World.of(nao, permits=lambda bus, tick: False)
    token = stage.take("greet", *LEAVES)
    receipt = stage.receive(Clip(token, ["HeadYaw"], 1))
    stage.slot()
    assert receipt.is_done


def test_independent_stream_ends_with_its_token(stage: World) -> None:
    receipt = stage.receive(stage.clip(["HeadYaw"], 9))
    stage.slots(3)
    stage.ledger.release(stage.token, stage.tick)
    stage.slots(2)
    assert (receipt.reason, receipt.sent) == (EndReason.REVOKED, 3)
    assert receipt.detail == "HeadYaw: RELEASED"
    assert receipt.ended_tick == 4
    assert len(stage.told(Executed)) == 3


def test_stream_that_loses_its_right_before_its_slot_never_starts(
    stage: World,
) -> None:
    receipt = stage.receive(stage.clip(["HeadYaw"]))
    stage.ledger.release(stage.token, stage.tick)
    stage.slot()
    assert receipt.reason is EndReason.REVOKED
    assert receipt.started_tick is None
    assert not stage.robot.commands


def test_stream_that_loses_its_right_in_its_first_slot(stage: World) -> None:
    """The loss is between its step and the flush: no item is sent."""
    receipt = stage.receive(stage.clip(["HeadYaw"]))
    stage.between = lambda: stage.ledger.release(stage.token, stage.tick)
    stage.slot()
    assert receipt.reason is EndReason.REVOKED
    assert receipt.started_tick is None
    assert not stage.told(Sent)


def test_stream_that_cannot_begin_reports_the_reason(stage: World) -> None:
    receipt = stage.receive(stage.clip(["HeadYaw"], cannot="too far"))
    stage.slot()
    assert receipt.reason is EndReason.CANNOT_BEGIN
    assert receipt.detail == "'clip' cannot begin: too far"


def test_stream_without_items_cannot_begin(stage: World) -> None:
    receipt = stage.receive(stage.clip(["HeadYaw"], 0))
    stage.slot()
    assert receipt.reason is EndReason.CANNOT_BEGIN


def test_stream_with_an_item_out_of_range_ends(stage: World) -> None:
    clip = stage.clip(["HeadYaw"], 9)
    receipt = stage.receive(clip)
    stage.slots(2)
    clip.angle = lambda k: 99.0  # type: ignore[method-assign]  # a faulty stream
    stage.slot()
    assert receipt.reason is EndReason.CANNOT_BEGIN
    assert "99 rad" in receipt.detail
    assert receipt.sent == 2


def test_sender_can_withdraw_a_stream(stage: World) -> None:
    running = stage.receive(stage.clip(["HeadYaw"], 9))
    stage.slots(2)
    waiting = stage.receive(stage.clip(["HeadPitch"], 9))
    assert stage.transmitter.withdraw(running, stage.tick)
    assert stage.transmitter.withdraw(waiting, stage.tick)
    assert not stage.transmitter.withdraw(running, stage.tick)
    stage.slots(2)
    assert (running.reason, running.sent) == (EndReason.REVOKED, 2)
    assert (waiting.reason, waiting.sent) == (EndReason.DELETED, 0)
    assert len(stage.robot.commands) == 2


def test_stream_withdrawn_during_a_slot_is_not_written(
    stage: World,
) -> None:
    receipt = stage.receive(stage.clip(["HeadYaw"], 9))
    stage.slot()

    def withdraw() -> None:
        stage.transmitter.withdraw(receipt, stage.tick)

    stage.between = withdraw
    stage.slot()
    assert receipt.sent == 1
    assert len(stage.robot.commands) == 1
    assert len(stage.told(StreamEnded)) == 1


def test_pending_item_of_a_replaced_stream_is_not_written(stage: World) -> None:
    """The previous slot was not flushed, as if the robot had raised an error."""
    stage.receive(stage.clip(["HeadPitch", "HeadYaw"], 9))
    stage.slot()
    before = stage.target("HeadPitch")
    stage.transmitter.step(stage.tick)
    stage.tick += 1
    stage.receive(stage.clip(["HeadYaw"], 9))
    stage.slot()
    assert stage.target("HeadPitch") == before
