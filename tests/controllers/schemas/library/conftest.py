"""Fixture: the NAO with the library of these tests."""

import pytest

from nao_testbed.models import Robot
from tests.controllers.schemas.library.body import with_test_library


@pytest.fixture(scope="session")
def robot(nao: Robot) -> Robot:
    return with_test_library(nao)
