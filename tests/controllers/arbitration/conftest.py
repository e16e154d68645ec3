"""Fixtures shared by the tests of reservations."""

import os
from collections.abc import Iterator

import pytest

from tests.controllers.arbitration.ledger_setup import LedgerSetup


@pytest.fixture(autouse=True)
def _check_invariants() -> Iterator[None]:
    """Check the invariants on the trace of each ledger that a test has made."""
    LedgerSetup.made.clear()
    yield
    found = [stage.checker.finish() for stage in LedgerSetup.made]
    assert not any(found), found


@pytest.fixture(scope="session")
def soak() -> int:
    """Return the number of histories of a soak test, from the environment."""
    text = os.environ.get("TESTBED_SOAK", "")
    if not text:
        pytest.skip("set TESTBED_SOAK=100000 for a soak of 100 000 histories")
    return int(text)
