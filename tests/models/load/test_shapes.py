"""Meshes, frames and shapes of a URDF: usable on both engines, or refused by line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.stiffness.dynamics import build_model, build_shapes
from nao_testbed.models import BadInput, RobotDataError, load_robot
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.world import WorldCfg

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
def test_a_mesh_is_found_as_ros_and_urdf_name_it(
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
        ('<mesh filename="package://bot/no.obj"/>', "'package://bot/no.obj' is not a"),
        ('<mesh filename="no.stl"/>', "'no.stl' is not a file in"),
        ('<mesh filename="bad.obj"/>', "'bad.obj' has no mesh of type .obj"),
        ('<mesh filename="two_leg.urdf"/>', "ends in .urdf; give one of .obj, .stl"),
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
def test_a_shape_that_no_engine_can_use_is_refused_at_its_line(
    make_robot: MakeRobot, new: str, said: str
) -> None:
    folder = make_robot(BOX, new, bot__bad_obj="hello")
    with pytest.raises(RobotDataError) as refused:
        load_robot(folder)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{folder / 'two_leg.urdf'}:")


def test_a_mesh_that_pinocchio_cannot_read_is_told(make_robot: MakeRobot) -> None:
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
    """Both engines move the robot with frames as the one without, from a push on."""
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
