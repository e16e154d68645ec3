import json
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from experiments.cli import ORDER, app


def test_help_lists_every_command_in_the_order_a_user_meets_them() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    listed = text.partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in listed if line[:4].strip()]
    assert tuple(names) == ORDER


@pytest.mark.parametrize("group", [[], ["scenario"], ["resources"]])
def test_help_shows_whole_sentences(group: list[str]) -> None:
    text = CliRunner().invoke(app, [*group, "--help"]).output
    listed = text.partition("Commands:")[2]
    assert "..." not in listed
    starts = [
        i for i, c in enumerate(listed) if listed[i - 3 : i] == "\n  " and c != " "
    ]
    ends = [*starts[1:], len(listed)]
    for begin, end in zip(starts, ends, strict=True):
        assert listed[begin:end].rstrip().endswith("."), listed[begin:end]


def test_a_robot_is_told_as_json() -> None:
    data = json.loads(CliRunner().invoke(app, ["robot", "--json", "-"]).output)
    (knee,) = (j for j in data["joints"] if j["name"] == "LKneePitch")
    assert knee["upper"] == pytest.approx(2.11255)
    assert set(data["postures"]) >= {"Stand", "PoseInit"}
    assert sum(link["mass"] for link in data["links"]) == pytest.approx(data["mass_kg"])


def test_the_version_is_said_and_a_shell_can_complete() -> None:
    run = CliRunner().invoke
    assert run(app, ["--version"]).output == f"nao-testbed {version('nao-testbed')}\n"
    assert "--install-completion" in run(app, ["--help"]).output
