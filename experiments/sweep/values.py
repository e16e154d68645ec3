"""What a parameter of a sweep may be: one value, a grid, or a distribution.

A grid spans trials, a distribution spans robots. Draws come from generators that
depend on the sweep's seed, the robot's number and the parameter's name alone, so that
robot 7 is the same whatever else is swept, and however many robots there are.
"""

import zlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from experiments.sweep.trial import Value
from models import BadInput

_WHOLE_INTERVAL = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same value in every trial."""

    value: Value


@dataclass(frozen=True, slots=True)
class Grid:
    """Each of these values, with every value of the other grids."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Uniform:
    """A number from low to high, all equally likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse an interval that is turned round or without end."""
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise BadInput(
                f"uniform is [{self.low:g}, {self.high:g}]; give two finite numbers, "
                "the smaller one first."
            )

    def draw(self, generator: np.random.Generator) -> Value:
        """Return a number."""
        return float(generator.uniform(self.low, self.high))

    def extremes(self) -> tuple[Value, ...]:
        """Return values that no draw lies beyond."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Normal:
    """A normally distributed number, drawn again while it lies outside of `clip`."""

    mean: float
    deviation: float
    clip: tuple[float, float] = _WHOLE_INTERVAL

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn, or not within reasonable time."""
        if not (
            np.isfinite([self.mean, self.deviation]).all() and self.deviation > 0.0
        ):
            raise BadInput(
                f"normal is [{self.mean:g}, {self.deviation:g}]; give a finite mean "
                "and a standard deviation above 0."
            )
        low, high = self.clip
        if not (low <= self.mean <= high and high - low >= 0.1 * self.deviation):
            raise BadInput(
                f"clip is [{low:g}, {high:g}]; give an interval around the mean "
                f"{self.mean:g}, at least a tenth of the deviation {self.deviation:g} "
                "wide."
            )

    @property
    def is_clipped(self) -> bool:
        """Whether draws are bounded."""
        return self.clip != _WHOLE_INTERVAL

    def draw(self, generator: np.random.Generator) -> Value:
        """Return a number."""
        low, high = self.clip
        while True:
            value = float(generator.normal(self.mean, self.deviation))
            if low <= value <= high:
                return value

    def extremes(self) -> tuple[Value, ...]:
        """Return values that no draw lies beyond; the mean where there are none."""
        return self.clip if self.is_clipped else (self.mean,)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options, all equally likely."""

    options: tuple[Value, ...]

    def draw(self, generator: np.random.Generator) -> Value:
        """Return an option."""
        return self.options[int(generator.integers(len(self.options)))]

    def extremes(self) -> tuple[Value, ...]:
        """Return all options."""
        return self.options


Distribution: TypeAlias = Uniform | Normal | Choice
Values: TypeAlias = Fixed | Grid | Distribution


def draw(values: Distribution, seed: int, robot: int, name: str) -> Value:
    """Draw the value of a parameter for a robot.

    Args:
        values: where from.
        seed: of the sweep.
        robot: number of the robot, from 0.
        name: of the parameter: its first column.
    """
    return values.draw(np.random.default_rng(seeds_of(seed, robot, name)))


def seeds_of(seed: int, robot: int, name: str) -> np.random.SeedSequence:
    """Return the seeds for one parameter of one robot; see `draw`."""
    key = (robot, zlib.crc32(name.encode()))
    return np.random.SeedSequence(seed, spawn_key=key)
