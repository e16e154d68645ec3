"""Scenario files as tests write them."""

from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from experiments.scenarios import read_settings
from experiments.scenarios.load import load_scenario
from experiments.scenarios.plan import Scenario
from models import load_robot
from tests.experiments.scenarios.helpers import HEAD, Load


@pytest.fixture(scope="session")
def robots() -> object:
    """`load_robot` that reads a folder once: a robot never changes."""
    return cache(load_robot)


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, robots: object) -> Load:
    """Write a text to a file below the head, and load it."""
    monkeypatch.setattr(read_settings, "load_robot", robots)

    def read(text: str) -> Scenario:
        path = tmp_path / "scenario.yaml"
        path.write_text(HEAD + dedent(text), encoding="utf-8")
        return load_scenario(path)

    return read
