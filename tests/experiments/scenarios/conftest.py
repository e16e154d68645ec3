"""Fixtures that load scenario files."""

from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from nao_testbed.experiments.scenarios.reading import scenario_file
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.models import load_robot
from tests.experiments.scenarios.helpers import HEAD, Load

ROBOTS = cache(load_robot)
"""Each folder is read once for all tests, since robots are immutable."""


@pytest.fixture(autouse=True)
def robots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache the robots of scenario files between tests."""
    monkeypatch.setattr(scenario_file, "load_robot", ROBOTS)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write text to a file below a common header, and load it."""

    def read(text: str) -> Scenario:
        path = tmp_path / "scenario.yaml"
        path.write_text(HEAD + dedent(text), encoding="utf-8")
        return load_scenario(path)

    return read
