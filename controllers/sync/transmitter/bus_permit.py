"""Who lets a group break in on a bus (S9, S91)."""

from typing import Protocol


class BusPermit(Protocol):
    """The controllers of the buses: each is asked before a group starts on its bus.

    Independent streams do not ask [CN1396856, fig. 20: from S5 straight to S10].
    """

    def permits(self, bus: str, tick: int) -> bool:
        """Return whether a group may start on a bus in this slot.

        A group starts in the first slot in which all its buses permit it.
        """


class AlwaysPermit:
    """Buses that are always open."""

    def permits(self, bus: str, tick: int) -> bool:
        """Return True."""
        del bus, tick
        return True
