"""Commands that stand or fall together."""

from collections import Counter
from collections.abc import Sequence

from controllers.resources.trace import Rejected
from models import BadInput


class Batch:
    """Commands that are written together or not at all."""

    __slots__ = ("is_broken", "refused")

    def __init__(self) -> None:
        """Begin whole."""
        self.is_broken = False
        """Whether one of them was refused: then none of them is written."""
        self.refused: Rejected | None = None
        """The one that was refused, None as long as none is."""

    def break_by(self, rejected: Rejected) -> None:
        """Let none of them be written; the first refusal stays the reason."""
        self.is_broken = True
        self.refused = self.refused or rejected


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
