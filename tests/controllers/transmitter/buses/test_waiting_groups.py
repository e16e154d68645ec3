"""A group waits until its points sum to the preset; before, nothing is sent."""

import gc
import sys
from collections.abc import Callable, Sequence

import pytest

from nao_testbed.controllers.transmitter.events import GroupCompleted, Sent, StreamEnded
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    Receipt,
    StreamState,
    SyncTag,
    count_tag,
)
from nao_testbed.models import Robot
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    LIGHT,
    SOUND,
    Clip,
    World,
    tag,
)

HELLO = GroupKey(100, "hello")


def clips_of(stage: World, n: int) -> list[Clip]:
    return [stage.clip([leaf]) for leaf in LEAVES[:n]]


def reasons(receipts: Sequence[Receipt]) -> set[EndReason | None]:
    return {receipt.reason for receipt in receipts}


@pytest.mark.requirement("SY-8", "SY-14", "I-23")
def test_group_waits_at_99_points_and_starts_with_the_last_one(stage: World) -> None:
    clips = clips_of(stage, 3)
    receipts = [
        stage.receive(clip, tag(points))
        for clip, points in zip(clips, (90, 9), strict=False)
    ]
    stage.slots(5)
    assert not stage.robot.commands
    assert {receipt.state for receipt in receipts} == {StreamState.WAITING}
    receipts.append(stage.receive(clips[2], tag(1)))
    stage.slot()
    assert {receipt.started_tick for receipt in receipts} == {6}
    assert len(stage.robot.commands) == 1
    assert [stage.target(leaf) for leaf in LEAVES[:3]] == [x.angle(0) for x in clips]


def test_groups_now_lists_waiting_and_running_groups(stage: World) -> None:
    clips = [*clips_of(stage, 2), stage.clip(LEAVES[:1])]
    groups = stage.transmitter.groups
    assert groups.now() == ()
    stage.receive(clips[0], tag(60))
    (one,) = groups.now()
    assert (one.name, one.state, one.points) == (str(HELLO), "incomplete", 60)
    assert (one.preset, one.leaves) == (100, (LEAVES[0],))
    assert one.due_tick is not None
    stage.receive(clips[1], tag(40))
    stage.slot()
    later = GroupKey(100, "later")
    stage.receive(clips[2], SyncTag(group="later", points=100, preset=100))
    stage.slot()
    running, waiting = groups.now()
    assert (running.state, running.waits_for) == ("running", ())
    assert (waiting.name, waiting.state) == (str(later), "waiting")
    assert waiting.waits_for == (str(HELLO),)
    stage.slots(20)
    assert groups.now() == ()


@pytest.mark.requirement("SY-7")
def test_group_by_count_starts_with_its_last_member(stage: World) -> None:
    receipts = [
        stage.receive(clip, count_tag("hello", 3)) for clip in clips_of(stage, 3)
    ]
    stage.slot()
    assert {receipt.started_tick for receipt in receipts} == {1}


def test_single_stream_with_all_points_is_a_group(stage: World) -> None:
    receipt = stage.receive(stage.clip(["HeadYaw"], 2), tag(100))
    stage.slots(2)
    assert receipt.is_done


@pytest.mark.requirement("SY-11")
def test_memory_holds_id_and_points_of_each_converter(stage: World) -> None:
    """Areas 10521 and 10522 of CN1396856, and the streams buffered by the units."""
    light, sound = (
        stage.clip(["HeadYaw"], unit=LIGHT),
        stage.clip(["HeadPitch"], unit=SOUND),
    )
    stage.receive(light, tag(10))
    stage.receive(sound, tag(70))
    group = stage.transmitter.groups.find(HELLO)
    assert group is not None
    assert [
        (one.bus, one.stream.unit, one.number, one.tag and one.tag.points)
        for one in group.streams
    ] == [("main", LIGHT, 1, 10), ("main", SOUND, 2, 70)]
    assert group.points == 80
    stage.receive(stage.clip(["LWristYaw"]), tag(20))
    stage.slots(3)
    assert stage.transmitter.groups.find(HELLO) is None


@pytest.mark.requirement("SY-8", "I-23")
def test_points_above_the_preset_reject_the_whole_group(stage: World) -> None:
    first, second, third = clips_of(stage, 3)
    waiting = [stage.receive(first, tag(50)), stage.receive(second, tag(49))]
    late = stage.receive(third, tag(2))
    assert late.refused is NotReceived.GROUP_EXCEEDS
    assert reasons([*waiting, late]) == {EndReason.REJECTED}
    assert waiting[0].detail == "GROUP_EXCEEDS by stream 3"
    stage.slots(3)
    assert not stage.robot.commands


def test_extra_member_rejects_a_complete_group(stage: World) -> None:
    """Before it has started."""
    receipts = [
        stage.receive(clip, tag(points))
        for clip, points in zip(clips_of(stage, 3), (50, 50, 1), strict=True)
    ]
    assert receipts[2].refused is NotReceived.GROUP_EXCEEDS
    stage.slots(2)
    assert reasons(receipts) == {EndReason.REJECTED}
    assert not stage.robot.commands


@pytest.mark.parametrize("is_same", [True, False])
@pytest.mark.requirement("SY-8", "I-23")
def test_duplicate_member_rejects_the_whole_group(stage: World, is_same: bool) -> None:
    """The same stream again, or another one for the same leaf."""
    clip = stage.clip(["HeadYaw"])
    first = stage.receive(clip, tag(20))
    again = clip if is_same else stage.clip(["HeadPitch", "HeadYaw"])
    second = stage.receive(again, tag(20))
    assert second.refused is NotReceived.DOUBLED_MEMBER
    assert reasons([first, second]) == {EndReason.REJECTED}


@pytest.mark.requirement("SY-17", "I-24")
def test_points_count_only_towards_their_own_preset(stage: World) -> None:
    a, b, c, d = clips_of(stage, 4)
    ninety = stage.receive(a, tag(90))
    four = stage.receive(b, tag(4, preset=10))
    six = stage.receive(c, tag(6, preset=10))
    stage.slot()
    assert (four.started_tick, six.started_tick) == (1, 1)
    assert ninety.state is StreamState.WAITING
    ten = stage.receive(d, tag(10))
    stage.slot()
    assert (ninety.started_tick, ten.started_tick) == (2, 2)


@pytest.mark.requirement("SY-14", "I-23")
def test_incomplete_group_expires(stage: World) -> None:
    """After 10 slots from its first member; late members are rejected."""
    first, second, third, fourth = clips_of(stage, 4)
    waiting = [stage.receive(first, tag(20))]
    stage.slots(5)
    waiting.append(stage.receive(second, tag(20)))
    stage.slots(5)
    assert {receipt.state for receipt in waiting} == {StreamState.WAITING}
    stage.slot()
    assert reasons(waiting) == {EndReason.EXPIRED}
    assert {receipt.ended_tick for receipt in waiting} == {11}
    assert waiting[0].detail == "not complete within 0.1 s"
    assert {event.reason for event in stage.told(StreamEnded)} == {EndReason.EXPIRED}
    late = stage.receive(third, tag(60))
    assert late.refused is NotReceived.GROUP_DELETED
    stage.slots(10)
    assert stage.receive(fourth, tag(60)).refused is None
    assert not stage.robot.commands


def test_last_member_may_arrive_in_the_last_slot(stage: World) -> None:
    """Calls precede the timers of a tick."""
    first, second = clips_of(stage, 2)
    stage.receive(first, tag(20))
    stage.slots(10)
    assert stage.tick == 11
    receipt = stage.receive(second, tag(80))
    stage.slot()
    assert receipt.started_tick == 11


def test_member_after_a_gap_in_time_finds_its_group_expired(stage: World) -> None:
    """No slot was run in between."""
    first, second = clips_of(stage, 2)
    waiting = stage.receive(first, tag(20))
    stage.tick = 15
    late = stage.receive(second, tag(80))
    assert waiting.reason is EndReason.EXPIRED
    assert late.refused is NotReceived.GROUP_DELETED


@pytest.mark.requirement("SY-18", "I-23")
def test_deleted_group_is_never_sent(stage: World) -> None:
    first, second, third = clips_of(stage, 3)
    receipts = [stage.receive(first, tag(50)), stage.receive(second, tag(50))]
    assert stage.told(GroupCompleted)
    assert stage.transmitter.is_under_way(HELLO, stage.tick)
    assert stage.transmitter.delete_group(HELLO, stage.tick)
    assert stage.transmitter.is_under_way(HELLO, stage.tick)
    assert not stage.transmitter.delete_group(HELLO, stage.tick)
    assert reasons(receipts) == {EndReason.DELETED}
    late = stage.receive(third, tag(50))
    assert late.refused is NotReceived.GROUP_DELETED
    stage.slots(12)
    assert not stage.robot.commands
    assert not stage.told(Sent)
    assert not stage.transmitter.is_under_way(HELLO, stage.tick)


def test_withdrawal_of_a_member_ends_its_group(stage: World) -> None:
    first, second = clips_of(stage, 2)
    receipts = [stage.receive(first, tag(50)), stage.receive(second, tag(40))]
    assert stage.transmitter.withdraw(receipts[1], stage.tick)
    assert reasons(receipts) == {EndReason.DELETED}
    assert not stage.transmitter.withdraw(receipts[0], stage.tick)


@pytest.mark.requirement("SY-8")
def test_stream_without_a_right_is_rejected_alone(stage: World) -> None:
    first, second, _ = clips_of(stage, 3)
    receipt = stage.receive(first, tag(20))
    other = World.of(stage.robot.robot).take("greet", "HeadYaw")
    refused = stage.receive(Clip(other, [LEAVES[0]]), tag(90))
    assert refused.refused is NotReceived.NO_TOKEN
    assert refused.detail == f"{LEAVES[0]}: UNKNOWN"
    assert receipt.state is StreamState.WAITING
    stage.receive(second, tag(80))
    stage.slot()
    assert receipt.started_tick == 1


def test_stream_cannot_be_received_twice(stage: World) -> None:
    clip = stage.clip(["HeadYaw"])
    assert stage.receive(clip).refused is None
    assert stage.receive(clip).refused is NotReceived.UNDER_WAY
    assert stage.receive(clip, tag(20)).refused is NotReceived.UNDER_WAY


def calls_of(do: Callable[[], None]) -> int:
    """Return the number of function calls."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    gc.disable()  # its callbacks would be counted
    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.requirement("SY-14")
def test_work_per_slot_does_not_depend_on_waiting_groups(nao: Robot) -> None:
    """Incomplete groups, and complete ones waiting for a stream or a leaf."""
    work = []
    for n in (1, 500):
        stage = World.of(nao, ttl_s=1e6, has_listeners=False)
        token = stage.take("greet", *LEAVES)
        motion = stage.receive(Clip(token, [LEAVES[0]], 99))
        for k in range(n):
            stage.receive(Clip(token, [LEAVES[1]]), tag(20, f"incomplete {k}"))
            later = tag(100, f"later {k}")
            stage.receive(Clip(token, [LEAVES[1]]), later, after=motion)
            stage.receive(Clip(token, [LEAVES[0]]), tag(100, f"busy {k}"))
        stage.slot()
        work.append(calls_of(stage.slot))
    assert work[0] == work[1]
