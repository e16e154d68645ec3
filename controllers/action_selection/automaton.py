"""Finite probabilistic automaton that learns [CN1396856, fig. 7 and 8].

Each node has a table. A row applies to a recognised event, optionally only if one of
its values is in a range. A row without an event applies if the strength of an emotion
or drive is in a range. The first matching row gives the probabilities, in percent, of
transitions to other nodes; a transition may emit an action. The probabilities of a row
sum to 100 %.

Praise and scolding raise or lower the probability of the last transition. CN1396856
does not state the amount. Here each lesson covers a share of the distance to 100 %, or
to 0 %; the other transitions of the row change in proportion, so that the row keeps its
sum [CN1396856, learning module 72].
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from nao_testbed.models import BadInput, UnknownName

WHOLE_PERCENT = 100.0
SUM_TOLERANCE = 1e-6
"""Allowed deviation of a row's sum from 100, in percent: rounding errors only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stimulus:
    """Recognised event with its values."""

    event: str
    values: Mapping[str, float] = field(default_factory=dict)
    """Values such as the size of a ball."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowCondition:
    """Condition of a row: all named parts must match."""

    event: str | None = None
    """Event to match; None: the row applies only without an event."""
    quantity: str | None = None
    """Value of the event, or a strength; None: no range check."""
    low: float = 0.0
    high: float = 100.0

    def holds(self, stimulus: Stimulus | None, strengths: Mapping[str, float]) -> bool:
        """Return True if the condition matches now."""
        if (None if stimulus is None else stimulus.event) != self.event:
            return False
        if self.quantity is None:
            return True
        values = strengths if stimulus is None else {**strengths, **stimulus.values}
        value = values.get(self.quantity)
        return value is not None and self.low <= value <= self.high


@dataclass(frozen=True, kw_only=True, slots=True)
class Arc:
    """Transition to a node, with its probability and action."""

    to: str
    percent: float
    action: str | None = None
    """Name of a behaviour; None: no action."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRow:
    """Condition with transitions and their probabilities."""

    condition: RowCondition
    arcs: tuple[Arc, ...]

    def __post_init__(self) -> None:
        total = sum(arc.percent for arc in self.arcs)
        lowest = min((arc.percent for arc in self.arcs), default=0.0)
        if lowest < 0.0 or not abs(total - WHOLE_PERCENT) <= SUM_TOLERANCE:
            shares = ", ".join(f"{arc.percent:g} % to {arc.to!r}" for arc in self.arcs)
            raise BadInput(
                f"probabilities of a row are {shares or 'none'}, in total {total:g} %; "
                "give numbers from 0 that sum to 100 %."
            )

    def draw(self, random: np.random.Generator) -> int:
        """Return the index of a randomly drawn arc, by the probabilities."""
        drawn = random.random() * WHOLE_PERCENT
        for number, arc in enumerate(self.arcs):
            drawn -= arc.percent
            if drawn < 0.0:
                return number
        return max(n for n, arc in enumerate(self.arcs) if arc.percent > 0.0)


class Automaton:
    """Nodes with their tables, and the present node."""

    def __init__(self, nodes: Mapping[str, tuple[NodeRow, ...]], start: str) -> None:
        """Create the automaton in its start node.

        Args:
            nodes: name to the rows of its table, in their order of precedence.
            start: the first node.

        Raises:
            UnknownName: the start, or the target of an arc, is not a node.
        """
        self._tables = {name: list(rows) for name, rows in nodes.items()}
        self.node = self._known(start)
        for rows in nodes.values():
            for row in rows:
                for arc in row.arcs:
                    self._known(arc.to)

    @property
    def actions(self) -> frozenset[str]:
        """Return all actions of the automaton."""
        rows = [row for table in self._tables.values() for row in table]
        return frozenset(arc.action for row in rows for arc in row.arcs if arc.action)

    def row_for(
        self, stimulus: Stimulus | None, strengths: Mapping[str, float]
    ) -> int | None:
        """Return the index of the present node's first matching row, or None."""
        for number, row in enumerate(self._tables[self.node]):
            if row.condition.holds(stimulus, strengths):
                return number
        return None

    def row(self, node: str, number: int) -> NodeRow:
        """Return the present contents of a row."""
        return self._tables[self._known(node)][number]

    def replace(self, node: str, number: int, row: NodeRow) -> None:
        """Replace a row, for example by a learnt one."""
        self._tables[self._known(node)][number] = row

    def go(self, node: str) -> None:
        """Change the present node."""
        self.node = self._known(node)

    def _known(self, node: str) -> str:
        if node not in self._tables:
            raise UnknownName("Node", node, self._tables, "this automaton")
        return node


class Lesson(StrEnum):
    """Feedback from a person on the last action."""

    PRAISE = "praise"
    """Praise; stroking in CN1396856."""
    SCOLDING = "scolding"
    """Scolding; hitting in CN1396856."""


def reinforce(row: NodeRow, arc: int, lesson: Lesson, rate: float = 0.1) -> NodeRow:
    """Return a row after a lesson about one of its arcs.

    Args:
        row: row before the lesson.
        arc: index of the arc that was taken.
        lesson: praise moves it towards 100 %, scolding towards 0 %.
        rate: share of the distance covered, in [0, 1].

    Returns:
        A row whose probabilities sum to 100 %. A single arc keeps its 100 %.

    Raises:
        BadInput: the rate is out of range, or there is no such arc.
    """
    if not 0.0 <= rate <= 1.0:
        raise BadInput(f"learning rate is {rate}; give a number from 0 to 1.")
    if not 0 <= arc < len(row.arcs):
        raise BadInput(f"arc {arc} is not in a row of {len(row.arcs)}; count from 0.")
    if len(row.arcs) == 1:
        return row
    old = row.arcs[arc].percent
    goal = WHOLE_PERCENT if lesson is Lesson.PRAISE else 0.0
    new = old + rate * (goal - old)
    left = WHOLE_PERCENT - new
    others = sum(one.percent for n, one in enumerate(row.arcs) if n != arc)
    arcs = []
    for number, one in enumerate(row.arcs):
        if number == arc:
            percent = new
        elif others > 0.0:
            percent = one.percent / others * left
        else:
            percent = left / (len(row.arcs) - 1)
        arcs.append(replace(one, percent=percent))
    return replace(row, arcs=tuple(arcs))


@dataclass(frozen=True, kw_only=True)
class BehaviourModel:
    """Source of behaviour proposals for one condition."""

    name: str
    priority: int
    """Priority of its proposals; must be unique among the models."""
    automaton: Automaton
