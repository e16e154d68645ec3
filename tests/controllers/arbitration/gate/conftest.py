"""Fixtures shared by the tests of the gate."""

from collections.abc import Iterator

import pytest

from nao_testbed.models import Robot
from tests.controllers.arbitration.gate_setup import World


@pytest.fixture
def world(nao: Robot) -> Iterator[World]:
    """Return a gate whose trace is checked against the invariants after the test."""
    world = World.of(nao)
    yield world
    assert not world.checker.finish()
