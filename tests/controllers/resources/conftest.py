"""How many generated histories a soak runs."""

import os

import pytest


@pytest.fixture(scope="session")
def soak() -> int:
    """Number of histories of a soak, from the environment; without it none."""
    text = os.environ.get("TESTBED_SOAK", "")
    if not text:
        pytest.skip("set TESTBED_SOAK=100000 for a soak of 100 000 histories")
    return int(text)
