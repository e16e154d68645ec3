"""Losers that want to know when what they lost is free again (AR-26)."""

from typing import TYPE_CHECKING

from controllers.resources.core.leaf import Leaf, names_of
from controllers.resources.core.records import OwnerRecord, Shares
from controllers.resources.tokens import TokenId
from controllers.resources.trace import Notified
from controllers.resources.words import NoticeKind

if TYPE_CHECKING:  # the book holds losers
    from controllers.resources.core.book import Book


class Loser:
    """An owner, the token that it lost by, and the leaves taken for somebody else."""

    __slots__ = ("lost", "owner", "token")

    def __init__(self, owner: OwnerRecord, token: TokenId, lost: Shares) -> None:
        """Put a mark on the owner and on each leaf."""
        self.owner = owner
        self.token = token
        self.lost = lost
        owner.losers[self] = None
        for leaf in lost:
            leaf.losers[self] = None

    def forget(self) -> None:
        """Take the marks off."""
        self.owner.losers.pop(self, None)
        for leaf in self.lost:
            leaf.losers.pop(self, None)

    def can_have_all(self) -> bool:
        """Whether the owner could take back everything, before any who waits."""
        return all(
            leaf.is_open() and not leaf.waiters and not leaf.blockers(self.owner, share)
            for leaf, share in self.lost.items()
        )


def forget_losses(owner: OwnerRecord, leaf: Leaf) -> None:
    """Forget what an owner lost together with a leaf: it has that again."""
    for loser in [loser for loser in leaf.losers if loser.owner is owner]:
        loser.forget()


def tell_losers(book: "Book") -> None:
    """Tell, once, those who can now have again all that they lost with a token."""
    eased = sorted(book.eased, key=lambda loser: (loser.token, names_of(loser.lost)))
    book.eased.clear()
    for loser in eased:
        if loser not in loser.owner.losers or not loser.can_have_all():
            continue
        loser.forget()
        if book.listeners:
            book.emit(
                Notified(
                    tick=book.tick,
                    owner=loser.owner.name,
                    kind=NoticeKind.AVAILABLE,
                    token=loser.token,
                    leaves=names_of(loser.lost),
                )
            )
