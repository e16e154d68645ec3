"""What all tests of the transmitter share."""

from collections.abc import Iterator

import pytest

from tests.controllers.sync.sync_world import Stage


@pytest.fixture(autouse=True)
def _every_story_keeps_the_invariants() -> Iterator[None]:
    """Judge the trace of each stage that a test has made."""
    Stage.made.clear()
    yield
    found = [stage.checker.finish(is_over=True) for stage in Stage.made]
    assert not any(found), found
