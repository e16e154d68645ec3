"""Generic schemas: sequence, hold, move, say, blink."""

import re
from itertools import pairwise
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import (
    Executed,
    Granted,
    OwnerAdded,
    Released,
    Revoked,
)
from nao_testbed.controllers.schemas import Activation, State
from nao_testbed.controllers.schemas.events import SchemaStarted, SchemaStopped
from nao_testbed.controllers.schemas.registry import schema_class, schema_names
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.library.body import Body


def test_registered_name_is_the_name_of_its_schema() -> None:
    for name in schema_names():
        assert schema_class(name).info.name == name
        assert schema_class(name).info.about.endswith(".")


def test_hold_keeps_its_resources_for_the_time_and_moves_nothing(
    robot: Robot,
) -> None:
    body = Body.of(robot).begin("hold", parameters={"for_s": 0.3}, needs=("Head",))
    body.slot(40)
    (granted,), (given_up,) = body.told(Granted), body.told(Released)
    assert given_up.tick - granted.tick == 30
    assert not body.moved()
    assert body.state("hold") is State.SLEPT
    assert not body.failures()


def test_hold_does_not_count_time_without_its_resources(robot: Robot) -> None:
    body = Body.of(robot).begin("hold", parameters={"for_s": 0.3}, needs=("Head",))
    body.slot(11)
    body.hold("more important", "HeadYaw", priority=5)
    body.slot(10)
    body.ledger.drop("more important", body.tick)
    body.until("hold", State.SLEPT, 0.4)
    began, again = (event.tick for event in body.told(SchemaStarted))
    lost, ended = (event.tick for event in body.told(SchemaStopped))
    assert (lost - began) + (ended - again) == pytest.approx(30, abs=1)


def sequence(*children: Activation, **parameters: Any) -> dict[str, Any]:
    return {"parameters": parameters, "children": children}


@pytest.mark.requirement("JD-26")
def test_sequence_runs_its_children_one_after_another(robot: Robot) -> None:
    body = Body.of(robot)
    row = [
        Activation(schema="hold", name=name, parameters={"for_s": 0.1}, needs=(name,))
        for name in ("HeadYaw", "HeadPitch", "RHand")
    ]
    body.begin("sequence", **sequence(*row, repeat=2))
    body.until("sequence", State.SLEPT, 2.0)
    order = [e.path for e in body.told(SchemaStarted) if e.path != "sequence"]
    names = [f"sequence/{name}" for name in ("HeadYaw", "HeadPitch", "RHand")]
    assert order == [*names, *names]
    stops = {e.path: e.tick for e in body.told(SchemaStopped)}
    starts = {e.path: e.tick for e in body.told(SchemaStarted)}
    assert starts[names[1]] >= stops[names[0]]
    assert not body.failures()


@pytest.mark.requirement("RM-7")
def test_activations_can_be_defined_as_classes(robot: Robot) -> None:
    class Wave(Activation):
        side = "Right"

        def __init__(self) -> None:
            needs, times = (f"{self.side} arm",), {"for_s": 0.1}
            name = f"wave {self.side}"
            super().__init__(schema="hold", name=name, needs=needs, parameters=times)

    class WaveLeft(Wave):
        side = "Left"

    class Greeting(Activation):
        def __init__(self) -> None:
            super().__init__(schema="sequence", children=(Wave(), WaveLeft()))

    body = Body.of(robot)
    body.runtime.add(Greeting())
    body.runtime.wake("sequence", 0)
    body.until("sequence", State.SLEPT, 1.0)
    granted = {event.owner: {*event.shares} for event in body.told(Granted)}
    assert list(granted) == ["sequence/wave Right", "sequence/wave Left"]
    assert "RHand" in granted["sequence/wave Right"]
    assert "LHand" in granted["sequence/wave Left"]
    assert "RHand" not in granted["sequence/wave Left"]
    owners = [event.owner for event in body.told(OwnerAdded)]
    assert len(owners) == len(set(owners)), "an owner was added twice"


def test_sequence_resumes_with_the_interrupted_child(robot: Robot) -> None:
    body = Body.of(robot)
    row = [
        Activation(schema="hold", name=name, parameters={"for_s": 0.2}, needs=(name,))
        for name in ("HeadYaw", "HeadPitch")
    ]
    body.begin("sequence", **sequence(*row)).slot(30)
    body.runtime.sleep("sequence", body.tick)
    body.slot(5)
    body.runtime.wake("sequence", body.tick)
    body.until("sequence", State.SLEPT, 1.0)
    order = [e.path for e in body.told(SchemaStarted) if "/" in e.path]
    assert order == ["sequence/HeadYaw", "sequence/HeadPitch", "sequence/HeadPitch"]


def test_perceptive_children_of_a_sequence_stay_awake(robot: Robot) -> None:
    body = Body.of(robot)
    watch = Activation(schema="battery watch")
    hold = Activation(schema="hold", parameters={"for_s": 0.2}, needs=("Head",))
    body.begin("sequence", **sequence(watch, hold)).slot(15)
    assert body.state("sequence/battery watch") is State.WINNER
    assert body.state("sequence/hold") is State.WINNER


@pytest.mark.parametrize(("on_failure", "ends"), [("fail", True), ("go on", False)])
def test_sequence_fails_with_its_child_or_continues(
    robot: Robot, on_failure: str, ends: bool
) -> None:
    body = Body.of(robot)
    broken = Activation(schema="say", parameters={"text": "Hello"}, timeout_s=0.1)
    body.hold("another owner", "TTS")
    hold = Activation(schema="hold", parameters={"for_s": 0.1}, needs=("Head",))
    body.begin("sequence", **sequence(broken, hold, on_failure=on_failure))
    body.until("sequence", State.SLEPT, 1.0)
    assert ("TTS by another owner" in body.runtime.view("sequence").error) is ends
    started = [event.path for event in body.told(SchemaStarted)]
    assert ("sequence/hold" in started) is not ends


def test_move_takes_only_the_joints_of_its_motion(robot: Robot) -> None:
    body = Body.of(robot).begin("move", parameters={"motion": "test wave"})
    body.until("move", State.SLEPT, 1.0)
    assert tuple(body.told(Granted)[0].shares) == ("RShoulderPitch",)
    assert body.moved() == {"RShoulderPitch"}
    assert body.angle("RShoulderPitch") == pytest.approx(1.396, abs=1e-3)
    assert not body.failures()


def test_motion_is_repeated_as_often_as_requested(robot: Robot) -> None:
    body = Body.of(robot)
    motion = {"motion": "test wave", "repeat": 3, "pause_s": 0.1}
    body.begin("wave", parameters=motion)
    body.until("wave", State.SLEPT, 4.0)
    starts = [tick for tick, _ in body.started()]
    assert len(starts) == 3
    assert all(b - a >= 60 + 10 for a, b in pairwise(starts))


def test_revoked_motion_restarts(robot: Robot) -> None:
    body = Body.of(robot).begin("move", parameters={"motion": "test wave"}).slot(30)
    body.hold("more important", "Right arm", priority=5)
    body.slot(10)
    taken = [event for event in body.told(Executed) if event.tick > 30]
    assert not taken
    body.ledger.drop("more important", body.tick)
    body.until("move", State.SLEPT, 1.0)
    assert len(body.told(Revoked)) == 1
    assert len(body.started()) == 2
    assert not body.failures()


def test_command_takes_the_resources_of_all_its_outputs(robot: Robot) -> None:
    body = Body.of(robot)
    body.begin("move", parameters={"command": "test greeting", "group": "hello"})
    body.until("move", State.SLEPT, 2.0)
    assert tuple(body.told(Granted)[0].shares) == ("Left eye", "RShoulderPitch", "TTS")
    assert len({tick for tick, _ in body.started()}) == 1


def test_unknown_motion_or_ambiguous_parameters_are_rejected(robot: Robot) -> None:
    body = Body.of(robot)
    with pytest.raises(UnknownName, match="test wave"):
        body.begin("move", parameters={"motion": "tset wave"})
    with pytest.raises(BadInput, match="give one of them"):
        body.begin("move", parameters={"motion": "a", "command": "b"})


def test_say_plays_the_text_and_releases_the_speaker(robot: Robot) -> None:
    body = Body.of(robot)
    body.begin("say", parameters={"text": "Hello", "repeat": 2, "pause_s": 0.2})
    body.until("say", State.SLEPT, 4.0)
    assert [label for _, label in body.started()] == ["Hello", "Hello"]
    body.hold("next", "TTS")


def test_same_seed_blinks_at_the_same_times(robot: Robot) -> None:
    def blinks(seed: int) -> list[int]:
        body = Body.of(robot, seed=seed)
        body.begin("blink", parameters={"light": "test eyes", "every_s": 1.0})
        body.seconds(10.0)
        assert not body.failures()
        return [tick for tick, _ in body.started()]

    first = blinks(1)
    assert 6 <= len(first) <= 20
    assert blinks(1) == first != blinks(2)
    gaps = [b - a for a, b in pairwise(first)]
    assert 45 <= min(gaps) < max(gaps) <= 160


@pytest.mark.parametrize(
    ("schema", "given", "says"),
    [
        ("hold", {}, "nothing to hold; set resources"),
        ("say", {"parameters": {"text": " ?!"}}, "nothing to say"),
        ("say", {}, "nothing to say"),
        ("move", {"needs": ("Head",)}, "nothing to play"),
        ("sequence", {}, "has no children"),
        ("choose", {}, "has no children"),
        ("blink", {"parameters": {"light": "blnik"}, "needs": ()}, "blnik"),
        ("greet", {"parameters": {"command": "x"}, "needs": ()}, "'x'"),
        ("dance", {"parameters": {"motion": "dnace"}, "needs": ()}, "dnace"),
        ("stand", {"parameters": {"posture": "Stnad"}}, "Did you mean 'Stand'"),
        ("cool down", {"parameters": {"posture": "Siit"}}, "Did you mean 'Sit'"),
    ],
)
def test_schema_with_nothing_to_do_is_rejected_when_woken(
    robot: Robot, schema: str, given: dict[str, Any], says: str
) -> None:
    body = Body.of(robot)
    with pytest.raises((BadInput, UnknownName), match=re.escape(says)):
        body.begin(schema, **given)
    assert not body.runtime.paths
