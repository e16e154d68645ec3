"""What all tests of the gate share."""

from collections.abc import Iterator

import pytest

from nao_testbed.models import Robot
from tests.controllers.arbitration.gate_setup import World


@pytest.fixture
def world(nao: Robot) -> Iterator[World]:
    """A gate whose trace keeps the invariants, whatever a test does with it."""
    world = World.of(nao)
    yield world
    assert not world.checker.finish()
