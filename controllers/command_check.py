"""What a robot refuses to be told."""

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Command
from models import BadInput, Robot

FloatArray = NDArray[np.float64]


def check_command(command: Command, robot: Robot) -> None:
    """Check every value of a command before any of it is obeyed.

    Raises:
        BadInput: a value is not finite, a stiffness outside [0, 1], a set-point outside
            the joint's range, or there is not one value for each joint.
    """
    if command.target is not None:
        limits = robot.lower, robot.upper
        _check_values("set-point", command.target, robot, " rad", *limits)
    if command.stiffness is not None:
        _check_values("stiffness", command.stiffness, robot, "", 0.0, 1.0)


def _check_values(
    what: str,
    values: FloatArray,
    robot: Robot,
    unit: str,
    lower: FloatArray | float,
    upper: FloatArray | float,
) -> None:
    n = len(robot.joints)
    if values.shape != (n,):
        raise BadInput(f"{what} has shape {values.shape}; give ({n},), one a joint.")
    inside = (values >= lower) & (values <= upper)  # false for NaN
    if inside.all():
        return
    j = int(np.argmin(inside))
    low = np.broadcast_to(lower, (n,))[j]
    high = np.broadcast_to(upper, (n,))[j]
    raise BadInput(
        f"{what} of {robot.joint_names[j]} is {values[j]:g}{unit}; "
        f"accepted: {low:g} to {high:g}{unit}."
    )
