"""The leaves of a ledger, and how resources come and go at run time (RM-15)."""

from collections.abc import Iterable

from controllers.resources.core.book import Book
from controllers.resources.core.cumulative_leaf import CumulativeLeaf
from controllers.resources.core.exclusive_leaf import ExclusiveLeaf
from controllers.resources.core.leaf import Leaf
from controllers.resources.core.state_leaf import StateGroup, StateLeaf
from controllers.resources.names import check_name
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.trace import ResourceAdded, ResourceRemoved
from models import BadInput, UnknownName
from models.errors import MOST_LISTED
from models.resource_node import ResourceKind


class ResourceList:
    """Keeps the tree of names and the leaves of the book in step."""

    def __init__(self, book: Book, tree: ResourceTree) -> None:
        """Make a leaf for each of the tree."""
        self._book = book
        self.tree = tree
        for node in tree.root.walk():
            self._emit_added(node.name)
            if not node.children:
                self._make_leaf(node.name)
        leaves = book.leaves
        for name in tree.motors:
            leaves[name].is_motor = True
        for name, motors in tree.limits.items():
            leaves[name].limits = tuple(leaves[motor] for motor in motors)
            for motor in leaves[name].limits:
                motor.limited += (leaves[name],)

    def leaves_of(self, names: Iterable[str]) -> list[Leaf]:
        """Return all leaves at or below some names, sorted.

        Raises:
            UnknownName: there is no such resource.
        """
        found = {leaf for name in names for leaf in self.tree.leaves(name)}
        return [self._book.leaves[name] for name in sorted(found)]

    def leaf(self, name: str) -> Leaf:
        """Return a leaf.

        Raises:
            UnknownName: there is no such resource.
            BadInput: it is a composite.
        """
        try:
            return self._book.leaves[name]
        except (KeyError, TypeError):
            raise self._no_leaf(name) from None

    def add(self, name: str, parent: str, kind: ResourceKind) -> None:
        """Let a leaf be known from now on.

        Raises:
            BadInput: the name is taken, or the parent is a leaf in use.
            UnknownName: there is no such parent.
        """
        above = self._book.leaves.get(check_name(parent, "a parent"))
        if above is not None:
            self._check_idle(above, "get parts")
        self.tree = self.tree.with_resource(name, parent, kind)
        if above is not None:
            self._forget_leaf(above)
        self._make_leaf(name)
        self._emit_added(name)

    def remove(self, name: str) -> None:
        """Forget a leaf; a composite that has no parts any more becomes one.

        Raises:
            UnknownName: there is no such resource.
            BadInput: it has parts, is in use, or commands a part of the robot.
        """
        device = self.tree.node(name).device
        if device is not None:
            raise BadInput(
                f"{name!r} commands {', '.join(device.names)} of the robot and stays."
            )
        leaf = self._book.leaves.get(name)
        if leaf is not None:
            self._check_idle(leaf, "be removed")
        above = self.tree.parent(name)
        self.tree = self.tree.without(name)
        if leaf is not None:
            self._forget_leaf(leaf)
        if self._book.listeners:
            self._book.emit(ResourceRemoved(tick=self._book.tick, name=name))
        if above is not None and not self.tree.children(above):
            self._make_leaf(above)
            self._emit_added(above)

    def _no_leaf(self, name: str) -> BadInput:
        check_name(name, "a resource")
        if name in self.tree:
            leaves = ", ".join(self.tree.leaves(name)[:MOST_LISTED])
            return BadInput(
                f"{name!r} is a composite; name one of its leaves: {leaves}."
            )
        return UnknownName("Resource", name, self._book.leaves, "this ledger")

    def _make_leaf(self, name: str) -> None:
        kind, leaves = self.tree.node(name).kind, self._book.leaves
        if kind is ResourceKind.STATE:
            group = self.tree.state_group(name)
            states = self._book.groups.setdefault(group, StateGroup(group))
            leaves[name] = StateLeaf(name, states)
        elif kind is ResourceKind.CUMULATIVE:
            leaves[name] = CumulativeLeaf(name)
        else:
            leaves[name] = ExclusiveLeaf(name)

    def _forget_leaf(self, leaf: Leaf) -> None:
        del self._book.leaves[leaf.name]
        for loser in list(leaf.losers):
            loser.forget()
        if isinstance(leaf, StateLeaf):
            del leaf.group.leaves[leaf.name]
            if not leaf.group.leaves:
                del self._book.groups[leaf.group.name]

    def _check_idle(self, leaf: Leaf, what: str) -> None:
        is_hoped_for = any(
            leaf in unit
            for waiting in self._book.waiting.values()
            for unit in waiting.optional.values()
        )
        is_lent = any(leaf in held.lent for held in self._book.reservations.values())
        is_lent |= any(leaf in one.lent for one in self._book.waiting.values())
        is_active = isinstance(leaf, StateLeaf) and leaf.group.active is leaf
        is_wanted = leaf.waiters or is_hoped_for
        if leaf.seated() or is_wanted or is_lent or leaf.freezes or is_active:
            raise BadInput(
                f"{leaf.name!r} is held, lent, waited for, frozen or the active state; "
                f"it can {what} when it is idle."
            )

    def _emit_added(self, name: str) -> None:
        if not self._book.listeners:
            return
        node = self.tree.node(name)
        self._book.emit(
            ResourceAdded(
                tick=self._book.tick,
                name=name,
                parent=self.tree.parent(name),
                kind=None if node.children else node.kind,
                device=node.device.kind if node.device else None,
                limits=self.tree.limits.get(name, ()),
            )
        )
