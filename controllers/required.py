"""What every controller asks for before it computes: a robot, and finite values."""

from collections.abc import Iterable

import numpy as np

from controllers.errors import SensorError
from controllers.robot_interface import Observation
from models import BadInput, Robot


def require_robot(robot: Robot | None) -> Robot:
    """Return the robot that `reset` was given.

    Raises:
        BadInput: it was not called yet, and there is None.
    """
    if robot is None:
        raise BadInput("The controller has no robot yet; call reset(robot) first.")
    return robot


def require_finite(observation: Observation, fields: Iterable[str]) -> None:
    """Look for values that are not finite.

    Args:
        observation: to look through.
        fields: names of its arrays, in the order in which they are looked at.

    Raises:
        SensorError: there is one; it names the first.
    """
    for name in fields:
        value = getattr(observation, name)
        is_finite = np.isfinite(value)
        if not is_finite.all():
            index = int(is_finite.argmin())
            raise SensorError(name, index, float(value[index]), observation.time_s)
