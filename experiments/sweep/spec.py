"""A sweep that was read and checked, and the trials that it spans."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from experiments.standing.fast_forward import FastForwardCfg
from experiments.standing.pushes import Push
from experiments.sweep.keep import Keep
from experiments.sweep.trial import Trial, Value
from experiments.sweep.values import Fixed, Grid, Values, draw, seeds_of

NOISE = "noise"
"""Name under which the seed of a robot's sensor noise is drawn."""
SEEDS = 2**31
"""A seed of noise is below this."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One or several columns of the table that always have the same value."""

    columns: tuple[str, ...]
    """Such as `friction`, or `misalignment_deg.` with each joint of a group."""
    values: Values

    @property
    def name(self) -> str:
        """Its first column."""
        return self.columns[0]


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """What a sweep file asks for; `load_spec` makes it."""

    name: str
    about: str | None
    path: Path
    text: str
    """Of the file."""
    robot_folder: Path | None
    """None: the NAO."""
    robot_name: str
    robot_digest: str
    """See `experiments.sweep.identity`."""
    robots: int
    seed: int
    preset: str | None
    parameters: tuple[Parameter, ...]
    """All of them; the controller last, so that a robot's trials follow each other."""
    pushes: tuple[Push, ...]
    fast_forward: FastForwardCfg | None
    keep: Keep | None = None
    """Which robots run with all controllers; None: all."""

    @cached_property
    def grids(self) -> tuple[Parameter, ...]:
        """Those with a grid."""
        return tuple(p for p in self.parameters if isinstance(p.values, Grid))

    @cached_property
    def drawn(self) -> tuple[Parameter, ...]:
        """Those with a distribution."""
        plain = (Fixed, Grid)
        return tuple(p for p in self.parameters if not isinstance(p.values, plain))

    @cached_property
    def points(self) -> int:
        """Points of the grid: trials of each robot."""
        return math.prod(len(_grid(p).values) for p in self.grids)

    @cached_property
    def controllers(self) -> tuple[Value, ...]:
        """Those that every robot runs with; none where each draws its own."""
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
        """How many trials there are, at the most where only some robots are kept."""
        return self.robots * self.points

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns of all parameters."""
        return tuple(column for p in self.parameters for column in p.columns)

    def drawn_for(self, robot: int) -> dict[str, Value]:
        """Return what the distributions give a robot, by column."""
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
    ) -> Iterator[Trial]:
        """Yield trials one by one; nothing is held of those that have passed.

        Args:
            robots: their numbers; None: all.
            wanted: tells by its controller whether a trial is; None: all are.
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
                if wanted is None or wanted(str(point["controller"])):
                    yield Trial(
                        number=robot * self.points + i,
                        robot=robot,
                        parameters={name: point[name] for name in self.columns},
                        seed=noise,
                        pushes=self.pushes,
                        fast_forward=self.fast_forward,
                        robot_folder=self.robot_folder,
                        robot_digest=self.robot_digest,
                    )


def _grid(parameter: Parameter) -> Grid:
    assert isinstance(parameter.values, Grid)
    return parameter.values


def shortest_s(parameters: Iterable[Parameter]) -> float:
    """Return how long the shortest trial lasts, in s; inf where none says."""
    for parameter in parameters:
        if parameter.name != "minutes":
            continue
        match parameter.values:
            case Fixed(value):
                minutes: tuple[Value, ...] = (value,)
            case Grid(values):
                minutes = values
            case drawn:
                minutes = drawn.extremes()
        return 60.0 * min(float(value) for value in minutes)
    return math.inf
