"""Waking an instance again: its parameters, needs and priority."""

from dataclasses import dataclass
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Requested
from nao_testbed.controllers.schemas import Activation, ActuationSchema, SchemaInfo
from nao_testbed.models import Robot
from tests.controllers.schemas.schema_world import SchemaWorld, actuation


@dataclass(frozen=True, kw_only=True)
class Turning:
    """Joint and angle."""

    leaf: str = "HeadYaw"
    angle: float = 0.1


class Turn(ActuationSchema[Turning]):
    """Commands the joint of its parameters once; it needs only that joint."""

    info = SchemaInfo(name="turn", about="Of a test.", parameters=Turning)

    @classmethod
    def needs_of(cls, parameters: Turning, robot: Robot) -> tuple[str, ...]:
        return (parameters.leaf,)

    def start(self) -> None:
        self.submit(self.parameters.leaf, self.parameters.angle)
        self.finish()


@pytest.mark.requirement("JD-2", "JD-10")
def test_finished_schema_needs_the_resources_of_its_next_task(nao: Robot) -> None:
    """The schema is awake but holds nothing: its new parameters apply."""

    def iterate(parent: Any) -> None:
        if parent.tick == 0:
            parent.wake("turn", leaf="HeadYaw")
        elif parent.tick == 2:
            parent.wake("turn", leaf="HeadPitch")

    stage = SchemaWorld.of(nao, Turn, actuation("parent", iterate=iterate))
    stage.begin("parent").slot(4)
    asked = [(event.tick, *event.shares) for event in stage.told(Requested)]
    assert asked == [(0, "HeadYaw"), (2, "HeadPitch")]
    assert not stage.world.checker.finish()


@pytest.mark.requirement("JD-10")
def test_child_inherits_the_present_priority_of_its_parent(nao: Robot) -> None:
    def iterate(top: Any) -> None:
        if top.tick == 2:
            top.sleep("middle")
        elif top.tick in (0, 3):
            top.wake_child(Activation(schema="middle", priority=1 + top.tick))

    middle = actuation("middle", start=lambda s: s.wake("turn"))
    stage = SchemaWorld.of(nao, Turn, middle, actuation("top", iterate=iterate))
    stage.begin("top").slot(5)
    assert [(e.tick, e.priority) for e in stage.told(Requested)] == [(0, 1), (3, 4)]


def test_wake_parameters_of_a_root_are_not_kept(nao: Robot) -> None:
    """Each activation starts with the parameters given to `add`."""
    stage = SchemaWorld.of(nao, actuation("stays", parameters=Turning))
    stage.runtime.add(Activation(schema="stays", parameters={"leaf": "HeadPitch"}))
    stage.runtime.wake("stays", 0, {"angle": 0.3})
    stage.slot()
    assert stage.runtime.view("stays").parameters == Turning(
        leaf="HeadPitch", angle=0.3
    )
    stage.runtime.sleep("stays", 1)
    stage.runtime.wake("stays", 1)
    assert stage.runtime.view("stays").parameters == Turning(leaf="HeadPitch")


def test_root_that_was_never_woken_can_be_modulated(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, Turn)
    stage.runtime.add(Activation(schema="turn", parameters={"leaf": "HeadPitch"}))
    stage.runtime.modulate("turn", {"angle": 0.2}, 0)
    assert stage.runtime.view("turn").parameters == Turning(leaf="HeadPitch", angle=0.2)
