"""From a command to its data on the bus: initial motion and the group after it."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import (
    Granted,
    Lent,
    Revoked,
    event_from_line,
    event_to_line,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.transmitter.commands.order import (
    OrderStage,
    OutputSet,
    PlacedOrder,
    look_up,
)
from nao_testbed.controllers.transmitter.commands.timing import (
    CONVERSION_S,
    CommandControllerCfg,
    Enable,
)
from nao_testbed.controllers.transmitter.events import (
    CommandIssued,
    Converted,
    GroupStarted,
    OrderEnded,
    OrderReceived,
    PartStarted,
    PrepSent,
    Sent,
    StreamReceived,
    SyncReceiveEnabled,
    TransmitEnabled,
)
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    StreamState,
    SyncTag,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import Unit
from tests.controllers.transmitter.commands.command_world import (
    HELLO_SLOTS,
    LIGHT,
    MOTION,
    SOUND,
    Line,
    library_of,
)

ALL = ("All motors", "Leds", "TTS")
INITIAL = 300
"""Slots of the path from Sit to Stand."""
EXPECTED = 11
"""Expected slots until data are ready: 0.01 s, plus 0.10 s for the slowest unit."""
GREET = GroupKey(100, "greet")


def greet(nao: Robot, slots: int = 500, **how: Any) -> tuple[Line, PlacedOrder]:
    """Submit the greeting to a sitting robot, which stands up first."""
    line = Line.of(nao, **how)
    handle = line.submit("greet")
    line.slots(slots)
    return line, handle


# -- stages ---------------------------------------------------------------------------


def test_order_passes_its_stages_in_order(nao: Robot) -> None:
    line = Line.of(nao)
    greet, bow = line.submit("greet"), line.submit("bow")
    refused = line.controller.submit("nod", {}, line.tick)
    stages: list[list[OrderStage]] = [[greet.stage], [bow.stage]]
    for _ in range(500):
        line.slot()
        for order, passed in zip((greet, bow), stages, strict=True):
            if order.stage is not passed[-1]:
                passed.append(order.stage)
    assert stages == [
        [OrderStage.PREPARING, OrderStage.ISSUING, OrderStage.OVER],
        [OrderStage.FOLLOWING, OrderStage.ISSUING, OrderStage.OVER],
    ]
    assert refused.stage is OrderStage.OVER


# -- time of transmit-enable -----------------------------------------------------------


@pytest.mark.requirement("SY-1", "SY-2", "SY-3", "SY-22")
def test_group_starts_in_the_slot_after_the_initial_motion(nao: Robot) -> None:
    line, handle = greet(nao)
    assert handle.initial is not None
    assert handle.initial.items == INITIAL
    assert handle.initial.ended_tick is not None
    starts = {receipt.started_tick for receipt in handle.streams.values()}
    assert starts == {handle.initial.ended_tick + 1}
    assert (handle.dead_slots, handle.state) == (0, StreamState.ENDED)
    assert handle.reason is EndReason.DONE
    assert not handle.has_failed
    assert line.controller.belief.posture == "Stand"
    yaw = nao.joint_index("LKneePitch")
    assert line.robot.target[yaw] == pytest.approx(np.radians(40))


@pytest.mark.requirement("SY-22")
def test_enabling_at_the_end_makes_the_delay_dead_time(nao: Robot) -> None:
    _, handle = greet(nao, enable=Enable.AT_END)
    assert handle.dead_slots == EXPECTED


@pytest.mark.requirement("SY-22", "SY-23")
@pytest.mark.parametrize("enable", [Enable.EXPECTED, Enable.AT_END])
def test_late_sound_extends_the_dead_time_by_its_delay(
    nao: Robot, enable: Enable
) -> None:
    _, in_time = greet(nao, enable=enable)
    _, late = greet(nao, enable=enable, delays={**CONVERSION_S, SOUND: 0.5})
    assert in_time.dead_slots is not None
    assert late.dead_slots == in_time.dead_slots + 40
    starts = {receipt.started_tick for receipt in late.streams.values()}
    assert len(starts) == 1, "light and motion wait for the sound"


@pytest.mark.requirement("SY-22")
def test_early_enabling_holds_the_data_longer(nao: Robot) -> None:
    _, expected = greet(nao)
    cfg = CommandControllerCfg(enable=Enable.EARLY, early_s=0.5)
    _, early = greet(nao, cfg=cfg)
    assert expected.held_slots == 9, "light takes one slot, sound ten"
    assert early.held_slots == expected.held_slots + 50
    assert early.dead_slots == 0, "held until the end of the initial motion"


@pytest.mark.slow
@pytest.mark.requirement("SY-3", "SY-22")
@settings(max_examples=25)
@given(
    command=st.integers(0, 8),
    conversion=st.tuples(*[st.integers(0, 20)] * 3),
)
def test_dead_time_is_zero_if_expected_else_the_delay(
    nao: Robot, command: int, conversion: tuple[int, ...]
) -> None:
    times = {unit: n / 100 for unit, n in zip(Unit, conversion, strict=True)}
    for enable, dead in (
        (Enable.EXPECTED, 0),
        (Enable.AT_END, command + max(conversion)),
    ):
        cfg = CommandControllerCfg(
            enable=enable, command_s=command / 100, conversion_s=times
        )
        _, handle = greet(nao, 370, cfg=cfg)
        assert handle.dead_slots == dead
        assert handle.held_slots == max(conversion) - min(conversion)


@pytest.mark.requirement("SY-21")
def test_signals_pass_transmitter_converter_and_controller(nao: Robot) -> None:
    line, handle = greet(nao)
    kinds = (PrepSent, TransmitEnabled, SyncReceiveEnabled, CommandIssued, GroupStarted)
    seen = [event for event in line.events if isinstance(event, kinds)]
    assert [type(event).__name__ for event in seen] == [
        *("PrepSent", "TransmitEnabled", "SyncReceiveEnabled"),
        *("CommandIssued",) * 3,
        "GroupStarted",
    ]
    prep, enabled = seen[0], seen[1]
    assert isinstance(prep, PrepSent)
    assert isinstance(enabled, TransmitEnabled)
    assert handle.initial is not None
    assert prep.motions == ("Sit to Stand",)
    assert prep.signal_at == EXPECTED, "timing information is included"
    sent = line.sent_ticks(handle.initial.number)
    assert sum(tick >= enabled.tick for tick in sent) == EXPECTED, "items left then"
    assert seen[-1].tick == enabled.tick + EXPECTED, "duration of the conversion"
    assert seen[2].tick == enabled.tick
    assert enabled.stream == handle.initial.number


# -- during the initial motion ---------------------------------------------------------


@pytest.mark.requirement("SY-18", "SY-23")
def test_group_is_not_on_the_bus_during_the_initial_motion(
    nao: Robot,
) -> None:
    line, handle = greet(nao)
    assert handle.initial is not None
    assert handle.initial.ended_tick is not None
    own = [x.tick for x in line.told(Sent) if x.group == "greet"]
    assert min(own) == handle.initial.ended_tick + 1


@pytest.mark.requirement("SY-15", "SY-16", "SY-23")
def test_idle_lights_can_be_used_during_the_initial_motion(nao: Robot) -> None:
    line = Line.of(nao)
    bower, lamp = line.take("bower", "All motors", "TTS"), line.take("lamp", "Leds")
    bow = line.submit("bow", bower)
    line.slots(100)
    blink = line.submit("blink", lamp)
    line.slots(3)
    assert blink.started_tick == line.tick - 1, "at once: 0.01 s for each of two steps"
    assert line.robot.commands[-1].leds
    assert bow.initial is not None
    line.slots(INITIAL)
    assert bow.initial.reason is EndReason.DONE, "not disturbed"


@pytest.mark.requirement("SY-27")
def test_lent_resources_return_when_the_group_is_deleted(nao: Robot) -> None:
    line, _ = greet(nao, 20)
    (granted,) = line.told(Granted)
    assert [x.leaves for x in line.told(Lent)] == [("Left ear", "Left eye", "TTS")]
    line.ledger.add_owner(Owner(name="guest"), line.tick)
    asked = Request(owner="guest", resources=("TTS",))
    assert line.ledger.request(asked, line.tick).outcome is not None
    line.controller.delete_group(GREET, line.tick)
    line.slots(2)
    assert [event.owner for event in line.told(Revoked)] == ["guest"]
    assert line.told(Granted)[-1].token == granted.token


@pytest.mark.requirement("SY-16", "SY-27")
def test_hosts_own_sound_recalls_its_lent_voice(nao: Robot) -> None:
    """The host's lights stay lent."""
    line = Line.of(nao)
    greeting = line.submit("greet")
    line.slots(20)
    line.ledger.add_owner(Owner(name="guest"), line.tick)
    asked = Request(owner="guest", resources=("TTS", "Left eye"))
    assert line.ledger.request(asked, line.tick).outcome is not None
    beep = OutputSet(name="beep", sound=line.controller.library.sound("beep"))
    own = line.submit(beep)
    line.slots(40)
    assert own.reason is EndReason.DONE
    assert line.ledger.lent(line.host) == ("Left ear", "Left eye")
    line.slots(460)
    assert greeting.reason is EndReason.DONE
    assert greeting.dead_slots == 0


def borrow(line: Line, *names: str) -> bool:
    """Return True if a guest is granted resources at once."""
    line.ledger.add_owner(Owner(name="guest"), line.tick)
    asked = Request(owner="guest", resources=names, timeout_s=0.0)
    outcome = line.ledger.request(asked, line.tick).outcome
    return outcome is not None and outcome.token is not None


@pytest.mark.requirement("SY-16", "SY-27")
@pytest.mark.parametrize("with_light", [True, False])
def test_units_with_separate_tokens_lend_too(nao: Robot, with_light: bool) -> None:
    """One token for light and sound, or one for each: all return in time."""
    line = Line.of(nao)
    legs = line.take("host", "All motors")
    sound = line.take("host", "TTS", *(["Leds"] if with_light else []))
    light = sound if with_light else line.take("host", "Leds")
    tokens = {MOTION: legs, LIGHT: light, SOUND: sound}
    handle = line.submit("greet", tokens)
    line.slots(20)
    assert borrow(line, "TTS", "Left eye", "Left ear")
    line.slots(480)
    assert handle.reason is EndReason.DONE
    assert handle.dead_slots == 0
    assert {event.owner for event in line.told(Revoked)} == {"guest"}


@pytest.mark.requirement("SY-7", "SY-27")
@pytest.mark.parametrize("first", ["motion", "sound"])
def test_part_of_another_owner_in_the_group_is_lent_too(nao: Robot, first: str) -> None:
    """While it waits for the motion of the group, in any order of arrival."""
    line = Line.of(nao)
    library = line.controller.library
    parts = {
        "motion": ("wave", line.take("mover", "All motors"), {MOTION: 30}),
        "sound": ("hello", line.take("speaker", "TTS"), {SOUND: 70}),
    }
    handles = []
    for name in sorted(parts, key=lambda name: name != first):
        what, token, points = parts[name]
        outputs = OutputSet(
            name=what,
            motion=library.motion(what) if name == "motion" else None,
            sound=library.sound(what) if name == "sound" else None,
            points=points,
        )
        handles.append(line.submit(outputs, token, group="both"))
        line.slots(3)
    line.slots(20)
    assert borrow(line, "TTS")
    line.slots(500)
    assert [handle.reason for handle in handles] == [EndReason.DONE] * 2
    assert len({handle.started_tick for handle in handles}) == 1
    assert {event.owner for event in line.told(Revoked)} == {"guest"}


@pytest.mark.requirement("SY-7", "SY-27")
def test_part_is_recalled_when_the_motion_is_withdrawn(nao: Robot) -> None:
    line = Line.of(nao)
    library = line.controller.library
    hello = OutputSet(name="hello", sound=library.sound("hello"), points={SOUND: 70})
    wave = OutputSet(name="wave", motion=library.motion("wave"), points={MOTION: 30})
    speaker, mover = line.take("speaker", "TTS"), line.take("mover", "All motors")
    line.submit(hello, speaker, group="both")
    moves = line.submit(wave, mover, group="both")
    line.slots(20)
    assert line.ledger.lent(speaker) == ("TTS",)
    line.controller.withdraw(moves, line.tick)
    line.slots(2)
    assert line.ledger.lent(speaker) == ()
    assert line.ledger.authorise(speaker, "TTS") is None


@pytest.mark.requirement("SY-1", "SY-27")
@pytest.mark.parametrize("is_shared", [True, False])
def test_following_order_lends_its_resources_until_its_turn(
    nao: Robot, is_shared: bool
) -> None:
    """With the token of the previous order or with its own tokens."""
    line = Line.of(nao, posture="Stand")
    legs = line.take("host", *(ALL if is_shared else ["All motors"]))
    line.submit("bow", legs)
    line.slots(3)
    tokens = {MOTION: legs, LIGHT: legs, SOUND: legs}
    if not is_shared:
        tokens |= {LIGHT: line.take("host", "Leds"), SOUND: line.take("host", "TTS")}
    rise = line.submit("rise", tokens)
    line.slots(20)
    assert borrow(line, "TTS", "Left eye")
    line.slots(600)
    assert (rise.reason, rise.dead_slots) == (EndReason.DONE, 0)
    assert {event.owner for event in line.told(Revoked)} == {"guest"}


@pytest.mark.requirement("SY-27")
def test_resources_used_by_the_previous_order_are_not_lent(nao: Robot) -> None:
    line = Line.of(nao, posture="Stand")
    line.submit("greet")
    line.slots(3)
    line.submit("bow and beep")
    line.submit("rise")
    line.slots(20)
    assert not line.told(Lent), "same token, in use by greet"


@pytest.mark.requirement("SY-16")
def test_same_owner_can_use_its_lights_while_standing_up(nao: Robot) -> None:
    line = Line.of(nao)
    greeting = line.submit("greet")
    line.slots(50)
    blink = line.submit("blink")
    line.slots(30)
    assert blink.reason is None or blink.reason is EndReason.DONE
    line.slots(420)
    assert blink.reason is EndReason.DONE
    assert greeting.reason is EndReason.DONE
    assert greeting.dead_slots == 0


@pytest.mark.requirement("SY-17")
def test_group_of_another_preset_starts_during_the_initial_motion(
    nao: Robot,
) -> None:
    line = Line.of(nao)
    greeting = line.submit("greet")
    line.slots(50)
    shine = line.submit("shine", group="greet")
    line.slots(45)
    assert shine.group == GroupKey(10, "greet"), "one ID, two presets: two groups"
    assert shine.reason is EndReason.DONE
    assert greeting.state is StreamState.WAITING
    line.slots(405)
    assert greeting.reason is EndReason.DONE
    sums = {10: 4 + 6, 100: 20 + 10 + 70}
    for preset, total in sums.items():
        received = [x for x in line.told(StreamReceived) if x.preset == preset]
        assert sum(x.points for x in received) == total


@pytest.mark.requirement("SY-18")
@pytest.mark.parametrize("slots", [0, 1, 2, 3, 4, 100, 294, 297, 303])
def test_group_deleted_during_the_initial_motion_sends_nothing(
    nao: Robot, slots: int
) -> None:
    line, handle = greet(nao, slots)
    assert line.controller.delete_group(GREET, line.tick)
    line.slots(500)
    assert handle.reason is EndReason.DELETED
    assert not [x for x in line.told(Sent) if x.group == "greet"]
    assert line.controller.belief.posture == ("Stand" if slots > 3 else "Sit")
    assert not line.controller.delete_group(GREET, line.tick), "already ended"


# -- the pipeline ----------------------------------------------------------------------


@pytest.mark.requirement("SY-5", "SY-6")
def test_each_unit_reaches_its_own_devices(nao: Robot) -> None:
    line, _ = greet(nao, 310)
    assert {event.unit for event in line.told(Converted)} == set(Unit)
    (first,) = (c for c in line.robot.commands if c.sound is not None and c.leds)
    assert first.leds is not None
    assert set(first.leds) == {"LeftFaceLeds", "LeftEarLeds"}
    assert first.leds["LeftEarLeds"].colours.tolist() == [1.0]
    assert first.sound is not None
    assert first.sound.label == "Hello"
    assert first.target is not None, "all three in one write"
    line.slots(HELLO_SLOTS)
    assert sum(c.sound is not None for c in line.robot.commands) == HELLO_SLOTS


@pytest.mark.requirement("SY-10")
def test_id_and_points_are_in_the_tag_of_each_command(nao: Robot) -> None:
    line, _ = greet(nao)
    heads = {e.unit: (e.group, e.preset, e.points) for e in line.told(CommandIssued)}
    assert heads == {
        MOTION: ("greet", 100, 20),
        LIGHT: ("greet", 100, 10),
        SOUND: ("greet", 100, 70),
    }
    received = {
        e.unit: (e.group, e.preset, e.points)
        for e in line.told(StreamReceived)
        if e.points
    }
    assert received == heads, "same tags at controller and transmitter"


@pytest.mark.requirement("SY-19", "SY-20")
def test_path_of_several_motions_is_one_stream(nao: Robot) -> None:
    line, handle = greet(nao, 600, posture="Crouch")
    (prep,) = line.told(PrepSent)
    assert prep.motions == ("Crouch to Sit", "Sit to Stand")
    assert (prep.start, prep.end) == ("Crouch", "Stand")
    assert handle.initial is not None
    assert handle.initial.items == 100 + INITIAL
    begins = handle.initial.started_tick or 0
    parts = [(part.label, part.tick) for part in line.told(PartStarted)]
    assert parts == [("Crouch to Sit", begins), ("Sit to Stand", begins + 100)]
    assert handle.dead_slots == 0
    assert handle.reason is EndReason.DONE


@pytest.mark.requirement("SY-20")
def test_no_initial_motion_if_the_posture_is_already_right(nao: Robot) -> None:
    line, handle = greet(nao, 13, posture="Stand")
    assert not line.told(PrepSent)
    assert handle.started_tick == 1 + EXPECTED
    assert (handle.initial, handle.dead_slots) == (None, None)


@pytest.mark.requirement("SY-16")
def test_independent_outputs_do_not_wait_for_the_initial_motion(nao: Robot) -> None:
    line = Line.of(nao)
    bow = line.submit("bow and beep")
    line.slots(20)
    assert bow.streams[SOUND].started_tick == 1 + EXPECTED
    assert MOTION not in bow.streams
    line.slots(500)
    assert bow.dead_slots == 0, "the motion waits"
    assert bow.initial is not None
    assert line.controller.belief.posture == "Crouch"


@pytest.mark.requirement("SY-25")
def test_messages_between_the_parts_can_be_serialised(nao: Robot) -> None:
    library = library_of(nao)
    outputs = look_up(library.order("greet"), library)
    assert pickle.loads(pickle.dumps(outputs)) == outputs
    head = SyncTag(group="greet", points=20)
    assert pickle.loads(pickle.dumps(head)) == head
    line, _ = greet(nao)
    for event in line.events:
        assert event_from_line(event_to_line(event)) == event


@pytest.mark.requirement("SY-25")
def test_two_robots_in_one_process_are_independent(nao: Robot) -> None:
    alone, _ = greet(nao, 320)
    one, other = Line.of(nao), Line.of(nao)
    one.controller.submit("greet", one.take("host", *ALL), one.tick)
    for _ in range(320):
        one.slot()
        other.slot()
    ours = [event_to_line(e) for e in one.events if not hasattr(e, "token")]
    theirs = [event_to_line(e) for e in alone.events if not hasattr(e, "token")]
    assert ours == theirs
    assert not other.told(OrderReceived)


def test_end_of_an_order_gives_one_event(nao: Robot) -> None:
    line, handle = greet(nao)
    (ended,) = line.told(OrderEnded)
    assert (ended.order, ended.group) == (handle.number, "greet")
    assert ended.reason is EndReason.DONE
    assert handle.ended_tick == ended.tick
    assert ended.tick == max(sent.tick for sent in line.told(Sent))


@pytest.mark.parametrize("how", ["withdraw", "delete", "revoke", "initial revoke"])
def test_failure_of_an_order_is_reported_in_its_slot(nao: Robot, how: str) -> None:
    line, handle = greet(nao, 20 if how == "initial revoke" else 330)
    tick = line.tick
    if how == "withdraw":
        line.controller.withdraw(handle, tick)
    elif how == "delete":
        line.controller.delete_group(GREET, tick)
    else:
        line.ledger.release(line.host, tick)
    line.slots(5)
    (ended,) = line.told(OrderEnded)
    assert ended.tick == tick
    assert handle.has_failed
    ticks = [event.tick for event in line.events]
    assert ticks == sorted(ticks)


@pytest.mark.parametrize(
    "settings",
    [
        {"command_s": -0.01},
        {"early_s": float("nan")},
        {"conversion_s": {MOTION: 0.02}},
        {"conversion_s": {**CONVERSION_S, SOUND: -1.0}},
    ],
)
def test_invalid_times_are_rejected(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        CommandControllerCfg(**settings)
