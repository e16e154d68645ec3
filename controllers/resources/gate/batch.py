"""Commands that stand or fall together."""

from collections import Counter
from collections.abc import Sequence

from controllers.resources.tokens import Token
from controllers.resources.trace import Rejected
from controllers.resources.words import Refusal
from models import BadInput

Rights = Sequence[tuple[Token | None, Sequence[str]]]
"""Tokens, and the leaves that each has to cover."""


class Batch:
    """Commands that are written together or not at all."""

    __slots__ = ("is_broken", "refused", "rights", "tested", "why")

    def __init__(self, rights: Rights = ()) -> None:
        """Begin whole.

        Args:
            rights: that have to hold too, though nothing is commanded by them.
        """
        self.rights = rights
        self.tested = 0
        """Count of the ledger's changes when they were tested."""
        self.is_broken = False
        """Whether one of them was refused: then none of them is written."""
        self.refused: Rejected | None = None
        """The command that was refused, None as long as none is."""
        self.why = ""
        """Which leaf broke it, and the reason; empty as long as none has."""

    def break_by(self, rejected: Rejected) -> None:
        """Let none of them be written; the first refusal stays the reason."""
        self.refused = self.refused or rejected
        self.break_for(rejected.resource, rejected.reason)

    def break_for(self, leaf: str, reason: Refusal) -> None:
        """Let none of them be written, for a right that does not hold."""
        self.is_broken = True
        self.why = self.why or f"{leaf}: {reason}"


def check_once(leaves: Sequence[str]) -> None:
    """Refuse a leaf that stands twice in one batch.

    Raises:
        BadInput: one does.
    """
    if len(set(leaves)) == len(leaves):
        return
    twice = next(leaf for leaf, count in Counter(leaves).items() if count > 1)
    raise BadInput(
        f"leaf {twice!r} has two commands in one batch; give it one of them."
    )
