"""Fuzzy control: from words about measured numbers to one number.

By the method of [mamdani1975]: a rule holds as far as the weakest of its conditions
does, cuts its conclusion at that height, and the answer is the centre of area of all
that is left,

    s_r = min_i μ_{r,i}(x_i),   μ(y) = max_r min(s_r, μ_r(y)),   y* = ∫ y μ dy / ∫ μ dy.

"Or" is written as two rules with one conclusion, which is the same by the maximum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite

import numpy as np

from nao_testbed.models import BadInput, UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class FuzzySet:
    """A trapezoid: 0 up to `foot`, 1 from `rise` to `fall`, 0 again from `end` on.

    Two corners in one place make a step there; `rise` = `fall` makes a triangle.
    """

    foot: float
    rise: float
    fall: float
    end: float

    def __post_init__(self) -> None:
        """Refuse corners out of order.

        Raises:
            BadInput: they do not rise, or one is no number.
        """
        corners = (self.foot, self.rise, self.fall, self.end)
        if not all(map(isfinite, corners)) or any(a > b for a, b in pairwise(corners)):
            raise BadInput(
                f"corners of a fuzzy set are {corners}; give four numbers, none below "
                "the one before."
            )

    def membership(self, x: float) -> float:
        """Return how far `x` belongs to it, in [0, 1]."""
        if self.rise <= x <= self.fall:
            return 1.0
        if x <= self.foot or x >= self.end:
            return 0.0
        if x < self.rise:
            return (x - self.foot) / (self.rise - self.foot)
        return (self.end - x) / (self.end - self.fall)


def triangle(foot: float, top: float, end: float) -> FuzzySet:
    """Return the set that has 1 at `top` alone."""
    return FuzzySet(foot=foot, rise=top, fall=top, end=end)


@dataclass(frozen=True, kw_only=True)
class FuzzyVariable:
    """A number, its range, and the words for it."""

    name: str
    low: float
    high: float
    """A value outside the range counts as that end of it."""
    words: Mapping[str, FuzzySet]

    def __post_init__(self) -> None:
        """Refuse a range that is none, or no words."""
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise BadInput(
                f"range of {self.name!r} is {self.low} to {self.high}; give two "
                "numbers, the lower one first."
            )
        if not self.words:
            raise BadInput(f"{self.name!r} has no words; give at least one fuzzy set.")

    def find(self, word: str) -> FuzzySet:
        """Return the set of a word.

        Raises:
            UnknownName: it has no such word.
        """
        if word not in self.words:
            raise UnknownName("Word", word, self.words, f"variable {self.name!r}")
        return self.words[word]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """If all conditions hold, then the conclusion."""

    when: Mapping[str, str]
    """Input to its word; all of them count ("and")."""
    then: str
    """Word of the output."""
    weight: float = field(default=1.0)
    """In (0, 1]: a rule of little weight says less."""

    def __post_init__(self) -> None:
        """Refuse a rule that never says anything.

        Raises:
            BadInput: it has no condition, or no weight.
        """
        if not self.when:
            raise BadInput(f"the rule for {self.then!r} has no condition; give one.")
        if not 0.0 < self.weight <= 1.0:
            raise BadInput(
                f"weight of the rule for {self.then!r} is {self.weight}; give a number "
                "above 0 and at most 1."
            )


class FuzzyController:
    """Answers by rules; the same values always get the same answer."""

    def __init__(
        self,
        inputs: Sequence[FuzzyVariable],
        output: FuzzyVariable,
        rules: Sequence[Rule],
        *,
        otherwise: float,
        samples: int = 501,
    ) -> None:
        """Prepare the conclusions.

        Args:
            inputs: what the conditions are about.
            output: what the conclusions are about.
            rules: at least one.
            otherwise: the answer where no rule holds at all.
            samples: places of the output's range between which its sets are taken as
                straight; at least 2.

        Raises:
            BadInput: there is no rule, or there are too few samples.
            UnknownName: a rule names an input or a word that there is not.
        """
        if not rules or samples < 2:
            raise BadInput(
                f"{len(rules)} rules and {samples} samples; give at least one rule and "
                "two samples."
            )
        known = {variable.name: variable for variable in inputs}
        self._inputs = tuple(inputs)
        self._otherwise = otherwise
        self._conditions: list[tuple[float, list[tuple[str, FuzzySet]]]] = []
        for rule in rules:
            for name in rule.when:
                if name not in known:
                    raise UnknownName("Input", name, known, "the rules")
            sets = [(name, known[name].find(word)) for name, word in rule.when.items()]
            self._conditions.append((rule.weight, sets))
        y = np.linspace(output.low, output.high, samples)
        self._conclusions = np.array(
            [[output.find(rule.then).membership(at) for at in y] for rule in rules]
        )  # (n_rules, samples)
        self._mu, self._cut = np.zeros(samples), np.zeros(samples)
        # ∫ μ dy and ∫ y μ dy of a μ that is straight between samples: a sum of weights.
        h = np.diff(y)
        self._area = np.zeros(samples)
        self._area[:-1] += h / 2.0
        self._area[1:] += h / 2.0
        self._moment = np.zeros(samples)
        self._moment[:-1] += h / 6.0 * (2.0 * y[:-1] + y[1:])
        self._moment[1:] += h / 6.0 * (y[:-1] + 2.0 * y[1:])

    def decide(self, values: Mapping[str, float]) -> float:
        """Return the answer to measured values.

        Args:
            values: name of every input to its value.

        Raises:
            UnknownName: an input has no value.
        """
        x: dict[str, float] = {}
        for variable in self._inputs:
            if variable.name not in values:
                raise UnknownName("Input", variable.name, values, "the values given")
            value = values[variable.name]
            x[variable.name] = min(max(value, variable.low), variable.high)
        mu, cut = self._mu, self._cut
        mu[:] = 0.0
        for (weight, sets), conclusion in zip(
            self._conditions, self._conclusions, strict=True
        ):
            strength = weight * min(fuzzy.membership(x[name]) for name, fuzzy in sets)
            if strength > 0.0:
                np.minimum(conclusion, strength, out=cut)
                np.maximum(mu, cut, out=mu)
        area = float(self._area @ mu)
        return float(self._moment @ mu) / area if area > 0.0 else self._otherwise
