"""Which columns a joint, or a group of joints, of a sweep file means."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.sweep.spec import Parameter
from experiments.sweep.trial import MISALIGNMENT
from experiments.sweep.values import Fixed, Grid, Values
from models import BadInput, Robot, UnknownName
from models.resource_node import DeviceKind


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of the file, such as `LAnklePitch` or `legs`, and its values."""

    key: str
    joints: tuple[str, ...]
    """Those that it means, in joint order."""
    values: Values

    @property
    def is_group(self) -> bool:
        """Whether it means several joints, or one under another name."""
        return self.joints != (self.key,)


def joints_of(robot: Robot, key: str) -> tuple[str, ...]:
    """Return the joints that a key means, in joint order.

    Args:
        robot: whose.
        key: a joint; a group of `robot.yaml`; or a resource with motors in it, such as
            `Left leg`. Groups and resources in upper or lower case.

    Raises:
        UnknownName: it is none of them.
    """
    if key in robot.joint_names:
        return (key,)
    groups = _groups(robot)
    meant = {name.lower(): name for name in groups}.get(key.lower())
    if meant is None:
        known = (*groups, *robot.joint_names)
        raise UnknownName("Joint or group", key, known, f"robot {robot.name!r}")
    return tuple(name for name in robot.joint_names if name in groups[meant])


def _groups(robot: Robot) -> dict[str, frozenset[str]]:
    """Return joints by group; the robot's own groups go before resources."""
    found: dict[str, frozenset[str]] = {}
    for node in robot.resources.walk():
        motors = {
            motor
            for below in node.walk()
            if below.device is not None and below.device.kind is DeviceKind.MOTOR
            for motor in below.device.names
        }
        if motors and node.name != robot.resources.name:
            joints = {j.name for j in robot.joints if j.motor in motors}
            if node.name not in robot.joint_names:
                found[node.name] = frozenset(joints)
    own = {name: frozenset(joints) for name, joints in robot.groups.items()}
    taken = {name.lower() for name in own}
    return own | {k: v for k, v in found.items() if k.lower() not in taken}


def joint_parameters(
    robot: Robot,
    name: str,
    entries: list[Entry],
    preset: Mapping[str, float],
) -> list[Parameter]:
    """Return the parameters of one of `JOINT_PARAMETERS`.

    A joint that is named goes before its group, and both before the preset. A
    distribution of a group is drawn for each of its joints. What belongs to a motor,
    as all but the misalignment do, is the same for the joints that share it.

    Args:
        robot: whose joints.
        name: of the parameter.
        entries: of the file.
        preset: joint to value.

    Raises:
        BadInput: two entries claim one joint.
    """
    motor_of = {joint.name: joint.motor for joint in robot.joints}
    unit_of = {j: j for j in motor_of} if name == MISALIGNMENT else motor_of
    claims: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.is_group):
        for unit in dict.fromkeys(unit_of[joint] for joint in entry.joints):
            first = claims.setdefault(unit, entry)
            if first is entry or (entry.is_group and not first.is_group):
                continue
            raise BadInput(
                f"{name} of {unit} is given twice, by {first.key!r} and "
                f"{entry.key!r}; keep one, or name the joint itself."
            )
    found = [
        Parameter(columns=(f"{name}.{joint}",), values=Fixed(float(value)))
        for joint, value in preset.items()
        if unit_of[joint] not in claims
    ]
    for entry in entries:
        units = [unit for unit, claim in claims.items() if claim is entry]
        members = [
            tuple(f"{name}.{joint}" for joint in unit_of if unit_of[joint] == unit)
            for unit in units
        ]
        if isinstance(entry.values, Fixed | Grid) and members:
            members = [tuple(column for columns in members for column in columns)]
        found += [
            Parameter(columns=columns, values=entry.values) for columns in members
        ]
    return found
