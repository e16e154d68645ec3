"""Lights and sound pass the gate only with a token, like set-points."""

import numpy as np
import pytest

from nao_testbed.controllers import LedSetting, SoundChunk
from nao_testbed.controllers.arbitration.events import (
    Commanded,
    Executed,
    MadeSafe,
    Rejected,
)
from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.resources import Device, DeviceKind, ResourceNode
from tests.controllers.arbitration.gate_setup import EYES, World, motor, node, reason_of

GREEN = LedSetting(colours=np.array([0.0, 1.0, 0.0]), fade_s=0.5)
RED = LedSetting(colours=np.array([1.0, 0.0, 0.0]))
EAR = ResourceNode(
    name="Ear", device=Device(kind=DeviceKind.LEDS, names=("LeftEarLeds",))
)
VOICE = ResourceNode(
    name="TTS",
    device=Device(kind=DeviceKind.SPEAKER, names=("LeftSpeaker", "RightSpeaker")),
)


def hello(n: int = 160, rate_hz: int = 16000) -> SoundChunk:
    return SoundChunk(samples=np.full(n, 0.5), sample_rate_hz=rate_hz, label="hello")


@pytest.fixture
def world(nao: Robot) -> World:
    leds = node("Leds", EYES, EAR)
    return World.of(nao, node("root", leds, VOICE, motor("HeadYaw")))


@pytest.mark.requirement("AR-10", "AR-11", "AR-12", "RM-2")
def test_lights_and_sound_need_a_token(world: World) -> None:
    for leaf, value in (("Eyes", GREEN), ("TTS", hello())):
        refused = world.gate.submit(None, leaf, value)
        assert refused is not None
        assert refused.reason is Refusal.NO_TOKEN
    token = world.take("look", "Eyes")
    assert reason_of(world.gate.submit(token, "TTS", hello())) is Refusal.NOT_COVERED
    world.flush()
    assert not world.robot.commands


@pytest.mark.requirement("AR-10")
def test_all_effectors_of_a_slot_are_written_in_one_command(world: World) -> None:
    token = world.take("greet", "root")
    said = hello()
    world.gate.submit(token, "Eyes", GREEN)
    world.gate.submit(token, "TTS", said)
    world.gate.submit(token, "HeadYaw", 0.2)
    assert world.flush() == ()
    (command,) = world.robot.commands
    assert command.leds == {"LeftFaceLeds": GREEN, "RightFaceLeds": GREEN}
    assert command.sound is said
    assert command.stiffness is None
    assert world.target_of("HeadYaw") == 0.2
    assert [event.resource for event in world.told(Executed)] == [
        "Eyes",
        "TTS",
        "HeadYaw",
    ]


def test_effectors_without_a_new_command_are_not_written(world: World) -> None:
    token = world.take("greet", "root")
    world.gate.submit(token, "Eyes", GREEN)
    world.flush()
    world.gate.submit(token, "HeadYaw", 0.2)
    world.flush()
    world.flush()
    first, second = world.robot.commands
    assert (first.target, first.sound) == (None, None)
    assert (second.leds, second.sound) == (None, None)


@pytest.mark.requirement("AR-11", "AR-19")
def test_leds_stay_and_sound_stops_after_a_revocation(
    world: World,
) -> None:
    token = world.take("greet", "Eyes", "TTS")
    world.gate.submit_all(token, {"Eyes": GREEN, "TTS": hello()})
    world.flush()
    world.gate.submit_all(token, {"Eyes": RED, "TTS": hello()})
    world.take("warn", "TTS", priority=1)  # whole loss frees the eyes too
    assert world.flush() == (Refusal.REVOKED, Refusal.REVOKED)
    world.flush()
    assert len(world.robot.commands) == 1  # no other colour or sound
    for leaf, value in (("TTS", hello()), ("Eyes", RED)):
        assert reason_of(world.gate.submit(token, leaf, value)) is Refusal.REVOKED
    assert not world.told(MadeSafe)  # nothing to make safe
    assert len(world.told(Executed)) == 2
    ended = [event.command for event in world.told(Executed)]
    ended += [event.command for event in world.told(Rejected)]
    assert sorted(ended) == [event.command for event in world.told(Commanded)]


@pytest.mark.requirement("AR-10", "AR-14")
def test_new_holder_sets_other_colours_in_the_same_slot(world: World) -> None:
    first = world.take("greet", "Eyes")
    world.gate.submit(first, "Eyes", GREEN)
    second = world.take("warn", "Eyes", priority=1)
    world.gate.submit(second, "Eyes", RED)
    world.flush()
    (command,) = world.robot.commands
    assert command.leds is not None
    assert set(command.leds.values()) == {RED}
    assert [event.reason for event in world.told(Rejected)] == [Refusal.REVOKED]


def test_later_chunk_of_a_slot_replaces_the_earlier_one(world: World) -> None:
    token = world.take("greet", "TTS")
    last = hello(80)
    world.gate.submit(token, "TTS", hello())
    world.gate.submit(token, "TTS", last)
    world.flush()
    assert [command.sound for command in world.robot.commands] == [last]


@pytest.mark.parametrize(
    ("leaf", "value", "said"),
    [
        ("Ear", GREEN, r"colours for LeftEarLeds have shape \(3,\); give \(1,\) or"),
        ("Eyes", hello(), "value of 'Eyes' is SoundChunk.*; give a LedSetting"),
        ("TTS", GREEN, "value of 'TTS' is LedSetting.*; give a SoundChunk"),
        ("TTS", None, "value of 'TTS' is None; give a SoundChunk"),
        ("TTS", hello(80, 8000), "'hello' has 8000 samples a second; the loudspeak"),
        (
            "TTS",
            hello(161),
            "'hello' has 161 samples for one slot of 10 ms; give at most 160 and",
        ),
        (
            "TTS",
            hello(222, 22050),
            "222 samples for one slot of 10 ms; give at most 221",
        ),
        ("HeadYaw", GREEN, "set-point of HeadYaw is LedSetting.*; give one angle"),
    ],
)
def test_value_that_does_not_fit_the_device_is_rejected(
    world: World, leaf: str, value: LedSetting | SoundChunk | None, said: str
) -> None:
    token = world.take("greet", "root")
    events = len(world.events)
    with pytest.raises(BadInput, match=said):
        world.gate.submit(token, leaf, value)
    assert len(world.events) == events
    world.flush()
    assert not world.robot.commands


def test_partial_last_sample_of_a_slot_is_accepted(world: World) -> None:
    token = world.take("greet", "TTS")
    assert world.gate.submit(token, "TTS", hello(221, 22050)) is None  # 220.5 a slot
    assert world.flush() == ()
