"""A motor without stiffness takes its set-point along, and snaps back nowhere."""

from collections.abc import Iterator

import pytest

from controllers.arbitration.requests import Owner
from models import Robot
from tests.controllers.arbitration.gate_setup import World


@pytest.fixture
def world(nao: Robot) -> Iterator[World]:
    """A gate whose trace keeps the invariants, whatever a test does with it."""
    world = World.of(nao)
    yield world
    assert not world.checker.finish()


@pytest.mark.parametrize("how", ["cap", "stiffness"])
@pytest.mark.requirement("RM-43")
def test_a_limp_joint_takes_its_set_point_along(world: World, how: str) -> None:
    """It hangs down; stiff again, it stays there, and a motion begins from there."""
    token = world.take("limit", "Stiffness")
    place = world.joint("RShoulderPitch")
    other = world.target_of("LShoulderPitch")

    def stiffen(value: float) -> None:
        tick = world.ledger.tick
        if how == "stiffness":
            whole = world.robot.stiffness.copy()
            whole[place] = value
            world.gate.submit_stiffness(token, whole)
        elif value:
            world.ledger.thaw("broken", tick)
        else:
            world.ledger.freeze(["RShoulderPitch"], "broken", tick, effort_cap=0.0)
        world.flush()

    stiffen(0.0)
    for angle in (0.4, 0.9, 1.3):
        world.robot.q[place] = angle
        world.flush()
        assert world.target_of("RShoulderPitch") == angle
        assert world.gate.present["RShoulderPitch"] == angle
    stiffen(1.0)
    world.robot.q[place] = 1.2
    world.flush()
    assert world.target_of("RShoulderPitch") == 1.3
    assert world.target_of("LShoulderPitch") == other


def test_who_commands_a_limp_joint_is_obeyed(world: World) -> None:
    world.ledger.add_owner(Owner(name="limit"), 0)
    world.ledger.entrust("limit", 0)
    limit = world.take("limit", "Stiffness")
    token = world.take("look", "HeadYaw")
    whole = world.robot.stiffness * 0.0
    world.gate.submit_stiffness(limit, whole)
    world.robot.q[world.joint("HeadYaw")] = 0.2
    world.gate.submit(token, "HeadYaw", 0.7)
    world.flush()
    assert world.target_of("HeadYaw") == 0.7
    world.flush()
    assert world.target_of("HeadYaw") == 0.2


def test_without_a_limp_joint_nothing_is_written(world: World) -> None:
    world.robot.q[:] = 0.1
    for _ in range(3):
        world.flush()
    assert not world.robot.commands
