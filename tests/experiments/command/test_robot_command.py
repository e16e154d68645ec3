"""`nao-testbed robot`: what a robot is, and a robot of one's own."""

from pathlib import Path

import pytest

from experiments.closed_loop.robot_source import SimulatorSource, robot_source
from experiments.scenarios.reading.load import load_scenario
from models import load_robot
from tests.experiments.command.helpers import Run

SCENARIO = """
name: a moment
about: A robot of one's own stands.
robot: mine
duration_s: 0.1
behaviours: []
"""


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
    (here / "own.yaml").write_text(SCENARIO)
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
        path.write_text(path.read_text().replace(old, new, 1))
    refused = nao_testbed("heat --robot mine --minutes 0.005")
    assert refused.status == 2
    assert refused.err == (
        "error: mine/links.csv:2: link 'torso', inertial, mass: value is '2.04956' by "
        "the tables and '1.04956' in nao.urdf:20. Here the tables are the truth and "
        "the URDF is written from them: do so by `nao-testbed robot --robot mine "
        "--write-urdf`.\n"
    )
    written = nao_testbed("robot --robot mine --write-urdf")
    assert written.status == 0
    assert load_robot(here / "mine").links[0].mass == 2.04956


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("robot --write-urdf", "give it by --robot DIR."),
        ("robot --copy .", ". exists; give a folder that does not."),
    ],
)
def test_what_cannot_be_done_is_said(nao_testbed: Run, line: str, says: str) -> None:
    refused = nao_testbed(line)
    assert refused.status == 2
    assert says in refused.err
