"""Partition of the possible errors into hypotheses whose probabilities sum to 100 %.

Hypotheses are disjoint sets of causes (misaligned joints, slope of the floor): the
named causes, with or without others; each other set; no error. Whether the robot
carries a load is a separate partition. Sentence, table and figure use these numbers.

Faults of a file's columns (`column_faults`) are hypotheses of their own.

Without an accelerometer, an error of one leg cannot be distinguished from the opposite
error of the other leg: a set and its mirror image are then one hypothesis, and no leg
is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nao_testbed.experiments.heat.xray.column_faults import ColumnFault
from nao_testbed.experiments.heat.xray.suspects import LOAD_CAUSE, Suspects

NAMED = 0.7
"""Minimum probability at which a cause is named as the result."""
LEAST_SHOWN = 0.02
"""Minimum probability of a hypothesis with its own row; the rest are summed as
others."""
NO_ERROR, OTHERS = "no error", "others"


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """Set of causes that occur together."""

    causes: tuple[str, ...]
    """Joints and floor; empty: no error, or the sum of all others."""
    mirrored: tuple[str, ...] = ()
    """Causes of the other leg that this log cannot distinguish from these."""
    label: str
    probability: float
    percent: int
    """Rounded probability; all hypotheses sum to 100."""


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Hypotheses for one log, and the result among them."""

    hypotheses: tuple[Hypothesis, ...]
    """Most probable hypothesis first; no error and the others at the end."""
    named: Hypothesis | None
    """Result; None: the log does not identify a cause, or there is none."""
    load: float
    """Probability that the robot carries a load, or is heavier than its model."""

    @property
    def none(self) -> Hypothesis:
        """Hypothesis of no error."""
        return next(one for one in self.hypotheses if one.label == NO_ERROR)

    @property
    def causes(self) -> dict[str, float]:
        """Causes named as the result, each with the probability of its hypothesis."""
        one = self.named
        found = dict.fromkeys(one.causes, one.probability) if one else {}
        if one is not None and one.mirrored:
            found = {}
        return found | ({LOAD_CAUSE: self.load} if self.load > NAMED else {})


def reach_verdict(
    suspects: Suspects,
    mirror: Mapping[str, str] | None,
    faults: Sequence[ColumnFault] = (),
) -> Partition:
    """Return the partition of the explanations of a log.

    Args:
        suspects: weighted explanations.
        mirror: joint to that of the other leg, if the log cannot distinguish the legs;
            else None.
        faults: possible faults of the file's columns.
    """

    def image(causes: frozenset[str]) -> frozenset[str]:
        return frozenset((mirror or {}).get(name, name) for name in causes)

    sets: dict[frozenset[str], float] = {}
    for one in suspects.explanations:
        key = frozenset(one.joints)
        sets[key] = sets.get(key, 0.0) + one.probability
    no_fault = 1.0 - sum(one.probability for one in faults)
    share = no_fault / sum(sets.values())
    sets = {key: share * chance for key, chance in sets.items()}

    def chance_of(core: frozenset[str]) -> float:
        return sum(p for s, p in sets.items() if core <= s or image(core) <= s)

    best = max(sets, key=lambda s: sets[s] + (sets.get(image(s), 0.0) if mirror else 0))
    core = best
    while core and chance_of(core) <= NAMED:
        core = max((core - {name} for name in core), key=chance_of)
    groups: dict[frozenset[str], float] = {}
    for key, chance in sets.items():
        group = key
        if core and (core <= key or image(core) <= key):
            group = core
        elif image(key) in groups:
            group = image(key)
        groups[group] = groups.get(group, 0.0) + chance
    none = groups.pop(frozenset(), 0.0)
    shown = [g for g in groups if groups[g] >= LEAST_SHOWN or g == core]
    shown.sort(key=lambda g: -groups[g])
    chances = [groups[g] for g in shown]
    chances += [*(one.probability for one in faults), none]
    chances.append(max(1.0 - sum(chances), 0.0))
    percents = rounded(chances)
    found = []
    for group, chance, percent in zip(shown, chances, percents, strict=False):
        sides = [group] if image(group) == group else [group, image(group)]
        both = [tuple(n for n in suspects.causes if n in side) for side in sides]
        texts = [" and ".join(cause_label(suspects, n) for n in side) for side in both]
        found.append(
            Hypothesis(
                causes=both[0],
                mirrored=both[1] if len(both) > 1 else (),
                label=" or ".join(texts),
                probability=chance,
                percent=percent,
            )
        )
    named = next((h for h in found if core and frozenset(h.causes) == core), None)
    labels = [*(one.label for one in faults), NO_ERROR, OTHERS]
    for label, p, percent in zip(
        labels, chances[len(shown) :], percents[len(shown) :], strict=True
    ):
        if label == NO_ERROR or percent:
            found.append(
                Hypothesis(causes=(), label=label, probability=p, percent=percent)
            )
    load = no_fault * suspects.probability_of(LOAD_CAUSE)
    return Partition(hypotheses=tuple(found), named=named, load=load)


def cause_label(suspects: Suspects, name: str) -> str:
    """Return the name of a cause for sentences, tables and figures."""
    pair = suspects.ankles.get(name)
    return f"{' and '.join(pair)}, or floor" if pair else name


def rounded(chances: Sequence[float]) -> list[int]:
    """Return probabilities as integer percentages that sum to 100."""
    exact = 100.0 * np.asarray(chances) / sum(chances)
    whole = np.floor(exact)
    short = round(100.0 - whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:short]] += 1.0
    return [int(x) for x in whole]
