"""Praise and scolding: the probability of what was just done rises or falls.

The document says that, not by how much. Here a share of the distance to 100 %, or to
0 %, is gone each time; the others of the row give or take in proportion, so that the
row keeps its sum [CN1396856, learning module 72].
"""

from dataclasses import replace
from enum import StrEnum

from controllers.motivation.automaton import WHOLE, Row
from models import BadInput


class Lesson(StrEnum):
    """What a person says to what was done."""

    PRAISE = "praise"
    """The document's stroking."""
    SCOLDING = "scolding"
    """The document's hitting."""


def learnt(row: Row, arc: int, lesson: Lesson, rate: float = 0.1) -> Row:
    """Return a row after a lesson about one of its arcs.

    Args:
        row: as it was.
        arc: number of the one that was taken.
        lesson: praise moves it towards 100 %, scolding towards 0 %.
        rate: share of the distance that is gone, in [0, 1].

    Returns:
        A row whose probabilities sum to 100 %. The only arc of a row keeps its 100 %.

    Raises:
        BadInput: the rate is out of range, or there is no such arc.
    """
    if not 0.0 <= rate <= 1.0:
        raise BadInput(f"rate of learning is {rate}; give a number from 0 to 1.")
    if not 0 <= arc < len(row.arcs):
        raise BadInput(f"arc {arc} is not in a row of {len(row.arcs)}; count from 0.")
    if len(row.arcs) == 1:
        return row
    old = row.arcs[arc].percent
    goal = WHOLE if lesson is Lesson.PRAISE else 0.0
    new = old + rate * (goal - old)
    left = WHOLE - new
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
