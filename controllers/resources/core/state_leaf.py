"""A state as a leaf: shared, and of a set only one is active (RM-51, RM-52)."""

from collections.abc import Sequence
from typing import ClassVar

from controllers.resources.core.leaf import Leaf, Willing
from controllers.resources.core.records import OwnerRecord, Reservation
from models.resource_node import ResourceKind


class StateGroup:
    """A set of states of which at most one is active."""

    __slots__ = ("active", "leaves", "name")

    def __init__(self, name: str) -> None:
        """Begin with none active."""
        self.name = name
        self.leaves: dict[str, StateLeaf] = {}
        self.active: StateLeaf | None = None


class StateLeaf(Leaf):
    """One state of a set; those who hold it need the robot to be in it."""

    __slots__ = ("group", "holders")
    kind: ClassVar[ResourceKind] = ResourceKind.STATE
    competes: ClassVar[bool] = False

    def __init__(self, name: str, group: StateGroup) -> None:
        """Begin inactive."""
        super().__init__(name)
        self.group = group
        group.leaves[name] = self
        self.holders: dict[Reservation, None] = {}

    def is_open(self) -> bool:
        """Whether the robot is in this state."""
        return self.group.active is self and not self.is_frozen

    def seated(self) -> Sequence[Reservation]:
        """Return all that hold it, in the order of their grants."""
        return tuple(self.holders)

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return None: a state is open to all."""
        del owner
        return None

    def has_scopes(self) -> bool:
        """Return False: a state is open to all."""
        return False

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return the holders of the state that is active instead (RM-53)."""
        del owner, share
        active = self.group.active
        return () if active is None or active is self else tuple(active.holders)

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return nobody if it is active; nobody's leaving makes it so."""
        del owner, share, is_willing
        return () if self.group.active is self else None

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return nobody: there is no inside."""
        del reservation
        return ()

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Let one more hold it."""
        del share
        self.holders[reservation] = None
        return None

    def unseat(self, reservation: Reservation) -> None:
        """Let one go."""
        del self.holders[reservation]
