"""Workers in processes of their own find the work that these tests give them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True, scope="module")
def workers_find_tests() -> Iterator[None]:
    """Put the checkout on their path, as an installation puts the package alone."""
    with pytest.MonkeyPatch.context() as patch:
        known = os.environ.get("PYTHONPATH")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), known))))
        yield
