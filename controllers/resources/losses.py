"""Losers that want to know when what they lost is free again (AR-26)."""

from controllers.resources.leaf import Leaf
from controllers.resources.records import OwnerRecord, Shares
from controllers.resources.tokens import TokenId


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
