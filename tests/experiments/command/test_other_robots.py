"""Commands with robots whose joints, links and postures have other names."""

import shutil
from pathlib import Path

import pytest

from tests.experiments.command.helpers import Run

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
OTHER_NAMES = {
    **{"left": "port", "right": "starboard", "Left": "Port", "Right": "Starboard"},
    **{"two_leg": "hopper", "trunk": "hull", "Stand": "Tall", "Straight": "Plank"},
}
SCENARIO = """
name: short
about: Watches, and a posture by its role.
duration_s: 0.3
robot: {robot}
behaviours:
  - {{name: a, schema: battery watch}}
  - {{name: b, schema: {schema}}}
expect: [{{never: {{fallen: true}}}}]
"""


@pytest.fixture
def hopper(tmp_path: Path) -> Path:
    """A robot of six joints without roles and without names of the NAO."""
    folder = tmp_path / "hopper"
    shutil.copytree(TWO_LEG, folder)
    for path in folder.iterdir():
        text = path.read_text("utf-8")
        for name, other in OTHER_NAMES.items():
            text = text.replace(name, other)
        path.write_text(text, "utf-8")
    (folder / "two_leg.urdf").rename(folder / "hopper.urdf")
    return folder


@pytest.mark.slow
def test_a_robot_with_other_names_stands_and_is_reported(
    hopper: Path, nao_testbed: Run
) -> None:
    ran = nao_testbed(f"heat --robot {hopper} --minutes 0.02 --controllers fixed")
    assert ran.status == 0, ran.err
    assert "port_knee" in ran.out
    ran = nao_testbed("report runs/heat --out page.html")
    assert ran.status == 0, ran.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--posture sit", "needs the role 'postures.sit', which robot 'hopper' lacks"),
        ("--posture upright", "add `postures: {upright: POSTURE}` under `roles`"),
        ("--protection robot", "robot 'hopper' has no thresholds of its own; add"),
    ],
)
def test_missing_parts_are_named(
    options: str, told: str, hopper: Path, nao_testbed: Run
) -> None:
    ran = nao_testbed(f"heat --robot {hopper} {options}")
    assert (ran.status, ran.out) == (2, "")
    assert told in " ".join(ran.err.split())


@pytest.mark.parametrize("robot", ["g1", "t1", "hopper"])
def test_a_scenario_names_its_robot(
    robot: str, hopper: Path, here: Path, nao_testbed: Run
) -> None:
    where = hopper if robot == "hopper" else robot
    file = here / "own" / "short.yaml"
    file.parent.mkdir()
    file.write_text(SCENARIO.format(robot=where, schema="hot joint watch"), "utf-8")
    ran = nao_testbed("scenario check own/short.yaml")
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.slow
def test_a_schema_names_its_missing_role(
    hopper: Path, here: Path, nao_testbed: Run
) -> None:
    file = here / "short.yaml"
    file.write_text(SCENARIO.format(robot=hopper, schema="sit"), "utf-8")
    ran = nao_testbed("scenario check short.yaml")
    assert ran.status == 2
    assert "needs the role 'postures.sit', which robot 'hopper' lacks" in ran.err
