"""Sequences of orders: memory, interrupts, and groups."""

import gc
from weakref import ref

import pytest

from nao_testbed.controllers.transmitter.commands.order import OutputSet
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.models import Robot
from nao_testbed.models.library import Motion, Track
from tests.controllers.transmitter.commands.command_world import MOTION, Line


def test_ended_orders_of_an_endless_sequence_are_removed(nao: Robot) -> None:
    """Each follows the previous one; memory must not grow over a day."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", "All motors")
    before = last = line.submit("nod", token)
    kept = [ref(last)]
    for _ in range(20):
        before, last = last, line.submit("nod", token)
        kept.append(ref(last))
        while not before.is_over:
            line.slot()
    del before
    line.slot()
    gc.collect()
    assert [one() for one in kept] == [None] * 20 + [last]


@pytest.mark.requirement("SY-1", "SY-4")
def test_order_follows_the_motion_resumed_after_an_interrupt(nao: Robot) -> None:
    """Following the interrupt would replace the motion that is to resume."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", "All motors")
    nod = line.submit("nod", token)
    line.slots(10)
    track = Track(joint="HeadPitch", times_s=(0.3,), angles=(0.3,))
    look = OutputSet(name="look", motion=Motion(name="look", tracks=(track,)))
    line.interrupt(look, token)
    line.slots(5)
    again = line.submit("nod", token)
    line.slots(250)
    assert nod.reason is again.reason is EndReason.DONE
    assert again.follows is nod.streams[MOTION]
    assert again.dead_slots == 0


@pytest.mark.parametrize("later", [0, 5, 50])
@pytest.mark.requirement("SY-8", "I-23")
def test_same_order_twice_in_one_group_is_rejected(nao: Robot, later: int) -> None:
    """The second order cannot follow its own group.

    Before the start the whole group is rejected, later only the second order.
    """
    line = Line.of(nao, posture="Stand")
    first = line.submit("greet", group="both")
    line.slots(later)
    second = line.submit("greet", group="both")
    line.slots(200)
    assert second.reason is EndReason.REJECTED
    has_started = later == 50
    assert first.reason is (EndReason.DONE if has_started else EndReason.REJECTED)
    line.slots(1000)
    third = line.submit("greet", group="both")
    line.slots(200)
    assert third.reason is EndReason.DONE, "the ID is free again"


@pytest.mark.requirement("SY-8")
def test_two_motions_of_one_group_start_together(nao: Robot) -> None:
    """Both depend on the posture, but neither waits for the other."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", "All motors")
    library = line.controller.library
    handles = [
        line.submit(
            OutputSet(name=name, motion=library.motion(name), points={MOTION: 50}),
            token,
            group="both",
        )
        for name in ("wave", "bow")
    ]
    line.slots(200)
    assert [handle.reason for handle in handles] == [EndReason.DONE] * 2
    assert handles[0].started_tick == handles[1].started_tick
