"""Every wrong robot file is refused with its file, its line and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from models import BadInput, RobotDataError, load_robot

Spoil = Callable[[str, str, str], Path]

KNEE = "left_knee,left_knee,-0.05,1.8,6.0,2.0,60,0.6,0.08,53.3333"
STAND = "Stand,-0.35,0.7,-0.35,-0.35,0.7,-0.35"
TRUNK_INERTIA = 'ixx="0.00283333" ixy="0" ixz="0" iyy="0.00173333" iyz="0"'

# file, old text, new text, file and line of the message, the message
CASES = {
    "number with an underscore": (
        "joints.csv",
        KNEE,
        KNEE.replace("6.0", "6_0"),
        "joints.csv:3",
        "max_velocity is '6_0': 6_0 has an underscore; write the number without it",
    ),
    "cell without an end": (
        "joints.csv",
        KNEE,
        "x" * 200_000,
        "joints.csv:3",
        "a cell cannot be read: field larger than field limit (131072)",
    ),
    "quotation mark left open": (
        "motors.csv",
        "name,type",
        '"name,type' + "x" * 200_000,
        "motors.csv:1",
        "is a quotation mark left open?",
    ),
    "missing column": (
        "joints.csv",
        "kd,friction",
        "friction",
        "joints.csv:2",
        "row has 15 cells; the header has 14.",
    ),
    "unknown column": (
        "motors.csv",
        "name,type",
        "name,kind",
        "motors.csv:1",
        "columns are missing: type.",
    ),
    "extra column": (
        "motors.csv",
        "source,status\nleft_hip,tiny,100,leg,made-up,estimate\n",
        "source,colour,status\nleft_hip,tiny,100,leg,made-up,red,estimate\n",
        "motors.csv:1",
        "unknown columns: colour. Accepted: source, status, note, name, type",
    ),
    "column twice": (
        "motors.csv",
        "name,type",
        "name,name",
        "motors.csv:1",
        "column 'name' appears twice.",
    ),
    "row twice": (
        "motors.csv",
        "left_knee,tiny",
        "left_hip,tiny",
        "motors.csv:3",
        "motor 'left_hip' appears twice, first in line 2.",
    ),
    "not a number": (
        "joints.csv",
        KNEE,
        KNEE.replace(",60,", ",sixty,"),
        "joints.csv:3",
        "kp is 'sixty': input should be a valid number",
    ),
    "NaN in a table": (
        "joints.csv",
        KNEE,
        KNEE.replace(",60,", ",nan,"),
        "joints.csv:3",
        "kp is 'nan'",
    ),
    "negative gain": (
        "joints.csv",
        KNEE,
        KNEE.replace(",60,", ",-60,"),
        "joints.csv:3",
        "kp is '-60': input should be greater than 0.",
    ),
    "unknown joint": (
        "joints.csv",
        "left_knee,left_knee",
        "left_kne,left_kne",
        "joints.csv:3",
        "Joint 'left_kne' is not in two_leg.urdf. Did you mean 'left_knee'?",
    ),
    "unknown motor": (
        "motors.csv",
        "left_knee,tiny",
        "left_elbow,tiny",
        "joints.csv:3",
        "joint 'left_knee': Motor 'left_knee' is not in motors.csv.",
    ),
    "two free joints on one motor": (
        "joints.csv",
        "left_knee,left_knee",
        "left_knee,left_hip",
        "joints.csv:3",
        "joint 'left_knee' has motor 'left_hip'; the URDF says that it moves on its "
        "own, so its motor must be 'left_knee'.",
    ),
    "motor without joints": (
        "motors.csv",
        "right_ankle,tiny,100,leg,made-up,estimate",
        "right_ankle,tiny,100,leg,made-up,estimate\nspare,tiny,9,leg,made-up,estimate",
        "motors.csv:8",
        "motor 'spare' drives no joint: no row of joints.csv names it.",
    ),
    "unknown motor type": (
        "motors.csv",
        "left_knee,tiny",
        "left_knee,tyni",
        "motors.csv:3",
        "Motor type 'tyni' is not in motor_types.csv. Known: tiny.",
    ),
    "unknown heating group": (
        "motors.csv",
        "left_knee,tiny,100,leg",
        "left_knee,tiny,100,arm",
        "motors.csv:3",
        "Heating group 'arm' is not in heating_one_node.csv. Known: leg.",
    ),
    "limits swapped in the table": (
        "joints.csv",
        "left_knee,left_knee,-0.05,1.8",
        "left_knee,left_knee,1.8,-0.05",
        "joints.csv:3",
        "joint 'left_knee' has lower limit 1.8 and upper limit -0.05 rad",
    ),
    "limits swapped in the URDF": (
        "two_leg.urdf",
        '<joint name="left_ankle" type="revolute">\n'
        '    <parent link="left_shank"/>\n    <child link="left_foot"/>\n'
        '    <origin xyz="0 0 -0.12"/>\n    <axis xyz="0 1 0"/>\n'
        '    <limit lower="-1" upper="0.8"',
        '<joint name="left_ankle" type="revolute">\n'
        '    <parent link="left_shank"/>\n    <child link="left_foot"/>\n'
        '    <origin xyz="0 0 -0.12"/>\n    <axis xyz="0 1 0"/>\n'
        '    <limit lower="0.8" upper="-1"',
        "two_leg.urdf:73",
        "joint 'left_ankle' has lower limit 0.8 and upper limit -1.0 rad",
    ),
    "limits that differ": (
        "joints.csv",
        "left_knee,left_knee,-0.05,1.8",
        "left_knee,left_knee,-0.05,1.9",
        "joints.csv:3",
        "upper limit of joint 'left_knee' is 1.9 rad here and 1.8 rad in "
        "two_leg.urdf:45; make them equal.",
    ),
    "posture outside its limits": (
        "postures.csv",
        STAND,
        "Stand,-0.35,1.9,-0.35,-0.35,0.7,-0.35",
        "postures.csv:2",
        "posture 'Stand': left_knee is 1.9 rad, outside its range -0.05 to 1.8 rad",
    ),
    "NaN in a posture": (
        "postures.csv",
        STAND,
        "Stand,-0.35,nan,-0.35,-0.35,0.7,-0.35",
        "postures.csv:2",
        "posture 'Stand': left_knee is 'nan'; give a finite number.",
    ),
    "posture without a joint": (
        "postures.csv",
        "left_knee",
        "left_kne",
        "postures.csv:1",
        "columns are missing: left_knee.",
    ),
    "posture twice": (
        "postures.csv",
        "Straight",
        "Stand",
        "postures.csv:3",
        "posture 'Stand' appears twice.",
    ),
    "settings of an unknown posture": (
        "robot.yaml",
        "  Straight: {",
        "  Strait: {",
        "robot.yaml:36",
        "Posture 'Strait' is not in postures.csv. Did you mean 'Straight'?",
    ),
    "unknown effector": (
        "robot.yaml",
        "Straight: {effectors: [left_sole, right_sole]",
        "Straight: {effectors: [left_sole, tail]",
        "robot.yaml:36",
        "Effector 'tail' is not in contacts.csv.",
    ),
    "contact point without a link": (
        "contacts.csv",
        "trunk_front,trunk,",
        "trunk_front,tail,",
        "contacts.csv:13",
        "Link 'tail' is not in two_leg.urdf.",
    ),
    "contact point away from its sensor": (
        "contacts.csv",
        "left_sole_front_left,left_foot,0.06",
        "left_sole_front_left,left_foot,0.05",
        "contacts.csv:2",
        "its sensor 'left_force_front_left' is elsewhere.",
    ),
    "contact point with an unknown sensor": (
        "contacts.csv",
        "left_sole,left_force_front_left",
        "left_sole,left_force_front",
        "contacts.csv:2",
        "Sensor 'left_force_front' is not in force_sensors.csv. Did you mean",
    ),
    "force sensor without a link": (
        "force_sensors.csv",
        "left_force_front_left,left_foot",
        "left_force_front_left,left_fot",
        "force_sensors.csv:2",
        "Link 'left_fot' is not in two_leg.urdf. Did you mean 'left_foot'?",
    ),
    "group with an unknown joint": (
        "robot.yaml",
        "LeftLeg: [left_hip, left_knee,",
        "LeftLeg: [left_hip, left_nee,",
        "robot.yaml:9",
        "group 'LeftLeg': Joint 'left_nee' is not in joints or groups above. Did you",
    ),
    "group with a joint twice": (
        "robot.yaml",
        "Body: [LeftLeg, RightLeg]",
        "Body: [LeftLeg, RightLeg, left_hip]",
        "robot.yaml:11",
        "group 'Body' has a joint twice.",
    ),
    "foot that is no effector": (
        "robot.yaml",
        "feet: [left_sole, right_sole]",
        "feet: [left_sole, right_foot]",
        "robot.yaml:7",
        "Effector 'right_foot' is not in contacts.csv. Did you mean 'right_sole'?",
    ),
    "IMU on nothing": (
        "robot.yaml",
        "  link: trunk",
        "  link: trunc",
        "robot.yaml:13",
        "Link 'trunc' is not in two_leg.urdf. Did you mean 'trunk'?",
    ),
    "mass that differs": (
        "robot.yaml",
        "total_mass: 2.0",
        "total_mass: 2.1",
        "robot.yaml:5",
        "total_mass is 2.1 kg; the links of two_leg.urdf sum to 2.00000 kg",
    ),
    "other base": (
        "robot.yaml",
        "base_link: trunk",
        "base_link: torso",
        "robot.yaml:4",
        "base_link is 'torso'; the root link of two_leg.urdf is 'trunk'.",
    ),
    "unknown key": (
        "robot.yaml",
        "contact_threshold:",
        "contact_treshold:",
        "robot.yaml:6",
        "unknown key 'contact_treshold'. Did you mean 'contact_threshold'?",
    ),
    "missing key": (
        "robot.yaml",
        "  capacity_watt_hour: 20.0\n",
        "",
        "robot.yaml:29",
        "key 'battery.capacity_watt_hour' is missing.",
    ),
    "key twice": (
        "robot.yaml",
        "base_link: trunk",
        "base_link: trunk\nbase_link: trunk",
        "robot.yaml:5",
        'found duplicate key "base_link"',
    ),
    "NaN in YAML": (
        "robot.yaml",
        "gyro_noise: 0.003",
        "gyro_noise: .nan",
        "robot.yaml:19",
        "imu.gyro_noise is nan: input should be a finite number.",
    ),
    "offset beyond 1": (
        "robot.yaml",
        "offset: 0.3",
        "offset: 1.3",
        "robot.yaml:35",
        "typical_postures.Stand.offset is 1.3: input should be less than or equal to",
    ),
    "no YAML": (
        "robot.yaml",
        "feet: [left_sole, right_sole]",
        "feet: [left_sole, right_sole",
        "robot.yaml:8",
        "expected ',' or ']'",
    ),
    "URDF that is not there": (
        "robot.yaml",
        "urdf: two_leg.urdf",
        "urdf: legs.urdf",
        "legs.urdf",
        "file is missing; a robot folder must hold it.",
    ),
    "no XML": (
        "two_leg.urdf",
        "</robot>",
        "</robots>",
        "two_leg.urdf:160",
        "no XML: mismatched tag.",
    ),
    "negative mass": (
        "two_leg.urdf",
        '<mass value="1"/>',
        '<mass value="-1"/>',
        "two_leg.urdf:9",
        "mass of link 'trunk' is -1.0 kg; it cannot be negative.",
    ),
    "NaN mass": (
        "two_leg.urdf",
        '<mass value="1"/>',
        '<mass value="nan"/>',
        "two_leg.urdf:9",
        "value of mass is 'nan'; give a finite number.",
    ),
    "negative inertia": (
        "two_leg.urdf",
        TRUNK_INERTIA,
        TRUNK_INERTIA.replace('ixx="', 'ixx="-'),
        "two_leg.urdf:10",
        "link 'trunk': inertia has the negative principal moment -0.00283 kg·m².",
    ),
    "impossible inertia": (
        "two_leg.urdf",
        TRUNK_INERTIA,
        TRUNK_INERTIA.replace("0.00283333", "0.00983333"),
        "two_leg.urdf:10",
        "break the triangle inequality: no body has them.",
    ),
    "sliding joint": (
        "two_leg.urdf",
        '<joint name="left_knee" type="revolute">',
        '<joint name="left_knee" type="prismatic">',
        "two_leg.urdf:45",
        "joint 'left_knee' is prismatic; accepted are revolute (with limits) and",
    ),
    "endless joint": (
        "two_leg.urdf",
        '<joint name="left_knee" type="revolute">',
        '<joint name="left_knee" type="continuous">',
        "two_leg.urdf:45",
        "joint 'left_knee' is continuous; accepted are revolute (with limits) and",
    ),
    "cycle": (
        "two_leg.urdf",
        '<parent link="trunk"/>\n    <child link="left_thigh"/>',
        '<parent link="left_foot"/>\n    <child link="left_thigh"/>',
        "two_leg.urdf:45",
        "links make a cycle: left_thigh > left_shank > left_foot > left_thigh.",
    ),
    "two ways to a link": (
        "two_leg.urdf",
        '<child link="right_thigh"/>',
        '<child link="left_thigh"/>',
        "two_leg.urdf:91",
        "link 'left_thigh' hangs on two joints, 'left_hip' and 'right_hip': a cycle.",
    ),
    "two roots": (
        "two_leg.urdf",
        "</robot>",
        '<link name="loose"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1"/></inertial></link></robot>',
        "two_leg.urdf:3",
        "2 root links: trunk, loose; there must be one.",
    ),
    "joint to nowhere": (
        "two_leg.urdf",
        '<child link="left_shank"/>',
        '<child link="left_shin"/>',
        "two_leg.urdf:45",
        "joint 'left_knee' has the child link 'left_shin', which does not exist.",
    ),
    "link twice": (
        "two_leg.urdf",
        '<link name="right_foot">',
        '<link name="left_foot">',
        "two_leg.urdf:144",
        "link 'left_foot' appears twice.",
    ),
}


LEDS = """name,link,count,channels,levels,x,y,z,source,status,place_source,place_status
Lamp,trunk,1,rgb,255,0.05,0,0.1,made-up,estimate,made-up,estimate
"""
WRONG_LEDS = {
    "half a place": (
        "0.05,0,0.1",
        "0.05,,",
        "LED group 'Lamp' lacks y and z of its place. Give x, y and z in m, or none",
    ),
    "place without a number": ("0.05,0", "nan,0", "x is 'nan': "),
    "place from nowhere": (
        "made-up,estimate\n",
        ",\n",
        "LED group 'Lamp' has a place, but no place_source or place_status.",
    ),
}


def test_leds_have_a_place_or_none(tmp_path: Path, spoil: Spoil) -> None:
    folder = spoil("postures.csv", STAND, STAND)
    (folder / "leds.csv").write_text(LEDS)
    assert load_robot(folder).leds[0].place == (0.05, 0.0, 0.1)
    nowhere = "name,link,count,channels,levels,source,status\n"
    (folder / "leds.csv").write_text(nowhere + "Lamp,trunk,1,rgb,255,a,estimate\n")
    assert load_robot(folder).leds[0].place is None


@pytest.mark.parametrize("case", WRONG_LEDS.values(), ids=WRONG_LEDS.keys())
def test_a_wrong_place_of_leds_is_refused_at_its_line(
    case: tuple[str, str, str], spoil: Spoil
) -> None:
    old, new, message = case
    folder = spoil("postures.csv", STAND, STAND)
    assert LEDS.count(old) == 1
    (folder / "leds.csv").write_text(LEDS.replace(old, new))
    with pytest.raises(RobotDataError) as caught:
        load_robot(folder)
    assert "/leds.csv:2: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_wrong_file_is_refused_at_its_line(
    case: tuple[str, str, str, str, str], spoil: Spoil
) -> None:
    file, old, new, place, message = case
    folder = spoil(file, old, new)
    with pytest.raises(RobotDataError) as caught:
        load_robot(folder)
    text = str(caught.value)
    assert f"/{place}: " in text
    assert message in text


def test_folder_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"is not a directory; give a folder"):
        load_robot(tmp_path / "nobody")


def test_empty_folder_says_which_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RobotDataError, match=r"robot\.yaml: file is missing; "):
        load_robot(tmp_path)


def test_coupled_joints_must_have_one_angle(tmp_path: Path, spoil: Spoil) -> None:
    """Two joints on one motor cannot stand at two angles."""
    urdf = '<limit lower="-1.2" upper="0.8" effort="2" velocity="6"/>\n  </joint>'
    folder = spoil("joints.csv", "right_hip,right_hip", "right_hip,left_hip")
    text = (folder / "two_leg.urdf").read_text()
    before, middle, after = text.split(urdf)
    mimic = urdf.replace("</joint>", '<mimic joint="left_hip"/></joint>')
    (folder / "two_leg.urdf").write_text(before + urdf + middle + mimic + after)
    motors = (folder / "motors.csv").read_text()
    hip = "right_hip,tiny,100,leg,made-up,estimate\n"
    (folder / "motors.csv").write_text(motors.replace(hip, ""))
    robot = load_robot(folder)
    assert len(robot.motors) == 5
    assert robot.motors[0].joints == ("left_hip", "right_hip")
    spoil("postures.csv", STAND, STAND.replace("-0.35,-0.35,0.7", "-0.35,-0.3,0.7"))
    with pytest.raises(RobotDataError, match=r"right_hip is -0\.3 rad and left_hip"):
        load_robot(folder)
