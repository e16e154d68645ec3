"""Fixtures shared by the tests of the transmitter."""

from collections.abc import Iterator

import pytest

from nao_testbed.models import Robot
from tests.controllers.transmitter.transmitter_world import World


@pytest.fixture
def stage(nao: Robot) -> World:
    return World.of(nao)


@pytest.fixture(autouse=True)
def _check_invariants() -> Iterator[None]:
    """Check the trace of each setup that a test has made."""
    World.made.clear()
    yield
    found = [stage.checker.finish() for stage in World.made]
    assert not any(found), found
