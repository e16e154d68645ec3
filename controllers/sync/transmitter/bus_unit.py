"""The transmitter's unit on one bus: it buffers streams and tests their points."""

from collections.abc import Sequence

from controllers.sync.transmitter.member import Member
from controllers.sync.transmitter.shared_points import Entry, SharedPoints
from controllers.sync.transmitter.sync_tag import GroupKey
from controllers.sync.transmitter.transmitter_cfg import Watch
from models.library import Unit


class BusUnit:
    """What stands before one bus [CN1396856, fig. 26: 131 to 133]."""

    __slots__ = ("_ready", "_shared", "areas", "name")

    def __init__(self, name: str, units: Sequence[Unit], shared: SharedPoints) -> None:
        """Stand before a bus that carries some converters' data."""
        self.name = name
        self.areas: dict[Unit, dict[int, Member]] = {unit: {} for unit in units}
        """Converter to its streams that wait, by number (SY-11)."""
        self._shared = shared
        self._ready: set[GroupKey] = set()

    def keep(self, member: Member, key: GroupKey, points: int) -> None:
        """Buffer a stream and write its points (S3, S6)."""
        unit = member.stream.unit
        self.areas[unit][member.number] = member
        self._shared.write(key, Entry(unit, member.number, points))

    def finds(self, key: GroupKey) -> bool:
        """Test whether the points of a group sum to its preset (S8, S81)."""
        return self._shared.sum(key) == key.preset

    def make_ready(self, key: GroupKey) -> None:
        """Note that a group is complete: found here, or told by the elected unit."""
        self._ready.add(key)

    def is_ready(self, key: GroupKey) -> bool:
        """Whether it may put its part of a group on its bus."""
        return key in self._ready

    def drop(self, member: Member) -> None:
        """Take a stream out of the buffer: it starts, or is over."""
        self.areas[member.stream.unit].pop(member.number, None)
        if member.key is not None:
            self._ready.discard(member.key)


def look_for(
    key: GroupKey, units: Sequence[BusUnit], holders: Sequence[BusUnit], watch: Watch
) -> tuple[str, ...]:
    """Let those who watch test a group after a change, and return who found it whole.

    Args:
        key: the group.
        units: of all buses; the first is the elected one.
        holders: those that buffer a part of the group.
        watch: who tests.
    """
    if watch is Watch.ELECTED:
        finders = [units[0]] if units[0].finds(key) else []
        told = holders if finders else []
    else:
        finders = told = [unit for unit in holders if unit.finds(key)]
    for unit in told:
        unit.make_ready(key)
    return tuple(unit.name for unit in finders)
