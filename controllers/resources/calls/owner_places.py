"""Where an owner stands among owners: by the object that it is, or by its name (RM-6).

An object knows what it is in. A name says so by its pieces: `app__root__Hello` is a
part of `app__root`, as the names of boxes are [choregraphe-resources].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from controllers.resources.core.lives import DEEPEST
from controllers.resources.front import Front
from controllers.resources.names import check_name
from controllers.resources.owner import OnLost, Owner
from controllers.resources.snapshot import Snapshot
from models import BadInput
from models.real_numbers import short

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


@dataclass(frozen=True, kw_only=True)
class Place:
    """An owner and all above it, from the top: what other code said of them."""

    owners: tuple[Owner, ...]
    is_of_object: bool
    """Whether each has to be just there."""


def place_of(
    owner: str | TreeOwner, on_lost: Callable[[str, object], OnLost | None]
) -> Place:
    """Return where an owner is to be known; it calls other code, so under no lock.

    Args:
        owner: a name, or an object in its place.
        on_lost: returns the hook of an owner, given its name and itself.

    Raises:
        BadInput: an object is above itself or without a top, or a name is none.
    """
    is_object = not isinstance(owner, str)
    if isinstance(owner, str):
        pieces = owner.split(JOINT)
        names = [JOINT.join(pieces[: n + 1]) for n in range(len(pieces))]
        names = [name for name in names if name]  # it may begin with the joint
    else:
        names = _line(owner)
    owners = tuple(
        Owner(
            name=name,
            parent=above,
            on_lost=on_lost(name, owner if is_object and name == names[-1] else None),
        )
        for name, above in zip(names, [None, *names], strict=False)
    )
    return Place(owners=owners, is_of_object=is_object)


def make_known(place: Place, front: Front, snapshot: Snapshot) -> None:
    """Make an owner and all above it known.

    A name that is known already stays where it is, with its habits.

    Args:
        place: of the owner.
        front: of the ledger.
        snapshot: of that ledger, now.

    Raises:
        BadInput: an object is known in another place.
    """
    parents = {row.name: row.parent for row in snapshot.owners}
    if not place.is_of_object and place.owners[-1].name in parents:
        return
    for owner in place.owners:
        if owner.name not in parents:
            front.add_owner(owner)
        elif place.is_of_object and parents[owner.name] != owner.parent:
            raise BadInput(
                f"owner {owner.name!r} is known as a part of {parents[owner.name]!r}, "
                f"not of {owner.parent!r}; give each owner one place, and a name of "
                "its own."
            )


def _line(owner: TreeOwner) -> list[str]:
    """Return the names of an owner and all above it, from the top.

    Raises:
        BadInput: it is above itself, without a top, or in what is no object.
    """
    names: list[str] = []
    one: TreeOwner | None = owner
    while one is not None:
        name = name_of(one)
        if name in names or len(names) > DEEPEST:
            above = "above itself" if name in names else f"in {DEEPEST} others and more"
            raise BadInput(f"owner {name!r} is {above}; a tree of owners has a top.")
        names.append(name)
        one = one.parent
        if one is not None and not hasattr(one, "parent"):
            raise BadInput(
                f"the parent of {name!r} is {short(one)}; give the object that it is "
                "in, with a name and a parent of its own, or None."
            )
    return names[::-1]
