"""A controller whose steps are timed."""

from time import perf_counter

from controllers.interface.controller import Controller, Limits
from controllers.interface.robot_interface import Observation
from models import Robot


class TimedController:
    """Another controller, with the time that its steps take."""

    def __init__(self, controller: Controller) -> None:
        """Wrap a controller."""
        self._controller = controller
        self.name = controller.name
        self.times_s: list[float] = []

    def reset(self, robot: Robot) -> None:
        """Pass it on."""
        self._controller.reset(robot)

    def step(self, observation: Observation) -> Limits:
        """Pass it on and note the time."""
        begin = perf_counter()
        limits = self._controller.step(observation)
        self.times_s.append(perf_counter() - begin)
        return limits
