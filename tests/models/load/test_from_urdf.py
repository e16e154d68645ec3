"""`robot --from-urdf` converts a ROS URDF to a robot folder."""

import csv
import struct
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import BadInput, RobotDataError, load_robot
from nao_testbed.models.load.from_urdf import convert_urdf
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

INERTIAL = """<inertial><origin xyz="0 0 -0.1"/><mass value="{mass}"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/>
  <child link="{child}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 1 0"/>
  {more}</joint>"""
LIMIT = '<limit lower="-1" upper="1" effort="20" velocity="5"/>'


def joint(name: str, kind: str, parent: str, child: str, **given: str) -> str:
    more = {"xyz": "0 0 0", "rpy": "0 0 0", "more": "", **given}
    return JOINT.format(name=name, kind=kind, parent=parent, child=child, **more)


def shape(text: str) -> str:
    return f"<collision><geometry>{text}</geometry></collision>"


def biped(sole: str, extra: str = "") -> str:
    """Return a biped with a massless root, frames, and feet of one shape."""
    parts = ['<robot name="my bot"><gazebo/><link name="base_footprint"/>']
    parts.append(f'<link name="hips">{INERTIAL.format(mass=4)}</link>')
    parts.append(joint("root", "fixed", "base_footprint", "hips", xyz="0 0 0.4"))
    parts.append('<link name="imu_link"/><link name="camera_optical"/>')
    parts.append(joint("imu", "fixed", "hips", "imu_link", xyz="0 0 0.1"))
    quarter = "0 0 1.5707963267948966"
    at = {"xyz": "0.1 0 0", "rpy": quarter}
    parts.append(joint("camera", "fixed", "imu_link", "camera_optical", **at))
    for side, y in (("l", 0.1), ("r", -0.1)):
        parts.append(f'<link name="{side}_foot">{INERTIAL.format(mass=1)}{sole}</link>')
        xyz = f"0 {y} -0.3"
        parts.append(
            joint(
                f"{side}_leg", "revolute", "hips", f"{side}_foot", xyz=xyz, more=LIMIT
            )
        )
    return "\n".join([*parts, extra, "</robot>"])


def converted(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / "bot.urdf").write_text(text, "utf-8")
    return convert_urdf(tmp_path / "in" / "bot.urdf", tmp_path / "bot")


BOX = shape('<box size="0.2 0.1 0.04"/>')


@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_frames_are_merged_and_the_folder_is_a_robot(
    tmp_path: Path, engine: EngineName
) -> None:
    pytest.importorskip(engine)
    notes = converted(tmp_path, biped(BOX))
    robot = load_robot(tmp_path / "bot")
    assert robot.name == "my_bot"
    assert robot.base_link == "hips"
    assert [link.name for link in robot.links] == ["hips", "l_foot", "r_foot"]
    assert (robot.imu.link, robot.imu.position) == ("hips", (0.0, 0.0, 0.1))
    assert robot.feet == ("l_foot", "r_foot")
    lows = {point.position[2] for point in robot.contact_points}
    assert lows == {-0.02}
    assert robot.thermal == "estimate"
    assert any("heating_*.csv" in note and "sweep" in note for note in notes)
    cfg = SimulationCfg(world=WorldCfg(engine=engine))
    sim = SimulatedRobot(robot, cfg, "zero")
    sim.close()


@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
@pytest.mark.parametrize("name", ["g1", "t1"])
def test_estimated_gains_hold_a_robot_without_chatter(
    tmp_path: Path, name: str, engine: EngineName
) -> None:
    pytest.importorskip(engine)
    convert_urdf(load_robot(name).urdf, tmp_path / name)
    robot = load_robot(tmp_path / name)
    sim = SimulatedRobot(robot, SimulationCfg(world=WorldCfg(engine=engine)), "zero")
    sim.step(500)
    speeds = []
    for _ in range(20):
        sim.step(1)
        speeds.append(np.abs(sim.v).max())
    fell = sim.has_fallen()
    sim.close()
    assert not fell
    assert max(speeds) < 0.1


FINGERS = "".join(
    f'<link name="{side}{k}"><inertial><origin xyz="0.015 0 0"/><mass value="0.015"/>'
    '<inertia ixx="1e-6" iyy="3e-6" izz="3e-6"/></inertial></link>'
    + joint(
        f"{side}{k}j",
        "revolute",
        "hips" if k == 0 else f"{side}{k - 1}",
        f"{side}{k}",
        xyz="0.03 0 0",
        more='<limit lower="0" upper="1.57" effort="1" velocity="20"/>',
    )
    for side in "ab"
    for k in range(3)
)
"""Light links on parallel axes, as in hands."""


@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_estimated_gains_hold_fingers_without_chatter(
    tmp_path: Path, engine: EngineName
) -> None:
    pytest.importorskip(engine)
    converted(tmp_path, biped(BOX, FINGERS))
    robot = load_robot(tmp_path / "bot")
    load = sum(3e-6 + 0.015 * (0.015 + 0.03 * k) ** 2 for k in range(3))  # kg·m²
    assert robot.motors[2].armature == pytest.approx(2.0 * load, rel=1e-5)
    sim = SimulatedRobot(robot, SimulationCfg(world=WorldCfg(engine=engine)), "zero")
    sim.step(500)
    torques = []
    for _ in range(20):
        sim.step(1)
        torques.append(sim.motor_torque.copy())
    sim.close()
    assert np.abs(np.diff(torques, n=2, axis=0)).max() < 0.02  # N·m


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_the_g1_holds_home_without_chatter(engine: EngineName) -> None:
    pytest.importorskip(engine)
    cfg = SimulationCfg(world=WorldCfg(engine=engine))
    sim = SimulatedRobot(load_robot("g1"), cfg, "home")
    sim.step(1500)
    torques = []
    for _ in range(20):
        sim.step(1)
        torques.append(sim.motor_torque.copy())
    sim.close()
    assert np.abs(np.diff(torques, n=2, axis=0)).max() < 0.05  # N·m


def stl(corners: np.ndarray) -> bytes:
    faces = [corners[[0, i, i + 1]] for i in range(1, len(corners) - 1)]
    body = b"".join(
        struct.pack("<12fH", 0, 0, 1, *face.ravel().tolist(), 0) for face in faces
    )
    return b" " * 80 + struct.pack("<I", len(faces)) + body


def test_a_mesh_becomes_its_box_and_a_missing_one_a_box_of_the_inertia(
    tmp_path: Path,
) -> None:
    (tmp_path / "in" / "meshes").mkdir(parents=True)
    corners = np.array([[0, 0, 0], [200, 0, 0], [200, 100, 0], [0, 100, 40.0]])
    (tmp_path / "in" / "meshes" / "sole.stl").write_bytes(stl(corners))
    scale = 'scale="0.001 0.001 0.001"'
    mesh = f'<mesh filename="package://bot/meshes/{{}}.stl" {scale}/>'
    (tmp_path / "in").rename(tmp_path / "x")
    (tmp_path / "bots" / "bot").parent.mkdir()
    source = (tmp_path / "x").rename(tmp_path / "bots" / "bot")
    (source / "a.urdf").write_text(biped(shape(mesh.format("sole"))), "utf-8")
    convert_urdf(source / "a.urdf", tmp_path / "a")
    points = [p.position for p in load_robot(tmp_path / "a").contact_points]
    assert np.ptp(points, axis=0) == pytest.approx([0.2, 0.1, 0.0])
    (source / "b.urdf").write_text(biped(shape(mesh.format("none"))), "utf-8")
    notes = convert_urdf(source / "b.urdf", tmp_path / "b")
    warnings = [note for note in notes if note.startswith("warning")]
    assert len(warnings) == 1
    assert "2 collision meshes" in warnings[0]
    edge = np.sqrt(6.0 * 0.01)  # of a cube of 1 kg with 0.01 kg·m²
    points = [p.position for p in load_robot(tmp_path / "b").contact_points]
    assert points[0][2] == pytest.approx(-0.1 - edge / 2.0, abs=1e-6)  # written in µm


@pytest.mark.parametrize(
    ("sole", "extra", "says"),
    [
        (shape('<box size="0.2 0 0.04"/>'), "", "size of the box is"),
        (BOX, '<link name="w"/>' + joint("w", "continuous", "hips", "w"), "continuous"),
        (BOX, '<link name="w"/>' + joint("w", "prismatic", "hips", "w"), "prismatic"),
        (BOX, joint("loop", "fixed", "l_foot", "r_foot"), "two parent joints"),
        (
            BOX,
            f'<link name="w">{INERTIAL.format(mass=1)}</link>'
            + joint(
                "w",
                "revolute",
                "hips",
                "w",
                more=LIMIT + '<mimic joint="l_leg" multiplier="2"/>',
            ),
            "multiplier 2",
        ),
        ("", "", "soles are unknown"),
    ],
)
def test_unsupported_urdf_is_rejected_and_leaves_no_folder(
    tmp_path: Path, sole: str, extra: str, says: str
) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        converted(tmp_path, biped(sole, extra))
    assert not (tmp_path / "bot").exists()
    if says != "soles are unknown":
        assert isinstance(caught.value, RobotDataError)
        assert f"{Path('in', 'bot.urdf')}:" in str(caught.value)


def test_a_limit_that_the_urdf_lacks_is_an_estimate(tmp_path: Path) -> None:
    bare = LIMIT.replace('effort="20"', 'effort="0"')
    converted(tmp_path, biped(BOX).replace(LIMIT, bare, 1))
    with (tmp_path / "bot" / "joints.csv").open(encoding="utf-8") as file:
        status = {row["name"]: row["status"] for row in csv.DictReader(file)}
    assert status == {"l_leg": "estimate", "r_leg": "published"}


def test_a_name_with_a_slash_stays_in_the_folder(tmp_path: Path) -> None:
    converted(tmp_path, biped(BOX).replace('name="my bot"', 'name="a/b: c"'))
    assert load_robot(tmp_path / "bot").name == "a_b_c"


def test_a_missing_urdf_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a file; give a URDF"):
        convert_urdf(tmp_path / "none.urdf", tmp_path / "bot")


def test_an_existing_folder_is_left(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    with pytest.raises(BadInput, match="exists"):
        converted(tmp_path, biped(BOX))
