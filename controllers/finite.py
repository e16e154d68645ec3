"""What every controller checks before it computes: sensor values are finite."""

from collections.abc import Iterable

import numpy as np

from controllers.errors import SensorError
from controllers.robot_interface import Observation


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
