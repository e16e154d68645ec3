"""What is a name, and what are several of them.

Names come in tuples: one text in their place is a slip that is easy to make, and a set
has no order, so that no run could be repeated. They are shown on terminals, pages and
in logs: nobody may take one that hides what follows it, or that fills the screen.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from models import BadInput, UnknownName
from models.real_numbers import short

T = TypeVar("T")

LONGEST_NAME = 1000
"""Characters of a name at most; those that come over a network have fewer."""
_NO_LISTS = (bytes, bytearray, set, frozenset, dict)


def is_name(name: object) -> bool:
    """Whether `check_name` would return this very text; it costs little."""
    return (
        type(name) is str
        and len(name) <= LONGEST_NAME
        and name.isprintable()
        and bool(name)
        and not name.isspace()
    )


def check_name(name: object, what: str) -> str:
    """Return a name as a plain text.

    Args:
        name: as given by a caller.
        what: what it is of, for the message.

    Raises:
        BadInput: it is no text, blank, too long, or holds what cannot be printed, such
            as a mark that turns the direction of reading, or half a character.
    """
    if not isinstance(name, str):
        raise BadInput(f"the name of {what} is {short(name)}; give a text.")
    name = str.__str__(name)
    if not name.strip():
        raise BadInput(
            f"the name of {what} is {short(name)}: empty; give one to be known by."
        )
    if len(name) > LONGEST_NAME:
        raise BadInput(
            f"the name of {what} has {len(name)} characters, {short(name)}; give "
            f"{LONGEST_NAME} at most."
        )
    if not name.isprintable():
        odd = next(one for one in name if not one.isprintable())
        raise BadInput(
            f"the name of {what}, {short(name)}, holds U+{ord(odd):04X}, which cannot "
            "be printed; give a name that people can read."
        )
    return name


def check_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Return several names as a tuple of plain texts.

    Args:
        names: as given by a caller.
        what: what they are, for the message.

    Raises:
        BadInput: they are one text, which would be read letter by letter; a set, which
            has no order; no names at all.
    """
    if isinstance(names, str):
        raise BadInput(
            f"{what} is the text {short(names)}; give a tuple of names, here "
            f"({short(names)},)."
        )
    if isinstance(names, _NO_LISTS) or not isinstance(names, Iterable):
        kind = type(names).__name__
        raise BadInput(
            f"{what} is the {kind} {short(names)}; give a tuple of names, in the order "
            "in which they are to be read."
        )
    return tuple([check_name(name, f"one of {what}") for name in names])


def find_name(known: Mapping[str, T], name: str, kind: str, where: str) -> T:
    """Return what a caller's name means.

    Raises:
        UnknownName: it is not among the known ones.
        BadInput: it is no name at all.
    """
    try:
        found = known.get(name)
    except TypeError:  # a list, or what else can be no key
        found = None
    if found is None:
        check_name(name, f"a {kind.lower()}")
        raise UnknownName(kind, name, known, where)
    return found
