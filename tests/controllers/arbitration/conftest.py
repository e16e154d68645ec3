"""What all tests of reservations share."""

import os
from collections.abc import Iterator

import pytest

from tests.controllers.arbitration.ledger_setup import LedgerSetup


@pytest.fixture(autouse=True)
def _every_story_keeps_the_invariants() -> Iterator[None]:
    """Judge the trace of each stage that a test has made."""
    LedgerSetup.made.clear()
    yield
    found = [stage.checker.finish() for stage in LedgerSetup.made]
    assert not any(found), found


@pytest.fixture(scope="session")
def soak() -> int:
    """Number of histories of a soak, from the environment; without it none."""
    text = os.environ.get("TESTBED_SOAK", "")
    if not text:
        pytest.skip("set TESTBED_SOAK=100000 for a soak of 100 000 histories")
    return int(text)
