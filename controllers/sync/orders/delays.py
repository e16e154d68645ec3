"""How long a converter takes: what is expected beforehand, and what it is in truth."""

import math
from collections.abc import Mapping
from typing import Protocol

from models.library import Unit

CONVERSION_S: Mapping[Unit, float] = {
    Unit.MOTION: 0.02,
    Unit.LIGHT: 0.01,
    Unit.SOUND: 0.10,
}
"""Expected times in s; a waveform takes longest [CN1396856, description of fig. 22]."""


class DelayModel(Protocol):
    """The true time of a conversion; a test or an experiment may make one late."""

    def delay_s(self, unit: Unit, name: str) -> float:
        """Return the time in s that a converter takes.

        Args:
            unit: which converter.
            name: of the motion, light pattern or sound.
        """


class ExpectedDelays:
    """Every conversion takes as long as it is expected to."""

    def __init__(self, conversion_s: Mapping[Unit, float] = CONVERSION_S) -> None:
        """Take the expected times in s."""
        self._conversion_s = conversion_s

    def delay_s(self, unit: Unit, name: str) -> float:
        """Return the expected time in s."""
        del name
        return self._conversion_s[unit]


def slots_of(time_s: float, slot_s: float) -> int:
    """Return the slots that a time takes; part of one counts as one."""
    return math.ceil(time_s / slot_s - 1e-9)
