"""Map from resources to the joints and devices that they command."""

from dataclasses import replace

import pytest

from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.models import Robot
from nao_testbed.models.load.resource_tree import default_resources
from nao_testbed.models.resources import Device, DeviceKind, ResourceNode
from tests.controllers.arbitration.gate_setup import EYES, limits, motor, node
from tests.messages import Messages, each


def joints_of(robot: Robot, *leaves: ResourceNode) -> dict[str, list[str]]:
    """Return the joint names of each leaf."""
    devices = map_devices(node("root", *leaves), robot)
    return {
        leaf.name: [robot.joint_names[j] for j in leaf.joints]
        for leaf in devices.joint_leaves
    }


def part(name: str, kind: DeviceKind, *names: str) -> ResourceNode:
    return ResourceNode(name=name, device=Device(kind=kind, names=names))


@pytest.mark.requirement("RM-2", "RM-3")
def test_every_joint_of_the_robot_has_its_leaves(nao: Robot) -> None:
    devices = map_devices(nao.resources, nao)
    for kind in (DeviceKind.MOTOR, DeviceKind.STIFFNESS):
        joints = [j for leaf in devices.of_kind(kind) for j in leaf.joints.tolist()]
        assert sorted(joints) == list(range(len(nao.joints)))
    motors = {leaf.name for leaf in devices.of_kind(DeviceKind.MOTOR)}
    assert motors == set(nao.motor_names)


def test_robot_without_a_resource_list_can_be_commanded(two_leg: Robot) -> None:
    devices = map_devices(two_leg.resources, two_leg)
    for kind in (DeviceKind.MOTOR, DeviceKind.STIFFNESS):
        joints = [j for leaf in devices.of_kind(kind) for j in leaf.joints.tolist()]
        assert sorted(joints) == list(range(len(two_leg.joints)))


def test_motor_has_its_leading_joint_first(nao: Robot) -> None:
    found = joints_of(nao, motor("HeadYaw"), motor("LHipYawPitch"))
    assert found["HeadYaw"] == ["HeadYaw"]
    assert found["LHipYawPitch"] == ["LHipYawPitch", "RHipYawPitch"]


def test_stiffness_lists_joints_and_groups_in_joint_order(nao: Robot) -> None:
    found = joints_of(nao, limits("upper", "LHand", "Head", "HeadYaw"))
    assert found["upper"] == ["HeadYaw", "HeadPitch", "LHand"]


@pytest.mark.requirement("RM-2", "RM-3")
def test_leds_and_loudspeakers_of_the_robot_have_leaves(nao: Robot) -> None:
    devices = map_devices(nao.resources, nao)
    groups = {leaf.name: [x.name for x in leaf.groups] for leaf in devices.led_leaves}
    assert len(groups) == 8
    assert groups["Left eye"] == ["LeftFaceLeds"]
    assert groups["Head leds"] == ["BrainLeds"]
    assert devices.speaker_leaf is not None
    assert devices.speaker_leaf.name == "TTS"
    assert devices.speaker_leaf.speakers == nao.speakers


def test_leaf_may_have_several_groups_of_leds(nao: Robot) -> None:
    devices = map_devices(node("root", EYES, motor("HeadYaw")), nao)
    names = [[group.name for group in leaf.groups] for leaf in devices.led_leaves]
    assert names == [["LeftFaceLeds", "RightFaceLeds"]]
    assert devices.speaker_leaf is None


def test_default_resources_have_one_leaf_for_loudspeakers(nao: Robot) -> None:
    devices = map_devices(default_resources(nao), nao)
    assert devices.speaker_leaf is not None
    assert devices.speaker_leaf.speakers == nao.speakers
    assert len(devices.led_leaves) == len(nao.leds)


@pytest.mark.requirement("RM-14")
def test_messages(messages: Messages, nao: Robot) -> None:
    messages(
        device_with_two_leaves=each(
            lambda *parts: map_devices(node("root", *parts), nao),
            (EYES, part("Left eye", DeviceKind.LEDS, "LeftFaceLeds")),
            tuple(
                part(x, DeviceKind.SPEAKER, x) for x in ("LeftSpeaker", "RightSpeaker")
            ),
        ),
        invalid_leaves=each(
            lambda *parts: joints_of(nao, *parts),
            (motor("HeadYaw"), part("Neck", DeviceKind.MOTOR, "HeadYaw")),
            (limits("left", "LArm"), limits("hands", "LHand", "RHand")),
            motor("HeadYow"),
            limits("left", "LArn"),
            motor("RHipYawPitch"),  # a joint driven by another motor
            part("Ears", DeviceKind.LEDS, "LeftEar"),
            part("TTS", DeviceKind.SPEAKER, "Horn"),
            part("Head", DeviceKind.MOTOR, "HeadYaw", "HeadPitch"),
            replace(
                part("Head", DeviceKind.MOTOR, "HeadYaw"), children=(motor("HeadYaw"),)
            ),
        ),
    )
