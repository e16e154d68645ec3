"""The memory that all buses share: the IDs of groups and their points (SY-11, SY-24).

[CN1396856, fig. 19 and 27] has an area for the ID and one for the points of each
converter; here an entry stands for both.
"""

from typing import NamedTuple

from controllers.sync.transmitter.sync_tag import GroupKey
from models.library import Unit


class Entry(NamedTuple):
    """What the unit of a bus has written for one stream."""

    unit: Unit
    """The converter that the stream came from."""
    stream: int
    points: int


class SharedPoints:
    """Points by group; every unit of a bus may read and write them."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        """Begin with no group."""
        self._entries: dict[GroupKey, list[Entry]] = {}

    def write(self, key: GroupKey, entry: Entry) -> None:
        """Note the points of one stream (S6, S61)."""
        self._entries.setdefault(key, []).append(entry)

    def entries(self, key: GroupKey) -> tuple[Entry, ...]:
        """Return what stands there for a group (S7, S71), in the order of writing."""
        return tuple(self._entries.get(key, ()))

    def sum(self, key: GroupKey) -> int:
        """Return the sum of a group's points (S8, S81)."""
        return sum(entry.points for entry in self._entries.get(key, ()))

    def erase(self, key: GroupKey) -> None:
        """Forget a group."""
        self._entries.pop(key, None)
