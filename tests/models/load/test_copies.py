"""A copy of the NAO's folder is a robot defined by its tables."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.models import (
    RobotDataError,
    default_robot_folder,
    load_robot,
)
from nao_testbed.models.load import copy_robot
from nao_testbed.models.load.write_urdf import main as write
from tests.messages import Messages

NAO = default_robot_folder()
Edit = Callable[[Path, str, str, str], None]


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{old!r} is not in {file}"
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy with its own URDF."""
    return copy_robot(NAO, tmp_path / "mine")


def test_a_plain_copy_of_the_folder_is_a_robot(tmp_path: Path) -> None:
    """The URDF path is outside; the shipped URDF is used if it agrees."""
    folder = Path(shutil.copytree(NAO, tmp_path / "mine"))
    assert load_robot(folder).total_mass == load_robot(NAO).total_mass


@pytest.mark.slow
def test_a_copy_is_self_contained(copy: Path) -> None:
    robot = load_robot(copy)
    assert robot.urdf.parent == copy.resolve()
    assert robot.joint_names == load_robot(NAO).joint_names
    assert robot.library.motions.keys() == load_robot(NAO).library.motions.keys()
    # Only the line of the URDF differs; comments stay.
    before = (NAO / "robot.yaml").read_text(encoding="utf-8").splitlines()
    after = (copy / "robot.yaml").read_text(encoding="utf-8").splitlines()
    changed = [pair for pair in zip(before, after, strict=True) if len(set(pair)) > 1]
    assert changed == [("urdf: ../urdf/nao.urdf", "urdf: nao.urdf")]


def test_another_robot_can_be_copied(tmp_path: Path) -> None:
    walker = Path(__file__).parents[2] / "data" / "two_leg"
    robot = load_robot(copy_robot(walker, tmp_path / "walker"))
    assert robot.urdf == (tmp_path / "walker" / "two_leg.urdf").resolve()


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("links.csv", "0.09304", "0.2", ("links.csv:5", "LShoulder", "mass", "0.2")),
        ("links.csv", "0,0.098,0.1", "0,0.098,0.2", ("links.csv:5", "origin", "0.2")),
        ("shapes.csv", "0.1,0.12,0.19", "0.1,0.12,0.25", ("shapes.csv", "0.25")),
        ("materials.csv", "0.93,0.93,0.92", "1,0,0", ("materials.csv", "shell")),
        ("nao.urdf", 'mass value="0.09304"', 'mass value="0.2"', ("links.csv:5",)),
    ],
)
def test_an_edit_that_does_not_reach_the_urdf_is_refused(
    copy: Path, file: str, old: str, new: str, says: tuple[str, ...]
) -> None:
    edit(copy, file, old, new)
    with pytest.raises(RobotDataError) as refused:
        load_robot(copy)
    for word in (*says, "nao.urdf", "is generated from the tables", "--write-urdf"):
        assert word in str(refused.value), word


def test_a_plain_copy_that_is_edited_is_refused_too(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(NAO, tmp_path / "mine"))
    edit(folder, "links.csv", "0.09304", "0.2")
    with pytest.raises(RobotDataError, match="is generated from the tables"):
        load_robot(folder)
    edit(folder, "robot.yaml", "5.305", "5.412")
    ours = load_robot(NAO).urdf.read_bytes()
    write([str(folder)])
    assert load_robot(folder).urdf.parent == folder.resolve()
    assert load_robot(NAO).urdf.read_bytes() == ours


def test_rewriting_the_urdf_applies_the_edit(copy: Path) -> None:
    edit(copy, "links.csv", "0.09304", "0.19304")
    edit(copy, "robot.yaml", "5.305", "5.405")
    write([str(copy)])
    robot = load_robot(copy)
    assert {link.name: link.mass for link in robot.links}["LShoulder"] == 0.19304


def test_servo_values_need_no_new_urdf(copy: Path) -> None:
    """`joints.csv` gives efforts and speeds; URDF readers do not use them."""
    edit(copy, "joints.csv", "8.26797,1.547", "8.26797,1.9")
    assert load_robot(copy).joints[0].effort_limit == 1.9


def test_a_different_name_is_accepted(copy: Path) -> None:
    edit(copy, "robot.yaml", "name: nao", "name: mine")
    assert load_robot(copy).name == "mine"


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("links.csv", ",HeadYaw,", ",HeadYw,", "links.csv:3: Joint 'HeadYw' is not in"),
        (
            "links.csv",
            ",HeadYaw,",
            ",,",
            "links.csv:3: link 'Neck' is attached to 'torso'",
        ),
        ("links.csv", "Neck,torso", "Ne<k,torso", "links.csv:3: link 'Ne<k' has"),
        ("shapes.csv", ",0.0505,", ",,", "shapes.csv:3: a cylinder has radius, length"),
        ("shapes.csv", "0.1,0.12,0.19", "0.1,,0.19", "shapes.csv:2: a box has size_x"),
    ],
)
def test_tables_that_make_no_urdf_are_refused(
    copy: Path, file: str, old: str, new: str, says: str
) -> None:
    edit(copy, file, old, new)
    for use in (load_robot, lambda folder: write([str(folder)])):
        with pytest.raises(RobotDataError) as refused:
            use(copy)
        assert says in str(refused.value)


def test_messages(messages: Messages, copy: Path) -> None:
    messages(a_copy_goes_over_nothing=lambda: copy_robot(NAO, copy))
