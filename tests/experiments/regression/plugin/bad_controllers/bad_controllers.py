"""Invalid controllers of an external package, each with one fault."""

import time
from typing import Self

import numpy as np

from nao_testbed.controllers import Limits, Observation
from nao_testbed.models import Robot


class Bad:
    """Stiffness 1 and no shift; each subclass changes one thing."""

    name = "bad"

    @classmethod
    def make(cls, argument: str | None) -> Self:
        return cls()

    def reset(self, robot: Robot) -> None:
        self.robot = robot
        self.steps = 0

    def step(self, observation: Observation) -> Limits:
        self.steps += 1
        return Limits(stiffness=self.stiffness())

    def stiffness(self) -> np.ndarray:
        return np.ones(len(self.robot.joints))


class Chatterbox(Bad):
    """Moves its left knee up and down every 40 ms."""

    def stiffness(self) -> np.ndarray:
        stiffness = super().stiffness()
        if self.steps % 4 < 2:
            stiffness[self.robot.joint_index("LKneePitch")] = 0.8
        return stiffness


class Limitless(Bad):
    """Never limits the stiffness below 1."""


class Sluggish(Bad):
    """Computes for 5 ms."""

    def stiffness(self) -> np.ndarray:
        end = time.thread_time() + 5e-3
        while time.thread_time() < end:
            pass
        return super().stiffness()


class NotANumber(Bad):
    """Divides by zero after half a second."""

    def stiffness(self) -> np.ndarray:
        stiffness = super().stiffness()
        if self.steps > 25:
            stiffness[self.robot.joint_index("RAnkleRoll")] = np.nan
        return stiffness


class Toppler(Bad):
    """Lets the knees go limp after one second."""

    def stiffness(self) -> np.ndarray:
        stiffness = super().stiffness()
        if self.steps > 50:
            for side in "LR":
                stiffness[self.robot.joint_index(f"{side}KneePitch")] = 0.0
        return stiffness


class Overreacher(Bad):
    """Shifts the head by six degrees, slowly."""

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        shift = np.zeros(len(self.robot.joints))
        shift[self.robot.joint_index("HeadYaw")] = np.deg2rad(
            min(6.0, 0.1 * self.steps)
        )
        return Limits(stiffness=limits.stiffness, shift=shift)


class Generous(Bad):
    """Returns a stiffness above 1 for one joint."""

    def stiffness(self) -> np.ndarray:
        stiffness = super().stiffness()
        stiffness[self.robot.joint_index("LHipRoll")] = 1.2
        return stiffness


class Silent(Bad):
    """Returns no limits."""

    def step(self, observation: Observation) -> None:  # type: ignore[override]
        """Return nothing."""


class Short(Bad):
    """Returns the stiffness of ten joints only."""

    def stiffness(self) -> np.ndarray:
        return np.ones(10)


class Fumbler(Bad):
    """Raises its own exception in a step."""

    def stiffness(self) -> np.ndarray:
        raise KeyError("LKneePich")


class Unready(Bad):
    """Raises when it is reset."""

    def reset(self, robot: Robot) -> None:
        raise RuntimeError("no licence")
