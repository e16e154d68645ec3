"""An exception in a schema ends this schema and its children only."""

from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import MadeSafe
from nao_testbed.controllers.schemas import (
    Activation,
    ActuationSchema,
    SchemaInfo,
    State,
)
from nao_testbed.controllers.schemas.events import Finished, SchemaFailed
from nao_testbed.models import BadInput, Robot
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive


def breaks(schema: Any) -> None:
    if schema.tick == 3:
        raise RuntimeError("broken by the test")


def turn(schema: Any) -> None:
    schema.submit("HeadYaw", 0.1)


@pytest.mark.requirement("JD-1")
def test_exception_without_text_ends_only_its_schema(nao: Robot) -> None:
    """The exception's `__str__` raises; `step` must not."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def iterate(schema: Any) -> None:
        raise Mute

    stage = SchemaWorld.of(nao, actuation("bad", iterate=iterate), actuation("good"))
    stage.begin("bad").begin("good").slot(2)
    assert stage.runtime.view("bad").error == "Mute"
    assert stage.state("bad") is State.SLEPT
    assert stage.state("good") is State.WINNER


@pytest.mark.parametrize("method", ["ready", "iterate", "start", "arbitrate"])
@pytest.mark.requirement("JD-1")
def test_schema_that_raises_sleeps_alone(nao: Robot, method: str) -> None:
    """The sibling wins; the parent and the other roots continue."""

    def ready(schema: Any) -> bool:
        if method == "ready":
            breaks(schema)
        return schema.tick >= 3 if method == "start" else True

    def iterate(schema: Any) -> None:
        turn(schema)
        if method == "iterate":
            breaks(schema)

    def start(schema: Any) -> None:
        if method == "start":
            breaks(schema)
        schema.wake("leaf", called="one")
        schema.wake("leaf", called="two")

    def arbitrate(ready: object, present: str | None) -> str | None:
        if method == "arbitrate" and len(ticks) >= 3:
            raise RuntimeError("broken by the test")
        return present or "one"

    ticks: list[int] = []
    bad = actuation(
        "bad",
        needs=("HeadYaw",),
        ready=ready,
        iterate=iterate,
        start=start,
        arbitrate=arbitrate,
    )
    good = actuation("good", needs=("HeadYaw",), iterate=turn)
    other = actuation("other", iterate=lambda s: ticks.append(s.tick))
    stage = SchemaWorld.of(nao, bad, good, other, actuation("leaf")).begin("other")
    children = (Activation(schema="bad"), Activation(schema="good"))
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="p", parameters=rule, children=children).slot(6)
    assert ticks == list(range(6))
    assert stage.state("p") is State.WINNER
    assert stage.state("p/bad") is State.SLEPT
    assert "p/bad/one" not in stage.runtime.winners
    assert stage.runtime.may_act("p/good")
    (failed,) = stage.told(SchemaFailed)
    assert (failed.path, failed.method) == ("p/bad", method)
    assert stage.runtime.view("p/bad").error == "RuntimeError: broken by the test"
    assert stage.executed_by()[5] == {"p/good"}
    assert not stage.world.checker.finish()


def test_perceptive_schema_that_raises_sleeps_alone(nao: Robot) -> None:
    eye = perceptive("eye", perceive=breaks)
    stage = SchemaWorld.of(nao, eye, actuation("go")).begin("eye").begin("go").slot(5)
    assert stage.state("eye") is State.SLEPT
    assert stage.runtime.winners == ("go",)


def test_joints_of_a_failed_schema_are_made_safe_in_that_slot(nao: Robot) -> None:
    def iterate(schema: Any) -> None:
        turn(schema)
        breaks(schema)

    bad = actuation("bad", needs=("HeadYaw",), iterate=iterate)
    stage = SchemaWorld.of(nao, bad).begin("bad").slot(6)
    assert [(e.tick, e.leaves) for e in stage.told(MadeSafe)] == [(3, ("HeadYaw",))]
    assert sorted(stage.executed_by()) == [0, 1, 2], "no command of its last slot"


def test_stop_that_raises_does_not_affect_others(nao: Robot) -> None:
    def stop(schema: Any) -> None:
        raise RuntimeError("broken by the test")

    first = actuation("first", ready=lambda s: s.tick < 3, stop=stop)
    stage = SchemaWorld.of(nao, first, actuation("second"))
    children = (Activation(schema="first"), Activation(schema="second"))
    stage.begin("choose", name="p", children=children).slot(6)
    assert stage.runtime.winners == ("p", "p/second")
    assert stage.state("p/first") is State.CHECKING
    assert [event.method for event in stage.told(SchemaFailed)] == ["stop"]


def test_failed_schema_can_be_woken_again(nao: Robot) -> None:
    parent = actuation(
        "parent",
        start=lambda s: s.wake("bad"),
        iterate=lambda s: s.wake("bad") if s.tick == 5 else None,
    )
    stage = SchemaWorld.of(nao, parent, actuation("bad", iterate=breaks))
    stage.begin("parent").slot(5)
    assert stage.runtime.view("parent/bad").error
    stage.slot(3)
    assert stage.runtime.winners == ("parent", "parent/bad")
    assert stage.runtime.view("parent/bad").error == ""


def test_wrong_name_in_a_command_fails_the_schema(nao: Robot) -> None:
    lost = actuation(
        "lost", needs=("HeadYaw",), iterate=lambda s: s.submit("HeadYow", 0.1)
    )
    stage = SchemaWorld.of(nao, lost).begin("lost").slot()
    assert "Did you mean 'HeadYaw'" in stage.runtime.view("lost").error


def test_removed_resource_fails_the_schema(
    nao: Robot,
) -> None:
    stage = SchemaWorld.of(nao, actuation("plays", needs=("ball",)))
    stage.ledger.add_resource("ball", "root", 0)
    stage.runtime.add(Activation(schema="plays"))
    stage.ledger.remove_resource("ball", 0)
    stage.runtime.wake("plays", 0)
    stage.slot(2)
    assert "'ball'" in stage.runtime.view("plays").error
    assert stage.runtime.is_quiet


def test_order_whose_end_raises_does_not_keep_others_running(nao: Robot) -> None:
    def start(schema: Any) -> None:
        for motion in ("wave", "nod", "bow"):
            schema.play(motion)

    def raise_error() -> None:
        raise RuntimeError("broken by the test")

    stage = SchemaWorld.of(nao, actuation("plays", needs=("HeadYaw",), start=start))
    stage.begin("plays").slot(2)
    orders = stage.acts.orders
    orders[0].end = raise_error  # type: ignore[method-assign]
    stage.runtime.sleep("plays", 2)
    assert [order.is_over for order in orders] == [False, True, True]
    assert [e.method for e in stage.told(SchemaFailed)] == ["the end of an order"]


def test_schema_whose_needs_raise_is_rejected(nao: Robot) -> None:
    class Unsure(ActuationSchema[Any]):
        info = SchemaInfo(name="unsure", about="Of a test.")

        @classmethod
        def needs_of(cls, parameters: object, robot: Robot) -> tuple[str, ...]:
            raise KeyError("broken by the test")

    stage = SchemaWorld.of(nao, Unsure)
    with pytest.raises(BadInput, match="'unsure' cannot determine its needs: KeyError"):
        stage.runtime.add(Activation(schema="unsure"))
    assert stage.runtime.paths == ()


def test_schema_that_raises_is_not_called_again(nao: Robot) -> None:
    """Neither `stop` is called, nor is it finished: its progress is unknown."""
    called: list[str] = []

    def iterate(schema: Any) -> None:
        schema.finish()
        raise RuntimeError("broken by the test")

    def parent_iterates(parent: Any) -> None:
        if parent.tick < 2:
            parent.wake("bad")

    bad = actuation("bad", iterate=iterate, stop=lambda s: called.append("stop"))
    stage = SchemaWorld.of(nao, bad, actuation("parent", iterate=parent_iterates))
    stage.begin("parent").slot(4)
    assert called == []
    assert not stage.told(Finished)
    assert not stage.runtime.view("parent/bad").is_done
    assert [event.tick for event in stage.told(SchemaFailed)] == [0, 1]
