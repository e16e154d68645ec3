"""Unusable numbers of a URDF are rejected with their line.

`new` replaces `old` in the walker's URDF. It once caused a traceback in an engine or
Pinocchio, or silently removed a mass or a shape.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.stiffness.dynamics import (
    Dynamics,
    build_model,
    build_shapes,
)
from nao_testbed.models import BadInput, Robot, RobotDataError, load_robot
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.world import WorldCfg

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
ORIGIN = '<origin xyz="0 0.05 0"/>'  # of left_hip
LIMIT = 'lower="-1.2" upper="0.8" effort="2" velocity="6"/>'  # of left_hip
AXIS = '<axis xyz="0 1 0"/>'  # of left_hip
FRAME = '<link name="f{n}"/>\n<joint name="j{n}" type="fixed"><parent link="{on}"/>'
FRAME += '<child link="f{n}"/></joint>\n'


def test_a_missing_product_of_inertia_is_0(tmp_path: Path) -> None:
    """Without `ixy` Pinocchio silently drops the rest of the inertia."""
    robots = load_robot(TWO_LEG), load_robot(spoilt(tmp_path, ' ixy="0"', ""))
    whole, other = (Dynamics(robot).inertia_matrix() for robot in robots)
    np.testing.assert_array_equal(other, whole)


def spoilt(folder: Path, old: str, new: str) -> Path:
    """Return a copy of the walker with a text of the URDF replaced."""
    shutil.copytree(TWO_LEG, folder / "bot")
    urdf = folder / "bot" / "two_leg.urdf"
    text = urdf.read_text("utf-8")
    assert old in text
    urdf.write_text(text.replace(old, new, 1), "utf-8")
    return folder / "bot"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (ORIGIN, '<origin xyz="0 0.05"/>', 25, "is '0 0.05'; give three numbers"),
        (ORIGIN, '<origin xyz="0 1,5 0"/>', 25, "is '1,5'; give a finite number"),
        (ORIGIN, '<origin rpy="0 nan 0"/>', 25, "is 'nan'; give a finite number"),
        (ORIGIN, '<origin rpy="0 1_0 0"/>', 25, "is '1_0'; give a finite number"),
        (ORIGIN, '<origin xyz="0 1e308 0"/>', 25, "give numbers from -100 to 100"),
        (AXIS, "<axis/>", 26, "has no attribute 'xyz'"),
        (LIMIT, 'lower="-1.2" upper="0.8" velocity="6"/>', 27, "no attribute 'effort'"),
        (LIMIT, 'lower="-1.2" upper="0.8" effort="6"/>', 27, "attribute 'velocity'"),
        (LIMIT, LIMIT.replace('"2"', '"-2"'), 27, "is '-2'; give numbers from 0"),
        (LIMIT, LIMIT.replace('"6"', '"inf"'), 27, "is 'inf'; give a finite number"),
        (LIMIT, LIMIT.replace('"6"', '"6 "'), 27, "is '6 '; give a finite number"),
        (AXIS, f'{AXIS}<dynamics damping="x"/>', 26, "damping of dynamics is 'x'"),
        (AXIS, f'{AXIS}<dynamics friction="-1"/>', 26, "is '-1'; give numbers from 0"),
        (AXIS, f"{AXIS}<safety_controller/>", 26, "has no attribute 'k_velocity'"),
        (AXIS, f'{AXIS}<calibration rising="x"/>', 26, "rising of calibration is 'x'"),
        ('rgba="0.85 0.88 0.9 1"', 'rgba="1 1 1"', 4, "give four numbers"),
        ('value="1"', 'value="1 "', 9, "is '1 '; give a finite number"),
        ('size="0.08 0.14 0.12"', 'size="1e308 1 1"', 14, "give numbers from 0 to 100"),
        ('<?xml version="1.0"', '<?xml version="1.0" encoding="no"', 1, "save it as"),
        ("<link ", '<material name="light"/>\n  <link ', 6, "'light' appears twice"),
        (AXIS, AXIS + "<a>" * 100 + "</a>" * 100, 26, "nested more than 100 deep"),
    ],
)
def test_an_unreadable_number_is_rejected_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    folder = spoilt(tmp_path, old, new)
    with pytest.raises(RobotDataError) as refused:
        load_robot(folder)
    assert str(refused.value).startswith(f"{folder / 'two_leg.urdf'}:{line}: ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('xyz="0 0 0.06"', 'xyz="0\n0 0.06"'),  # of the trunk's mass
        ('<origin xyz="0 0.05 0"/>', '<origin xyz="0 0.05\n 0"/>'),
        ('size="0.08 0.14 0.12"/></geometry>\n    </coll', 'size="0.08\n0.14 0.12"/>'
         "</geometry>\n    </coll"),
        ("<robot ", '<!DOCTYPE robot [<!ENTITY a "0 0.05 0">]>\n<robot '),
    ],
)  # fmt: skip
def test_pinocchio_reads_the_same_model_as_the_engines(
    tmp_path: Path, two_leg: Robot, old: str, new: str
) -> None:
    """Pinocchio's own reader drops masses and shapes, or rejects the file."""
    folder = spoilt(tmp_path, old, new)
    if "ENTITY" in new:
        urdf = folder / "two_leg.urdf"
        urdf.write_text(
            urdf.read_text("utf-8").replace('xyz="0 0.05 0"', 'xyz="&a;"'), "utf-8"
        )
    robot = load_robot(folder)
    assert Dynamics(robot).mass == pytest.approx(two_leg.total_mass)
    np.testing.assert_array_equal(Dynamics(robot).com, Dynamics(two_leg).com)
    shapes, plain = (
        len(build_shapes(one, build_model(one)).geometryObjects)
        for one in (robot, two_leg)
    )
    assert shapes == plain


def test_a_model_rejected_by_pinocchio_is_bad_input(tmp_path: Path) -> None:
    robot = load_robot(spoilt(tmp_path, AXIS, f"{AXIS}<dynamics/>"))
    with pytest.raises(BadInput, match=r"Pinocchio rejects .*two_leg\.urdf"):
        build_model(robot)


def test_a_mesh_outside_of_shapes_is_ignored(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    robot = load_robot(spoilt(tmp_path, "</robot>", "<gazebo><mesh/></gazebo></robot>"))
    make_engine(robot, WorldCfg(engine="pybullet")).close()


def test_a_too_long_chain_of_links_is_rejected(tmp_path: Path) -> None:
    names = ["trunk", *(f"f{n}" for n in range(400))]
    chain = "".join(FRAME.format(n=n, on=names[n]) for n in range(400))
    folder = spoilt(tmp_path, "</robot>", f"{chain}</robot>")
    with pytest.raises(RobotDataError, match="is the end of a chain of 2"):
        load_robot(folder)


@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_many_frames_load_or_give_a_clear_error(tmp_path: Path, engine: str) -> None:
    pytest.importorskip(engine)
    frames = "".join(FRAME.format(n=n, on="trunk") for n in range(140))
    robot = load_robot(spoilt(tmp_path, "</robot>", f"{frames}</robot>"))
    if engine == "pybullet":
        with pytest.raises(BadInput, match=r"PyBullet supports 128 links; .* has 147"):
            make_engine(robot, WorldCfg(engine="pybullet"))
    else:
        make_engine(robot, WorldCfg(engine="mujoco")).close()
