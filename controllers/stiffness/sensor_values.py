"""The sensor values of one step, checked, and always laid out alike.

Observations come from a simulation, a recording or a robot; their arrays may be rows of
a table or closed to writing. Kernels compile anew for every kind of array, so the
values that they take are copied to one place first, which also makes one check of all.
"""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from controllers.required import require_finite
from controllers.robot_interface import Observation
from models import Robot

FloatArray = NDArray[np.float64]

_FIELDS = ("q", "v", "gyro", "accelerometer", "fsr", "temperature")


class SensorValues:
    """Views into one array; `take` fills it. They hold until the next `take`."""

    def __init__(self, robot: Robot) -> None:
        """Lay out the sensors of `robot`."""
        n, motors, sensors = map(len, (robot.joints, robot.motors, robot.force_sensors))
        ends = np.cumsum((n, n, 3, 3, sensors, motors))
        self._all: FloatArray = np.zeros(ends[-1])
        parts = np.split(self._all, ends[:-1])
        self.q, self.v, self.gyro, self.accelerometer, self.fsr, _ = parts

    def take(self, observation: Observation) -> None:
        """Copy the values of `observation`.

        Raises:
            SensorError: one is not finite.
        """
        o, values = observation, self._all
        np.concatenate(
            (o.q, o.v, o.gyro, o.accelerometer, o.fsr, o.temperature), out=values
        )
        if not isfinite(values @ values):  # NaN and inf go through
            require_finite(observation, _FIELDS)
