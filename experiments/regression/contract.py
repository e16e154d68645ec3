"""What a controller must return: `Limits` with finite float64 arrays, one a joint."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Limits
from models import Robot

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Breach:
    """Halves of a sentence that begins with the controller's name."""

    what: str
    """What it did, such as `returned None from step`."""
    rule: str
    """What it must do."""


def breach_of(answer: Any, robot: Robot) -> Breach | None:
    """Say what is wrong with the answer of a step; None where nothing is.

    Args:
        answer: whatever the controller returned.
        robot: whose joints the arrays follow.
    """
    if not isinstance(answer, Limits):
        return Breach(
            what=f"returned {_a(answer)} from step",
            rule="it must be Limits(stiffness=...) with a number a joint",
        )
    wrong = _breach_of_array("a stiffness", answer.stiffness, robot)
    if wrong is None:
        wrong = _outside(answer.stiffness, robot)
    if wrong is None and answer.shift is not None:
        wrong = _breach_of_array("a shift", answer.shift, robot)
    return wrong


def _breach_of_array(what: str, array: Any, robot: Robot) -> Breach | None:
    n = len(robot.joints)
    if not isinstance(array, np.ndarray):
        return Breach(
            what=f"returned {what} that is {_a(array)}",
            rule="it must be a numpy array",
        )
    if array.dtype != np.float64:
        return Breach(
            what=f"returned {what} of dtype {array.dtype}", rule="it must be float64"
        )
    if array.shape != (n,):
        return Breach(
            what=f"returned {what} of shape {array.shape}",
            rule=f"it must be ({n},), a number a joint of {robot.name}",
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        value = "NaN" if np.isnan(array[bad[0]]) else f"{array[bad[0]]:g}"
        return Breach(
            what=f"returned {what} of {value} for {_joints(robot, bad)}",
            rule="it must be a finite number",
        )
    return None


def _outside(stiffness: FloatArray, robot: Robot) -> Breach | None:
    bad = np.flatnonzero((stiffness < 0.0) | (stiffness > 1.0))
    if not len(bad):
        return None
    value = f"{stiffness[bad[0]]:.4g}"
    return Breach(
        what=f"returned a stiffness of {value} for {_joints(robot, bad)}",
        rule="it must lie from 0 to 1",
    )


def _joints(robot: Robot, which: NDArray[np.intp]) -> str:
    """Name the first joint, and how many more there are."""
    first = robot.joint_names[which[0]]
    return first if len(which) == 1 else f"{first} and {len(which) - 1} more"


def _a(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
