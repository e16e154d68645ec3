"""The NAO's tables, its URDF and what is derived from them agree."""

import csv
import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from nao_testbed.models import Robot, load_robot
from nao_testbed.models.files.csv_tables import read_table
from nao_testbed.models.files.xml_tree import Element, parse_xml
from nao_testbed.models.folders import find_robot_folder, robot_names
from nao_testbed.models.load.forms import LedRow, LinkRow
from nao_testbed.models.load.write_urdf import mirror_name, write_urdf

SERVO_PERIOD = 1e-3  # s
ATOL_MASS = 1e-9  # kg, the same printed digits are added
ATOL_COM = 1e-9  # m, the same
RTOL_PRINTED = 1e-5  # six printed digits


def elements(nao: Robot, tag: str) -> dict[str, Element]:
    return {e.attributes["name"]: e for e in parse_xml(nao.urdf).all(tag)}


@pytest.mark.requirement("ST-1")
def test_nao_has_26_joints_on_25_motors(nao: Robot) -> None:
    """ST-1: five chains, about 25 joints; one motor turns both hip yaw-pitch joints."""
    assert len(nao.joints) == 26
    assert len(nao.motors) == 25
    shared = [motor for motor in nao.motors if len(motor.joints) > 1]
    assert [motor.joints for motor in shared] == [("LHipYawPitch", "RHipYawPitch")]
    assert set(nao.groups["Body"]) == set(nao.joint_names)
    chains = ("Head", "LArm", "RArm", "LLeg", "RLeg")
    assert sum(len(nao.groups[chain]) for chain in chains) == 26


@pytest.mark.requirement("ST-1")
def test_each_sole_has_four_force_sensors_that_are_contact_candidates(
    nao: Robot,
) -> None:
    """ST-1: four force sensors under each sole; ST-11 uses them as candidates."""
    for foot, link in (("LFoot", "l_ankle"), ("RFoot", "r_ankle")):
        points = [p for p in nao.contact_points if p.effector == foot]
        assert len(points) == 4
        assert all(p.fsr is not None and p.link == link for p in points)
    assert nao.imu.link == nao.base_link


@pytest.mark.parametrize("name", robot_names())
def test_urdf_matches_the_tables(name: str) -> None:
    robot = load_robot(name)
    assert robot.urdf.read_text("utf-8") == write_urdf(robot.folder, name), (
        f"run: python -m nao_testbed.models.load.write_urdf models/{name}"
    )


def test_pinocchio_finds_the_mass_and_centre_of_mass_of_the_table(nao: Robot) -> None:
    """Oracle: in the zero posture all frames are parallel, so origins just add."""
    model = pin.buildModelFromUrdf(str(nao.urdf), pin.JointModelFreeFlyer())
    data = model.createData()
    table = read_table(nao.folder / "links.csv", LinkRow, "name", "link")
    origins: dict[str, np.ndarray] = {"": np.zeros(3)}
    moment, mass = np.zeros(3), 0.0
    for row in table:
        offset = np.array([row.origin_x, row.origin_y, row.origin_z])
        origins[row.name] = origins[row.parent or ""] + offset
        com = origins[row.name] + [row.com_x, row.com_y, row.com_z]
        moment, mass = moment + row.mass * com, mass + row.mass
    assert pin.computeTotalMass(model) == pytest.approx(mass, abs=ATOL_MASS)
    assert nao.total_mass == pytest.approx(mass, abs=ATOL_MASS)
    assert nao.total_mass == pytest.approx(5.305, abs=1e-3)
    com = pin.centerOfMass(model, data, pin.neutral(model))
    np.testing.assert_allclose(com, moment / mass, atol=ATOL_COM)


def test_right_side_is_the_mirror_of_the_left(nao: Robot) -> None:
    """Bodies, efforts, servos, sensors and contact candidates; limits as published."""
    links = read_table(nao.folder / "links.csv", LinkRow, "name", "link").rows
    for name, row in links.items():
        image = links[mirror_name(name)]
        assert image.mass == row.mass
        flipped = (row.com_x, -row.com_y, row.com_z)
        assert (image.com_x, image.com_y, image.com_z) == flipped
        assert (image.ixx, image.iyy, image.izz) == (row.ixx, row.iyy, row.izz)
        assert (image.ixy, image.ixz, image.iyz) == (-row.ixy, row.ixz, -row.iyz)
        assert (image.origin_x, image.origin_y, image.origin_z) == (
            row.origin_x,
            -row.origin_y,
            row.origin_z,
        )
    joints = {joint.name: joint for joint in nao.joints}
    for name, joint in joints.items():
        image_joint = joints[mirror_name(name)]
        for field in ("effort_limit", "kp", "kd", "friction", "presliding_stiffness"):
            assert getattr(image_joint, field) == getattr(joint, field), name
    for points in (nao.contact_points, nao.force_sensors):
        places = {(p.link, p.position) for p in points}
        flipped_places = {
            (mirror_name(p.link), (p.position[0], -p.position[1], p.position[2]))
            for p in points
        }
        assert places == flipped_places


def test_servo_numbers_follow_from_the_motors(nao: Robot) -> None:
    """The derivations in the folder's README, from the other tables."""
    leg_effort = 3.2  # N·m; the document's and the mean of the legs'
    for joint, m in zip(nao.joints, nao.servo_of_joint, strict=True):
        motor = nao.motors[m]
        friction = 0.08 / 6.91 * motor.stall_torque * motor.gear_ratio
        assert joint.friction == pytest.approx(friction, rel=RTOL_PRINTED)
        assert joint.presliding_stiffness == pytest.approx(
            min(joint.kp, friction / 1.5e-3), rel=RTOL_PRINTED
        )
        step = 2.0 * math.pi / 4096.0
        assert joint.encoder_step == pytest.approx(step, rel=RTOL_PRINTED)
        assert joint.servo_step == pytest.approx(
            step / motor.gear_ratio, rel=RTOL_PRINTED
        )
        if joint.name in nao.groups["Legs"]:
            assert (joint.kp, joint.kd) == (150.0, 1.5)
            continue
        kp = 150.0 / leg_effort * joint.effort_limit
        kd = min(0.01 * kp, 0.25 * motor.armature / SERVO_PERIOD)
        assert joint.kp == pytest.approx(kp, abs=0.01)  # printed to 0.01 N·m/rad
        assert joint.kd == pytest.approx(kd, rel=1e-3)


def test_discrete_servo_is_stable_on_the_rotor_alone(nao: Robot) -> None:
    """v' = v - dt/A (kp q + kd v), q' = q + dt v'; a link only adds inertia."""
    for joint, m in zip(nao.joints, nao.servo_of_joint, strict=True):
        a = SERVO_PERIOD / nao.motors[m].armature
        assert joint.kd * a < 0.3, joint.name
        v = np.array([-a * joint.kp, 1.0 - a * joint.kd])
        step = np.array([[1.0, 0.0] + SERVO_PERIOD * v, v])
        assert max(abs(np.linalg.eigvals(step))) < 0.999, joint.name


def test_two_node_joule_constants_are_speed_over_torque(nao: Robot) -> None:
    """k = R / Kt² = no-load speed / stall torque, at any winding voltage."""
    for motor in nao.motors:
        k = motor.no_load_speed / motor.stall_torque
        assert motor.two_node.joule_constant == pytest.approx(k, rel=1e-4)


def test_pitch_joint_at_two_degrees_off_rises_by_47_kelvin(nao: Robot) -> None:
    """Published check value: 1.84 N·m for 900 s, one-node closed form."""
    heating = nao.motors[nao.motor_names.index("LAnklePitch")].one_node
    loss = heating.resistance * (1.84 / heating.torque_constant) ** 2
    tau = heating.heat_capacity / heating.conductance
    rise = loss / heating.conductance * (1.0 - math.exp(-900.0 / tau))
    assert rise == pytest.approx(47.0, abs=0.5)


@pytest.mark.parametrize("robot", robot_names())
def test_every_number_has_a_source(robot: str) -> None:
    references = (Path(__file__).parents[3] / "REFERENCES.md").read_text("utf-8")
    for path in sorted(find_robot_folder(robot).glob("*.csv")):
        if path.name in ("materials.csv", "shapes.csv"):
            continue  # for drawing only
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                assert row["source"], f"{path.name}: {row}"
                for key in f"{row['source']} {row.get('place_source', '')}".split():
                    assert f"**[{key}]**" in references, f"{path.name}: {key}"
                assert row["status"] in ("published", "derived", "estimate")


def test_led_positions_match_their_sources(nao: Robot) -> None:
    """Only the chest's is published; ears and feet follow from the shapes."""
    table = read_table(nao.folder / "leds.csv", LedRow, "name", "LED group")
    published = [row.name for row in table if row.place_status == "published"]
    assert published == ["ChestLeds"]
    ours = [row for row in table if row.place_source == "nao-led-places"]
    assert [row.name[-8:] for row in ours] == ["tEarLeds"] * 2 + ["FootLeds"] * 2
    for row in ours:
        x, y, z = row.x or 0.0, row.y or 0.0, row.z or 0.0
        if row.link == "Head":  # its sphere in shapes.csv, to the millimetre
            assert math.hypot(x, y, z - 0.055) == pytest.approx(0.062, abs=1e-3)
        else:  # half of the sole ahead of the ankle's axis, above its bottom
            assert (x, y) == (0.100 / 2.0, 0.0)
            assert z + 0.04511 == pytest.approx(0.035, abs=2e-4)


def test_sole_box_has_the_published_extents(nao: Robot) -> None:
    """Bottom at -0.04511; from the ankle axis 0.100, 0.050, outer 0.0500, inner."""
    for link, outward in (("l_ankle", 1.0), ("r_ankle", -1.0)):
        boxes = elements(nao, "link")[link].all("collision")
        assert len(boxes) == 1
        zero = (0.0, 0.0, 0.0)
        centre = np.array(boxes[0].need("origin").vector("xyz", zero))
        size = np.array(boxes[0].need("geometry").need("box").vector("size", zero))
        low, high = centre - size / 2.0, centre + size / 2.0
        assert low[2] == pytest.approx(-0.04511, abs=1e-9)
        assert (low[0], high[0]) == pytest.approx((-0.050, 0.100), abs=1e-9)
        sides = sorted((outward * low[1], outward * high[1]))
        assert sides == pytest.approx([-0.0388, 0.0500], abs=1e-9)
