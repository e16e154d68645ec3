"""Listeners that call ledger and gate while commands are tested and written."""

import pytest

from controllers.arbitration.events import Commanded, Event, Executed, Rejected
from models import Robot
from tests.controllers.arbitration.gate_setup import World


@pytest.fixture
def world(nao: Robot) -> World:
    return World.of(nao)


@pytest.mark.requirement("AR-10", "AR-11")
def test_a_listener_that_releases_while_a_slot_is_tested_lets_nothing_stale_pass(
    world: World,
) -> None:
    """What was tested is written before anybody hears of a refusal in that slot."""
    gone = world.take("gone", "HeadPitch")
    moves = world.take("moves", "HeadYaw")

    def release(event: Event) -> None:
        if isinstance(event, Rejected):
            world.ledger.release(moves, world.ledger.tick)

    world.ledger.listeners.append(release)
    world.gate.submit(moves, "HeadYaw", 0.3)
    world.gate.submit(gone, "HeadPitch", 0.1)
    world.ledger.release(gone, world.ledger.tick)
    assert world.flush() == ("RELEASED",)
    assert world.target_of("HeadYaw") == 0.3
    assert [event.resource for event in world.told(Executed)] == ["HeadYaw"]
    assert not world.checker.violations


@pytest.mark.requirement("AR-10")
def test_a_listener_that_flushes_at_a_command_writes_it_once(world: World) -> None:
    """It hears of the command when the command is in the slot, whole."""
    moves = world.take("moves", "Head")

    def flush(event: Event) -> None:
        if isinstance(event, Commanded):
            world.gate.flush(world.ledger.tick)

    world.ledger.listeners.append(flush)
    world.gate.submit(moves, "HeadYaw", 0.3)
    world.gate.submit_all(moves, {"HeadYaw": 0.2, "HeadPitch": 0.1})
    world.ledger.listeners.remove(flush)
    world.flush()
    asked = [event.command for event in world.told(Commanded)]
    assert sorted(e.command for e in world.told(Executed)) == asked
    assert (world.target_of("HeadYaw"), world.target_of("HeadPitch")) == (0.2, 0.1)
    assert not world.checker.violations


def test_a_listener_that_commands_at_a_command_comes_after_it(world: World) -> None:
    moves = world.take("moves", "Head")
    n_asked = 0

    def ask_again(event: Event) -> None:
        nonlocal n_asked
        if isinstance(event, Commanded) and n_asked < 3:
            n_asked += 1
            world.gate.submit(moves, "HeadYaw", 0.1 * n_asked)

    world.ledger.listeners.append(ask_again)
    world.gate.submit(moves, "HeadYaw", 0.0)
    world.flush()
    assert world.target_of("HeadYaw") == pytest.approx(0.3)
    (executed,) = world.told(Executed)
    assert executed.command == 4
    assert not world.checker.violations
