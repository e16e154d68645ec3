"""Which of the touching points are used as contacts (steps 650, filter, and 660).

Those that the closest typical posture lists. Where these cannot balance the robot,
others are tried in turn: those a little higher above the virtual plane, then those not
on the posture's list (a robot that fell over keeps the angles of its posture), then
both. The first that can are used, with a flag; else the first list stands, with its own
flags.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.flags import DEGENERATE_CONTACTS, StiffnessFlag

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

# As plain integers: sums of enumeration members are slow.
_DEGENERATE = int(DEGENERATE_CONTACTS)
_CONTRADICTED = int(StiffnessFlag.POSTURE_CONTRADICTED)
_WIDENED = int(StiffnessFlag.CONTACTS_WIDENED)


class ContactForces(NamedTuple):
    """Contacts in use and what they bear (650 and 660)."""

    contacts: IndexArray
    """(n_contacts,) places among the robot's contact points."""
    forces: FloatArray
    """(n_contacts,) normal forces in N."""
    flags: int
    """`StiffnessFlag` bits."""


def choose_contacts(
    touching: BoolArray,
    listed: BoolArray,
    widen: Callable[[], BoolArray | None],
    solve: Callable[[BoolArray], ContactForces],
) -> ContactForces:
    """Return the contacts that balance the robot, with their forces.

    Args:
        touching: (n_points,) which candidates touch, within the threshold.
        listed: (n_points,) which the posture lists; all without a posture.
        widen: returns what `touching` is with the wider distance; None for never.
        solve: step 660 for the points allowed to it.
    """
    first = solve(touching & listed)
    if not first.flags & _DEGENERATE or not touching.any():
        return first
    wider = widen()
    tries = [(touching, _CONTRADICTED)]
    if wider is not None:
        tries.insert(0, (wider & listed, _WIDENED))
        tries.append((wider, _WIDENED | _CONTRADICTED))
    n = len(first.contacts)
    for allowed, flag in tries:
        if np.count_nonzero(allowed) > n:
            answer = solve(allowed)
            if not answer.flags & _DEGENERATE:
                return answer._replace(flags=answer.flags | flag)
    if n == 0:
        answer = solve(touching)
        return answer._replace(flags=answer.flags | _CONTRADICTED)
    return first
