"""The scenarios that come with the testbed, by their names."""

from pathlib import Path

from experiments.scenarios.form.scenario_file import ScenarioFile
from experiments.shipped import Shipped
from models.yaml_lines import read_file

SCENARIOS = Shipped(kind="scenario", folder=Path(__file__).resolve().parent)


def scenario_about(name: str) -> str:
    """Return what a scenario of ours says of itself.

    Raises:
        UnknownName: none of ours has this name.
        FileErrors: its file is wrong.
    """
    return read_file(SCENARIOS.named(name), ScenarioFile).refuse().about
