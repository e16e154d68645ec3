"""Immutable index of the resource tree, and rules for names.

A composite stands for all leaves under it. The leaves of every name are collected once,
at construction; later queries are single look-ups. Adding or removing a resource
creates a new tree, so that readers of the old one are not disturbed.

Several names are passed as a tuple. A single text is rejected as a likely mistake, and
a set because its order varies between runs. Names appear on terminals, pages and in
logs, so control characters and overlong names are rejected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from nao_testbed.controllers.arbitration.tokens import word
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.resources import DeviceKind, ResourceKind, ResourceNode
from nao_testbed.models.values import short

T = TypeVar("T")

LONGEST_NAME = 1000
"""Largest number of characters of a name; the limit for network names is lower."""
_NO_LISTS = (bytes, bytearray, set, frozenset, dict)


def is_name(name: object) -> bool:
    """Return True if `check_name` would return this text unchanged; fast."""
    return (
        type(name) is str
        and len(name) <= LONGEST_NAME
        and name.isprintable()
        and bool(name)
        and not name.isspace()
    )


def check_name(name: object, what: str) -> str:
    """Return a name as a plain text.

    Args:
        name: name given by a caller.
        what: kind of the name, for the message.

    Raises:
        BadInput: the name is not a text, is blank or too long, or contains unprintable
            characters, such as direction marks or lone surrogates.
    """
    if not isinstance(name, str):
        raise BadInput(f"the name of {what} is {short(name)}; give a text.")
    name = str.__str__(name)
    if not name.strip():
        raise BadInput(
            f"the name of {what} is {short(name)}: it is blank; give letters or digits."
        )
    if len(name) > LONGEST_NAME:
        raise BadInput(
            f"the name of {what} has {len(name)} characters, {short(name)}; give "
            f"{LONGEST_NAME} at most."
        )
    if not name.isprintable():
        odd = next(one for one in name if not one.isprintable())
        raise BadInput(
            f"the name of {what}, {short(name)}, holds U+{ord(odd):04X}, which is "
            "not printable; use printable characters only."
        )
    return name


def check_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Return several names as a tuple of plain texts.

    Args:
        names: names given by a caller.
        what: kind of the names, for the message.

    Raises:
        BadInput: the value is a single text, a set, or contains an invalid name.
    """
    if isinstance(names, str):
        raise BadInput(
            f"{what} is the text {short(names)}; give a tuple of names, here "
            f"({short(names)},)."
        )
    if isinstance(names, _NO_LISTS) or not isinstance(names, Iterable):
        kind = type(names).__name__
        raise BadInput(
            f"{what} is the {kind} {short(names)}; give a tuple of names, which has "
            "an order."
        )
    return tuple([check_name(name, f"one of {what}") for name in names])


def find_name(known: Mapping[str, T], name: str, kind: str, where: str) -> T:
    """Return the known object with a caller's name.

    Raises:
        UnknownName: the name is not known.
        BadInput: the value is not a name.
    """
    try:
        found = known.get(name)
    except TypeError:  # unhashable, such as a list
        found = None
    if found is None:
        check_name(name, f"a {kind.lower()}")
        raise UnknownName(kind, name, known, where)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Node with its ancestors and leaves."""

    node: ResourceNode
    parent: str | None
    children: tuple[str, ...]
    leaves: tuple[str, ...]
    exclusive_leaves: tuple[str, ...]


class ResourceTree:
    """Names, parents and leaves of a tree of `ResourceNode`."""

    def __init__(self, root: ResourceNode) -> None:
        """Index a tree.

        Raises:
            BadInput: a name is empty or duplicated, or a set of states contains another
                kind.
        """
        self.root = root
        nodes, parents = _index(root)
        for node in nodes.values():
            _check_states(node)
        if _is_state(root):
            raise BadInput(
                f"resource {root.name!r} is the root and a state; put states under a "
                "composite, which is their set."
            )
        below: dict[str, list[str]] = {name: [] for name in nodes}
        for leaf in sorted(name for name, node in nodes.items() if not node.children):
            above: str | None = leaf
            while above is not None:
                below[above].append(leaf)
                above = parents[above]
        self.names: tuple[str, ...] = tuple(nodes)
        """All names; parents before children, siblings in their order."""
        self.motors = tuple(
            name for name, node in nodes.items() if _is(node, DeviceKind.MOTOR)
        )
        """Leaves that command a motor."""
        self.limits: Mapping[str, tuple[str, ...]] = _limits(nodes)
        """Leaf of torque limits to the leaves of the motors that it limits, sorted."""
        self._places = {
            name: _Place(
                node=node,
                parent=parents[name],
                children=tuple(child.name for child in node.children),
                leaves=tuple(below[name]),
                exclusive_leaves=tuple(
                    leaf
                    for leaf in below[name]
                    if nodes[leaf].kind is ResourceKind.EXCLUSIVE
                ),
            )
            for name, node in nodes.items()
        }

    def __contains__(self, name: object) -> bool:
        """Return True if a resource has this name."""
        return name in self._places

    def __repr__(self) -> str:
        """Return a line for tracebacks."""
        return f"ResourceTree({self.root.name!r}, {len(self.names)} resources)"

    @property
    def all_leaves(self) -> tuple[str, ...]:
        """All leaves, sorted by name."""
        return self._places[self.root.name].leaves

    def node(self, name: str) -> ResourceNode:
        """Return the node of a resource.

        Raises:
            UnknownName: no resource has this name; the same holds for all methods with
                a name.
        """
        return self._place(name).node

    def parent(self, name: str) -> str | None:
        """Return the parent of a resource, or None for the root."""
        return self._place(name).parent

    def children(self, name: str) -> tuple[str, ...]:
        """Return the parts of a resource in their order; empty for a leaf."""
        return self._place(name).children

    def leaves(self, name: str) -> tuple[str, ...]:
        """Return the leaves at or below a resource, sorted by name."""
        return self._place(name).leaves

    def exclusive_leaves(self, name: str) -> tuple[str, ...]:
        """Return the exclusive leaves at or below a resource."""
        return self._place(name).exclusive_leaves

    def state_group(self, leaf: str) -> str:
        """Return the set of states that contains a state.

        Raises:
            BadInput: the resource is not a state.
        """
        place = self._place(leaf)
        if place.parent is None or not _is_state(place.node):
            states = [name for name in self.all_leaves if _is_state(self.node(name))]
            raise BadInput(
                f"resource {leaf!r} is not a state. States are: "
                f"{', '.join(states) or 'none'}."
            )
        return place.parent

    def with_resource(
        self, name: str, parent: str, kind: ResourceKind = ResourceKind.EXCLUSIVE
    ) -> "ResourceTree":
        """Return a tree with a new leaf, the last one under its parent.

        A leaf that gets a part becomes a composite; its kind applies again after it has
        lost all parts.

        Raises:
            BadInput: the name is taken or empty, the parent is a leaf that commands a
                device, or a state would have a sibling that is not a state.
        """
        above = self._place(parent).node
        kind = word(
            ResourceKind, kind, f"the kind of {check_name(name, 'a resource')!r}"
        )
        if name in self:
            raise BadInput(
                f"resource {name!r} already exists under {self.parent(name)!r}; "
                "choose another name."
            )
        if above.device is not None:
            raise BadInput(
                f"resource {parent!r} commands {', '.join(above.device.names)} and can "
                f"have no parts; put {name!r} under a composite."
            )
        leaf = ResourceNode(name=name, kind=kind)
        return self._with(replace(above, children=(*above.children, leaf)))

    def without(self, name: str, *, with_parts: bool = False) -> "ResourceTree":
        """Return a tree without a resource.

        Args:
            name: any resource except the root.
            with_parts: True: also remove its parts.

        Raises:
            BadInput: the resource is the root, or has parts without `with_parts`.
        """
        place = self._place(name)
        if place.parent is None:
            raise BadInput(f"resource {name!r} is the root; remove what is under it.")
        if place.children and not with_parts:
            raise BadInput(
                f"resource {name!r} has parts: {', '.join(place.children)}; remove "
                "these first."
            )
        above = self._place(place.parent).node
        rest = tuple(child for child in above.children if child.name != name)
        return self._with(replace(above, children=rest))

    def _place(self, name: str) -> _Place:
        try:
            return self._places[name]
        except (KeyError, TypeError):
            where = f"tree {self.root.name!r}"
            return find_name(self._places, name, "Resource", where)

    def _with(self, changed: ResourceNode) -> "ResourceTree":
        """Return a tree in which the node of the same name is replaced."""
        while (parent := self.parent(changed.name)) is not None:
            above = self.node(parent)
            changed = replace(
                above,
                children=tuple(
                    changed if child.name == changed.name else child
                    for child in above.children
                ),
            )
        return ResourceTree(changed)


def _index(
    root: ResourceNode,
) -> tuple[dict[str, ResourceNode], dict[str, str | None]]:
    """Return nodes and parents by name, from the root, without recursion."""
    nodes: dict[str, ResourceNode] = {}
    parents: dict[str, str | None] = {}
    waiting: list[tuple[ResourceNode, str | None]] = [(root, None)]
    while waiting:
        node, parent = waiting.pop()
        check_name(node.name, f"a resource under {parent!r}")
        if node.name in nodes:
            raise BadInput(
                f"resource {node.name!r} appears twice in the tree, under "
                f"{parents[node.name]!r} and under {parent!r}; give each resource "
                "one place and a unique name."
            )
        nodes[node.name] = node
        parents[node.name] = parent
        waiting.extend((child, node.name) for child in reversed(node.children))
    return nodes, parents


def _limits(nodes: Mapping[str, ResourceNode]) -> dict[str, tuple[str, ...]]:
    movers: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for joint in _joints(node, DeviceKind.MOTOR):
            movers.setdefault(joint, []).append(name)
    return {
        name: tuple(
            sorted(
                {
                    motor
                    for joint in _joints(node, DeviceKind.STIFFNESS)
                    for motor in movers.get(joint, ())
                }
            )
        )
        for name, node in nodes.items()
        if _is(node, DeviceKind.STIFFNESS)
    }


def _is(node: ResourceNode, kind: DeviceKind) -> bool:
    return node.device is not None and node.device.kind is kind


def _joints(node: ResourceNode, kind: DeviceKind) -> tuple[str, ...]:
    """Return the joints of a node's device of a kind; empty for another node."""
    if node.device is None or node.device.kind is not kind:
        return ()
    return node.device.joints or node.device.names


def _is_state(node: ResourceNode) -> bool:
    return not node.children and node.kind is ResourceKind.STATE


def _names(nodes: Iterable[ResourceNode]) -> str:
    return ", ".join(node.name for node in nodes)


def _check_states(node: ResourceNode) -> None:
    states = [child for child in node.children if _is_state(child)]
    others = [child for child in node.children if not _is_state(child)]
    if states and others:
        raise BadInput(
            f"resource {node.name!r} holds states ({_names(states)}) and others "
            f"({_names(others)}); a set of states holds nothing else: put the others "
            "elsewhere."
        )
