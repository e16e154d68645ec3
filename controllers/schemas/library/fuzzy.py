"""Fuzzy control: one number from words for measured numbers.

Method of [mamdani1975]: the strength of a rule is that of its weakest condition, and
its conclusion is cut at that height. The result is the centre of area of the union,

    s_r = min_i μ_{r,i}(x_i),   μ(y) = max_r min(s_r, μ_r(y)),   y* = ∫ y μ dy / ∫ μ dy.

"Or" is written as two rules with the same conclusion, which is equivalent because of
the maximum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite

import numpy as np

from nao_testbed.models import BadInput, UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class FuzzySet:
    """Trapezoid: 0 up to `foot`, 1 from `rise` to `fall`, 0 again from `end` on.

    Two equal corners give a step; `rise` = `fall` gives a triangle.
    """

    foot: float
    rise: float
    fall: float
    end: float

    def __post_init__(self) -> None:
        """Validate the order of the corners.

        Raises:
            BadInput: they do not rise, or one is not finite.
        """
        corners = (self.foot, self.rise, self.fall, self.end)
        if not all(map(isfinite, corners)) or any(a > b for a, b in pairwise(corners)):
            raise BadInput(
                f"corners of a fuzzy set are {corners}; give four numbers in rising "
                "order."
            )

    def membership(self, x: float) -> float:
        """Return the membership of `x`, in [0, 1]."""
        if self.rise <= x <= self.fall:
            return 1.0
        if x <= self.foot or x >= self.end:
            return 0.0
        if x < self.rise:
            return (x - self.foot) / (self.rise - self.foot)
        return (self.end - x) / (self.end - self.fall)


def triangle(foot: float, top: float, end: float) -> FuzzySet:
    """Return the set that has 1 only at `top`."""
    return FuzzySet(foot=foot, rise=top, fall=top, end=end)


@dataclass(frozen=True, kw_only=True)
class FuzzyVariable:
    """Number with its range and its words."""

    name: str
    low: float
    high: float
    """Upper end of the range; values outside are clipped."""
    words: Mapping[str, FuzzySet]

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise BadInput(
                f"range of {self.name!r} is {self.low} to {self.high}; give two "
                "numbers, the lower one first."
            )
        if not self.words:
            raise BadInput(f"{self.name!r} has no words; add at least one fuzzy set.")

    def find(self, word: str) -> FuzzySet:
        """Return the set of a word.

        Raises:
            UnknownName: the variable has no such word.
        """
        if word not in self.words:
            raise UnknownName("Word", word, self.words, f"variable {self.name!r}")
        return self.words[word]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Conditions joined by "and", with a conclusion."""

    when: Mapping[str, str]
    """Input to its word; all must hold ("and")."""
    then: str
    """Word of the output."""
    weight: float = field(default=1.0)
    """Factor on the rule's strength, in (0, 1]."""

    def __post_init__(self) -> None:
        """Validate conditions and weight.

        Raises:
            BadInput: the rule has no condition, or no weight.
        """
        if not self.when:
            raise BadInput(f"the rule for {self.then!r} has no condition; add one.")
        if not 0.0 < self.weight <= 1.0:
            raise BadInput(
                f"weight of the rule for {self.then!r} is {self.weight}; give a number "
                "above 0 and at most 1."
            )


class FuzzyController:
    """Controller by fuzzy rules; deterministic."""

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
            inputs: variables of the conditions.
            output: variable of the conclusions.
            rules: at least one.
            otherwise: the output when no rule applies.
            samples: number of points of the output's range, with linear interpolation
                of its sets between them; at least 2.

        Raises:
            BadInput: there is no rule, or there are too few samples.
            UnknownName: a rule contains an unknown input or word.
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
        # ∫ μ dy and ∫ y μ dy of a piecewise linear μ: weighted sums.
        h = np.diff(y)
        self._area = np.zeros(samples)
        self._area[:-1] += h / 2.0
        self._area[1:] += h / 2.0
        self._moment = np.zeros(samples)
        self._moment[:-1] += h / 6.0 * (2.0 * y[:-1] + y[1:])
        self._moment[1:] += h / 6.0 * (y[:-1] + 2.0 * y[1:])

    def decide(self, values: Mapping[str, float]) -> float:
        """Compute the output for measured values.

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
