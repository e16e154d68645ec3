"""Commands to a posture, with light and sound, from any posture (SY-28)."""

from dataclasses import replace

import pytest

from nao_testbed.controllers.transmitter.commands.order import OutputSet
from nao_testbed.controllers.transmitter.events import (
    CommandIssued,
    GroupStarted,
    NotOrdered,
    PathChosen,
    PrepSent,
    Sent,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import Unit
from nao_testbed.testing import TraceChecker
from tests.controllers.transmitter.commands.command_world import (
    HELLO_SLOTS,
    MOTION,
    SOUND,
    Line,
)

ALL = ("All motors", "Leds", "TTS")
EXPECTED = 11
"""Expected slots until data are ready: 0.01 s, plus 0.10 s for the slowest unit."""


@pytest.mark.requirement("SY-28", "I-23")
@pytest.mark.parametrize(
    ("posture", "motion", "items"),
    [
        ("Sit", "Sit to Stand", 300),
        ("Crouch", "Crouch to Sit, Sit to Stand", 400),
        ("Stand", "stay", 1),
    ],
)
def test_path_from_the_posture_starts_with_light_and_sound(
    nao: Robot, posture: str, motion: str, items: int
) -> None:
    """One group without skew and prep command, also if already in the posture."""
    line = Line.of(nao, posture=posture)
    rise = line.submit("rise")
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
    assert line.controller.belief.posture == "Stand"
    checker = TraceChecker()
    for event in line.events:
        checker.see(event)
    assert not checker.finish()


@pytest.mark.requirement("SY-28")
def test_no_motor_is_commanded_if_already_in_the_posture(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    rise = line.submit("rise", line.take("host", "Leds", "TTS"))
    line.slots(EXPECTED + HELLO_SLOTS + 5)
    assert rise.reason is EndReason.DONE
    assert all(command.target is None for command in line.robot.commands)
    alone = line.submit(
        OutputSet(name="up", to="Stand"), line.take("other", "All motors")
    )
    line.slots(EXPECTED)
    assert alone.reason is EndReason.DONE
    assert {x.unit for x in line.told(Sent)} == set(Unit)


@pytest.mark.requirement("SY-28", "SY-3")
def test_path_begins_at_the_expected_end_of_the_previous_order(nao: Robot) -> None:
    """The bow ends in Crouch; from there two motions follow without a gap."""
    line = Line.of(nao, posture="Stand")
    bow = line.submit("bow")
    line.slots(10)
    rise = line.submit("rise")
    line.slots(60 + 400 + EXPECTED)
    assert bow.reason is EndReason.DONE
    assert (rise.reason, rise.dead_slots) == (EndReason.DONE, 0)
    assert rise.streams[MOTION].items == 400
    assert {r.started_tick for r in rise.streams.values()} == {
        (bow.ended_tick or 0) + 1
    }


@pytest.mark.requirement("SY-28")
def test_next_order_begins_where_the_path_ends(nao: Robot) -> None:
    line = Line.of(nao, posture="Sit")
    line.submit("rise")
    line.slots(50)
    greet = line.submit("greet")
    line.slots(300 + 100 + EXPECTED)
    assert (greet.reason, greet.dead_slots) == (EndReason.DONE, 0)
    assert not line.told(PrepSent), "already standing"


@pytest.mark.requirement("SY-28")
@pytest.mark.parametrize("prepares", [True, False])
def test_posture_without_a_path_is_rejected(nao: Robot, prepares: bool) -> None:
    line = Line.of(nao, posture="Sit")
    kneel = line.submit("kneel and beep", prepares=prepares)
    assert kneel.refused is NotOrdered.NO_WAY
    assert kneel.detail == (
        "'kneel and beep' goes to Crouch; no transitions lead there from Sit."
    )
    line.controller.belief.set_posture(None)
    rise = line.submit("rise", prepares=prepares)
    assert rise.refused is NotOrdered.POSTURE_UNKNOWN
    assert "'rise' goes to Stand, but the present posture is unknown" in rise.detail
    line.slots(50)
    assert not line.told(CommandIssued), "no output"


@pytest.mark.requirement("SY-28")
def test_order_needs_the_motors_of_its_path(nao: Robot) -> None:
    line = Line.of(nao, posture="Crouch")
    token = line.take("host", "LKneePitch", "Leds", "TTS")
    rise = line.submit("rise", token)
    assert rise.refused is NotOrdered.NO_TOKEN
    assert "'RKneePitch'" in rise.detail


def check_rules(line: Line) -> None:
    """Assert that the trace passes all rules."""
    checker = TraceChecker()
    for event in line.events:
        checker.see(event)
    assert not checker.finish()


@pytest.mark.requirement("SY-28", "I-26")
@pytest.mark.parametrize("prepares", [True, False])
def test_path_is_chosen_from_the_posture_at_the_time_of_issue(
    nao: Robot, prepares: bool
) -> None:
    """The robot has moved to another posture after the order."""
    line = Line.of(nao, posture="Sit", is_seen=True)
    rise = line.submit("rise", prepares=prepares)
    line.see("Crouch")
    line.slots(EXPECTED + 400 + 5)
    assert rise.reason is EndReason.DONE
    assert rise.streams[MOTION].items == 400
    (chosen,) = line.told(PathChosen)
    assert (chosen.start, chosen.end) == ("Crouch", "Stand")
    assert chosen.motions == ("Crouch to Sit", "Sit to Stand")
    line.check_rules()


@pytest.mark.requirement("SY-20", "SY-27", "I-26")
@pytest.mark.parametrize(
    ("before", "by_then"), [("Stand", "Sit"), ("Sit", "Stand"), ("Crouch", "Sit")]
)
def test_initial_motion_is_chosen_at_the_time_of_issue(
    nao: Robot, before: str, by_then: str
) -> None:
    """The initial motion is added or dropped when the posture has changed."""
    line = Line.of(nao, posture=before, is_seen=True)
    greet = line.submit("greet")
    line.see(by_then)
    line.slots(20)
    assert bool(line.ledger.lent(line.host)) is (by_then == "Sit")
    line.slots(480)
    assert greet.reason is EndReason.DONE
    preps = [prep.motions for prep in line.told(PrepSent)]
    assert preps == ([("Sit to Stand",)] if by_then == "Sit" else [])
    line.check_rules()


@pytest.mark.requirement("SY-28", "I-26")
@pytest.mark.parametrize(
    ("names", "by_then", "why"),
    [
        (ALL, None, "its present posture is unknown"),
        (("LKneePitch", "Leds", "TTS"), "Crouch", "'RKneePitch'"),
    ],
)
def test_order_without_a_path_from_the_new_posture_fails(
    nao: Robot, names: tuple[str, ...], by_then: str | None, why: str
) -> None:
    line = Line.of(nao, posture="Sit")
    rise = line.submit("rise", line.take("host", *names))
    line.controller.belief.set_posture(by_then)
    line.slots(50)
    assert rise.reason is EndReason.CANNOT_BEGIN
    assert why in rise.detail
    assert not line.told(Sent)


@pytest.mark.requirement("SY-28", "SY-8", "I-26")
@pytest.mark.parametrize("motion", ["rise", "wave"])
def test_waiting_member_fails_if_the_posture_has_changed(
    nao: Robot, motion: str
) -> None:
    """No item of the group is sent."""
    line = Line.of(nao, posture="Sit" if motion == "rise" else "Stand", is_seen=True)
    library = line.controller.library
    host, speaker = line.take("host", "All motors"), line.take("speaker", "TTS")
    moves = OutputSet(
        name="moves",
        motion=None if motion == "rise" else library.motion(motion),
        to="Stand" if motion == "rise" else None,
        points={MOTION: 30},
    )
    speaks = OutputSet(name="speaks", sound=library.sound("hello"), points={SOUND: 70})
    waits = line.submit(moves, host, group="both")
    line.slots(100)
    line.see("Crouch")
    line.submit(speaks, speaker, group="both")
    line.slots(100)
    assert waits.reason is EndReason.CANNOT_BEGIN
    begins = "Sit" if motion == "rise" else "Stand"
    assert (
        f"begins in {begins}, but the robot is now in Crouch"
        in waits.streams[MOTION].detail
    )
    assert not line.told(Sent)
    line.check_rules()


@pytest.mark.requirement("I-26")
def test_unprepared_motion_fails_in_another_observed_state(nao: Robot) -> None:
    """The sensors override the posture assumed by the sender."""
    line = Line.of(nao, posture="Stand", is_seen=True)
    line.see("Sit")
    wave = line.submit("greet", prepares=False)
    line.slots(50)
    assert wave.reason is EndReason.CANNOT_BEGIN
    assert (
        "begins in Stand, but the sensors show the robot in Sit"
        in wave.streams[MOTION].detail
    )
    line.check_rules()


@pytest.mark.requirement("SY-4", "SY-28")
def test_interrupt_can_go_to_a_posture(nao: Robot) -> None:
    """From the present posture; it is rejected between two postures."""
    line = Line.of(nao, posture="Sit", is_seen=True)
    nod = line.submit("nod")
    line.slots(5)
    up = OutputSet(name="up", to="Stand")
    rise = line.interrupt(up)
    line.slots(50)
    again = line.interrupt(up)
    assert again.refused is NotOrdered.POSTURE_UNKNOWN
    line.slots(300)
    assert rise.reason is EndReason.DONE
    assert nod.reason is EndReason.DONE
    assert line.controller.belief.posture == "Stand"
    there = line.interrupt(up)
    line.slots(5)
    assert there.reason is EndReason.DONE
    line.see("Crouch")
    elsewhere = line.interrupt(
        OutputSet(name="wave", motion=line.controller.library.motion("wave")),
    )
    line.slots(5)
    assert elsewhere.reason is EndReason.CANNOT_BEGIN
    line.check_rules()


@pytest.mark.requirement("SY-28", "SY-15")
def test_sound_without_points_does_not_wait_for_the_motion(nao: Robot) -> None:
    """Also while another motion runs and the posture is unknown."""
    line = Line.of(nao, posture="Stand")
    line.submit("bow")
    line.slots(10)
    kneel = line.submit("kneel and beep")
    line.slots(1 + EXPECTED)
    assert kneel.streams[SOUND].started_tick is not None
    line.slots(80)
    assert kneel.reason is EndReason.DONE
    assert kneel.streams[MOTION].items == 1, "already in Crouch after the bow"


def test_motion_and_posture_in_one_order_are_rejected(nao: Robot) -> None:
    library = Line.of(nao).controller.library
    with pytest.raises(BadInput, match="'x' has motion 'wave' and goes to Sit; give"):
        OutputSet(name="x", motion=library.motion("wave"), to="Sit")
    doubled = replace(library.order("greet"), to="Sit")
    with pytest.raises(BadInput, match="give one of them"):
        Line.of(nao).controller.submit(doubled, Line.of(nao).take("host", *ALL), 1)
