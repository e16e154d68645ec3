"""What stands at the head of a synchronous stream: its group, and its points."""

from dataclasses import dataclass
from typing import NamedTuple

from models import BadInput
from models.library import PRESET


class GroupKey(NamedTuple):
    """Which group a stream belongs to.

    The preset is a part of it: what counts towards 10 never counts towards 100 (SY-17).
    """

    preset: int
    group: str

    def __str__(self) -> str:
        """Return a form for people."""
        return f"{self.group!r} of {self.preset}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncTag:
    """The ID and the points of one member [CN1396856, claims 6 and 7] (SY-8, SY-10).

    The group starts when the points of its members sum to the preset: motion 20, light
    10 and sound 70 to 100 (SY-9), say, or light 4 and sound 6 to 10 (SY-17).
    """

    group: str
    """ID of the group. Groups that are under way at one time need different ones."""
    points: int
    """What this member adds, at least 1."""
    preset: int = PRESET
    """Sum at which the group starts, at least 1."""

    def __post_init__(self) -> None:
        """Refuse a head that could never count.

        Raises:
            BadInput: the ID is empty, or a number is not whole or below 1.
        """
        if not (isinstance(self.group, str) and self.group):
            raise BadInput(f"ID of a group is {self.group!r}; give a text.")
        for what, value in (("points", self.points), ("preset", self.preset)):
            if type(value) is not int or value < 1:
                raise BadInput(
                    f"{what} of a member of group {self.group!r} is {value!r}; give a "
                    "whole number of at least 1."
                )

    @property
    def key(self) -> GroupKey:
        """Its group."""
        return GroupKey(self.preset, self.group)


def count_tag(group: str, total: int) -> SyncTag:
    """Return the head in its general form: ID and number of members (SY-7).

    Each member counts one [CN1396856, claims 14 and 15].

    Raises:
        BadInput: the ID is empty, or the number not whole or below 1.
    """
    return SyncTag(group=group, points=1, preset=total)
