"""Validated sweep: its parameters and trials.

A parameter is one value, a grid, or a distribution. Grids define the trials of a robot,
distributions define the robots. Draws depend only on the sweep's seed, the robot's
number and the parameter's name, so that robot 7 does not depend on other parameters or
on the number of robots.

A sweep may keep the robots whose outcome under one controller is near a target. The
selection uses only that controller's outcomes, so the results of the other controllers
on the kept robots are predictions.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import Field

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import Push
from nao_testbed.experiments.sweep.sweep_trial import DIRECTION, SIZE, SweepTrial, Value
from nao_testbed.models import BadInput
from nao_testbed.models.robot import Thermal

_WHOLE_INTERVAL = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Parameter with the same value in every trial."""

    value: Value


@dataclass(frozen=True, slots=True)
class Grid:
    """Parameter with a list of values, combined with those of the other grids."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform distribution from low to high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check that the interval is ordered and finite."""
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise BadInput(
                f"uniform is [{self.low:g}, {self.high:g}]; give two finite numbers, "
                "the smaller one first."
            )

    def draw(self, generator: np.random.Generator) -> Value:
        """Draw a number."""
        return float(generator.uniform(self.low, self.high))

    def extremes(self) -> tuple[Value, ...]:
        """Return the bounds of all draws."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal distribution; a draw outside `clip` is repeated."""

    mean: float
    deviation: float
    clip: tuple[float, float] = _WHOLE_INTERVAL

    def __post_init__(self) -> None:
        """Check that numbers can be drawn in reasonable time."""
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
        """True if draws are bounded."""
        return self.clip != _WHOLE_INTERVAL

    def draw(self, generator: np.random.Generator) -> Value:
        """Draw a number."""
        low, high = self.clip
        while True:
            value = float(generator.normal(self.mean, self.deviation))
            if low <= value <= high:
                return value

    def extremes(self) -> tuple[Value, ...]:
        """Return the bounds of all draws; the mean without bounds."""
        return self.clip if self.is_clipped else (self.mean,)


@dataclass(frozen=True, slots=True)
class Choice:
    """Random choice of equally likely options."""

    options: tuple[Value, ...]

    def draw(self, generator: np.random.Generator) -> Value:
        """Draw an option."""
        return self.options[int(generator.integers(len(self.options)))]

    def extremes(self) -> tuple[Value, ...]:
        """Return all options."""
        return self.options


Distribution: TypeAlias = Uniform | Normal | Choice
Values: TypeAlias = Fixed | Grid | Distribution


def draw(values: Distribution, seed: int, robot: int, name: str) -> Value:
    """Draw the value of a parameter for a robot.

    Args:
        values: distribution.
        seed: seed of the sweep.
        robot: number of the robot, from 0.
        name: name of the parameter, its first column.
    """
    return values.draw(np.random.default_rng(seeds_of(seed, robot, name)))


def seeds_of(seed: int, robot: int, name: str) -> np.random.SeedSequence:
    """Return the seeds for one parameter of one robot; see `draw`."""
    key = (robot, zlib.crc32(name.encode()))
    return np.random.SeedSequence(seed, spawn_key=key)


_SIDES = (("left_", "right_"), ("L", "R"))


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of an outcome."""

    value: float
    tolerance: Annotated[float, Field(gt=0.0)]


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Rule for the kept robots."""

    controller: str
    targets: Mapping[str, Target]
    """Column of the table to target."""
    mirrored: bool
    """True if left and right may be swapped."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Fit of a kept robot."""

    is_mirrored: bool
    """True if it fits with left and right swapped."""
    distance: float
    """Largest ratio of deviation to tolerance, at most 1."""


def mirror(column: str, columns: Iterable[str]) -> str:
    """Return the column of the other side, or the column itself."""
    prefix, dot, name = column.rpartition(".")
    for one, other in (*_SIDES, *((right, left) for left, right in _SIDES)):
        if name.startswith(one):
            found = f"{prefix}{dot}{other}{name.removeprefix(one)}"
            if found in columns:
                return found
    return column


def kept_robots(keep: Keep, rows: Iterable[Mapping[str, Any]]) -> dict[int, Kept]:
    """Return number to fit of the kept robots.

    A robot is kept if all its trials with the selecting controller ended without a fall
    and within all tolerances, either all as they are or all with sides swapped.

    Args:
        keep: rule from the sweep file.
        rows: rows of the table; those of other controllers are ignored.
    """
    trials: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["controller"] == keep.controller:
            trials.setdefault(int(row["robot"]), []).append(row)
    kept = {}
    for robot, own in trials.items():
        fits = [
            Kept(
                is_mirrored=swap,
                distance=max(_distance(keep, row, swap) for row in own),
            )
            for swap in ((False, True) if keep.mirrored else (False,))
        ]
        best = min(fits, key=lambda fit: fit.distance)
        if best.distance <= 1.0:
            kept[robot] = best
    return kept


def mark_kept(
    keep: Keep | None, rows: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return rows with the columns for kept and mirrored robots."""
    marked = [dict(row) for row in rows]
    kept = None if keep is None else kept_robots(keep, marked)
    for row in marked:
        fit = None if kept is None else kept.get(int(row["robot"]))
        row["kept"] = kept is None or fit is not None
        row["mirrored"] = fit is not None and fit.is_mirrored
    return marked


def _distance(keep: Keep, row: Mapping[str, Any], swap: bool) -> float:
    """Return the largest ratio of deviation to tolerance; inf for a missing value."""
    if row.get("error") is not None or row.get("failure") is not None:
        return float("inf")
    largest = 0.0
    for column, target in keep.targets.items():
        value = row.get(mirror(column, row) if swap else column)
        if value is None:
            return float("inf")
        largest = max(largest, abs(value - target.value) / target.tolerance)
    return largest


CASE = "case"
"""Column with the case of a trial."""
NOISE = "noise"
"""Parameter name for the draw of a robot's noise seed."""
SEEDS = 2**31
"""Upper bound of noise seeds, exclusive."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Parameter: one or several columns of the table that always share a value."""

    columns: tuple[str, ...]
    """Columns such as `friction`, or `misalignment_deg.` with each joint of a group."""
    values: Values

    @property
    def name(self) -> str:
        """First column of the parameter."""
        return self.columns[0]


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """Content of a sweep file; `read_spec` creates it."""

    name: str
    about: str | None
    path: Path
    text: str
    """Text of the file."""
    robot_folder: Path | None
    """Folder of the robot; None: the NAO."""
    robot_name: str
    thermal: Thermal = "published"
    """Origin of the robot's motor constants; see `Robot.thermal`."""
    robot_digest: str
    """Digest of the robot; see `experiments.sweep.trial_store`."""
    policy_digest: str = ""
    """Digest of the files of all policies; empty: no policy."""
    robots: int
    seed: int
    preset: str | None
    parameters: tuple[Parameter, ...]
    """All parameters. The controller is last, so that a robot's trials follow each
    other; after it only the drawn push, for which a robot settles once."""
    pushes: tuple[Push, ...]
    fast_forward: FastForwardCfg | None
    keep: Keep | None = None
    """Rule for the robots that run with all controllers; None: all robots."""
    cases: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Name to values by column, which replace those of `parameters`."""

    @cached_property
    def grids(self) -> tuple[Parameter, ...]:
        """Parameters with a grid."""
        return tuple(p for p in self.parameters if isinstance(p.values, Grid))

    @cached_property
    def drawn(self) -> tuple[Parameter, ...]:
        """Parameters with a distribution."""
        plain = (Fixed, Grid)
        return tuple(p for p in self.parameters if not isinstance(p.values, plain))

    @cached_property
    def points(self) -> int:
        """Number of grid points, the trials per robot."""
        return math.prod(len(_grid(p).values) for p in self.grids)

    @property
    def pushes_of_one(self) -> int:
        """Number of consecutive pushes of a robot, for which it settles once."""
        pushes = (p for p in self.grids if p.name in (DIRECTION, SIZE))
        return math.prod(len(_grid(p).values) for p in pushes)

    @cached_property
    def controllers(self) -> tuple[Value, ...]:
        """Controllers of every robot; empty if each robot draws its controller."""
        for parameter in self.parameters:
            if parameter.name == "controller":
                match parameter.values:
                    case Fixed(value):
                        return (value,)
                    case Grid(values):
                        return values
        return ()

    @property
    def n_trials(self) -> int:
        """Number of trials; an upper bound if only some robots are kept."""
        return self.robots * self.points

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns of all parameters."""
        return tuple(column for p in self.parameters for column in p.columns)

    def drawn_for(self, robot: int) -> dict[str, Value]:
        """Return column to drawn value of a robot."""
        values: dict[str, Value] = {}
        for parameter in self.drawn:
            assert not isinstance(parameter.values, Fixed | Grid)
            value = draw(parameter.values, self.seed, robot, parameter.name)
            values.update(dict.fromkeys(parameter.columns, value))
        return values

    def trials(
        self,
        robots: Iterable[int] | None = None,
        wanted: Callable[[str], bool] | None = None,
    ) -> Iterator[SweepTrial]:
        """Yield trials one by one, without storing them.

        Args:
            robots: numbers of robots; None: all.
            wanted: filter by controller; None: all.
        """
        fixed: dict[str, Value] = {}
        for parameter in self.parameters:
            if isinstance(parameter.values, Fixed):
                fixed.update(dict.fromkeys(parameter.columns, parameter.values.value))
        for robot in range(self.robots) if robots is None else robots:
            below = fixed | self.drawn_for(robot)
            seeds = seeds_of(self.seed, robot, NOISE).generate_state(1)
            noise = int(seeds[0]) % SEEDS
            for i, values in enumerate(product(*(_grid(p).values for p in self.grids))):
                point = dict(below)
                for parameter, value in zip(self.grids, values, strict=True):
                    point.update(dict.fromkeys(parameter.columns, value))
                point.update(self.cases.get(str(point.get(CASE)), {}))
                if wanted is None or wanted(str(point["controller"])):
                    yield SweepTrial(
                        number=robot * self.points + i,
                        robot=robot,
                        parameters={name: point[name] for name in self.columns},
                        seed=noise,
                        pushes=self.pushes,
                        fast_forward=self.fast_forward,
                        robot_folder=self.robot_folder,
                        robot_digest=self.robot_digest,
                        policy_digest=self.policy_digest,
                    )


def _grid(parameter: Parameter) -> Grid:
    assert isinstance(parameter.values, Grid)
    return parameter.values


def shortest_s(parameters: Iterable[Parameter]) -> float:
    """Return the duration of the shortest trial in s; inf if no parameter sets it."""
    for parameter in parameters:
        if parameter.name != "minutes":
            continue
        return 60.0 * min(float(value) for value in extremes_of(parameter.values))
    return math.inf


def extremes_of(values: Values) -> tuple[Value, ...]:
    """Return all values of a grid, or the bounds of all draws."""
    match values:
        case Fixed(value):
            return (value,)
        case Grid(several):
            return several
        case drawn:
            return drawn.extremes()


def distribution_text(values: Values) -> str:
    """Return the text of the values of a parameter."""
    match values:
        case Fixed(value):
            return value_text(value)
        case Grid(several):
            return "each of " + ", ".join(value_text(value) for value in several)
        case Uniform(low, high):
            return f"uniform from {low:g} to {high:g}"
        case Normal(mean, deviation, (low, high)):
            clip = f", within {low:g} to {high:g}" if values.is_clipped else ""
            return f"normal, {mean:g} ± {deviation:g}{clip}"
        case Choice(options):
            return "one of " + ", ".join(value_text(option) for option in options)


def value_text(value: float | str) -> str:
    """Return a text, or a number with four digits."""
    return value if isinstance(value, str) else f"{value:.4g}"
