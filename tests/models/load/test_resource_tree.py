"""The resource tree is read from the robot's folder and validated."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from nao_testbed.experiments.common.drawing.robot_tables import resource_table
from nao_testbed.models import (
    Device,
    DeviceKind,
    ResourceKind,
    ResourceNode,
    Robot,
    RobotDataError,
    load_robot,
)
from nao_testbed.models.load.resource_tree import default_resources
from tests.models.conftest import Spoil

ARM = "ShoulderPitch ShoulderRoll ElbowRoll ElbowYaw WristYaw Hand"
LEG = "HipRoll HipPitch KneePitch AnklePitch AnkleRoll"


def outline(root: ResourceNode) -> dict[str, tuple[str, ...]]:
    """Return the parts of each composite by name."""
    return {
        node.name: tuple(child.name for child in node.children)
        for node in root.walk()
        if node.children
    }


def find(root: ResourceNode, name: str) -> ResourceNode:
    (node,) = (node for node in root.walk() if node.name == name)
    return node


def limb(side: str, parts: str) -> tuple[str, ...]:
    return tuple(side + part for part in parts.split())


@pytest.mark.requirement("RM-3", "RM-4")
def test_nao_has_the_drawn_tree(nao: Robot) -> None:
    parts = outline(nao.resources)
    assert parts["root"][:4] == ("State", "Leds", "Audio", "All motors")
    assert parts["State"][:3] == ("Stand", "Sit", "Back")
    assert parts["Leds"] == (
        "Left eye",
        "Right eye",
        "Left ear",
        "Right ear",
        "Chest",
        "Head leds",  # drawn as Head, also the name of two motors
        "Left foot",
        "Right foot",
    )
    assert parts["Audio"] == ("TTS", "Microphone")
    assert parts["All motors"] == ("Head", "Arms", "Legs")
    assert parts["Head"] == ("HeadYaw", "HeadPitch")
    assert parts["Arms"] == ("Left arm", "Right arm")
    assert parts["Left arm"] == limb("L", ARM)
    assert parts["Right arm"] == limb("R", ARM)
    assert parts["Legs"] == ("LHipYawPitch", "Left leg", "Right leg")
    assert parts["Left leg"] == limb("L", LEG)
    assert parts["Right leg"] == limb("R", LEG)


@pytest.mark.requirement("RM-3", "RM-5")
def test_every_motor_is_one_leaf_that_commands_it(nao: Robot) -> None:
    motors = find(nao.resources, "All motors")
    leaves = [node for node in motors.walk() if not node.children]
    assert len(leaves) == 25
    assert sorted(leaf.name for leaf in leaves) == sorted(nao.motor_names)
    for leaf in leaves:
        assert leaf.device == Device(kind=DeviceKind.MOTOR, names=(leaf.name,))
        assert leaf.kind is ResourceKind.EXCLUSIVE


@pytest.mark.requirement("RM-2", "RM-3")
def test_lights_sound_and_stiffness_name_devices_of_the_robot(nao: Robot) -> None:
    def commanded(kind: DeviceKind) -> list[str]:
        return sorted(
            name
            for node in nao.resources.walk()
            if node.device and node.device.kind is kind
            for name in node.device.names
        )

    assert commanded(DeviceKind.LEDS) == sorted(group.name for group in nao.leds)
    assert commanded(DeviceKind.SPEAKER) == ["LeftSpeaker", "RightSpeaker"]
    assert commanded(DeviceKind.STIFFNESS) == ["Arms", "Head", "Legs"]
    assert find(nao.resources, "Microphone").device is None


@pytest.mark.requirement("RM-55", "RM-58")
def test_nao_has_states_and_rates_beyond_the_drawing(nao: Robot) -> None:
    parts = outline(nao.resources)
    assert parts["Camera"] == ("Camera 1", "Camera 2")
    assert parts["Connection"] == ("Online", "Offline")
    for group in ("State", "Camera", "Connection"):
        kinds = {child.kind for child in find(nao.resources, group).children}
        assert kinds == {ResourceKind.STATE}
    rates = find(nao.resources, "Computing").children
    assert [(node.name, node.kind) for node in rates] == [
        ("CPU", ResourceKind.CUMULATIVE),
        ("Network", ResourceKind.CUMULATIVE),
    ]


@pytest.mark.requirement("RM-5", "RM-7")
def test_classes_nest_composites_of_composites(spoil: Spoil) -> None:
    robot = load_robot(spoil("resources.yaml", "root: walker", "root: walker"))
    parts = outline(robot.resources)
    assert parts["walker"] == ("State", "Legs", "Leg stiffness", "CPU")
    for leg, prefix in (("Left leg", "left_"), ("Right leg", "right_")):
        assert parts[leg] == (f"{prefix}hip", f"{prefix}lower_leg")
        assert parts[f"{prefix}lower_leg"] == (f"{prefix}knee", f"{prefix}ankle")


@pytest.mark.requirement("RM-7")
def test_a_class_changed_once_changes_each_instance(spoil: Spoil) -> None:
    robot = load_robot(
        spoil("resources.yaml", "LowerLeg: [knee, ankle]", "LowerLeg: [ankle, knee]")
    )
    parts = outline(robot.resources)
    assert parts["left_lower_leg"] == ("left_ankle", "left_knee")
    assert parts["right_lower_leg"] == ("right_ankle", "right_knee")


def test_posture_with_unknown_state_is_rejected(spoil: Spoil) -> None:
    spoil("resources.yaml", "root: walker", "root: walker")
    folder = spoil("robot.yaml", "  Straight: {", "  Straight: {state: Standing, ")
    said = r"robot\.yaml:36: State 'Standing' is not in .* Did you mean 'Stand'\?"
    with pytest.raises(RobotDataError, match=said):
        load_robot(folder)


def test_body_that_lacks_an_unknown_resource_is_refused(spoil: Spoil) -> None:
    folder = spoil("resources.yaml", "root: walker", "root: walker")
    with (folder / "robot.yaml").open("a", encoding="utf-8") as file:
        file.write("\nbodies:\n  trunk: [Leg]\n")
    with pytest.raises(RobotDataError, match=r"Resource 'Leg' .* mean 'Legs'"):
        load_robot(folder)


@pytest.mark.requirement("RM-42")
def test_without_the_file_the_tree_is_built_from_groups(two_leg: Robot) -> None:
    assert not (two_leg.folder / "resources.yaml").exists()
    parts = outline(two_leg.resources)
    assert parts["All motors"] == ("LeftLeg", "RightLeg")  # Body has all joints
    assert parts["LeftLeg"] == ("left_hip", "left_knee", "left_ankle")
    assert parts["RightLeg"] == ("right_hip", "right_knee", "right_ankle")
    assert parts["Stiffness"] == ("LeftLeg-stiffness", "RightLeg-stiffness")
    assert parts["Computing"] == ("CPU", "Network")
    # no states, lights or speakers, so no branches for them
    assert parts["root"] == ("All motors", "Stiffness", "Computing")


def shape(node: ResourceNode) -> tuple[object, ...]:
    """Return a tree without composite names and order."""
    if not node.children:
        return (node.name,)
    return tuple(sorted((shape(child) for child in node.children), key=repr))


@pytest.mark.requirement("RM-42")
def test_default_tree_of_the_nao_has_the_drawn_shape(nao: Robot) -> None:
    """Overlapping groups (Hands) are excluded; one motor yaws both hips."""
    default = default_resources(nao)
    drawn = find(nao.resources, "All motors")
    assert shape(find(default, "All motors")) == shape(drawn)
    assert outline(default)["Legs"] == ("LHipYawPitch", "LLeg", "RLeg")
    stiffness = {node.device for node in find(default, "Stiffness").children}
    assert stiffness == {n.device for n in find(nao.resources, "Stiffness").children}


@pytest.mark.requirement("RM-42")
def test_default_tree_covers_joints_outside_all_groups(two_leg: Robot) -> None:
    robot = replace(two_leg, groups={"Knees": ("left_knee", "right_knee")})
    parts = outline(default_resources(robot))
    assert parts["All motors"] == (
        "left_hip",
        "Knees",
        "left_ankle",
        "right_hip",
        "right_ankle",
    )
    assert len(parts["Stiffness"]) == 5


def test_a_group_without_a_whole_motor_is_not_in_the_default_tree(nao: Robot) -> None:
    robot = replace(nao, groups={"Half": ("RHipYawPitch",), "Head": nao.groups["Head"]})
    default = default_resources(robot)
    assert "Half" not in [node.name for node in default.walk()]
    assert "LHipYawPitch" in outline(default)["All motors"]


def test_default_tree_with_a_duplicate_name_needs_a_file(two_leg: Robot) -> None:
    robot = replace(two_leg, groups={"CPU": ("left_knee", "right_knee")})
    with pytest.raises(RobotDataError, match=r"2 resources 'CPU'.*write the file"):
        default_resources(robot)


def test_description_shows_the_tree_with_its_devices(nao: Robot) -> None:
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(resource_table(nao))
    lines = console.export_text().splitlines()
    for node in nao.resources.walk():
        (line,) = (x for x in lines if _name(x) == node.name)
        if node.device:
            assert all(name in line for name in node.device.names)


def _name(line: str) -> str:
    return re.split(r"\s{3,}", line.strip())[0]
