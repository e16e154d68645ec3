import json
import re
import signal
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from nao_testbed.experiments import cli
from nao_testbed.experiments.cli import COMMANDS, MOVED, SHORTCUTS, app
from nao_testbed.models import BadInput
from tests.experiments.command.helpers import all_commands


def test_help_lists_twelve_commands_in_three_groups() -> None:
    """In the order in which a user meets them; the rest is named below."""
    text = CliRunner().invoke(app, ["--help"]).output
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in text.partition("--help ")[2].splitlines():
        if line.endswith(":") and not line.startswith(" "):
            names = found.setdefault(line[:-1], [])
        elif re.match(r"  \w\S*  ", line):
            names.append(line.split()[0])
    assert found == {heading: list(listed) for heading, listed in COMMANDS.items()}
    assert list(found) == ["Run", "Analyse", "Serve"]
    assert sum(map(len, found.values())) <= 12
    assert "`nao-testbed study` lists further studies" in text


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_name_of_before_still_runs_though_help_leaves_it_out(name: str) -> None:
    ran = CliRunner().invoke(app, [name, "--help"])
    assert ran.exit_code == 0
    assert f"Usage: root {name} [OPTIONS]" in ran.output


@pytest.mark.parametrize("name", MOVED)
def test_a_command_that_moved_says_where_to(name: str) -> None:
    ran = CliRunner().invoke(app, [name, "--help"])
    assert isinstance(ran.exception, BadInput)
    assert f"has moved: in a checkout, call `{MOVED[name]}`" in str(ran.exception)


@pytest.mark.parametrize("group", [["scenario"], ["resources"], ["naoqi"], ["study"]])
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


def test_every_option_has_a_help_text_that_stands_alone() -> None:
    """Not `Of the page.` or `Such as ball.`, which need the name beside them."""
    odd = {
        f"{words} {param.opts[0]}": param.help
        for words, command in all_commands()
        for param in command.params
        if not getattr(param, "hidden", False)
        if not re.fullmatch(r"(?!(Of|As|Such|Only) ).+\.", param.help or "", re.S)
    }
    assert not odd


def test_a_robot_is_told_as_json() -> None:
    data = json.loads(CliRunner().invoke(app, ["robot", "--json", "-"]).output)
    (knee,) = (j for j in data["joints"] if j["name"] == "LKneePitch")
    assert knee["upper"] == pytest.approx(2.11255)
    assert set(data["postures"]) >= {"Stand", "PoseInit"}
    assert sum(link["mass"] for link in data["links"]) == pytest.approx(data["mass_kg"])


WITHOUT_JSON = {
    *("live", "log-columns", "resources serve"),
    *("scenario schema", "study example-log", "study example-logs", "study stand-30"),
}
"""Two never end by themselves, the others only write files or print one text."""


def test_every_command_writes_json_where_it_is_asked_to() -> None:
    without = {
        words
        for words, command in all_commands()
        if not any("--json" in param.opts for param in command.params)
    }
    assert without == WITHOUT_JSON


TAKE_CONTROLLERS = {
    "heat",
    "live",
    "replay",
    "sweep",
    "posture-search",
    "scenario run",
    "study hand-guiding",
}
"""What lets a robot stand; `preset-search` fits what is published without a method."""


def test_every_command_with_controllers_takes_them_by_one_option() -> None:
    having = {
        words
        for words, command in all_commands()
        if any("--controllers" in param.opts for param in command.params)
    }
    assert having == TAKE_CONTROLLERS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("posture-search Stand --controllers smart", "needs --check"),
        ("posture-search Stand --check --controllers smrt", "Did you mean 'smart'"),
    ],
)
def test_controllers_that_would_do_nothing_are_refused(line: str, said: str) -> None:
    ran = CliRunner().invoke(app, line.split())
    assert isinstance(ran.exception, BadInput)
    assert said in str(ran.exception)


def test_without_a_checkout_studies_say_where_they_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        cli, "__file__", "/site-packages/nao_testbed/experiments/cli.py"
    )
    for words in (["study"], ["study", "hand-guiding", "--help"]):
        ran = CliRunner().invoke(app, words)
        assert isinstance(ran.exception, BadInput)
        assert "studies run from a checkout" in str(ran.exception)


def test_the_version_is_said_and_a_shell_can_complete() -> None:
    run = CliRunner().invoke
    assert run(app, ["--version"]).output == f"nao-testbed {version('nao-testbed')}\n"
    assert "--install-completion" in run(app, ["--help"]).output


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_an_error_that_a_library_makes_of_ctrl_c_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, is_interrupted: bool
) -> None:
    def build_a_class() -> None:  # as pydantic does
        try:
            if is_interrupted:
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        raise ValueError("SchemaError: KeyboardInterrupt: ")

    monkeypatch.setattr(cli, "app", build_a_class)
    # As a command finds it, whatever an earlier test of this process has left.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit if is_interrupted else ValueError) as end:
            cli.main()
    finally:
        signal.signal(signal.SIGINT, handler)
    if is_interrupted:
        assert end.value.args == (130,)
