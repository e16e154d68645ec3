"""Where a server's tree of resources comes from: a robot, or a file without a robot."""

from pathlib import Path

from models import BadInput, Robot, UnknownName, default_robot_folder, load_robot
from models.resource_node import ResourceNode
from models.resources_yaml import ResourceFile
from models.yaml_lines import YamlFile, read_yaml

OBJECTS = "Objects"
"""The composite of what is outside of all robots: a ball (RM-60)."""


def robot_of(folder: Path | None, body: str | None) -> Robot:
    """Return a robot with one of its bodies.

    Args:
        folder: of the robot; None is NAO.
        body: name of a body that lacks parts; None is the whole robot.

    Raises:
        BadInput: the folder, or its robot's body, cannot be had.
    """
    robot = load_robot(folder or default_robot_folder())
    return robot if body is None else robot.with_body(body)


def with_objects(root: ResourceNode, names: tuple[str, ...]) -> ResourceNode:
    """Return a tree with outside objects, each an exclusive leaf, beside the rest."""
    if not names:
        return root
    objects = ResourceNode(
        name=OBJECTS, children=tuple(ResourceNode(name=name) for name in names)
    )
    return ResourceNode(name=root.name, children=(*root.children, objects))


def read_resources(path: Path) -> ResourceNode:
    """Read a file of the form of a robot's `resources.yaml`, for no robot at all.

    Raises:
        BadInput: it is malformed, a name is unknown or inside of itself, or a leaf
            has a device.
    """
    if not path.exists():
        raise BadInput(f"resource file {path} is missing; give one that is there.")
    return _Reader(read_yaml(path, ResourceFile)).read()


class _Reader:
    """Builds the tree from the root down."""

    def __init__(self, file: YamlFile[ResourceFile]) -> None:
        self._file = file
        self._value = file.value
        self._placed: set[str] = set()

    def read(self) -> ResourceNode:
        root = self._build(self._value.root, ("root",), ())
        for section in ("composites", "instances", "leaves"):
            for name in getattr(self._value, section):
                if name not in self._placed:
                    self._file.fail(
                        f"resource {name!r} is not below {self._value.root!r}; name it "
                        "in a composite or remove it.",
                        *(section, name),
                    )
        return root

    def _build(
        self, name: str, place: tuple[str | int, ...], above: tuple[str, ...]
    ) -> ResourceNode:
        if name in above:
            circle = " in ".join([*above[above.index(name) :], name])
            self._file.fail(f"cycle: {circle}; take one of them out.", *place)
        if name in self._placed:
            self._file.fail(f"resource {name!r} is twice in the tree.", *place)
        self._placed.add(name)
        value = self._value
        if name in value.composites:
            return ResourceNode(
                name=name,
                children=tuple(
                    self._build(part, ("composites", name, i), (*above, name))
                    for i, part in enumerate(value.composites[name])
                ),
            )
        if name in value.instances:
            instance = value.instances[name]
            if instance.class_name not in value.classes:
                unknown = UnknownName(
                    "Class", instance.class_name, value.classes, "the classes"
                )
                self._file.fail(str(unknown), "instances", name, "class")
            return ResourceNode(
                name=name,
                children=tuple(
                    self._build(
                        instance.prefix + part, ("instances", name), (*above, name)
                    )
                    for part in value.classes[instance.class_name]
                ),
            )
        if name not in value.leaves:
            known = (*value.composites, *value.instances, *value.leaves)
            self._file.fail(
                str(UnknownName("Resource", name, known, "this file")), *place
            )
        leaf = value.leaves[name]
        if leaf.leds or leaf.speakers or leaf.stiffness:
            self._file.fail(
                f"leaf {name!r} has a device, but this file belongs to no robot; put "
                "it into the robot's folder and give that with --robot.",
                *("leaves", name),
            )
        return ResourceNode(name=name, kind=leaf.kind)
