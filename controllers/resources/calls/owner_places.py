"""Where an owner stands among owners: by the object that it is, or by its name (RM-6).

An object knows what it is in. A name says so by its pieces: `app__root__Hello` is a
part of `app__root`, as the names of boxes are [choregraphe-resources].
"""

from collections.abc import Callable
from typing import Protocol

from controllers.resources.front import Front
from controllers.resources.names import check_name
from controllers.resources.owner import OnLost, Owner
from controllers.resources.snapshot import Snapshot
from models import BadInput

JOINT = "__"
"""Between the pieces of a name."""


class TreeOwner(Protocol):
    """An object with a place in a tree of objects, such as a box in a box (RM-6)."""

    @property
    def name(self) -> str:
        """The owner's name."""

    @property
    def parent(self) -> "TreeOwner | None":
        """The object that it is in; None at the top."""


def name_of(owner: str | TreeOwner) -> str:
    """Return the name of an owner, given by it or as an object.

    Raises:
        BadInput: it is no name.
    """
    name = owner if isinstance(owner, str) else getattr(owner, "name", owner)
    return check_name(name, "an owner")


def make_known(
    owner: str | TreeOwner,
    front: Front,
    snapshot: Snapshot,
    on_lost: Callable[[str, object], OnLost | None],
) -> None:
    """Make an owner and all above it known.

    A name that is known already stays where it is, with its habits.

    Args:
        owner: a name, or an object in its place.
        front: of the ledger.
        snapshot: of that ledger, now.
        on_lost: returns the hook of an owner, given its name and itself.

    Raises:
        BadInput: an object is known in another place, or is above itself.
    """
    parents = {row.name: row.parent for row in snapshot.owners}
    if isinstance(owner, str):
        if owner in parents:
            return
        pieces = owner.split(JOINT)
        names = [JOINT.join(pieces[: n + 1]) for n in range(len(pieces))]
        names = [name for name in names if name]  # it may begin with the joint
        line = list(zip(names, [None, *names], strict=False))
    else:
        line = _line(owner)
    for name, above in line:
        if name not in parents:
            hook = on_lost(name, owner if name == name_of(owner) else None)
            front.add_owner(Owner(name=name, parent=above, on_lost=hook))
        elif not isinstance(owner, str) and parents[name] != above:
            raise BadInput(
                f"owner {name!r} is known as a part of {parents[name]!r}, not of "
                f"{above!r}; give each owner one place, and a name of its own."
            )


def _line(owner: TreeOwner) -> list[tuple[str, str | None]]:
    """Return the names of an owner and all above it, from the top, with their parents.

    Raises:
        BadInput: it is above itself.
    """
    line: list[tuple[str, str | None]] = []
    one: TreeOwner | None = owner
    while one is not None:
        if any(name == one.name for name, _ in line):
            raise BadInput(
                f"owner {one.name!r} is above itself; a tree of owners has a top."
            )
        line.append((one.name, one.parent.name if one.parent else None))
        one = one.parent
    return line[::-1]
