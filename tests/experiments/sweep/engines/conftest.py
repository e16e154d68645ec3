"""Worker processes can import the work of these tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True, scope="module")
def workers_find_tests() -> Iterator[None]:
    """Put the checkout on their path: an installation contains the package only."""
    with pytest.MonkeyPatch.context() as patch:
        known = os.environ.get("PYTHONPATH")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), known))))
        yield
