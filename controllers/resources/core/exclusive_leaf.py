"""An exclusive leaf: one user, perhaps inside reservations of its ancestors (RM-26)."""

from collections.abc import Sequence
from typing import ClassVar

from controllers.resources.core.leaf import Leaf, Willing
from controllers.resources.core.records import OwnerRecord, Reservation, Waiting
from models.resource_node import ResourceKind


class ExclusiveLeaf(Leaf):
    """A stack of reservations, each inside the one below; the top one may use.

    The owner above is a descendant of the one below: what a parent has is open to its
    children, and theirs alone while one of them has it (RM-26).
    """

    __slots__ = ("stack",)
    kind: ClassVar[ResourceKind] = ResourceKind.EXCLUSIVE

    def __init__(self, name: str) -> None:
        """Begin free."""
        super().__init__(name)
        self.stack: list[Reservation] = []

    def seated(self) -> Sequence[Reservation]:
        """Return all that hold it, the innermost first."""
        return self.stack[::-1]

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the innermost reservation of an ancestor of `owner`."""
        depth = self._scope_end(owner)
        return self.stack[depth - 1] if depth else None

    def has_scopes(self) -> bool:
        """Whether who has it may have descendants that wait inside."""
        return bool(self.stack) and bool(self.stack[0].owner.children)

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return all above the scope: the child is asked first, then upward."""
        del share  # all of it
        stack = self.stack
        if not stack:
            return ()
        return stack[self._scope_end(owner) :][::-1]

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return all blockers if all are willing."""
        if not self.stack:
            return ()
        blockers = self.blockers(owner, share)
        return blockers if all(map(is_willing, blockers)) else None

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return all above a reservation, the innermost first."""
        return self.stack[: self.stack.index(reservation) : -1]

    def is_lent(self, reservation: Reservation) -> bool:
        """Whether anybody is above a reservation."""
        return self.stack[-1] is not reservation

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Put a reservation on top."""
        del share
        below = self.stack[-1] if self.stack else None
        self.stack.append(reservation)
        return below

    def unseat(self, reservation: Reservation) -> None:
        """Take a reservation away, which is on top."""
        if self.stack.pop() is not reservation:
            raise AssertionError(f"{self.name}: the top of the stack is another one")

    def may_be_next(self, waiting: Waiting) -> bool:
        """Whether it is free, or authority may take it from who has it."""
        return not self.stack or waiting.priority > self.stack[-1].priority

    def _scope_end(self, owner: OwnerRecord) -> int:
        """Return the height of the stack up to the scope of `owner`."""
        stack = self.stack
        for height in range(len(stack), 0, -1):
            if stack[height - 1].is_open_to(owner):
                return height
        return 0
