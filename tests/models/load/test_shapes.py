"""Meshes, frames and shapes of a URDF: usable on both engines, or rejected by line."""

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.stiffness.dynamics import build_model, build_shapes
from nao_testbed.models import BadInput, RobotDataError, load_robot
from nao_testbed.models.load.plain_urdf import plain_urdf
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
BOX = '<box size="0.08 0.14 0.12"/>'
FACES = "1 3 2,1 4 3,5 6 7,5 7 8,1 2 6,1 6 5,2 3 7,2 7 6,3 4 8,3 8 7,4 1 5,4 5 8"
CUBE = "".join(
    f"v {x} {y} {z}\n"
    for z in (0, 0.1)
    for x, y in ((0, 0), (0.1, 0), (0.1, 0.1), (0, 0.1))
) + "".join(f"f {face}\n" for face in FACES.split(","))
"""An OBJ file."""
MakeRobot = Callable[..., Path]


@pytest.fixture
def make_robot(tmp_path: Path) -> MakeRobot:
    """Copy the walker with an edited URDF, and files beside it."""

    def make(old: str, new: str, **files: str) -> Path:
        folder = tmp_path / "bot"
        shutil.copytree(TWO_LEG, folder)
        urdf = folder / "two_leg.urdf"
        assert old in urdf.read_text("utf-8")
        urdf.write_text(urdf.read_text("utf-8").replace(old, new), "utf-8")
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_obj", ".obj")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return folder

    return make


@pytest.fixture(params=["pybullet", "mujoco"])
def world(request: pytest.FixtureRequest) -> WorldCfg:
    pytest.importorskip(request.param)
    return WorldCfg(engine=request.param)


@pytest.mark.parametrize(
    ("filename", "file"),
    [
        ("package://bot/meshes/cube.obj", "bot__meshes__cube_obj"),
        ("package://parts/cube.obj", "parts__cube_obj"),
        ("package://parts/cube.obj", "bot__parts__cube_obj"),
        ("meshes/cube.obj", "bot__meshes__cube_obj"),
        ("../cube.obj", "cube_obj"),
    ],
)
def test_mesh_paths_of_ros_and_urdf_are_resolved(
    make_robot: MakeRobot, world: WorldCfg, filename: str, file: str
) -> None:
    folder = make_robot(BOX, f'<mesh filename="{filename}"/>', **{file: CUBE})
    robot = load_robot(folder)
    assert len(build_shapes(robot, build_model(robot)).geometryObjects) > 0
    engine = make_engine(robot, world)
    engine.close()


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ('<mesh filename="bad.obj"/>', "'bad.obj' has no mesh of type .obj"),
        ('<mesh filename="two_leg.urdf"/>', "ends in .urdf; give one of .obj"),
        ("<mesh/>", "has no attribute 'filename'"),
        ('<box size="0.08 0 0.12"/>', "size of the box is 0.08 0 0.12 m; give extents"),
        ('<box size="0.08 nan 0.12"/>', "give a finite number"),
        ("<box/>", "has no attribute 'size'"),
        ('<sphere radius="0"/>', "radius of the sphere is 0 m; give extents above 0"),
        ('<cylinder radius="0.1" length="-1"/>', "length of the cylinder is -1 m"),
        ('<ellipsoid size="1 1 1"/>', "'ellipsoid'; accepted are box, sphere"),
        ("", "has 0 shapes; give one of box"),
    ],
)
def test_an_unusable_shape_is_rejected_with_its_line(
    make_robot: MakeRobot, new: str, said: str
) -> None:
    folder = make_robot(BOX, new, bot__bad_obj="hello")
    with pytest.raises(RobotDataError) as refused:
        load_robot(folder)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{folder / 'two_leg.urdf'}:")


DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
<asset><unit meter="0.01"/></asset><library_geometries><geometry id="g"><mesh>
<source id="n"><float_array>9 9 9</float_array></source>
<source id="p"><float_array>0 0 0 4 0 0 4 7 0 0 7 6</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene><node>
<translate>0 0 1</translate><rotate>0 0 1 90</rotate><node><scale>2 2 2</scale>
<instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes>
</COLLADA>"""


def size_and_place(text: str) -> tuple[list[float], list[float]]:
    body = ET.fromstring(text).find("link[@name='trunk']/collision")
    assert body is not None
    box, origin = body.find("geometry/box"), body.find("origin")
    assert box is not None
    assert origin is not None
    size = [float(x) for x in box.attrib["size"].split()]
    return size, [float(x) for x in origin.attrib["xyz"].split()]


@pytest.mark.parametrize("name", ["package://bot/no.obj", "no.stl", "../no.dae"])
def test_a_missing_mesh_becomes_the_box_of_its_inertia(
    make_robot: MakeRobot, world: WorldCfg, name: str
) -> None:
    """The trunk is a uniform box, so its inertia gives the same box."""
    robot = load_robot(make_robot(BOX, f'<mesh filename="{name}"/>'))
    (note,) = robot.notes
    assert f"2 meshes of two_leg.urdf are missing ({name})" in note
    size, place = size_and_place(ET.tostring(plain_urdf(robot.urdf), "unicode"))
    assert size == pytest.approx([0.08, 0.14, 0.12], abs=1e-5)
    assert place == pytest.approx([0.0, 0.0, 0.06])
    assert len(build_shapes(robot, build_model(robot)).geometryObjects) > 0
    engine = make_engine(robot, world)
    engine.close()


def test_a_collada_collision_is_its_box_on_both_engines(
    make_robot: MakeRobot, world: WorldCfg
) -> None:
    mesh = '<mesh filename="m.dae" scale="0.5 0.5 0.5"/>'
    folder = make_robot(f"<geometry>{BOX}", f"<geometry>{BOX}")
    urdf = folder / "two_leg.urdf"
    head, tail = urdf.read_text("utf-8").split("<collision>", 1)
    urdf.write_text(f"{head}<collision>{tail.replace(BOX, mesh, 1)}", "utf-8")
    (folder / "m.dae").write_text(DAE, "utf-8")
    robot = load_robot(folder)
    assert robot.notes == ()
    size, place = size_and_place(ET.tostring(plain_urdf(robot.urdf), "unicode"))
    assert size == pytest.approx([0.07, 0.04, 0.06])  # 7, 4, 6 cm, twice and half
    assert place == pytest.approx([-0.035, 0.02, 0.06 + 0.005 + 0.03])
    engine = make_engine(robot, world)
    engine.close()


def test_without_visuals_collision_shapes_are_shown(make_robot: MakeRobot) -> None:
    folder = make_robot(BOX, BOX)
    urdf = folder / "two_leg.urdf"
    text = urdf.read_text("utf-8")
    assert len(plain_urdf(urdf).findall("link/visual/material")) > 0  # as they are
    urdf.write_text(re.sub("<visual>.*?</visual>", "", text, flags=re.DOTALL), "utf-8")
    links = plain_urdf(load_robot(folder).urdf).findall("link")
    shapes = [
        [len(link.findall(tag)) for link in links] for tag in ("visual", "collision")
    ]
    assert shapes[0] == shapes[1]
    assert sum(shapes[0]) > 0


FOOTPRINT = """<link name="base_footprint"/><link name="base"/>
  <joint name="f" type="fixed"><parent link="base_footprint"/><child link="base"/>
  </joint>
  <joint name="g" type="fixed"><parent link="base"/><child link="trunk"/>
    <origin xyz="0 0 0.3"/></joint>
</robot>"""


def test_a_massless_root_is_left_out_everywhere(
    make_robot: MakeRobot, world: WorldCfg
) -> None:
    robot = load_robot(make_robot("</robot>", FOOTPRINT))
    assert robot.links == load_robot(TWO_LEG).links
    moved = []
    for one in (load_robot(TWO_LEG), robot):
        sim = SimulatedRobot(one, SimulationCfg(world=world), "Stand")
        sim.step(20)
        moved.append(sim.q.copy())
        sim.close()
        assert build_model(one).nq == 13
    np.testing.assert_array_equal(moved[0], moved[1])


def test_a_mesh_unreadable_by_pinocchio_is_reported(make_robot: MakeRobot) -> None:
    mesh = '<mesh filename="bad.obj"/>'
    robot = load_robot(
        make_robot(BOX, mesh, bot__bad_obj="v 1 2 3\n" * 3 + "f 1 9 3\n")
    )
    with pytest.raises(BadInput, match=r"two_leg\.urdf: "):
        build_shapes(robot, build_model(robot))


FRAMES = """
  <link name="frame"/>
  <link name="inner"><inertial><mass value="0"/>
    <inertia ixx="0" iyy="0" izz="0"/></inertial></link>
  <joint name="a" type="fixed"><parent link="left_shank"/><child link="frame"/>
    <origin xyz="0 0 0.1" rpy="0 0.3 0"/></joint>
  <joint name="b" type="fixed"><parent link="frame"/><child link="inner"/></joint>
</robot>"""


def test_frames_without_mass_change_nothing(
    make_robot: MakeRobot, world: WorldCfg
) -> None:
    """After a push both engines move the robots with and without frames equally."""
    framed = load_robot(make_robot("</robot>", FRAMES))
    plain = load_robot(TWO_LEG)
    assert framed.total_mass == plain.total_mass
    speeds = []
    for robot in (plain, framed):
        engine = make_engine(robot, world)
        q, v = np.zeros((2, len(robot.joints)))
        for _ in range(20):
            engine.apply_torques([0.1] * len(robot.joints))
            engine.step()
        engine.read_joints(q, v)
        speeds.append(v)
        engine.close()
    np.testing.assert_allclose(speeds[1], speeds[0], rtol=1e-9)
    assert np.abs(speeds[0]).min() > 0.01  # rad/s


def test_a_point_mass_is_a_body_on_both_engines(
    make_robot: MakeRobot, world: WorldCfg
) -> None:
    point = FRAMES.replace('value="0"', 'value="0.001"')
    folder = make_robot("</robot>", point)
    settings = folder / "robot.yaml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace("total_mass: 2.0", "total_mass: 2.001"), "utf-8")
    engine = make_engine(load_robot(folder), world)
    engine.close()


def test_a_moved_link_needs_a_mass(make_robot: MakeRobot) -> None:
    moved = FRAMES.replace(
        'name="a" type="fixed">',
        'name="a" type="revolute"><limit lower="0" upper="1" effort="1" velocity="1"/>',
    )
    with pytest.raises(RobotDataError, match="whose mass is 0 kg; give it a mass"):
        load_robot(make_robot("</robot>", moved))
