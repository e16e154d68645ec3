"""Read a robot's tree of resources: `resources.yaml` of its folder (RM-3 to RM-7).

Every motor of the robot is a leaf and has exactly one place in the tree, so that two
owners never command one motor (RM-14). A folder without the file gets the tree of
`models.default_resources`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from models.default_resources import default_resources, motor_leaf
from models.errors import UnknownName
from models.resource_devices import leaf_devices, with_joints
from models.resource_node import Device, ResourceKind, ResourceNode
from models.resources_yaml import ResourceFile
from models.robot import Robot
from models.robot_yaml import RobotFile
from models.yaml_lines import YamlFile, read_yaml

Place = tuple[str | int, ...]
"""Keys that lead to a value of the file."""


def load_resources(robot: Robot) -> ResourceNode:
    """Return the root of the tree that the folder of a robot describes.

    Args:
        robot: whose motors, LED groups, speakers and joint groups the leaves command.

    Raises:
        RobotDataError: a name is unknown, there twice, in no place or inside itself; a
            motor has no place; a set of states holds something else; two leaves have
            one device.
    """
    path = robot.folder / "resources.yaml"
    if not path.exists():
        return with_joints(default_resources(robot), robot)
    reader = _Reader(read_yaml(path, ResourceFile), robot)
    reader.check_names()
    reader.find_places()
    reader.check_reach()
    reader.check_states()
    reader.devices = leaf_devices(reader.file, robot)
    return with_joints(reader.build(reader.file.value.root), robot)


def check_resource_names(file: YamlFile[RobotFile], robot: Robot) -> None:
    """Refuse bodies that lack, and postures that name, what the tree has not.

    Raises:
        RobotDataError: a name in `robot.yaml` is no resource, or no state.
    """
    nodes = {node.name: node for node in robot.resources.walk()}
    for body, absent in robot.bodies.items():
        for name in absent:
            if name not in nodes:
                unknown = UnknownName("Resource", name, nodes, f"robot {robot.name!r}")
                file.fail(str(unknown), "bodies", body)
    states = [n.name for n in nodes.values() if n.kind is ResourceKind.STATE]
    for posture in robot.postures.values():
        if posture.state is not None and posture.state not in states:
            where = f"the resources of {robot.name!r}"
            unknown = UnknownName("State", posture.state, states, where)
            file.fail(str(unknown), "typical_postures", posture.name, "state")


@dataclass
class _Reader:
    """One pass over the file, in the order of `load_resources`."""

    file: YamlFile[ResourceFile]
    robot: Robot
    parents: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    devices: dict[str, Device | None] = field(default_factory=dict)

    def check_names(self) -> None:
        """Refuse a name that stands for two things, and a root that is none."""
        value = self.file.value
        first = dict.fromkeys(self.robot.motor_names, "a motor of the robot")
        for section, names, what in (
            ("composites", value.composites, "a composite"),
            ("instances", value.instances, "an instance of a class"),
            ("leaves", value.leaves, "a leaf"),
        ):
            for name in names:
                if name in first:
                    self.file.fail(
                        f"resource {name!r} is {what} here, but it is {first[name]} "
                        "too; leave out the one or the other.",
                        *(section, name),
                    )
                first[name] = what
        if value.root not in value.composites:
            unknown = UnknownName(
                "Root", value.root, value.composites, "the composites"
            )
            self.file.fail(str(unknown), "root")

    def find_places(self) -> None:
        """Give every part its one parent."""
        value = self.file.value
        known = (
            *value.composites,
            *value.instances,
            *value.leaves,
            *self.robot.motor_names,
        )
        for parent, part, place, origin in chain(self._listed(), self._from_classes()):
            if part not in known:
                where = f"the resources and motors of {self.robot.name!r}"
                unknown = UnknownName("Resource", part, known, where)
                self.file.fail(f"{origin}{unknown}", *place)
            if part == value.root:
                self.file.fail(
                    f"{origin}cycle: {part!r} is the root and cannot be a part of "
                    f"{parent!r}; take it out.",
                    *place,
                )
            if part in self.parents:
                self.file.fail(
                    f"{origin}resource {part!r} is twice in the tree: part of "
                    f"{self.parents[part]!r} and of {parent!r}; keep one place.",
                    *place,
                )
            self.parents[part] = parent
            self.parts.setdefault(parent, []).append(part)

    def _listed(self) -> Iterator[tuple[str, str, Place, str]]:
        """Yield parent, part, its place in the file and words before a problem."""
        for parent, parts in self.file.value.composites.items():
            for i, part in enumerate(parts):
                yield parent, part, ("composites", parent, i), ""

    def _from_classes(self) -> Iterator[tuple[str, str, Place, str]]:
        classes = self.file.value.classes
        for parent, instance in self.file.value.instances.items():
            name = instance.class_name
            if name not in classes:
                unknown = UnknownName("Class", name, classes, "the classes")
                self.file.fail(str(unknown), "instances", parent, "class")
            for part in classes[name]:
                origin = f"{part!r} of class {name!r} in {parent!r}: "
                yield parent, instance.prefix + part, ("instances", parent), origin

    def check_reach(self) -> None:
        """Refuse what has no place, and composites that are inside themselves."""
        value = self.file.value
        for motor in self.robot.motor_names:
            if motor not in self.parents:
                self.file.fail(
                    f"motor {motor!r} of robot {self.robot.name!r} is in no composite; "
                    "name it in one, else nobody could command it.",
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
                    f"resource {way[-1]!r} is part of nothing; name it in a composite "
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
        """Refuse a set of states that holds anything else (RM-52)."""
        for parent, parts in self.parts.items():
            states = [part for part in parts if self._is_state(part)]
            others = [part for part in parts if not self._is_state(part)]
            if states and others:
                composites = self.file.value.composites
                section = "composites" if parent in composites else "instances"
                self.file.fail(
                    f"{parent!r} holds states ({', '.join(states)}) and others "
                    f"({', '.join(others)}); a set of states holds nothing else.",
                    *(section, parent),
                )

    def _is_state(self, name: str) -> bool:
        leaf = self.file.value.leaves.get(name)
        return leaf is not None and leaf.kind is ResourceKind.STATE

    def build(self, name: str) -> ResourceNode:
        """Return a resource with all below it."""
        if name in self.parts:
            children = tuple(self.build(part) for part in self.parts[name])
            return ResourceNode(name=name, children=children)
        if name in self.file.value.leaves:
            kind = self.file.value.leaves[name].kind
            return ResourceNode(name=name, kind=kind, device=self.devices[name])
        return motor_leaf(name)
