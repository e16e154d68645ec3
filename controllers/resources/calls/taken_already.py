"""What an owner has already, and what a set of names still lacks."""

from collections.abc import Iterable

from controllers.resources.resource_tree import ResourceTree
from controllers.resources.snapshot import ResourceRow, Snapshot
from controllers.resources.words import Mode


def held_leaves(snapshot: Snapshot, owner: str) -> set[str]:
    """Return the leaves that an owner itself holds and may use."""
    return {row.name for row in snapshot.resources if _is_held(row, owner)}


def _is_held(row: ResourceRow, owner: str) -> bool:
    return any(one.owner == owner and one.mode is Mode.USE for one in row.holders)


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
