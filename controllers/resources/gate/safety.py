"""What the gate has to do unasked: who lost authority, and which caps stand."""

from collections.abc import Container, Iterable

import numpy as np
from numpy.typing import NDArray

from controllers.resources.gate.slot import Line, Slot
from controllers.resources.ledger import Ledger
from models import UnknownName

FloatArray = NDArray[np.float64]


def without_authority(
    lines: Iterable[Line], written: Container[Line], slot: Slot
) -> list[Line]:
    """Return the lines whose last commander lost them, and that nobody commands now.

    Args:
        lines: those whose devices have a safe value.
        written: those with a command in this slot: their tokens were just tested.
        slot: asks the ledger.
    """
    return [
        line
        for line in lines
        if line.commander is not None
        and line not in written
        and slot.reason(line.commander, line.name) is not None
    ]


def least_caps(lines: Iterable[Line], ledger: Ledger, n_joints: int) -> FloatArray:
    """Return the largest stiffness of each joint, (n_joints,) in [0, 1] (RM-43).

    Of the leaves that command a joint, its motor's and its stiffness's, the least cap
    counts. A leaf that the ledger does not know any more caps nothing.
    """
    caps = np.ones(n_joints)
    for line in lines:
        try:
            cap = ledger.effort_cap(line.name)
        except UnknownName:
            continue
        if cap < 1.0:
            joints = list(line.writer.joints)
            caps[joints] = np.minimum(caps[joints], cap)
    return caps
