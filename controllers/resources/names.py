"""Names come in tuples: one text in their place is a slip that is easy to make."""

from collections.abc import Iterable

from models import BadInput


def check_names(names: Iterable[str], what: str) -> None:
    """Refuse a text where several names belong; it would be read letter by letter.

    Args:
        names: as given by a caller.
        what: what they are, for the message.

    Raises:
        BadInput: it is one text.
    """
    if isinstance(names, str):
        raise BadInput(
            f"{what} is the text {names!r}; give a tuple of names, here ({names!r},)."
        )
