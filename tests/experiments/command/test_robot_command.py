"""`nao-testbed robot`: descriptions and copies of robots."""

import json
import shutil
from pathlib import Path

import pytest

from nao_testbed.experiments.closed_loop.robot_source import (
    SimulatorSource,
    robot_source,
)
from nao_testbed.experiments.common.options.completion import robots
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.models import load_robot
from nao_testbed.models.files.yaml_forms import FileErrors
from tests.experiments.command.helpers import Run

TWO_LEG = Path(__file__).resolve().parents[2] / "data" / "two_leg"

SCENARIO = """
name: a moment
about: A robot of one's own stands.
robot: mine
duration_s: 0.1
behaviours: []
"""


@pytest.mark.parametrize("name", ["g1", "t1"])
def test_a_built_in_robot_is_listed_and_described_by_name(
    nao_testbed: Run, name: str
) -> None:
    listed = next(x for x in nao_testbed("robot").out.splitlines() if "built-in" in x)
    assert listed.split()[-3:] == ["g1,", "nao,", "t1"]
    said = nao_testbed(f"robot --robot {name}").out
    assert f"Robot {name}" in said
    assert "left_foot" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g1", "t1"])
def test_a_built_in_robot_stands(nao_testbed: Run, here: Path, name: str) -> None:
    run = nao_testbed(
        f"heat --robot {name} --minutes 0.1 --controllers fixed --out x --json h.json"
    )
    assert run.status == 0, run.err
    (trial,) = json.loads((here / "h.json").read_text("utf-8"))["trials"].values()
    assert (trial["fell"], trial["failure"]) == (False, None)


def test_a_shell_completes_built_in_robots() -> None:
    assert robots("") == ["g1", "nao", "t1"]
    assert robots("t") == ["t1"]


@pytest.mark.slow(covers=True)
def test_a_copy_is_a_robot_for_every_command(nao_testbed: Run, here: Path) -> None:
    copied = nao_testbed("robot --copy mine")
    assert (copied.status, copied.out) == (0, "")
    assert "--robot mine" in copied.err
    assert "LAnklePitch" in nao_testbed("robot --robot mine").out
    lacking = load_robot(Path("mine")).with_body("T14")
    assert lacking.folder == (here / "mine").resolve()
    assert robot_source("mine") == SimulatorSource(robot_folder=Path("mine"))
    stood = nao_testbed("heat --robot mine --minutes 0.005 --controllers fixed --out x")
    assert stood.status == 0, stood.err
    (here / "own.yaml").write_text(SCENARIO, "utf-8")
    assert load_scenario(here / "own.yaml").robot.folder == (here / "mine").resolve()


def test_an_edited_copy_is_refused_until_its_urdf_is_written(
    nao_testbed: Run, here: Path
) -> None:
    nao_testbed("robot --copy mine")
    for name, old, new in (
        ("links.csv", "1.04956", "2.04956"),
        ("robot.yaml", "5.305", "6.305"),
    ):
        path = here / "mine" / name
        path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    refused = nao_testbed("heat --robot mine --minutes 0.005")
    assert refused.status == 2
    assert refused.err == (
        "error: mine/links.csv:2: link 'torso', inertial, mass: value is '2.04956' in "
        "the tables and '1.04956' in nao.urdf:20. The URDF is generated from the "
        "tables: run `nao-testbed robot --robot mine --write-urdf`.\n"
    )
    written = nao_testbed("robot --robot mine --write-urdf")
    assert written.status == 0
    assert load_robot(here / "mine").links[0].mass == 2.04956


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("robot --write-urdf", "needs --robot with the folder"),
        ("robot --robot g1 --from-urdf a.urdf b", "--from-urdf takes no other option"),
        ("robot --from-urdf a.urdf b", "a.urdf is not a file; give a URDF"),
        ("robot --copy .", ". exists; give a folder that does not."),
    ],
)
def test_invalid_requests_are_rejected(nao_testbed: Run, line: str, says: str) -> None:
    refused = nao_testbed(line)
    assert refused.status == 2
    assert says in refused.err


def make_other(folder: Path) -> None:
    """Write a robot with names of links, joints and postures unlike the NAO's."""
    shutil.copytree(TWO_LEG, folder)
    for name in ("postures.csv", "robot.yaml"):
        path = folder / name
        path.write_text(path.read_text("utf-8").replace("Stand", "Home"), "utf-8")


LINES = {
    "heat": "heat --minutes 0.005 --controllers fixed",
    "study hand-guiding": "study hand-guiding --controllers fixed",
    "live": "live --no-browser",
    "run": "run --address simulator --minutes 0.0005",
}
"""Commands that are valid for the NAO; checking them needs no engine."""


@pytest.mark.parametrize("command", LINES)
def test_another_robot_needs_no_additional_option(
    nao_testbed: Run,
    here: Path,
    undrawn: None,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """No default of a command is specific to the NAO."""
    make_other(here / "other")
    monkeypatch.setattr("studies.hand_guiding.pulls", lambda *_: ())
    monkeypatch.setattr(
        "nao_testbed.experiments.live.run_live.run_live_command", lambda *_, **__: 0
    )
    ran = nao_testbed(f"{LINES[command]} --robot other")
    assert ran.status == 0, ran.err


def test_an_explicit_preset_for_another_robot_is_rejected(
    nao_testbed: Run,
) -> None:
    refused = nao_testbed(f"live --no-browser --preset document --robot {TWO_LEG}")
    assert refused.status == 2
    assert "preset 'document' is made for another robot" in refused.err


def test_a_scenario_starts_in_a_posture_of_its_robot(here: Path) -> None:
    make_other(here / "mine")
    (here / "own.yaml").write_text(SCENARIO, "utf-8")
    assert load_scenario(here / "own.yaml").posture == "Home"
    (here / "own.yaml").write_text(SCENARIO + "posture: Stand\n", "utf-8")
    with pytest.raises(FileErrors, match="Posture 'Stand' is not in robot 'two_leg'"):
        load_scenario(here / "own.yaml")
