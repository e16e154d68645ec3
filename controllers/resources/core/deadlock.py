"""Who waits in a circle (RM-21).

A request waits for the earlier ones that compete with it and for the owners in its way;
an owner, as long as it waits, for its own requests. In a circle of these nobody would
ever go on, so the latest request of it is denied.
"""

from collections.abc import Iterator

from controllers.resources.core.book import Book
from controllers.resources.core.records import OwnerRecord, Waiting

_Node = OwnerRecord | Waiting


def latest_in_a_circle(book: Book) -> Waiting | None:
    """Return the last of the waiting, in their order, that waits for itself.

    A new circle passes through somebody that began to wait, or that others began to
    wait for: only what can be reached from these is looked at.
    """
    circles = _Circles()
    for owner in book.suspects:
        circles.visit(owner)
    requests = [node for node in circles.found if isinstance(node, Waiting)]
    return max(requests, key=lambda waiting: waiting.key, default=None)


def _waits_for(node: _Node) -> Iterator[_Node]:
    if isinstance(node, OwnerRecord):
        yield from node.waiting.values()
        return
    for leaf, share in node.shares.items():
        if not leaf.competes:
            continue  # a state comes by itself, nobody has to let go of another
        earlier = leaf.last_competitor(node)  # which waits for the ones before it
        if earlier is not None:
            yield earlier
        for holder in leaf.blockers(node.owner, share):
            yield holder.owner


class _Circles:
    """Tarjan's strongly connected components, without recursion."""

    def __init__(self) -> None:
        self.found: set[_Node] = set()
        """All nodes in components of more than one."""
        self._index: dict[_Node, int] = {}
        self._low: dict[_Node, int] = {}
        self._open: list[_Node] = []
        self._is_open: set[_Node] = set()

    def visit(self, root: _Node) -> None:
        """Look at all that can be reached from a node."""
        if root in self._index:
            return
        path = [(root, self._enter(root))]
        while path:
            node, ahead = path[-1]
            for following in ahead:
                if following not in self._index:
                    path.append((following, self._enter(following)))
                    break
                if following in self._is_open:
                    self._low[node] = min(self._low[node], self._index[following])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    self._low[above] = min(self._low[above], self._low[node])
                self._close(node)

    def _enter(self, node: _Node) -> Iterator[_Node]:
        self._index[node] = self._low[node] = len(self._index)
        self._open.append(node)
        self._is_open.add(node)
        return _waits_for(node)

    def _close(self, node: _Node) -> None:
        if self._low[node] != self._index[node]:
            return
        component: list[_Node] = []
        while not component or component[-1] is not node:
            component.append(self._open.pop())
        self._is_open.difference_update(component)
        if len(component) > 1:
            self.found.update(component)
