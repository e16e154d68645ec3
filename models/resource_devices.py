"""What the leaves of `resources.yaml` command; one device obeys one leaf (RM-14)."""

from dataclasses import replace

from models.errors import UnknownName
from models.resource_node import Device, DeviceKind, ResourceKind, ResourceNode
from models.resources_yaml import LeafPart, ResourceFile
from models.robot import Robot
from models.yaml_lines import YamlFile


def leaf_devices(
    file: YamlFile[ResourceFile], robot: Robot
) -> dict[str, Device | None]:
    """Return the device of each leaf of the file; None for a leaf without one.

    Raises:
        RobotDataError: a device is unknown, of two leaves, or of a leaf that is shared;
            or a leaf has two kinds of it.
    """
    devices: dict[str, Device | None] = {}
    taken: dict[tuple[DeviceKind, str], str] = {}
    for name, leaf in file.value.leaves.items():
        device = devices[name] = _device(file, robot, name, leaf)
        if device is None:
            continue
        for unit in _units(device, robot):
            first = taken.setdefault((device.kind, unit), name)
            if first != name:
                file.fail(
                    f"{device.kind} of {unit!r} would obey {first!r} and {name!r}; "
                    "name it in one of them.",
                    *("leaves", name),
                )
    return devices


def with_joints(node: ResourceNode, robot: Robot) -> ResourceNode:
    """Return a tree whose motors and torque limits say which joints are theirs."""
    device = node.device
    if device is not None and device.kind is DeviceKind.MOTOR:
        motors = {motor.name: motor.joints for motor in robot.motors}
        joints = [joint for name in device.names for joint in motors[name]]
        return replace(node, device=replace(device, joints=tuple(joints)))
    if device is not None and device.kind is DeviceKind.STIFFNESS:
        joints = _units(device, robot)
        return replace(node, device=replace(device, joints=tuple(joints)))
    children = tuple(with_joints(child, robot) for child in node.children)
    return replace(node, children=children)


def _device(
    file: YamlFile[ResourceFile], robot: Robot, name: str, leaf: LeafPart
) -> Device | None:
    devices = [
        Device(kind=kind, names=names)
        for kind, names in (
            (DeviceKind.LEDS, leaf.leds),
            (DeviceKind.SPEAKER, leaf.speakers),
            (DeviceKind.STIFFNESS, leaf.stiffness),
        )
        if names
    ]
    if not devices:
        return None
    if len(devices) > 1 or leaf.kind is not ResourceKind.EXCLUSIVE:
        kinds = " and ".join(device.kind for device in devices)
        file.fail(
            f"leaf {name!r} is {leaf.kind} and commands {kinds}; a leaf commands one "
            "kind of device, and only an exclusive leaf does.",
            *("leaves", name),
        )
    what, known = _known(devices[0].kind, robot)
    for wanted in devices[0].names:
        if wanted not in known:
            unknown = UnknownName(what, wanted, known, f"robot {robot.name!r}")
            file.fail(str(unknown), "leaves", name)
    return devices[0]


def _known(kind: DeviceKind, robot: Robot) -> tuple[str, tuple[str, ...]]:
    """Return what a device of a kind is called, and those that the robot has."""
    if kind is DeviceKind.LEDS:
        return "LED group", tuple(group.name for group in robot.leds)
    if kind is DeviceKind.SPEAKER:
        return "Speaker", tuple(speaker.name for speaker in robot.speakers)
    return "Joint group or joint", (*robot.groups, *robot.joint_names)


def _units(device: Device, robot: Robot) -> list[str]:
    """Return what no two leaves may command: single joints rather than groups."""
    if device.kind is not DeviceKind.STIFFNESS:
        return list(device.names)
    return [j for name in device.names for j in robot.groups.get(name, (name,))]
