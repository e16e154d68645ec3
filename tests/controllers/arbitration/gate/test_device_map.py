"""Which joints a resource commands."""

import pytest

from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.load.resource_tree import default_resources
from nao_testbed.models.resources import Device, DeviceKind, ResourceNode
from tests.controllers.arbitration.gate_setup import EYES, limits, motor, node


def joints_of(robot: Robot, *leaves: ResourceNode) -> dict[str, list[str]]:
    """Leaf to the names of its joints."""
    devices = map_devices(node("root", *leaves), robot)
    return {
        leaf.name: [robot.joint_names[j] for j in leaf.joints]
        for leaf in devices.joint_leaves
    }


@pytest.mark.requirement("RM-2", "RM-3")
def test_every_joint_of_the_robots_data_has_its_leaves(nao: Robot) -> None:
    devices = map_devices(nao.resources, nao)
    for kind in (DeviceKind.MOTOR, DeviceKind.STIFFNESS):
        joints = [j for leaf in devices.of_kind(kind) for j in leaf.joints.tolist()]
        assert sorted(joints) == list(range(len(nao.joints)))
    motors = {leaf.name for leaf in devices.of_kind(DeviceKind.MOTOR)}
    assert motors == set(nao.motor_names)


def test_a_robot_without_a_list_of_resources_is_commanded_too(two_leg: Robot) -> None:
    devices = map_devices(two_leg.resources, two_leg)
    for kind in (DeviceKind.MOTOR, DeviceKind.STIFFNESS):
        joints = [j for leaf in devices.of_kind(kind) for j in leaf.joints.tolist()]
        assert sorted(joints) == list(range(len(two_leg.joints)))


def test_a_motor_has_its_leading_joint_first(nao: Robot) -> None:
    found = joints_of(nao, motor("HeadYaw"), motor("LHipYawPitch"))
    assert found["HeadYaw"] == ["HeadYaw"]
    assert found["LHipYawPitch"] == ["LHipYawPitch", "RHipYawPitch"]


def test_stiffness_is_of_joints_and_groups_in_joint_order(nao: Robot) -> None:
    found = joints_of(nao, limits("upper", "LHand", "Head", "HeadYaw"))
    assert found["upper"] == ["HeadYaw", "HeadPitch", "LHand"]


@pytest.mark.requirement("RM-2", "RM-3")
def test_lights_and_sound_of_the_robots_data_have_their_leaves(nao: Robot) -> None:
    devices = map_devices(nao.resources, nao)
    groups = {leaf.name: [x.name for x in leaf.groups] for leaf in devices.led_leaves}
    assert len(groups) == 8
    assert groups["Left eye"] == ["LeftFaceLeds"]
    assert groups["Head leds"] == ["BrainLeds"]
    assert devices.speaker_leaf is not None
    assert devices.speaker_leaf.name == "TTS"
    assert devices.speaker_leaf.speakers == nao.speakers


def test_a_leaf_may_have_several_groups_of_leds(nao: Robot) -> None:
    devices = map_devices(node("root", EYES, motor("HeadYaw")), nao)
    names = [[group.name for group in leaf.groups] for leaf in devices.led_leaves]
    assert names == [["LeftFaceLeds", "RightFaceLeds"]]
    assert devices.speaker_leaf is None


@pytest.mark.requirement("RM-14")
def test_lights_and_sound_obey_one_leaf(nao: Robot) -> None:
    left = Device(kind=DeviceKind.LEDS, names=("LeftFaceLeds",))
    with pytest.raises(
        BadInput,
        match="LED group 'LeftFaceLeds' would obey two resources, 'Eyes' and 'Left",
    ):
        map_devices(node("root", EYES, ResourceNode(name="Left eye", device=left)), nao)
    sides = [
        ResourceNode(name=name, device=Device(kind=DeviceKind.SPEAKER, names=(name,)))
        for name in ("LeftSpeaker", "RightSpeaker")
    ]
    with pytest.raises(
        BadInput, match="loudspeakers obey 'LeftSpeaker' and 'RightSpeaker', but"
    ):
        map_devices(node("root", *sides), nao)


def test_without_a_list_of_resources_all_loudspeakers_are_one_leaf(nao: Robot) -> None:
    devices = map_devices(default_resources(nao), nao)
    assert devices.speaker_leaf is not None
    assert devices.speaker_leaf.speakers == nao.speakers
    assert len(devices.led_leaves) == len(nao.leds)


def test_a_joint_obeys_one_leaf(nao: Robot) -> None:
    twin = ResourceNode(
        name="Neck", device=Device(kind=DeviceKind.MOTOR, names=("HeadYaw",))
    )
    with pytest.raises(
        BadInput,
        match=r"'HeadYaw' \(motor\) would obey two resources, 'HeadYaw' and 'Neck'",
    ):
        joints_of(nao, motor("HeadYaw"), twin)
    with pytest.raises(BadInput, match=r"joint 'LHand' \(stiffness\) would obey two"):
        joints_of(nao, limits("left", "LArm"), limits("hands", "LHand", "RHand"))
    joints_of(nao, motor("HeadYaw"), limits("neck", "HeadYaw"))


def test_a_device_that_the_robot_has_not_is_named(nao: Robot) -> None:
    with pytest.raises(UnknownName, match=r"Motor 'HeadYow'.*Did you mean 'HeadYaw'"):
        joints_of(nao, motor("HeadYow"))
    with pytest.raises(UnknownName, match="'RHipYawPitch'"):
        joints_of(nao, motor("RHipYawPitch"))  # a joint, but on the motor of another
    with pytest.raises(UnknownName, match="Joint or joint group 'LArn'"):
        joints_of(nao, limits("left", "LArn"))
    ears = Device(kind=DeviceKind.LEDS, names=("LeftEar",))
    with pytest.raises(UnknownName, match=r"LED group 'LeftEar'.*'LeftEarLeds'"):
        joints_of(nao, ResourceNode(name="Left ear", device=ears))
    horn = Device(kind=DeviceKind.SPEAKER, names=("Horn",))
    with pytest.raises(UnknownName, match=r"Loudspeaker 'Horn'.*LeftSpeaker"):
        joints_of(nao, ResourceNode(name="TTS", device=horn))


def test_a_leaf_has_one_motor_and_a_composite_none(nao: Robot) -> None:
    two = Device(kind=DeviceKind.MOTOR, names=("HeadYaw", "HeadPitch"))
    with pytest.raises(BadInput, match="commands the motors HeadYaw, HeadPitch; give"):
        joints_of(nao, ResourceNode(name="Head", device=two))
    head = ResourceNode(name="Head", device=two, children=(motor("HeadYaw"),))
    with pytest.raises(BadInput, match="'Head' is a composite and commands a device"):
        joints_of(nao, head)
