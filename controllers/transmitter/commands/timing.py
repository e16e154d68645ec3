"""Times of the pipeline: settings in s, and their conversion to slots.

`Enable` selects when the transmitter enables the synchronous data after an initial
motion.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nao_testbed.models import BadInput
from nao_testbed.models.library import Unit

CONVERSION_S: Mapping[Unit, float] = {
    Unit.MOTION: 0.02,
    Unit.LIGHT: 0.01,
    Unit.SOUND: 0.10,
}
"""Expected conversion times in s; a waveform takes longest [CN1396856, description of
fig. 22]."""


def slots_of(time_s: float, slot_s: float) -> int:
    """Return the number of slots of a time; a partial slot counts as one."""
    return math.ceil(time_s / slot_s - 1e-9)


class Enable(StrEnum):
    """Time at which the transmitter enables the synchronous data."""

    EXPECTED = "expected"
    """When the rest of the initial motion takes as long as the expected conversion: the
    data are ready at the end of the motion."""
    AT_END = "at_end"
    """At the end of the initial motion: the conversion time is dead time."""
    EARLY = "early"
    """Earlier than `EXPECTED`: the data wait in the transmitter's memory."""


@dataclass(frozen=True, kw_only=True)
class CommandControllerCfg:
    """Settings of the command controller and the converters."""

    enable: Enable = Enable.EXPECTED
    """Time at which synchronous commands are issued near the end of an initial
    motion."""
    early_s: float = 0.5
    """Lead over the expected time with `Enable.EARLY`, in s."""
    command_s: float = 0.01
    """Time from a command or a signal to the output commands, in s; default one
    slot."""
    conversion_s: Mapping[Unit, float] = field(default_factory=lambda: CONVERSION_S)
    """Expected time of each converter in s."""

    def __post_init__(self) -> None:
        """Validate the times.

        Raises:
            BadInput: a time is negative or not finite, or a unit has none.
        """
        if missing := set(Unit) - set(self.conversion_s):
            raise BadInput(
                f"conversion_s lacks {', '.join(sorted(missing))}; give a time in s "
                "for each unit."
            )
        times = {"early_s": self.early_s, "command_s": self.command_s}
        times |= {f"conversion_s of {u}": t for u, t in self.conversion_s.items()}
        for name, time_s in times.items():
            if not 0.0 <= time_s < float("inf"):
                raise BadInput(f"{name} is {time_s} s; give 0 or a positive time.")

    def lead(self, units: Iterable[Unit], slot_s: float) -> int:
        """Return the number of remaining items of a motion at which outputs are issued.

        With `Enable.EXPECTED`, these items take as long as the data need from the
        signal to the transmitter; the slowest converter counts.
        """
        if self.enable is Enable.AT_END:
            return 0
        slots = max(slots_of(self.conversion_s[unit], slot_s) for unit in units)
        if self.enable is Enable.EARLY:
            slots += slots_of(self.early_s, slot_s)
        return slots_of(self.command_s, slot_s) + slots
