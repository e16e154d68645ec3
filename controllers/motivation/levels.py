"""Strengths of emotions and drives, from 0 to 100 [CN1396856, equations (1) and (2)].

    E[t+1] = E[t] + ke ΔE[t]        I[k+1] = I[k] + ki ΔI[k]

`ke` and `ki` are set for each by itself: how sensitive it is. What changes them, and by
how much, is preset too: what is recognised, what was done, time. The result is bounded
to 0 to 100, as the document has it.
"""

from collections.abc import Iterable, Mapping
from math import isfinite

from models import BadInput, UnknownName

EMOTIONS = ("joy", "sadness", "anger", "surprise", "disgust", "fear")
"""The six of the document."""
DRIVES = ("exercise", "affection", "appetite", "curiosity")
"""Those that the document names; it says that there are five. Equation (2) is not for
appetite, which follows the charge of the battery: `set` it."""
LOWEST, HIGHEST = 0.0, 100.0


class Levels:
    """Some strengths by name, each in [0, 100]."""

    def __init__(
        self,
        names: Iterable[str],
        *,
        gains: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
    ) -> None:
        """Begin with all at 0 but those that are given.

        Args:
            names: such as `EMOTIONS`.
            gains: `ke` or `ki` of each; 1 where none is given.
            start: strengths at the beginning.

        Raises:
            UnknownName: a gain or a start is of none of them.
            BadInput: a number is not finite, or a strength out of range.
        """
        self._values = dict.fromkeys(names, LOWEST)
        self._gains = dict.fromkeys(self._values, 1.0)
        for name, gain in (gains or {}).items():
            self._gains[self._known(name)] = _finite(f"gain of {name!r}", gain)
        for name, value in (start or {}).items():
            self.set(name, value)

    def __getitem__(self, name: str) -> float:
        """Return one strength.

        Raises:
            UnknownName: there is none of this name.
        """
        return self._values[self._known(name)]

    def as_mapping(self) -> dict[str, float]:
        """Return all, as they are now."""
        return dict(self._values)

    def set(self, name: str, value: float) -> None:
        """Give one a strength, such as appetite by the charge that is missing.

        Raises:
            UnknownName: there is none of this name.
            BadInput: the strength is out of range.
        """
        if not LOWEST <= value <= HIGHEST:
            raise BadInput(f"{name!r} is {value}; give a number from 0 to 100.")
        self._values[self._known(name)] = float(value)

    def update(self, changes: Mapping[str, float]) -> None:
        """Go one period on: add gain times change, bounded to [0, 100].

        Args:
            changes: name to ΔE or ΔI; 0 for those that are not named.

        Raises:
            UnknownName: there is none of a name.
            BadInput: a change is not finite. Nothing has changed then.
        """
        new = {
            name: min(
                HIGHEST,
                max(
                    LOWEST,
                    self[name]
                    + self._gains[name] * _finite(f"change of {name!r}", change),
                ),
            )
            for name, change in changes.items()
        }
        self._values.update(new)

    def _known(self, name: str) -> str:
        if name not in self._values:
            raise UnknownName("Strength", name, self._values, "this model")
        return name


def _finite(what: str, value: float) -> float:
    if not isfinite(value):
        raise BadInput(f"{what} is {value}; give a finite number.")
    return value
