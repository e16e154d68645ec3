"""Buses of a transmitter, and the units that check waiting groups.

Before each bus stands a unit that buffers streams and tests the points of their groups
[CN1396856, fig. 26: 131 to 133]. The controller of a bus may keep a group from breaking
in on it (S9, S91).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nao_testbed.models import BadInput
from nao_testbed.models.library import Unit


class Watch(StrEnum):
    """Unit that checks whether the points of a group sum to the preset."""

    WATCHING = "watching"
    """The unit of each bus, in the memory that all share [CN1396856, claim 16]."""
    ELECTED = "elected"
    """Unit of the first bus, which notifies the others [CN1396856, fig. 25 to 28]."""


def one_bus() -> dict[str, tuple[Unit, ...]]:
    """Return one bus for all units [CN1396856, fig. 18]."""
    return {"main": tuple(Unit)}


def bus_each() -> dict[str, tuple[Unit, ...]]:
    """Return a bus for each unit [CN1396856, fig. 25]."""
    return {unit.value: (unit,) for unit in Unit}


@dataclass(frozen=True, kw_only=True)
class TransmitterCfg:
    """Settings of one transmitter."""

    buses: Mapping[str, tuple[Unit, ...]] = field(default_factory=one_bus)
    """Bus to the units on it; each unit is on one bus."""
    watch: Watch = Watch.WATCHING
    ttl_s: float = 10.0
    """Time in s for which a group may be incomplete, from its first stream on. After
    that it is deleted, and late streams are refused for as long again."""

    def __post_init__(self) -> None:
        """Refuse buses that leave a unit out or take it twice.

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
"""Whether a group may start on a bus in a slot: asked of each of its buses, and it
starts in the first slot in which all permit it. Independent streams do not ask
[CN1396856, fig. 20: from S5 straight to S10]."""
