"""Another robot is another folder: no code is specific to the NAO."""

import io
import shutil
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from rich.console import Console

from nao_testbed.experiments.common.drawing.robot_tables import describe
from nao_testbed.models import Robot, load_robot


def test_walker_loads_from_its_folder(two_leg: Robot) -> None:
    assert two_leg.base_link == "trunk"
    assert two_leg.joint_names[:3] == ("left_hip", "left_knee", "left_ankle")
    assert two_leg.motor_names == two_leg.joint_names
    assert len(two_leg.force_sensors) == 8
    assert two_leg.leds == ()
    assert two_leg.posture("Stand").offset == 0.3


@pytest.mark.parametrize("which", ["nao", "two_leg"])
def test_pinocchio_agrees_on_mass(which: str, request: pytest.FixtureRequest) -> None:
    robot: Robot = request.getfixturevalue(which)
    model = pin.buildModelFromUrdf(str(robot.urdf), pin.JointModelFreeFlyer())
    assert pin.computeTotalMass(model) == pytest.approx(robot.total_mass, abs=1e-9)


def test_walker_stands_with_its_mass_over_its_soles(two_leg: Robot) -> None:
    model = pin.buildModelFromUrdf(str(two_leg.urdf))
    data = model.createData()
    q = np.array(two_leg.posture("Stand").angles)  # URDF order is joint order here
    assert tuple(model.names)[1:] == two_leg.joint_names
    com = pin.centerOfMass(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    soles = np.array(
        [
            data.oMf[model.getFrameId(p.link)].act(np.array(p.position))
            for p in two_leg.contact_points
            if p.fsr
        ]
    )
    assert np.ptp(soles[:, 2]) < 1e-9
    assert soles[:, 0].min() + 0.02 < com[0] < soles[:, 0].max() - 0.02
    assert com[1] == pytest.approx(0.0, abs=1e-9)


def test_fixed_joints_are_accepted_and_their_links_listed(
    tmp_path: Path, two_leg: Robot
) -> None:
    folder = tmp_path / "robot"
    shutil.copytree(two_leg.folder, folder)
    plate = """  <link name="plate">
    <inertial><mass value="0"/>
      <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>
  </link>
  <joint name="plate_mount" type="fixed">
    <parent link="trunk"/><child link="plate"/>
  </joint>
</robot>"""
    text = (folder / "two_leg.urdf").read_text("utf-8").replace("</robot>", plate)
    (folder / "two_leg.urdf").write_text(text, "utf-8")
    robot = load_robot(folder)
    assert "plate" in [link.name for link in robot.links]
    assert robot.joint_names == two_leg.joint_names


@pytest.mark.parametrize("which", ["nao", "two_leg"])
def test_description_names_every_joint_motor_and_posture(
    which: str, request: pytest.FixtureRequest
) -> None:
    robot: Robot = request.getfixturevalue(which)
    console = Console(width=250, file=io.StringIO(), record=True)
    for table in describe(robot):
        console.print(table)
    text = console.export_text()
    for name in (*robot.joint_names, *robot.postures, *robot.groups):
        assert name in text
    assert f"{robot.total_mass:.3f} kg" in text
    assert all(motor.type in text for motor in robot.motors)
