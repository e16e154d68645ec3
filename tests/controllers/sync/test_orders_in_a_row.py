"""Orders that follow each other for ever, and what an interrupt does to the row."""

import gc

import pytest

from controllers.sync.orders.output_set import OutputSet
from controllers.sync.orders.pending_order import PendingOrder
from controllers.sync.transmitter.words import EndReason
from models import Robot
from models.library import Motion, Track
from tests.controllers.sync.pipeline_world import MOTION, Line


def test_an_endless_row_of_orders_keeps_none_that_is_over(nao: Robot) -> None:
    """Each joins on to the one before it; a day of that takes no more memory."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", "All motors")
    handles = [line.controller.submit("nod", token, line.tick)]
    for _ in range(20):
        handles.append(line.controller.submit("nod", token, line.tick))
        while not handles[-2].is_over:
            line.slot()
    line.slot()
    gc.collect()
    orders = [one for one in gc.get_objects() if type(one) is PendingOrder]
    kept = [order.handle for order in orders if order.handle in handles]
    assert kept == handles[-1:]


@pytest.mark.requirement("SY-1", "SY-4")
def test_who_follows_follows_what_goes_on_after_an_interrupt(nao: Robot) -> None:
    """Not the interrupt: it would take the place of the motion that is to go on."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", "All motors")
    nod = line.controller.submit("nod", token, line.tick)
    line.slots(10)
    track = Track(joint="HeadPitch", times_s=(0.3,), angles=(0.3,))
    look = OutputSet(name="look", motion=Motion(name="look", tracks=(track,)))
    line.controller.interrupt(look, token, line.tick)
    line.slots(5)
    again = line.controller.submit("nod", token, line.tick)
    line.slots(250)
    assert nod.reason is again.reason is EndReason.DONE
    assert again.follows is nod.streams[MOTION]
    assert again.dead_slots == 0
