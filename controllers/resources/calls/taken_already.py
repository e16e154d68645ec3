"""What an owner has already, and what a set of names still lacks."""

from collections.abc import Iterable

from controllers.resources.resource_tree import ResourceTree
from controllers.resources.snapshot import Snapshot


def held_leaves(snapshot: Snapshot, owner: str) -> set[str]:
    """Return the leaves that an owner itself holds, if a part of it uses them too."""
    return {
        row.name
        for row in snapshot.resources
        if any(one.owner == owner for one in row.holders)
    }


def still_lacking(
    names: Iterable[str], held: set[str], tree: ResourceTree
) -> tuple[str, ...]:
    """Return the names without what is held already, each once."""
    rest: dict[str, None] = {}
    for name in names:
        leaves = tree.exclusive_leaves(name) if tree.children(name) else (name,)
        missing = [leaf for leaf in leaves if leaf not in held]
        if len(missing) == len(leaves):
            rest[name] = None
        else:
            rest.update(dict.fromkeys(missing))
    return tuple(rest)
