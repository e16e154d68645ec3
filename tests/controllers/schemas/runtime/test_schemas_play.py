"""Orders of winners reach the devices and end with their schema."""

from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Executed, MadeSafe
from nao_testbed.controllers.schemas import ActuationSchema
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.registry import Registry
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    Sent,
    StreamEnded,
    StreamPaused,
    StreamResumed,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.models import BadInput, Robot
from nao_testbed.testing import check_trace
from tests.controllers.schemas.schema_world import actuation
from tests.controllers.transmitter.commands.command_world import Line


class Play:
    """A line of devices driven by a schema runtime."""

    def __init__(self, robot: Robot, *kinds: type, posture: str = "Stand") -> None:
        self.line = Line.of(robot, posture=posture)
        self.line.ledger.set_state("State", robot.posture(posture).state, 0)
        acts = GateActuators(self.line.gate, self.line.controller, self.line.ledger)
        given = {kind.info.name: kind for kind in kinds}  # type: ignore[attr-defined]
        self.runtime = SchemaRuntime(
            robot, self.line.ledger, acts, registry=Registry(given)
        )

    def begin(self, activation: Activation) -> None:
        self.runtime.add(activation)
        self.runtime.wake(activation.name, self.line.tick)

    def slots(self, count: int) -> None:
        for _ in range(count):
            self.runtime.step(self.line.tick, self.line.robot.read())
            self.line.slot()


def ordering(name: str, call: str, what: str, *needs: str, **given: Any) -> type:
    """Return a schema that gives one order when it starts and finishes with it."""

    def start(schema: Any) -> None:
        schema.order = getattr(schema, call)(what)

    def iterate(schema: Any) -> None:
        if schema.order.is_over:
            schema.finish()

    return actuation(name, needs=needs, start=start, iterate=iterate, **given)


@pytest.mark.parametrize(
    ("call", "what", "needs", "resources"),
    [
        ("play", "nod", ("Head",), {"HeadPitch"}),
        ("light", "eyes green", ("Left eye", "Left ear"), {"Left eye", "Left ear"}),
        ("sound", "beep", ("TTS",), {"TTS"}),
        ("say", "Hello", ("TTS",), {"TTS"}),
        ("command", "nod", ("Head",), {"HeadPitch"}),
    ],
)
def test_each_kind_of_order_reaches_its_device(
    nao: Robot, call: str, what: str, needs: tuple[str, ...], resources: set[str]
) -> None:
    play = Play(nao, ordering("acts", call, what, *needs))
    play.begin(Activation(schema="acts"))
    play.slots(80)
    assert {event.resource for event in play.line.told(Executed)} == resources
    ends = {event.reason for event in play.line.told(StreamEnded)}
    assert ends == {EndReason.DONE}
    assert play.runtime.is_quiet, "the schema did not finish with its order"
    assert not check_trace(play.line.events)


@pytest.mark.requirement("JD-8", "JD-11")
def test_motion_of_a_loser_ends_in_the_slot_of_its_loss(nao: Robot) -> None:
    """In that slot only the successor's command is written to the joint."""
    at = 20
    old = ordering("old", "play", "nod", "Head")
    new = actuation(
        "new",
        needs=("Head",),
        ready=lambda s: s.tick >= at,
        start=lambda s: s.submit("HeadPitch", 0.1),
        iterate=lambda s: s.submit("HeadPitch", 0.1),
    )
    play = Play(nao, old, new)
    children = (Activation(schema="new"), Activation(schema="old"))
    rule = {"arbitration": "highest_order"}
    play.begin(
        Activation(schema="choose", name="p", parameters=rule, children=children)
    )
    play.slots(30)
    sent = [event.tick for event in play.line.told(Sent)]
    assert sent[-1] == at - 1
    (ended,) = play.line.told(StreamEnded)
    assert ended.tick == at
    executed = [e for e in play.line.told(Executed) if e.tick == at]
    assert len(executed) == 1
    pitch = nao.joint_index("HeadPitch")
    assert play.line.robot.target[pitch] == pytest.approx(0.1)
    assert not play.line.told(MadeSafe)
    assert not check_trace(play.line.events)


def test_joints_of_a_loser_without_a_successor_are_made_safe(nao: Robot) -> None:
    old = ordering("old", "play", "nod", "Head", ready=lambda s: s.tick < 20)
    play = Play(nao, old)
    play.begin(Activation(schema="old"))
    play.slots(30)
    assert [(e.tick, e.leaves) for e in play.line.told(MadeSafe)] == [
        (20, ("HeadPitch",))
    ]


@pytest.mark.requirement("I-23")
def test_synchronous_command_of_a_schema_starts_together(nao: Robot) -> None:
    needs = ("Right arm", "Left eye", "Left ear", "TTS")
    play = Play(nao, ordering("greets", "command", "greet", *needs))
    play.begin(Activation(schema="greets"))
    play.slots(140)
    (started,) = play.line.told(GroupStarted)
    assert len(started.streams) == 3
    firsts = {event.tick for event in play.line.told(Sent) if event.k == 0}
    assert firsts == {started.tick}
    assert play.runtime.is_quiet


def test_order_without_a_token_fails_at_once(nao: Robot) -> None:
    seen: list[Any] = []

    class Idle(ActuationSchema[Any]):
        info = actuation("idle").info

        def start(self) -> None:
            seen.append(self.play("nod"))
            seen.append(self.command("nod"))

    play = Play(nao, Idle)
    play.begin(Activation(schema="idle"))
    play.slots(2)
    assert [(order.is_over, order.has_failed) for order in seen] == [(True, True)] * 2
    assert {order.reason for order in seen} == {"it has no token"}
    seen[0].end()
    assert not play.line.told(Executed)


def test_order_that_needs_more_resources_fails_with_a_reason(nao: Robot) -> None:
    seen: list[Any] = []

    def start(schema: Any) -> None:
        seen.append(schema.play("wave"))

    play = Play(nao, actuation("waves", needs=("HeadYaw",), start=start))
    play.begin(Activation(schema="waves"))
    play.slots(10)
    (order,) = seen
    assert order.has_failed
    assert order.reason
    assert not play.line.told(Executed)


@pytest.mark.requirement("SY-4", "JD-2")
def test_modulation_interrupts_a_motion_which_then_resumes(nao: Robot) -> None:
    """A nod interrupts a nod: the first pauses, returns, and resumes."""
    play = Play(nao)
    play.begin(Activation(schema="move", parameters={"motion": "nod"}, needs=("Head",)))
    play.slots(20)
    play.runtime.modulate("move", {"interrupt": "nod"}, play.line.tick)
    play.slots(200)
    first, second = play.line.told(StreamStarted)
    assert [e.stream for e in play.line.told(StreamPaused)] == [first.stream]
    assert [e.stream for e in play.line.told(StreamResumed)] == [first.stream]
    ends = [(e.stream, e.reason) for e in play.line.told(StreamEnded)]
    assert ends == [(second.stream, EndReason.DONE), (first.stream, EndReason.DONE)]
    assert play.runtime.is_quiet


@pytest.mark.parametrize("tick", [True, 1.0])
def test_tick_that_is_not_an_int_is_rejected(nao: Robot, tick: int) -> None:
    play = Play(nao)
    play.slots(1)
    seen = play.line.robot.read()
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        play.runtime.step(tick, seen)
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        play.line.controller.step(tick)
