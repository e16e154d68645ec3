"""The five databases together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from models.errors import UnknownName
from models.library.command import Order, Transition
from models.library.light import LightPattern
from models.library.motion import Motion
from models.library.sound import Sound

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Library:
    """What a robot can do by heart; every name in it is known in it."""

    orders: Mapping[str, Order] = field(default_factory=dict)
    """DB1."""
    transitions: tuple[Transition, ...] = field(default_factory=tuple)
    """DB2."""
    motions: Mapping[str, Motion] = field(default_factory=dict)
    """DB3."""
    lights: Mapping[str, LightPattern] = field(default_factory=dict)
    """DB4."""
    sounds: Mapping[str, Sound] = field(default_factory=dict)
    """DB5."""

    def order(self, name: str) -> Order:
        """Return a command by name.

        Raises:
            UnknownName: there is none.
        """
        return _find("Command", name, self.orders)

    def motion(self, name: str) -> Motion:
        """Return a motion by name.

        Raises:
            UnknownName: there is none.
        """
        return _find("Motion", name, self.motions)

    def light(self, name: str) -> LightPattern:
        """Return a light pattern by name.

        Raises:
            UnknownName: there is none.
        """
        return _find("Light pattern", name, self.lights)

    def sound(self, name: str) -> Sound:
        """Return a sound by name.

        Raises:
            UnknownName: there is none.
        """
        return _find("Sound", name, self.sounds)

    def with_more(self, more: "Library") -> "Library":
        """Return both together; where both have a name, that of `more` counts."""
        ways = {
            (way.start, way.end): way for way in (*self.transitions, *more.transitions)
        }
        return Library(
            orders={**self.orders, **more.orders},
            transitions=tuple(ways.values()),
            motions={**self.motions, **more.motions},
            lights={**self.lights, **more.lights},
            sounds={**self.sounds, **more.sounds},
        )


def _find(kind: str, name: str, known: Mapping[str, _T]) -> _T:
    if name not in known:
        raise UnknownName(kind, name, known, "the robot's library")
    return known[name]
