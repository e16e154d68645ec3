"""Tree of a robot's resources: `resources.yaml` of its folder, or the default tree.

Every motor of the robot is a leaf with exactly one place in the tree, and each device
has one leaf, so that two owners never command the same device. A folder without the
file gets this tree:

    root > State        the states named by stored postures
         > Leds         the LED groups
         > Audio        Loudspeakers, all of them: a robot says one thing at a time
         > All motors   joint groups, nested as their joints are; then motors
         > Stiffness    for each group directly under All motors, `<group>-stiffness`
         > Computing    CPU and Network, by rates

An empty branch is left out. Of overlapping joint groups, only the larger one is in the
tree (among equal ones the first); a group of all joints is `All motors` itself. A motor
is under the smallest group with all its joints: a motor for both legs is a part of the
legs, but not of either leg.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from nao_testbed.models.errors import BadInput, RobotDataError
from nao_testbed.models.files.yaml_forms import YamlFile, read_yaml
from nao_testbed.models.load.forms import LeafPart, ResourceFile, RobotFile
from nao_testbed.models.resources import Device, DeviceKind, ResourceKind, ResourceNode
from nao_testbed.models.robot import Robot

ALL_MOTORS = "All motors"
MOTOR, STIFFNESS = DeviceKind.MOTOR, DeviceKind.STIFFNESS
Groups = dict[str, frozenset[str]]
"""Joints of each group of the tree."""


def default_resources(robot: Robot) -> ResourceNode:
    """Return the tree derived from groups, postures and devices of a robot.

    Raises:
        RobotDataError: two resources share a name; then the file is required.
    """
    groups = _nested_groups(robot)
    states = dict.fromkeys(x.state for x in robot.postures.values() if x.state)
    names = [speaker.name for speaker in robot.speakers]
    speakers = _device_leaf(robot, "Loudspeakers", DeviceKind.SPEAKER, names)
    branches = {
        "State": [ResourceNode(name=x, kind=ResourceKind.STATE) for x in states],
        "Leds": [_device_leaf(robot, x.name, DeviceKind.LEDS) for x in robot.leds],
        "Audio": [speakers] if names else [],
        ALL_MOTORS: _parts(ALL_MOTORS, groups, robot),
        "Stiffness": _stiffness_leaves(groups, robot),
        "Computing": [
            ResourceNode(name=x, kind=ResourceKind.CUMULATIVE)
            for x in ("CPU", "Network")
        ],
    }
    filled = [_composite(name, parts) for name, parts in branches.items() if parts]
    root = _composite("root", filled)
    name, count = Counter(node.name for node in root.walk()).most_common(1)[0]
    if count > 1:
        raise RobotDataError(
            robot.folder / "resources.yaml",
            None,
            f"file is missing, and the default tree would have {count} resources "
            f"{name!r} (a motor, joint group, LED group, speaker or state); write the "
            "file, or rename one of them.",
        )
    return root


def _composite(name: str, children: Iterable[ResourceNode]) -> ResourceNode:
    return ResourceNode(name=name, children=tuple(children))


def _device_leaf(
    robot: Robot, name: str, kind: DeviceKind, names: Iterable[str] = ()
) -> ResourceNode:
    """Return the leaf of some devices; by default of the device with its name."""
    return ResourceNode(name=name, device=device_of(robot, kind, names or (name,)))


def device_of(robot: Robot, kind: DeviceKind, names: Iterable[str]) -> Device:
    """Return a device with the joints whose position or torque limit it sets."""
    groups: Mapping[str, tuple[str, ...]] = {}
    if kind is MOTOR:
        groups = robot.servos
    elif kind is STIFFNESS:
        groups = {**{joint: (joint,) for joint in robot.joint_names}, **robot.groups}
    joints = (joint for name in names for joint in groups.get(name, ()))
    return Device(kind=kind, names=tuple(names), joints=tuple(joints))


def _nested_groups(robot: Robot) -> Groups:
    """Return the groups that do not overlap, largest first, below all joints."""
    nested: Groups = {ALL_MOTORS: frozenset(robot.joint_names)}
    by_size = sorted(robot.groups.items(), key=lambda item: -len(set(item[1])))
    for name, members in by_size:
        joints = frozenset(members)
        fits = all(joints < other or not joints & other for other in nested.values())
        if fits and any(joints.issuperset(moved) for moved in robot.servos.values()):
            nested[name] = joints
    return nested


def _smallest_around(joints: frozenset[str], groups: Groups) -> str:
    return min(
        (name for name, others in groups.items() if joints <= others),
        key=lambda name: len(groups[name]),
    )


def _parts(name: str, groups: Groups, robot: Robot) -> list[ResourceNode]:
    """Return the motors and groups directly in a group, in the order of the joints."""
    inner = {
        group: joints
        for group, joints in groups.items()
        if joints < groups[name]
        and not any(joints < other < groups[name] for other in groups.values())
    }
    parts = [
        (
            robot.joint_index(servo),
            _device_leaf(robot, servo, MOTOR),
        )
        for servo, moved in robot.servos.items()
        if _smallest_around(frozenset(moved), groups) == name
    ]
    parts += [
        (
            min(robot.joint_index(joint) for joint in joints),
            _composite(group, _parts(group, groups, robot)),
        )
        for group, joints in inner.items()
    ]
    return [node for _, node in sorted(parts, key=lambda part: part[0])]


def _stiffness_leaves(groups: Groups, robot: Robot) -> list[ResourceNode]:
    """Return a leaf for each outermost group, and for each joint outside of them."""
    every = groups[ALL_MOTORS]
    outermost = sorted(
        (
            name
            for name, joints in groups.items()
            if joints < every
            and not any(joints < other < every for other in groups.values())
        ),
        key=lambda name: min(robot.joint_index(joint) for joint in groups[name]),
    )
    inside = {joint for name in outermost for joint in groups[name]}
    rest = [joint for joint in robot.joint_names if joint not in inside]
    return [
        _device_leaf(robot, f"{name}-stiffness", STIFFNESS, (name,))
        for name in (*outermost, *rest)
    ]


def leaf_devices(
    file: YamlFile[ResourceFile], robot: Robot
) -> dict[str, Device | None]:
    """Return the device of each leaf of the file; None for a leaf without one.

    Raises:
        RobotDataError: a device is unknown, belongs to two leaves or to a shared leaf;
            or a leaf has two kinds of devices.
    """
    devices: dict[str, Device | None] = {}
    taken: dict[tuple[DeviceKind, str], str] = {}
    for name, leaf in file.value.leaves.items():
        device = devices[name] = _device(file, robot, name, leaf)
        if device is None:
            continue
        for unit in device.joints or device.names:  # single joints, not groups
            first = taken.setdefault((device.kind, unit), name)
            if first != name:
                file.fail(
                    f"{device.kind} of {unit!r} would obey {first!r} and {name!r}; "
                    "name it in one of them.",
                    *("leaves", name),
                )
    return devices


def _device(
    file: YamlFile[ResourceFile], robot: Robot, name: str, leaf: LeafPart
) -> Device | None:
    devices = {
        DeviceKind.LEDS: leaf.leds,
        DeviceKind.SPEAKER: leaf.speakers,
        DeviceKind.STIFFNESS: leaf.stiffness,
    }
    given = [kind for kind, names in devices.items() if names]
    if not given:
        return None
    if len(given) > 1 or leaf.kind is not ResourceKind.EXCLUSIVE:
        file.fail(
            f"leaf {name!r} is {leaf.kind} and commands {' and '.join(given)}; a leaf "
            "commands one kind of device, and only an exclusive leaf does.",
            *("leaves", name),
        )
    what, known = _known(given[0], robot)
    for wanted in devices[given[0]]:
        where = f"robot {robot.name!r}"
        file.need(what, wanted, known, where, "leaves", name)
    return device_of(robot, given[0], devices[given[0]])


def _known(kind: DeviceKind, robot: Robot) -> tuple[str, tuple[str, ...]]:
    """Return the label of a device kind, and the names that the robot has."""
    if kind is DeviceKind.LEDS:
        return "LED group", tuple(group.name for group in robot.leds)
    if kind is DeviceKind.SPEAKER:
        return "Speaker", tuple(speaker.name for speaker in robot.speakers)
    return "Joint group or joint", (*robot.groups, *robot.joint_names)


Place = tuple[str | int, ...]
"""Path of keys to a value of the file."""


def load_resources(robot: Robot) -> ResourceNode:
    """Return the root of the tree that the folder of a robot describes.

    Args:
        robot: robot with the motors, LED groups, speakers and joint groups of the tree.

    Raises:
        RobotDataError: a name is unknown, a duplicate, without a place or inside
            itself; a motor has no place; a set of states holds another resource; or two
            leaves have one device.
    """
    path = robot.folder / "resources.yaml"
    if not path.exists():
        return default_resources(robot)
    reader = _Reader(read_yaml(path, ResourceFile), robot.name, robot.servo_names)
    reader.check()
    motors = {name: device_of(robot, MOTOR, (name,)) for name in robot.servo_names}
    return reader.build(motors | leaf_devices(reader.file, robot))


def read_resources(path: Path) -> ResourceNode:
    """Return the root of a tree in the same format, without a robot.

    Raises:
        BadInput: the file does not exist.
        RobotDataError: as in `load_resources`; or a leaf has a device.
    """
    if not path.exists():
        raise BadInput(f"resource file {path} is missing; give an existing file.")
    reader = _Reader(read_yaml(path, ResourceFile))
    reader.check()
    for name, leaf in reader.file.value.leaves.items():
        if leaf.leds or leaf.speakers or leaf.stiffness:
            reader.file.fail(
                f"leaf {name!r} has a device, but this file belongs to no robot; put "
                "it into the robot's folder and give that with --robot.",
                *("leaves", name),
            )
    return reader.build({})


def check_resource_names(file: YamlFile[RobotFile], robot: Robot) -> None:
    """Check that bodies and postures name resources of the tree.

    Raises:
        RobotDataError: a name in `robot.yaml` is not a resource, or not a state.
    """
    nodes = {node.name: node for node in robot.resources.walk()}
    for body, absent in robot.bodies.items():
        for name in absent:
            where = f"robot {robot.name!r}"
            file.need("Resource", name, nodes, where, "bodies", body)
    states = [n.name for n in nodes.values() if n.kind is ResourceKind.STATE]
    for posture in robot.postures.values():
        if posture.state is not None:
            where = f"the resources of {robot.name!r}"
            place = ("typical_postures", posture.name, "state")
            file.need("State", posture.state, states, where, *place)


@dataclass
class _Reader:
    """Reader of one file: checks, and construction of the tree."""

    file: YamlFile[ResourceFile]
    robot_name: str = ""
    """Name of the robot; empty: no robot."""
    motors: tuple[str, ...] = ()
    """Motors of the robot: leaves that the file does not list."""
    parents: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)

    def check(self) -> None:
        """Reject a file that does not define a tree."""
        self.check_names()
        self.find_places()
        self.check_reach()
        self.check_states()

    def check_names(self) -> None:
        """Reject duplicate names, and a root that is not a composite."""
        value = self.file.value
        first = dict.fromkeys(self.motors, "a motor of the robot")
        for section, names, what in (
            ("composites", value.composites, "a composite"),
            ("instances", value.instances, "an instance of a class"),
            ("leaves", value.leaves, "a leaf"),
        ):
            for name in names:
                if name in first:
                    self.file.fail(
                        f"resource {name!r} is {what} here, but it is {first[name]} "
                        "too; remove one of them.",
                        *(section, name),
                    )
                first[name] = what
        composites = value.composites
        self.file.need("Root", value.root, composites, "the composites", "root")

    def find_places(self) -> None:
        """Assign to every part its single parent."""
        value = self.file.value
        known = (*value.composites, *value.instances, *value.leaves, *self.motors)
        robot = f"the resources and motors of {self.robot_name!r}"
        where = robot if self.robot_name else "this file"
        for parent, part, place, origin in chain(self._listed(), self._from_classes()):
            self.file.need("Resource", part, known, where, *place, before=origin)
            if part == value.root:
                self.file.fail(
                    f"{origin}cycle: {part!r} is the root and cannot be a part of "
                    f"{parent!r}; remove it.",
                    *place,
                )
            if part in self.parents:
                self.file.fail(
                    f"{origin}resource {part!r} is in the tree twice: part of "
                    f"{self.parents[part]!r} and of {parent!r}; keep one.",
                    *place,
                )
            self.parents[part] = parent
            self.parts.setdefault(parent, []).append(part)

    def _listed(self) -> Iterator[tuple[str, str, Place, str]]:
        """Yield parent, part, its place in the file and a prefix for messages."""
        for parent, parts in self.file.value.composites.items():
            for i, part in enumerate(parts):
                yield parent, part, ("composites", parent, i), ""

    def _from_classes(self) -> Iterator[tuple[str, str, Place, str]]:
        classes = self.file.value.classes
        for parent, instance in self.file.value.instances.items():
            name = instance.class_name
            place = ("instances", parent, "class")
            self.file.need("Class", name, classes, "the classes", *place)
            for part in classes[name]:
                origin = f"{part!r} of class {name!r} in {parent!r}: "
                yield parent, instance.prefix + part, ("instances", parent), origin

    def check_reach(self) -> None:
        """Reject parts without a parent, and composites inside themselves."""
        value = self.file.value
        for motor in self.motors:
            if motor not in self.parents:
                self.file.fail(
                    f"motor {motor!r} of robot {self.robot_name!r} is in no composite; "
                    "name it in one, else it cannot be commanded.",
                    "composites",
                )
        for section, names in (
            ("composites", value.composites),
            ("instances", value.instances),
            ("leaves", value.leaves),
        ):
            for name in names:
                self._check_leads_to_root(name, section)

    def _check_leads_to_root(self, name: str, section: str) -> None:
        way = [name]
        while way[-1] != self.file.value.root:
            above = self.parents.get(way[-1])
            if above is None:
                self.file.fail(
                    f"resource {way[-1]!r} has no parent; name it in a composite "
                    "or remove it.",
                    *(section, name),
                )
            if above in way:
                circle = " in ".join([*way[way.index(above) :], above])
                self.file.fail(
                    f"cycle: {circle}; take one of them out of the other.",
                    *(section, name),
                )
            way.append(above)

    def check_states(self) -> None:
        """Reject a set of states that holds any other resource."""
        for parent, parts in self.parts.items():
            states = [part for part in parts if self._is_state(part)]
            others = [part for part in parts if not self._is_state(part)]
            if states and others:
                composites = self.file.value.composites
                section = "composites" if parent in composites else "instances"
                self.file.fail(
                    f"{parent!r} holds states ({', '.join(states)}) and others "
                    f"({', '.join(others)}); a set of states has only states.",
                    *(section, parent),
                )

    def _is_state(self, name: str) -> bool:
        leaf = self.file.value.leaves.get(name)
        return leaf is not None and leaf.kind is ResourceKind.STATE

    def build(
        self, devices: Mapping[str, Device | None], name: str | None = None
    ) -> ResourceNode:
        """Return the node of a resource, by default the root."""
        value = self.file.value
        name = name or value.root
        if name in self.parts:
            children = tuple(self.build(devices, part) for part in self.parts[name])
            return ResourceNode(name=name, children=children)
        leaf = value.leaves.get(name) or LeafPart()
        return ResourceNode(name=name, kind=leaf.kind, device=devices.get(name))
