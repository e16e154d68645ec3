"""Commands to a posture: with light and sound, from wherever the robot is (SY-28)."""

from dataclasses import replace

import pytest

from controllers.resources.invariants import JUDGES, Checker
from controllers.sync.invariants import SYNC_JUDGES
from controllers.sync.orders.output_set import OutputSet
from controllers.sync.orders.pipeline_trace import CommandIssued, PrepSent
from controllers.sync.orders.pipeline_words import NotOrdered
from controllers.sync.transmitter.trace import GroupStarted, Sent
from controllers.sync.transmitter.words import EndReason
from models import BadInput, Robot
from models.library import Unit
from tests.controllers.sync.pipeline_world import (
    HELLO_SLOTS,
    MOTION,
    SOUND,
    Line,
)

ALL = ("All motors", "Leds", "TTS")
EXPECTED = 11
"""Slots that data are expected to take: 0.01 s, and 0.10 s for the slowest."""


@pytest.mark.requirement("SY-28", "I-23")
@pytest.mark.parametrize(
    ("posture", "motion", "items"),
    [
        ("Sit", "Sit to Stand", 300),
        ("Crouch", "Crouch to Sit, Sit to Stand", 400),
        ("Stand", "stay", 1),
    ],
)
def test_the_way_follows_from_the_posture_and_starts_with_light_and_sound(
    nao: Robot, posture: str, motion: str, items: int
) -> None:
    """One group, skew 0, without a prep command; already there it is whole, too."""
    line = Line.of(nao, posture=posture)
    rise = line.controller.submit("rise", line.take("host", *ALL), line.tick)
    line.slots(EXPECTED + max(items, HELLO_SLOTS) + 5)
    assert rise.reason is EndReason.DONE
    assert not line.told(PrepSent)
    assert rise.initial is None
    assert {r.started_tick for r in rise.streams.values()} == {1 + EXPECTED}
    (started,) = line.told(GroupStarted)
    assert len(started.streams) == 3
    issued = {e.unit: (e.name, e.points) for e in line.told(CommandIssued)}
    assert issued[MOTION] == (motion, 20)
    assert len(line.sent_ticks(rise.streams[MOTION].number)) == items
    assert line.controller.present_posture == "Stand"
    checker = Checker((*JUDGES, *SYNC_JUDGES))
    for event in line.events:
        checker.see(event)
    assert not checker.finish()


@pytest.mark.requirement("SY-28")
def test_already_there_no_motor_is_told_anything(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    rise = line.controller.submit("rise", line.take("host", "Leds", "TTS"), line.tick)
    line.slots(EXPECTED + HELLO_SLOTS + 5)
    assert rise.reason is EndReason.DONE
    assert all(command.target is None for command in line.robot.commands)
    alone = line.controller.submit(
        OutputSet(name="up", to="Stand"), line.take("other", "All motors"), line.tick
    )
    line.slots(EXPECTED)
    assert alone.reason is EndReason.DONE
    assert {x.unit for x in line.told(Sent)} == set(Unit)


@pytest.mark.requirement("SY-28", "SY-3")
def test_after_another_order_the_way_begins_at_its_expected_end(nao: Robot) -> None:
    """Bowing ends in Crouch; from there it is two motions, without a gap."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", *ALL)
    bow = line.controller.submit("bow", token, line.tick)
    line.slots(10)
    rise = line.controller.submit("rise", token, line.tick)
    line.slots(60 + 400 + EXPECTED)
    assert bow.reason is EndReason.DONE
    assert (rise.reason, rise.dead_slots) == (EndReason.DONE, 0)
    assert rise.streams[MOTION].items == 400
    assert {r.started_tick for r in rise.streams.values()} == {
        (bow.ended_tick or 0) + 1
    }


@pytest.mark.requirement("SY-28")
def test_another_order_begins_where_it_ends(nao: Robot) -> None:
    line = Line.of(nao, posture="Sit")
    token = line.take("host", *ALL)
    line.controller.submit("rise", token, line.tick)
    line.slots(50)
    greet = line.controller.submit("greet", token, line.tick)
    line.slots(300 + 100 + EXPECTED)
    assert (greet.reason, greet.dead_slots) == (EndReason.DONE, 0)
    assert not line.told(PrepSent), "it stands then"


@pytest.mark.requirement("SY-28")
@pytest.mark.parametrize("prepares", [True, False])
def test_it_is_refused_where_no_way_leads_there(nao: Robot, prepares: bool) -> None:
    line = Line.of(nao, posture="Sit")
    token = line.take("host", *ALL)
    kneel = line.controller.submit(
        "kneel and beep", token, line.tick, prepares=prepares
    )
    assert kneel.refused is NotOrdered.NO_WAY
    assert kneel.detail == (
        "'kneel and beep' goes to Crouch; no transitions lead there from Sit."
    )
    line.controller.tell_posture(None)
    rise = line.controller.submit("rise", token, line.tick, prepares=prepares)
    assert rise.refused is NotOrdered.POSTURE_UNKNOWN
    assert "'rise' goes to Stand, and the present posture is not known" in rise.detail
    line.slots(50)
    assert not line.told(CommandIssued), "nothing of it"


@pytest.mark.requirement("SY-28")
def test_it_needs_the_motors_of_the_way(nao: Robot) -> None:
    line = Line.of(nao, posture="Crouch")
    token = line.take("host", "LKneePitch", "Leds", "TTS")
    rise = line.controller.submit("rise", token, line.tick)
    assert rise.refused is NotOrdered.NO_TOKEN
    assert "'RKneePitch'" in rise.detail


@pytest.mark.requirement("SY-28")
def test_a_robot_that_is_elsewhere_by_then_is_not_moved(nao: Robot) -> None:
    line = Line.of(nao, posture="Sit")
    rise = line.controller.submit("rise", line.take("host", *ALL), line.tick)
    line.controller.tell_posture("Crouch")
    line.slots(50)
    assert rise.reason is EndReason.CANNOT_BEGIN
    assert "begins in Sit, and the robot is in Crouch now" in rise.detail
    assert not line.told(Sent)


@pytest.mark.requirement("SY-28", "SY-15")
def test_without_points_its_sound_waits_for_nothing(nao: Robot) -> None:
    """While the robot moves as somebody else told it, where nobody knows."""
    line = Line.of(nao, posture="Stand")
    token = line.take("host", *ALL)
    line.controller.submit("bow", token, line.tick)
    line.slots(10)
    kneel = line.controller.submit("kneel and beep", token, line.tick)
    line.slots(1 + EXPECTED)
    assert kneel.streams[SOUND].started_tick is not None
    line.slots(80)
    assert kneel.reason is EndReason.DONE
    assert kneel.streams[MOTION].items == 1, "it bowed to Crouch"


def test_a_motion_and_a_posture_are_one_too_many(nao: Robot) -> None:
    library = Line.of(nao).controller.library
    with pytest.raises(BadInput, match="'x' has motion 'wave' and goes to Sit; give"):
        OutputSet(name="x", motion=library.motion("wave"), to="Sit")
    doubled = replace(library.order("greet"), to="Sit")
    with pytest.raises(BadInput, match="give one of them"):
        Line.of(nao).controller.submit(doubled, Line.of(nao).take("host", *ALL), 1)
