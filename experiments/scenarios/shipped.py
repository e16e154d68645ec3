"""The scenarios that come with the testbed, by their names."""

from pathlib import Path

from experiments.scenarios.form.scenario_file import ScenarioFile
from models import BadInput, UnknownName
from models.yaml_lines import read_file

FOLDER = Path(__file__).resolve().parent


def scenario_names() -> tuple[str, ...]:
    """Return the names under which they are run, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def find_scenario(text: str) -> Path:
    """Return the file that a command line means: a file, or one of ours by its name.

    Raises:
        UnknownName: there is no such file, and none of ours has this name.
        BadInput: it is a folder, or a path at which there is no file.
    """
    path = Path(text)
    if path.is_file():
        return path
    if text in scenario_names():
        return FOLDER / f"{text}.yaml"
    if path.is_dir():
        raise BadInput(f"{text} is a folder; name a scenario file in it.")
    if path.suffix or len(path.parts) > 1:
        raise BadInput(f"there is no file {text}; give another path.")
    names = scenario_names()
    raise UnknownName("Scenario", text, names, "this folder, nor among those that ship")


def scenario_about(name: str) -> str:
    """Return what a scenario of ours says of itself.

    Raises:
        FileErrors: its file is wrong.
    """
    return read_file(FOLDER / f"{name}.yaml", ScenarioFile).refuse().about
