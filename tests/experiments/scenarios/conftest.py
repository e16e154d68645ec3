"""Fixtures that load scenario files."""

from pathlib import Path
from textwrap import dedent

import pytest

from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.scenario import Scenario
from tests.experiments.scenarios.helpers import HEAD, Load


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write text to a file below a common header, and load it."""

    def read(text: str) -> Scenario:
        path = tmp_path / "scenario.yaml"
        path.write_text(HEAD + dedent(text), encoding="utf-8")
        return load_scenario(path)

    return read
