"""Commands overwrite files of other programs only with --overwrite."""

from pathlib import Path

import pytest

from tests.experiments.command.helpers import Run, all_commands

PRECIOUS = "my thesis: heat of humanoid robots, with nao-testbed\n"
JSON_COMMANDS = {
    "heat": "heat",
    "study hand-guiding": "study hand-guiding",
    "report": "report run",
    "replay": "replay run",
    "export": "export run",
    "robot": "robot",
    "sweep": "sweep fifty_robots",
    "sweep-show": "sweep-show sweep",
    "posture-search": "posture-search Stand",
    "xray": "xray run",
    "identify": "identify run --joint LKneePitch",
    "run": "run --address simulator",
    "study preset-search": "study preset-search --out new.yaml",
    "study predict-published": "study predict-published",
    "study xray-calibration": "study xray-calibration",
    "scenario run": "scenario run table_edge",
    "scenario check": "scenario check table_edge",
    "scenario schemas": "scenario schemas",
    "scenario words": "scenario words",
    "scenario list": "scenario list",
    "naoqi serve": "naoqi serve --port 0",
    "naoqi run": "naoqi run --address simulator",
    "resources list": "resources list",
    "resources take": "resources take Head",
    "resources release": "resources release 1-1-ff",
    "resources add": "resources add ball",
    "resources upload": "resources upload rules.yaml",
    "resources show": "resources show look",
    "resources start": "resources start look",
    "resources stop": "resources stop look",
    "resources revoke": "resources revoke Head",
    "resources give-back": "resources give-back",
}
OTHER_FILES = (
    "report run --out {}",
    "export run --out {}",
    "export run --to csv --out {}",
    "report run --to csv --out {}",
    "sweep --show sweep --json {}",
    "xray run --figure {}",
    "study predict-published --figure {}",
    "study preset-search --out {}",
    "study example-log --out {}",
    "scenario run table_edge --junit {}",
)


def test_all_commands_with_json_are_covered() -> None:
    assert set(JSON_COMMANDS) == {
        words
        for words, command in all_commands()
        if any(param.name == "json_file" for param in command.params)
    }


@pytest.mark.parametrize(
    "line", [f"{line} --json {{}}" for line in JSON_COMMANDS.values()] + [*OTHER_FILES]
)
def test_a_foreign_file_is_not_overwritten(
    here: Path, nao_testbed: Run, line: str
) -> None:
    path = here / "precious.png"
    path.write_text(PRECIOUS, "utf-8")
    ran = nao_testbed(line.format(path))
    assert ran.status == 2
    assert f"{path} exists, and nao-testbed did not write it; give another" in ran.err
    assert path.read_text("utf-8") == PRECIOUS
    assert list(here.iterdir()) == [path]


@pytest.mark.parametrize("word", ["list", "words", "schemas"])
def test_a_folder_is_no_output_file(nao_testbed: Run, here: Path, word: str) -> None:
    ran = nao_testbed(f"scenario {word} --json .")
    assert ran.status == 2
    assert ran.out == ""
    assert "give another file" in ran.err.lower()


def test_own_files_are_replaced_and_others_by_overwrite(
    here: Path, nao_testbed: Run
) -> None:
    path = here / "robot.json"
    path.write_text(PRECIOUS, "utf-8")
    assert nao_testbed("robot --json robot.json --overwrite").status == 0
    written = path.read_text("utf-8")
    assert '"robot": "nao"' in written
    assert nao_testbed("robot --json robot.json").status == 0
    path.write_text("", "utf-8")  # as made by `mktemp`
    assert nao_testbed("robot --json robot.json").status == 0
    assert path.read_text("utf-8") == written


@pytest.mark.parametrize("kind", ["mcap", "csv"])
def test_an_export_replaces_an_export_but_nothing_beside_it(
    here: Path, nao_testbed: Run, walker_run: Path, kind: str
) -> None:
    line = f"export {walker_run} --to {kind} --out export.{kind}"
    assert nao_testbed(line).status == 0
    assert nao_testbed(line).status == 0
    if kind == "csv":
        beside = here / "export.events.csv"
        beside.write_text(PRECIOUS, "utf-8")
        assert nao_testbed(line).status == 2
        assert beside.read_text("utf-8") == PRECIOUS
