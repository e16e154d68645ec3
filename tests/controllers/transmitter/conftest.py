"""What all tests of the transmitter share."""

from collections.abc import Iterator

import pytest

from nao_testbed.models import Robot
from tests.controllers.transmitter.transmitter_world import World


@pytest.fixture
def stage(nao: Robot) -> World:
    return World.of(nao)


@pytest.fixture(autouse=True)
def _every_story_keeps_the_invariants() -> Iterator[None]:
    """Judge the trace of each stage that a test has made."""
    World.made.clear()
    yield
    found = [stage.checker.finish() for stage in World.made]
    assert not any(found), found
