"""Buses of a transmitter, and the units that check waiting groups.

Each bus has a unit that buffers streams and checks the points of their groups
[CN1396856, fig. 26: 131 to 133]. The controller of a bus can delay the start of a group
(S9, S91).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nao_testbed.models import BadInput
from nao_testbed.models.library import Unit


class Watch(StrEnum):
    """Unit that checks whether the points of a group sum to the preset."""

    WATCHING = "watching"
    """The unit of each bus checks the shared memory [CN1396856, claim 16]."""
    ELECTED = "elected"
    """Only the unit of the first bus checks, and notifies the others [CN1396856, fig.
    25 to 28]."""


def one_bus() -> dict[str, tuple[Unit, ...]]:
    """Return a mapping with one bus for all units [CN1396856, fig. 18]."""
    return {"main": tuple(Unit)}


def bus_each() -> dict[str, tuple[Unit, ...]]:
    """Return a mapping with a separate bus per unit [CN1396856, fig. 25]."""
    return {unit.value: (unit,) for unit in Unit}


@dataclass(frozen=True, kw_only=True)
class TransmitterCfg:
    """Settings of one transmitter."""

    buses: Mapping[str, tuple[Unit, ...]] = field(default_factory=one_bus)
    """Bus to its units; each unit is on exactly one bus."""
    watch: Watch = Watch.WATCHING
    ttl_s: float = 10.0
    """Time in s for which a group may be incomplete, from its first stream on. Then the
    group is deleted, and late streams are refused for the same time."""

    def __post_init__(self) -> None:
        """Validate the buses and the time to live.

        Raises:
            BadInput: a unit is on no bus or on two, or the time is not positive.
        """
        for unit in Unit:
            on = [bus for bus, units in self.buses.items() if unit in units]
            if len(on) != 1:
                raise BadInput(
                    f"unit {unit.value!r} is on the buses {', '.join(on) or 'none'}; "
                    "put each of motion, light and sound on one bus."
                )
        if not 0.0 < self.ttl_s < float("inf"):
            raise BadInput(f"ttl_s is {self.ttl_s} s; give a positive number.")

    def bus_of(self, unit: Unit) -> str:
        """Return the bus of a unit."""
        return next(bus for bus, units in self.buses.items() if unit in units)


Permits = Callable[[str, int], bool]
"""Callback that returns True if a group may start on a bus in a slot. A group starts in
the first slot in which all its buses permit it. Independent streams need no permission
[CN1396856, fig. 20: from S5 straight to S10]."""
