"""What a command makes the units do (DB1), and the ways between postures (DB2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Unit(StrEnum):
    """A kind of effector, in its order on a bus [CN1396856, fig. 18]."""

    MOTION = "motion"
    LIGHT = "light"
    SOUND = "sound"


PRESET = 100
"""Sum of points at which a group starts [CN1396856, description of fig. 18]."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A command of the robot, as output commands to its units.

    With points it is synchronous: all of it starts in one instant, or nothing. Without,
    each of its outputs is independent and starts at once.
    """

    name: str
    outputs: Mapping[Unit, str]
    """Unit to the name of a motion, light pattern or sound."""
    to: str | None = None
    """Posture to which the motors go from wherever the robot is: the transitions that
    lead there take the place of a motion; None: they do not."""
    points: Mapping[Unit, int] = field(default_factory=dict)
    """Of each output; their sum is the preset, or less if others join the group."""
    preset: int = PRESET

    @property
    def is_synchronous(self) -> bool:
        """Whether its outputs start together."""
        return bool(self.points)


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """A motion that leads from one posture to another."""

    start: str
    end: str
    motion: str
    """Its name."""
