"""Controllers with predictable shifts of the set-points."""

import numpy as np

from nao_testbed.controllers.interface.controller import Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray


class Swaying:
    """Sways the first joint's set-point; records the set-points requested by others.

    Like the shipped controllers, it subtracts its last shift from `Observation.target`.
    """

    def __init__(
        self, amplitude_rad: float = 0.02, rate: float = 3.0, begin_s: float = 0.0
    ) -> None:
        self.name = "swaying"
        self.amplitude_rad, self.rate, self.begin_s = amplitude_rad, rate, begin_s

    def reset(self, robot: Robot) -> None:
        self.requests: list[FloatArray] = []
        self.shifts: list[FloatArray] = []
        self._shift = np.zeros(len(robot.joints))
        self._stiffness = np.full(len(robot.joints), 0.9)

    def step(self, observation: Observation) -> Limits:
        self.requests.append(observation.target - self._shift)
        self._shift = np.zeros_like(self._shift)
        after_s = observation.time_s - self.begin_s
        if after_s >= 0.0:
            # Depends on each digit of the set-points requested by others.
            sway = np.sin(self.rate * after_s + self.requests[-1][0])
            self._shift[0] = self.amplitude_rad * sway
        self.shifts.append(self._shift)
        return Limits(
            stiffness=self._stiffness.copy(),
            shift=self._shift.copy() if after_s >= 0.0 else None,
        )


class Stopping(Swaying):
    """Sways until it returns an invalid shift."""

    def __init__(self, amplitude_rad: float = 0.02, stops_s: float = 1.0) -> None:
        super().__init__(amplitude_rad)
        self.stops_s = stops_s

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        if observation.time_s >= self.stops_s and limits.shift is not None:
            limits.shift[0] = np.nan
        return limits
