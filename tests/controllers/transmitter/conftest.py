"""What all tests of the transmitter share."""

from collections.abc import Iterator

import pytest

from tests.controllers.transmitter.transmitter_world import TransmitterWorld


@pytest.fixture(autouse=True)
def _every_story_keeps_the_invariants() -> Iterator[None]:
    """Judge the trace of each stage that a test has made."""
    TransmitterWorld.made.clear()
    yield
    found = [stage.checker.finish(is_over=True) for stage in TransmitterWorld.made]
    assert not any(found), found
