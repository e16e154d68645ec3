"""A stream that follows another starts in the next slot; senders get signals."""

from dataclasses import dataclass

import pytest

from nao_testbed.controllers.transmitter.receipt import EndReason, NotReceived, Receipt
from nao_testbed.models import BadInput
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    World,
    tag,
)

A, B, C, D = LEAVES[:4]


@dataclass(frozen=True)
class Given:
    """Stream that is received before a slot."""

    leaf: str
    items: int = 3
    at: int = 1
    """Slot in which it is received."""
    points: int = 0
    """0: independent."""
    preset: int = 100
    after: int = 0
    """Number of the stream that it follows; 0: none."""


Ends = tuple[int, int] | tuple[int | None, int, EndReason]
"""First and last slot of a stream, and its end reason unless it is done."""


REPLACED = EndReason.REPLACED
CASES: dict[str, tuple[list[Given], list[Ends]]] = {
    "early group starts after the initial motion": (
        [Given(A, 6), Given(B, points=50, after=1), Given(C, points=50, after=1)],
        [(1, 6), (7, 9), (7, 9)],
    ),
    "complete group that is held does not expire": (
        [Given(A, 30), Given(B, points=100, after=1)],
        [(1, 30), (31, 33)],
    ),
    "group waits for the last of several streams on other leaves": (
        [
            *(Given(A, 2), Given(B, 5)),
            *(Given(C, 1, points=50, after=1), Given(D, 1, points=50, after=2)),
        ],
        [(1, 2), (1, 5), (6, 6), (6, 6)],
    ),
    "group follows several streams on its leaves": (
        [
            *(Given(A, 3), Given(B, 5)),
            *(Given(A, points=50, after=1), Given(B, points=50, after=2)),
        ],
        [(1, 3), (1, 5), (6, 8), (6, 8)],
    ),
    "complete group starts in the slot after its leaves become free": (
        [Given(A, 7), Given(A, 2, 3, 50), Given(B, 2, 3, 50)],
        [(1, 7), (8, 9), (8, 9)],
    ),
    "ID is free again after the end of its group": (
        [Given(leaf, 2, at, 50) for at in (1, 3) for leaf in (A, B)],
        [(1, 2), (1, 2), (3, 4), (3, 4)],
    ),
    "leaf of a finished stream is free while its group runs": (
        [Given(A, 1, points=50), Given(B, 9, points=50), Given(A, 2, at=2)],
        [(1, 1), (1, 9), (2, 3)],
    ),
    "lights and sounds start during an initial motion": (
        [
            Given(A, 10),
            *(Given(A, points=20, after=1), Given(B, points=80, after=1)),
            *(Given(B, 2, at=5), Given(C, 3, at=5)),
        ],
        [(1, 10), (11, 13), (11, 13), (5, 6), (5, 7)],
    ),
    "group of preset 10 runs while one of preset 100 waits": (
        [
            Given(A, 10),
            *(Given(x, points=n, after=1) for x, n in ((A, 20), (B, 10), (C, 70))),
            *(Given(B, 3, 3, 4, preset=10), Given(C, 3, 3, 6, preset=10)),
        ],
        [(1, 10), *[(11, 13)] * 3, *[(3, 5)] * 2],
    ),
    "independent streams form a chain": (
        [Given(A, 3), Given(A, 2, after=1), Given(A, 2, after=2)],
        [(1, 3), (4, 5), (6, 7)],
    ),
    "follower of a finished stream starts at once": (
        [Given(A, 2), Given(A, 2, at=5, after=1)],
        [(1, 2), (5, 6)],
    ),
    "independent follower waits for a group on its leaf": (
        [Given(A, 2), Given(B, 2, after=1), Given(B, 4, points=100)],
        [(1, 2), (5, 6), (1, 4)],
    ),
    "follower replaces a later independent stream that started before": (
        [Given(A, 3), Given(B, 2, after=1), Given(B, 9)],
        [(1, 3), (4, 5), (1, 4, REPLACED)],
    ),
    "new stream replaces a follower that would start in its slot": (
        [Given(A, 3), Given(A, 2, after=1), Given(A, 2, at=4)],
        [(1, 3), (None, 4, REPLACED), (4, 5)],
    ),
}


@pytest.mark.parametrize(("given", "ends"), CASES.values(), ids=CASES)
@pytest.mark.requirement("SY-1", "SY-14", "SY-16", "SY-17", "SY-18", "SY-22")
def test_streams_have_the_expected_slots(
    stage: World, given: list[Given], ends: list[Ends]
) -> None:
    receipts: list[Receipt] = []
    for one in given:
        stage.slots(one.at - stage.tick)
        head = tag(one.points, preset=one.preset) if one.points else None
        after = receipts[one.after - 1] if one.after else None
        receipts.append(stage.receive(stage.clip([one.leaf], one.items), head, after))
    stage.slots(40)
    found = [(one.started_tick, one.ended_tick, one.reason) for one in receipts]
    assert found == [end if len(end) == 3 else (*end, EndReason.DONE) for end in ends]


@pytest.mark.requirement("SY-2")
def test_followers_of_a_failed_stream_are_deleted(stage: World) -> None:
    """The robot is not where they begin; late members are rejected."""
    motion = stage.receive(stage.clip([A], 6))
    held = [
        stage.receive(stage.clip([B]), tag(100), after=motion),
        stage.receive(stage.clip([C]), after=motion),
    ]
    half = stage.receive(stage.clip([B]), tag(50, "half"), after=motion)
    stage.slots(2)
    stage.transmitter.withdraw(motion, stage.tick)
    assert {one.reason for one in held} == {EndReason.DELETED}
    assert held[0].detail == "stream 1, which it follows, is revoked"
    late = stage.receive(stage.clip([C]), tag(50, "half"), after=motion)
    assert late.refused is NotReceived.AFTER_FAILED
    last = stage.receive(stage.clip([C]), tag(50, "half"))
    assert {half.reason, last.reason} == {EndReason.DELETED}
    stage.slots(3)
    assert len(stage.robot.commands) == 2


def test_stream_cannot_follow_one_of_its_own_group(stage: World) -> None:
    first = stage.receive(stage.clip([A]), tag(50))
    with pytest.raises(BadInput, match="follows stream 1 of its own group"):
        stage.receive(stage.clip([B]), tag(50), after=first)


@pytest.mark.parametrize(
    ("left", "told"), [(0, 6), (1, 5), (4, 2), (5, 1), (6, 1), (99, 1)]
)
@pytest.mark.requirement("SY-3", "SY-21", "SY-22")
def test_sender_gets_one_signal_when_few_items_are_left(
    stage: World, left: int, told: int
) -> None:
    """Counted after the item of the slot was sent; 0 signals the end, once."""
    seen: list[int] = []
    stage.transmitter.receive(
        stage.clip([A], 6), None, stage.tick, signal_at=left, on_signal=seen.append
    )
    stage.slots(9)
    assert seen == [told]


@pytest.mark.requirement("SY-21")
def test_paused_or_ended_stream_gives_no_signal(stage: World) -> None:
    seen: list[int] = []
    receipt: Receipt = stage.transmitter.receive(
        stage.clip([A], 6), None, stage.tick, signal_at=3, on_signal=seen.append
    )
    stage.slots(2)
    stage.transmitter.interrupt(stage.clip([A], 4), stage.tick)
    stage.slots(4)
    assert seen == []
    stage.slot()
    assert seen == [7]
    other = stage.transmitter.receive(
        stage.clip([B], 6), None, stage.tick, signal_at=0, on_signal=seen.append
    )
    stage.slot()
    stage.transmitter.withdraw(other, stage.tick)
    stage.slots(8)
    assert receipt.is_done
    assert seen == [7]


def test_decreasing_tick_is_rejected(stage: World) -> None:
    stage.slots(3)
    with pytest.raises(BadInput, match="tick is 1, but the transmitter is at 3"):
        stage.transmitter.step(1)
    with pytest.raises(BadInput, match="tick is 2, but the transmitter is at 3"):
        stage.transmitter.receive(stage.clip([A]), None, 2)


def test_items_left_is_known_after_the_start(stage: World) -> None:
    receipt = stage.receive(stage.clip([A], 3))
    assert receipt.items_left is None
    stage.slots(2)
    assert receipt.items_left == 1
