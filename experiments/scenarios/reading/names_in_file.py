"""Names and texts inside parts of a file that has no form yet."""

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from models.yaml_lines import Place, ReadFile
from models.yaml_tree import read_tree

FormT = TypeVar("FormT", bound=BaseModel)


def entry_of(place: Place) -> Place:
    """Return what is left out where a value is wrong: an entry of a section, a child.

    The rest is judged beside it, so that one slip does not hide the others.
    """
    n = 2
    while place[:1] == ("behaviours",) and place[n : n + 1] == ("children",):
        if len(place) < n + 2:
            break
        n += 2
    return place[:n]


def names_left_out(file: ReadFile[FormT]) -> Iterator[str]:
    """Yield names of behaviours and events that were left out as wrong."""
    if not file.left_out:
        return
    tree = read_tree(file.path)
    for place in file.left_out:
        part = tree
        for key in place:
            try:
                part = part[key]
            except (KeyError, IndexError, TypeError):
                part = None
        yield from _names_in(part)


def _names_in(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("name"), str):
            yield str(part["name"])
        for value in part.values():
            yield from _names_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from _names_in(value)
