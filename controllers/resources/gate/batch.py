"""Commands that stand or fall together."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from controllers.resources.tokens import Token
from controllers.resources.trace import Rejected
from models import BadInput
from models.real_numbers import short

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
        """The command, or the use of a right, that was refused; None: none was."""
        self.why = ""
        """Which leaf broke it, and the reason; empty as long as none has."""

    def break_by(self, rejected: Rejected) -> None:
        """Let none of them be written; the first refusal stays the reason."""
        self.refused = self.refused or rejected
        self.is_broken = True
        self.why = self.why or f"{rejected.resource}: {rejected.reason}"


def check_batch(parts: object, rights: object) -> None:
    """Refuse what is no batch before anything of it is taken.

    Raises:
        BadInput: a part is no token with values by leaf, a right no token with leaves.
    """
    for part in _pairs(parts, "parts", "(token, {leaf: value})"):
        if not isinstance(part[1], Mapping) or not _are_texts(part[1]):
            raise BadInput(
                f"values of a batch are {short(part[1])}; give a mapping from the name "
                "of each leaf to its value."
            )
    for right in _pairs(rights, "rights", "(token, leaves)"):
        if not isinstance(right[1], Collection) or not _are_texts(right[1]):
            raise BadInput(
                f"leaves of a right are {short(right[1])}; give their names, a tuple."
            )


def _pairs(given: object, what: str, form: str) -> Sequence[tuple[object, object]]:
    if isinstance(given, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in given
    ):
        return given
    raise BadInput(
        f"{what} of a batch are {short(given)}; give {form} of each, a list."
    )


def _are_texts(names: Collection[object]) -> bool:
    return not isinstance(names, str | bytes) and all(
        isinstance(name, str) for name in names
    )


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
