"""A library that is read when somebody first looks into it.

YAML of some hundred lines takes a third of a second, and most of what is done with a
robot needs none of it.
"""

from collections.abc import Callable
from dataclasses import fields

from models.library.library import Library


class LibraryOnDemand(Library):
    """A library whose files are read, and checked, at the first look into it."""

    _read: Callable[[], Library]

    def __init__(self, read: Callable[[], Library]) -> None:
        """Keep how to read it; what `read` raises, the first look raises."""
        object.__setattr__(self, "_read", read)

    def __getattr__(self, name: str) -> object:
        """Read the library; called while its fields are not there yet."""
        if name not in {field.name for field in fields(Library)}:
            raise AttributeError(f"a library has no {name!r}")
        library = self._read()
        for field in fields(Library):
            object.__setattr__(self, field.name, getattr(library, field.name))
        return getattr(library, name)
