"""Controllers that record their input."""

import numpy as np

from nao_testbed.controllers.interface.controller import Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import Robot


class Answering:
    """Outputs that depend on every digit of all observations so far."""

    name = "answering"

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.said: list[np.ndarray] = []

    def reset(self, robot: Robot) -> None:
        self.seen.clear()
        self.said.clear()
        self._state = np.full(len(robot.joints), 0.5)

    def step(self, observation: Observation) -> Limits:
        sensed = np.cos(observation.q + observation.v) * np.sin(observation.fsr.sum())
        self._state = 0.9 * self._state + 0.1 * np.clip(sensed, 0.4, 1.0)
        self.seen.append(observation)
        self.said.append(self._state.copy())
        return Limits(stiffness=self._state.copy())
