"""Orders: rejection, sequence, and end."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.commands.order import (
    OutputSet,
    PlacedOrder,
    look_up,
)
from nao_testbed.controllers.transmitter.commands.planning import find_way
from nao_testbed.controllers.transmitter.commands.timing import Enable
from nao_testbed.controllers.transmitter.events import (
    NotOrdered,
    OrderReceived,
    PrepSent,
    Sent,
    StreamReceived,
)
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    StreamState,
    SyncTag,
)
from nao_testbed.controllers.transmitter.streams import effector_leaves
from nao_testbed.controllers.transmitter.streams.light_and_sound_streams import (
    LightStream,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.library import (
    Library,
    LightPattern,
    LightStep,
    Motion,
    Order,
    Sound,
    Track,
    Transition,
    Unit,
)
from nao_testbed.testing import TraceChecker
from tests.controllers.transmitter.commands.command_world import (
    LIGHT,
    MOTION,
    SOUND,
    Line,
    library_of,
)
from tests.messages import Messages, each

ALL = ("All motors", "Leds", "TTS")


def token_of_each(line: Line) -> dict[Unit, Token]:
    """Return a token per output of a greeting, each of a different owner."""
    return {
        MOTION: line.take("arm", "Right arm"),
        LIGHT: line.take("lamp", "Leds"),
        SOUND: line.take("mouth", "TTS"),
    }


def is_silent(line: Line) -> bool:
    """Return True if nothing is sent in the next slots."""
    before = len(line.told(Sent))
    line.slots(20)
    return len(line.told(Sent)) == before


# -- rejected --------------------------------------------------------------------------


def test_unknown_motor_or_led_is_rejected_by_name(nao: Robot) -> None:
    line = Line.of(nao)
    track = Track(joint="RHipYawPitch", times_s=(1.0,), angles=(0.0,))
    hip = OutputSet(name="hip", motion=Motion(name="hip", tracks=(track,)))
    with pytest.raises(UnknownName, match=r"Motor 'RHipYawPitch'.*'LHipYawPitch'"):
        line.submit(hip)
    step = LightStep(at_s=0.0, leds=("HeadYaw",), colour=(1.0, 0.0, 0.0))
    glow = LightPattern(name="glow", steps=(step,), length_s=0.0)
    with pytest.raises(UnknownName, match="LED 'HeadYaw'"):
        line.submit(OutputSet(name="glow", light=glow))


@pytest.mark.parametrize(
    ("names", "leaf"),
    [
        (("All motors", "Leds"), "sound commands 'TTS'"),
        (("All motors", "TTS"), "light commands 'Left eye'"),
        (("Right arm", "Leds", "TTS"), "motion commands 'LKneePitch'"),
    ],
)
def test_order_without_the_right_to_all_devices_is_rejected(
    nao: Robot, names: tuple[str, ...], leaf: str
) -> None:
    line = Line.of(nao)
    token = line.take("host", *names)
    handle = line.submit("greet", token)
    assert handle.refused is NotOrdered.NO_TOKEN
    assert leaf in handle.detail
    assert (handle.is_over, handle.has_failed) == (True, True)
    assert handle.reason is EndReason.REJECTED
    line.slots(30)
    assert not line.told(StreamReceived)
    (told,) = line.told(OrderReceived)
    assert told.refused is NotOrdered.NO_TOKEN


def test_each_unit_may_have_its_own_token(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    tokens = token_of_each(line)
    handle = line.submit("greet", tokens)
    assert handle.refused is None
    line.slots(130)
    assert handle.reason is EndReason.DONE
    del tokens[LIGHT]
    lacking = line.submit("greet", tokens)
    assert lacking.refused is NotOrdered.NO_TOKEN


def test_order_from_unknown_or_unconnected_posture_is_rejected(nao: Robot) -> None:
    line = Line.of(nao, posture=None)
    handle = line.submit("greet")
    assert handle.refused is NotOrdered.POSTURE_UNKNOWN
    line.controller.belief.set_posture("LyingBack")
    handle = line.submit("greet")
    assert handle.refused is NotOrdered.NO_WAY
    assert "no transitions lead there from LyingBack" in handle.detail
    line.controller.belief.set_posture("Stand")
    assert line.submit("greet").refused is None


def test_sound_without_a_loudspeaker_is_rejected(nao: Robot) -> None:
    branches = [x for x in nao.resources.children if x.name != "Audio"]
    tree = dataclasses.replace(nao.resources, children=tuple(branches))
    line = Line.of(dataclasses.replace(nao, resources=tree), posture="Stand")
    token = line.take("host", "All motors", "Leds")
    handle = line.submit("greet", token)
    assert handle.refused is NotOrdered.NO_DEVICE
    assert line.submit("blink", token).refused is None


# -- path ------------------------------------------------------------------------------


def library_with(*ways: tuple[str, str, float]) -> Library:
    def motion(name: str, length_s: float) -> Motion:
        track = Track(joint="HeadYaw", times_s=(length_s,), angles=(0.0,))
        return Motion(name=name, tracks=(track,))

    return Library(
        motions={f"{a}-{b}": motion(f"{a}-{b}", length_s) for a, b, length_s in ways},
        transitions=tuple(
            Transition(start=a, end=b, motion=f"{a}-{b}") for a, b, _ in ways
        ),
    )


@pytest.mark.requirement("SY-19", "SY-20")
def test_path_is_the_shortest_in_time() -> None:
    library = library_with(
        ("Sit", "Stand", 9.0),
        ("Sit", "Crouch", 2.0),
        ("Crouch", "Stand", 2.0),
        ("Stand", "Sit", 1.0),
        ("Crouch", "Sit", 1.0),
    )

    def names(start: str, end: str) -> list[str] | None:
        way = find_way(library, start, end)
        return None if way is None else [step.motion for step in way]

    assert names("Sit", "Stand") == ["Sit-Crouch", "Crouch-Stand"]
    assert names("Stand", "Crouch") == ["Stand-Sit", "Sit-Crouch"]
    assert names("Sit", "Sit") == []
    assert names("Sit", "Belly") is None
    assert names("Belly", "Sit") is None


def test_path_of_equal_length_with_fewer_motions_is_chosen() -> None:
    ways = (("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 2.0))
    way = find_way(library_with(*ways), "a", "c")
    assert way is not None
    assert [step.motion for step in way] == ["a-c"]


@pytest.mark.requirement("SY-2", "SY-19")
def test_paths_connect_sitting_with_every_upright_posture(nao: Robot) -> None:
    upright = ("Stand", "StandInit", "StandZero", "PoseInit", "Crouch")
    for posture in upright:
        for start, end in (("Sit", posture), (posture, "Sit")):
            way = find_way(nao.library, start, end)
            assert way, f"{start} to {end}"
            assert [step.start for step in way[1:]] == [s.end for s in way[:-1]]


# -- sequence --------------------------------------------------------------------------


@pytest.mark.requirement("SY-1", "SY-3")
@pytest.mark.parametrize("later", [0, 5, 150, 300, 350])
def test_order_follows_the_motion_of_the_previous_order(nao: Robot, later: int) -> None:
    line = Line.of(nao)
    first = line.submit("greet")
    line.slots(later)
    bow = line.submit("bow")
    line.slots(600 - later)
    assert bow.follows is first.streams[MOTION]
    assert bow.dead_slots == 0
    assert bow.reason is first.reason is EndReason.DONE
    assert len(line.told(PrepSent)) == 1, "only the first order needs an initial motion"
    assert line.controller.belief.posture == "Crouch"


@pytest.mark.requirement("SY-1", "SY-20")
@pytest.mark.parametrize("enable", [Enable.EXPECTED, Enable.EARLY])
def test_initial_motion_starts_where_the_previous_motion_ends(
    nao: Robot, enable: Enable
) -> None:
    line = Line.of(nao, posture="Stand", enable=enable)
    bow = line.submit("bow")
    greet = line.submit("greet")
    line.slots(700)
    (prep,) = line.told(PrepSent)
    assert prep.start == "Crouch", "where the bow ends"
    assert greet.initial is not None
    assert bow.ended_tick is not None
    assert greet.initial.started_tick == bow.ended_tick + 1
    assert greet.dead_slots == 0
    assert greet.reason is EndReason.DONE


def test_orders_without_a_shared_motor_run_in_parallel(nao: Robot) -> None:
    line = Line.of(nao)
    line.submit("greet")
    nod = line.submit("nod")
    line.slots(50)
    assert nod.reason is EndReason.DONE
    again = line.submit("nod")
    third = line.submit("nod")
    line.slots(100)
    assert again.ended_tick is not None
    assert third.started_tick == again.ended_tick + 1, "these share a motor"


def test_followers_of_a_withdrawn_motion_are_deleted(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    first = line.submit("greet")
    second = line.submit("bow")
    line.slots(50)
    line.controller.withdraw(first, line.tick)
    line.slots(2)
    assert second.reason is EndReason.DELETED
    assert "'greet', which it follows" in second.detail
    assert line.controller.belief.posture is None, "stopped half way"
    assert is_silent(line)


def test_order_does_not_wait_for_an_order_with_a_revoked_token(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    host = line.take("host", *ALL)
    line.submit("greet", host)
    line.slots(50)
    guard = line.take("guard", "All motors", priority=9)  # revokes the host's
    track = Track(joint="RShoulderPitch", times_s=(0.5,), angles=(1.4,))
    down = OutputSet(name="arm down", motion=Motion(name="arm down", tracks=(track,)))
    saved = line.submit(down, guard)
    line.slots(60)
    assert saved.reason is EndReason.DONE
    assert line.told(OrderReceived)[-1].follows is None


def test_unprepared_order_begins_at_once_or_fails(nao: Robot) -> None:
    line = Line.of(nao, posture="Sit")
    library = line.controller.library
    wave = OutputSet(name="wave", motion=library.motion("wave"))
    played = line.submit(wave, prepares=False)
    line.slots(4)
    assert played.state is StreamState.RUNNING, "no initial motion"
    assert not line.told(PrepSent)
    leap = OutputSet(name="leap", motion=library.motion("leap"))
    failed = line.submit(leap, prepares=False)
    line.slots(5)
    assert failed.reason is EndReason.CANNOT_BEGIN
    assert "HeadYaw would move" in failed.streams[MOTION].detail


# -- ends ------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [0, 1, 100, 295, 300, 305, 330])
def test_withdrawn_order_sends_nothing_more(nao: Robot, slots: int) -> None:
    line = Line.of(nao)
    handle = line.submit("greet")
    line.slots(slots)
    line.controller.withdraw(handle, line.tick)
    assert handle.is_over
    assert handle.has_failed
    assert is_silent(line)
    moved = slots > 3
    assert line.controller.belief.posture == (None if moved else "Sit")


@pytest.mark.requirement("SY-18")
@pytest.mark.parametrize("slots", [100, 296])
def test_revoked_initial_motion_deletes_the_group(nao: Robot, slots: int) -> None:
    line = Line.of(nao)
    handle = line.submit("greet")
    line.slots(slots)
    line.take("guard", "Legs", priority=9)
    line.slots(3)
    assert handle.reason is EndReason.DELETED
    assert handle.initial is not None
    assert handle.initial.reason is EndReason.REVOKED
    assert line.controller.belief.posture is None
    assert is_silent(line)
    assert not [x for x in line.told(Sent) if x.group == "greet"]


def test_revoked_group_ends_as_a_whole(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    tokens = token_of_each(line)
    handle = line.submit("greet", tokens)
    line.slots(30)
    line.take("guard", "TTS", priority=9)
    line.slots(2)
    assert handle.reason is EndReason.REVOKED
    assert is_silent(line)


def test_member_without_a_right_ends_its_group(nao: Robot) -> None:
    """The LED token is revoked during conversion; the sound is dropped too."""
    line = Line.of(nao, posture="Stand")
    tokens = token_of_each(line)
    handle = line.submit("greet", tokens)
    line.slots(1)
    line.take("guard", "Leds", priority=9)
    line.slots(5)
    assert handle.reason is EndReason.REJECTED
    assert SOUND not in handle.streams
    assert is_silent(line)
    assert not line.told(Sent)


def test_order_can_be_withdrawn_while_it_waits_for_another(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    first = line.submit("greet")
    second = line.submit("bow")
    line.slots(20)
    line.controller.withdraw(second, line.tick)
    line.slots(150)
    assert (first.reason, second.reason) == (EndReason.DONE, EndReason.DELETED)
    assert not second.streams


def test_text_that_cannot_be_spoken_ends_its_group(nao: Robot) -> None:
    line = Line.of(nao)
    handle = line.submit("whisper")
    line.slots(20)
    assert handle.reason is EndReason.DELETED or handle.closed is EndReason.CANNOT_BEGIN
    assert "nothing to say" in handle.detail
    assert not line.told(Sent)


def test_group_of_two_orders_starts_when_both_have_arrived(nao: Robot) -> None:
    """Two behaviours, each with its share of the points."""
    line = Line.of(nao)
    library = line.controller.library
    light = OutputSet(
        name="light", light=library.light("eyes green"), points={LIGHT: 30}
    )
    sound = OutputSet(name="sound", sound=library.sound("beep"), points={SOUND: 70})
    lamp, mouth = line.take("lamp", "Leds"), line.take("mouth", "TTS")
    first = line.submit(light, lamp, group="both")
    line.slots(40)
    assert first.state is StreamState.WAITING
    second = line.submit(sound, mouth, group="both")
    line.slots(50)
    assert first.started_tick == second.started_tick == 41 + 11
    assert first.reason is second.reason is EndReason.DONE


def test_concurrent_orders_of_one_name_have_different_groups(nao: Robot) -> None:
    line = Line.of(nao)

    def order() -> PlacedOrder:
        return line.submit("greet")

    assert [order().group for _ in range(3)] == [
        GroupKey(100, name) for name in ("greet", "greet 2", "greet 3")
    ]
    line.slots(700)
    assert order().group == GroupKey(100, "greet"), "free again"


@pytest.mark.requirement("SY-4")
def test_interrupted_order_resumes_without_a_jump(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    greet = line.submit("greet")
    line.slots(40)
    track = Track(joint="RShoulderPitch", times_s=(0.5,), angles=(1.0,))
    point = OutputSet(name="point", motion=Motion(name="point", tracks=(track,)))
    interrupt = line.interrupt(point)
    line.slots(20)
    assert interrupt.state is StreamState.RUNNING
    assert greet.state is StreamState.PAUSED
    line.slots(200)
    assert interrupt.reason is greet.reason is EndReason.DONE
    shoulder = nao.joint_index("RShoulderPitch")
    assert line.robot.target[shoulder] == pytest.approx(np.radians(80))
    steps = np.abs(
        np.diff(
            [c.target[shoulder] for c in line.robot.commands if c.target is not None]
        )
    )
    assert steps.max() <= nao.joints[shoulder].max_velocity * 0.01


@pytest.mark.requirement("SY-4", "SY-18")
def test_interrupt_can_delete_a_group_before_its_conversion(nao: Robot) -> None:
    line = Line.of(nao)
    greet = line.submit("greet")
    line.slots(100)
    nod = line.interrupt("nod", delete=[GroupKey(100, "greet")])
    line.slots(400)
    assert (greet.reason, nod.reason) == (EndReason.DELETED, EndReason.DONE)
    assert not [x for x in line.told(Sent) if x.group == "greet"]
    assert line.controller.belief.posture == "Stand", "the initial motion continues"


def test_only_a_single_output_can_interrupt(nao: Robot) -> None:
    line = Line.of(nao)
    for name in ("greet", "bow and beep"):
        with pytest.raises(BadInput, match="cannot interrupt"):
            line.interrupt(name)


def test_order_can_be_built_in_code(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    order = Order(
        name="mine",
        outputs={MOTION: "nod", SOUND: "hello"},
        points={MOTION: 4, SOUND: 6},
        preset=10,
    )
    handle = line.submit(order)
    line.slots(60)
    assert (handle.group, handle.reason) == (GroupKey(10, "mine"), EndReason.DONE)


@pytest.mark.requirement("SY-2", "I-26")
def test_custom_motion_must_end_in_its_declared_posture(nao: Robot) -> None:
    """Same check as for library motions: a nod does not change the posture."""
    line = Line.of(nao, posture="Stand", checks_ends=True)
    token = line.take("host", "All motors")
    nod = Motion(
        name="nod",
        tracks=(Track(joint="HeadPitch", times_s=(0.2,), angles=(0.05,)),),
        start="Stand",
        end="Sit",
    )
    for prepares in (True, False):
        with pytest.raises(BadInput, match="'nod': the motion does not end in Sit: "):
            line.submit(OutputSet(name="sit", motion=nod), token, prepares=prepares)
    with pytest.raises(BadInput, match="the motion does not end in Sit: "):
        line.interrupt(OutputSet(name="sit", motion=nod), token)
    anywhere = OutputSet(name="sit", motion=dataclasses.replace(nod, start=None))
    handle = line.submit(anywhere, token)
    line.slots(30)
    assert handle.reason is EndReason.CANNOT_BEGIN
    assert "does not end in Sit" in handle.streams[MOTION].detail
    assert line.controller.belief.posture == "Stand"


@pytest.mark.requirement("SY-2")
def test_partial_motion_may_end_in_a_posture_already_reached(nao: Robot) -> None:
    """The last part of a dance moves few joints; the others are in the posture."""
    line = Line.of(nao, posture="Stand", checks_ends=True)
    token = line.take("host", "All motors")
    line.gate.submit_set_points(token, nao.posture("Stand").angles)
    line.slot()
    pitch = float(nao.posture("Stand").angles[nao.joint_index("HeadPitch")])
    nod = Motion(
        name="nod 2/2",
        tracks=(Track(joint="HeadPitch", times_s=(0.2,), angles=(pitch,)),),
        end="Stand",
    )
    part = OutputSet(name="nod 2/2", motion=nod)
    handle = line.submit(part, token, prepares=False)
    line.slots(30)
    assert handle.reason is EndReason.DONE
    assert line.controller.belief.posture == "Stand"


@pytest.mark.requirement("I-14", "AR-11")
def test_command_without_a_token_is_rejected(nao: Robot) -> None:
    """As an order; a stream without a token raises an error."""
    line = Line.of(nao, posture="Stand")
    nobody: Any = None
    for command in ("greet", "blink"):
        handle = line.controller.submit(command, nobody, line.tick)
        assert handle.refused is NotOrdered.NO_TOKEN
    assert (
        line.controller.interrupt("blink", nobody, line.tick).refused
        is NotOrdered.NO_TOKEN
    )
    stream = LightStream(
        line.controller.library.light("eyes green"),
        nobody,
        effector_leaves(nao),
        0.01,
    )
    for tag in (None, SyncTag(group="g", points=50)):
        with pytest.raises(BadInput, match="token of 'eyes green' is None"):
            line.transmitter.receive(stream, tag, line.tick)
    with pytest.raises(BadInput, match="token of 'eyes green' is None"):
        line.transmitter.interrupt(stream, line.tick)


@pytest.mark.requirement("I-24")
def test_forged_stream_is_marked_as_not_genuine(nao: Robot) -> None:
    """The token has the number of a valid one; the trace shows the difference."""
    line = Line.of(nao, posture="Stand")
    checker = TraceChecker()
    for event in line.events:
        checker.see(event)
    line.ledger.listeners.append(checker.see)
    token = line.take("host", "Leds")
    forged = token._replace(secret=token.secret ^ 1)
    pattern = line.controller.library.light("eyes green")
    stream = LightStream(pattern, forged, effector_leaves(nao), 0.01)
    receipt = line.transmitter.receive(stream, None, line.tick)
    line.slots(3)
    assert receipt.refused is not None
    assert not line.told(StreamReceived)[-1].is_genuine
    assert not checker.finish()


def test_messages(messages: Messages, nao: Robot) -> None:
    messages(
        unknown_command=lambda: Line.of(nao).submit("great"),
        invalid_points=each(
            lambda points: OutputSet(
                name="x", sound=Sound(name="x", text="x"), points=points
            ),
            points=[{LIGHT: 100}, {SOUND: 101}],
        ),
        command_without_outputs=lambda: OutputSet(name="x"),
        unknown_output=lambda: look_up(
            Order(name="x", outputs={MOTION: "wav"}), library_of(nao)
        ),
    )
