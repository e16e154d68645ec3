"""Resource tree: queries, validation, and immutability."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.models import (
    BadInput,
    Device,
    DeviceKind,
    ResourceKind,
    ResourceNode,
    UnknownName,
    load_robot,
)

EXCLUSIVE = ResourceKind.EXCLUSIVE
STATE = ResourceKind.STATE
CUMULATIVE = ResourceKind.CUMULATIVE


def leaf(name: str, kind: ResourceKind = EXCLUSIVE) -> ResourceNode:
    return ResourceNode(name=name, kind=kind)


def over(name: str, *children: ResourceNode) -> ResourceNode:
    return ResourceNode(name=name, children=children)


SMALL = over(
    "root",
    over("State", leaf("Stand", STATE), leaf("Sit", STATE)),
    over("Body", over("Arm", leaf("Wrist"), leaf("Elbow")), leaf("Head")),
    leaf("CPU", CUMULATIVE),
)


@st.composite
def trees(draw: st.DrawFn) -> ResourceNode:
    """Return a tree of up to 14 resources; a group of states has only states."""
    parents = [draw(st.integers(0, i)) for i in range(draw(st.integers(0, 13)))]
    below: dict[int, list[int]] = {}
    for i, parent in enumerate(parents, start=1):
        below.setdefault(parent, []).append(i)
    kinds = st.sampled_from([EXCLUSIVE, CUMULATIVE])

    def build(i: int, kind: ResourceKind) -> ResourceNode:
        parts = below.get(i, [])
        is_set = bool(parts) and not any(part in below for part in parts)
        kind_below = st.just(STATE) if is_set and draw(st.booleans()) else kinds
        children = tuple(build(part, draw(kind_below)) for part in parts)
        return ResourceNode(name=f"r{i}", kind=kind, children=children)

    return build(0, EXCLUSIVE)


def below(node: ResourceNode) -> list[ResourceNode]:
    """Return the leaves at or below a node, by recursion."""
    if not node.children:
        return [node]
    return [found for child in node.children for found in below(child)]


@pytest.mark.requirement("RM-5")
@given(trees())
def test_composite_means_the_leaves_below_it(root: ResourceNode) -> None:
    tree = ResourceTree(root)
    for node in root.walk():
        leaves = below(node)
        assert tree.leaves(node.name) == tuple(sorted(x.name for x in leaves))
        assert tree.exclusive_leaves(node.name) == tuple(
            sorted(x.name for x in leaves if x.kind is EXCLUSIVE)
        )
        assert tree.children(node.name) == tuple(x.name for x in node.children)
        for child in node.children:
            assert tree.parent(child.name) == node.name
        assert tree.node(node.name) is node
        assert node.name in tree
    assert tree.names == tuple(node.name for node in root.walk())
    assert tree.all_leaves == tree.leaves(root.name)
    assert tree.parent(root.name) is None


@pytest.mark.requirement("RM-15")
@given(trees(), st.data())
def test_adding_and_removing_do_not_change_the_old_tree(
    root: ResourceNode, data: st.DataObject
) -> None:
    old = ResourceTree(root)
    names, leaves = old.names, old.all_leaves
    sets = {old.state_group(x.name) for x in root.walk() if _is_state(x)}
    fit = [n for n in names if n not in sets and old.parent(n) not in sets]
    assume(fit)  # a root with only states accepts no other resource
    parent = data.draw(st.sampled_from(fit))
    kind = data.draw(st.sampled_from([EXCLUSIVE, CUMULATIVE]))
    new = old.with_resource("ball", parent, kind)
    assert (old.root, old.names, old.all_leaves) == (root, names, leaves)
    assert "ball" not in old
    assert set(new.names) == {*names, "ball"}
    assert new.children(parent) == (*old.children(parent), "ball")
    assert new.node("ball").kind is kind
    above: str | None = parent
    while above is not None:
        assert "ball" in new.leaves(above)
        above = new.parent(above)
    elsewhere = [n for n in names if "ball" not in new.leaves(n)]
    assert all(new.node(n) is old.node(n) for n in elsewhere)  # shared, not copied
    again = new.without("ball")
    assert again.root == root
    assert "ball" in new


@pytest.mark.requirement("RM-15")
@given(trees(), st.data())
def test_removal_takes_only_the_branch(root: ResourceNode, data: st.DataObject) -> None:
    old = ResourceTree(root)
    name = data.draw(st.sampled_from(old.names))
    if name == root.name:
        with pytest.raises(BadInput, match="is the root; remove what is under it"):
            old.without(name, with_parts=True)
        return
    if old.children(name):
        with pytest.raises(BadInput, match="has parts: "):
            old.without(name)
    gone = {node.name for node in old.node(name).walk()}
    new = old.without(name, with_parts=True)
    assert new.names == tuple(n for n in old.names if n not in gone)
    assert old.root is root


def _is_state(node: ResourceNode) -> bool:
    return node.kind is STATE and not node.children


@pytest.mark.requirement("RM-52")
def test_state_group_of_a_state() -> None:
    tree = ResourceTree(SMALL)
    assert tree.state_group("Sit") == "State"
    for name in ("Wrist", "CPU", "State"):
        with pytest.raises(BadInput, match=r"is not a state\. States are: Sit, Stand"):
            tree.state_group(name)


def test_leaf_with_children_is_a_composite_until_removal() -> None:
    tree = ResourceTree(SMALL).with_resource("fan", "CPU")
    assert tree.leaves("CPU") == tree.exclusive_leaves("CPU") == ("fan",)
    assert "CPU" not in tree.all_leaves
    assert tree.without("fan").root == SMALL


MOTOR = ResourceNode(
    name="Knee", device=Device(kind=DeviceKind.MOTOR, names=("LKneePitch",))
)

REFUSED: dict[str, tuple[Callable[[], object], type[BadInput], str]] = {
    "name twice": (
        lambda: ResourceTree(over("root", leaf("A"), over("B", leaf("A")))),
        BadInput,
        "resource 'A' appears twice in the tree, under 'root' and under 'B'",
    ),
    "name of the root below": (
        lambda: ResourceTree(over("root", over("B", leaf("root")))),
        BadInput,
        "resource 'root' appears twice in the tree",
    ),
    "empty name": (
        lambda: ResourceTree(over("root", leaf(" "))),
        BadInput,
        "the name of a resource under 'root' is ' ': it is blank",
    ),
    "states and others": (
        lambda: ResourceTree(over("root", leaf("Sit", STATE), leaf("A"))),
        BadInput,
        "resource 'root' holds states (Sit) and others (A)",
    ),
    "state that is the root": (
        lambda: ResourceTree(leaf("Sit", STATE)),
        BadInput,
        "resource 'Sit' is the root and a state",
    ),
    "unknown name": (
        lambda: ResourceTree(SMALL).leaves("Wrst"),
        UnknownName,
        "Resource 'Wrst' is not in tree 'root'. Did you mean 'Wrist'?",
    ),
    "unknown parent": (
        lambda: ResourceTree(SMALL).with_resource("ball", "Bodi"),
        UnknownName,
        "Resource 'Bodi' is not in tree 'root'. Did you mean 'Body'?",
    ),
    "taken name": (
        lambda: ResourceTree(SMALL).with_resource("Wrist", "root"),
        BadInput,
        "resource 'Wrist' already exists under 'Arm'",
    ),
    "new empty name": (
        lambda: ResourceTree(SMALL).with_resource("", "root"),
        BadInput,
        "the name of a resource is '': it is blank",
    ),
    "other among states": (
        lambda: ResourceTree(SMALL).with_resource("ball", "State"),
        BadInput,
        "resource 'State' holds states (Stand, Sit) and others (ball)",
    ),
    "state among others": (
        lambda: ResourceTree(SMALL).with_resource("Walk", "Body", STATE),
        BadInput,
        "resource 'Body' holds states (Walk) and others (Arm, Head)",
    ),
    "parts of a state": (
        lambda: ResourceTree(SMALL).with_resource("ball", "Sit"),
        BadInput,
        "resource 'State' holds states (Stand) and others (Sit)",
    ),
    "parts of a motor": (
        lambda: ResourceTree(over("root", MOTOR)).with_resource("ball", "Knee"),
        BadInput,
        "resource 'Knee' commands LKneePitch and can have no parts",
    ),
    "remove an unknown name": (
        lambda: ResourceTree(SMALL).without("Haed"),
        UnknownName,
        "Did you mean 'Head'?",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_trees_and_changes_are_rejected(case: str) -> None:
    act, kind, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        act()
    assert message in str(caught.value)


@pytest.mark.requirement("RM-3", "RM-5")
def test_parts_of_the_nao_are_found_by_name() -> None:
    tree = ResourceTree(load_robot().resources)
    assert len(tree.leaves("All motors")) == 25
    assert [len(tree.leaves(name)) for name in ("Head", "Arms", "Legs")] == [2, 12, 11]
    assert len(tree.leaves("Left leg")) == 5
    assert "LHipYawPitch" not in tree.leaves("Left leg")
    assert tree.exclusive_leaves("State") == ()
    assert tree.state_group("Sit") == "State"


def test_very_deep_tree_is_indexed() -> None:
    node = leaf("r0")
    for i in range(1, 3000):
        node = over(f"r{i}", node)
    tree = ResourceTree(node)
    assert tree.leaves("r2999") == ("r0",)
    assert tree.with_resource("ball", "r1").leaves("r2999") == ("ball", "r0")
