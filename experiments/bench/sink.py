"""A robot that throws away what it is told, and a token for all of it."""

import numpy as np

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.requests import Owner, Request
from controllers.arbitration.tokens import Token
from controllers.interface.robot_interface import Command, Observation
from experiments.bench.request_costs import granted
from models import Robot


def take_all(ledger: Ledger) -> Token:
    """Let one owner have every exclusive leaf."""
    ledger.add_owner(Owner(name="bench"), 0)
    everything = Request(owner="bench", resources=(ledger.tree.root.name,))
    return granted(ledger.request(everything, 0))


class Sink:
    """A robot that stands still and throws away what it is told."""

    def __init__(self, robot: Robot) -> None:
        """Stand in the robot's first posture."""
        self.writes = 0
        self._robot = robot

    @property
    def robot(self) -> Robot:
        """The description that the arrays follow."""
        return self._robot

    def read(self) -> Observation:
        """Return sensor values at rest."""
        robot = self._robot
        n_joints, n_motors = len(robot.joints), len(robot.motors)
        angles = next(iter(robot.postures.values())).angles
        return Observation(
            time_s=0.0,
            q=angles.copy(),
            v=np.zeros(n_joints),
            target=angles.copy(),
            stiffness=np.ones(n_joints),
            current=np.zeros(n_motors),
            temperature=np.full(n_motors, 30.0),
            gyro=np.zeros(3),
            accelerometer=np.array([0.0, 0.0, 9.81]),
            fsr=np.zeros(len(robot.force_sensors)),
        )

    def write(self, command: Command) -> None:
        """Count and forget."""
        del command
        self.writes += 1

    def step(self, ticks: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
