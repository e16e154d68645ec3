"""Closed loop: every 20 ms read, decide, write, then step the physics.

    observation -> controller -> limits -> robot

The loop defines the order of these steps and the set-points: those of the posture,
approached from the present angles, plus the controller's shift. The loop is the only
writer of the robot (`SoleWriter`); several owners share a robot through reservations
and their gate.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from nao_testbed.controllers.interface.controller import (
    Controller,
    ControllerWrapper,
    Limits,
    check_answer,
)
from nao_testbed.controllers.interface.robot_interface import (
    Command,
    Observation,
    RobotInterface,
    check_shift,
)
from nao_testbed.controllers.interface.sole_writer import SoleWriter
from nao_testbed.experiments.closed_loop.controller_failure import attribute_errors_to
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import ticks_of


class TimedController(ControllerWrapper):
    """Wrapper of a controller that measures the time of its steps."""

    def __init__(self, controller: Controller) -> None:
        """Wrap a controller."""
        super().__init__(controller)
        self._times_s: list[float] = []

    @property
    def times_s(self) -> list[float]:
        """Time of each step in s."""
        return self._times_s

    def step(self, observation: Observation) -> Limits:
        """Call the controller's `step` and store its duration."""
        begin = perf_counter()
        limits = super().step(observation)
        self._times_s.append(perf_counter() - begin)
        return limits


APPROACH_TIME = 2.0
"""Time to move to a posture, in s: that of a slow `goToPosture`."""


class PacedRobot(RobotInterface, Protocol):
    """Robot that the caller steps, with a clock: simulated or a recording."""

    @property
    def time_s(self) -> float:
        """Time of the robot's clock in s."""

    @property
    def dt(self) -> float:
        """Length of a tick in s."""


@runtime_checkable
class AcceptsShift(Protocol):
    """Robot that adds a shift to its set-points itself: a recording."""

    def take_shift(self, shift: FloatArray | None) -> None:
        """Set the shift from the next observation on; None: no shift."""


AnyRobot = TypeVar("AnyRobot", bound=PacedRobot)


def approach(start: FloatArray, goal: FloatArray, time_s: float) -> FloatArray:
    """Return the set-points during the motion to a posture, (n_joints,) in rad.

    The path is straight in joint space, with smooth ends: s = 3 u² - 2 u³, u = t / T.
    """
    u = min(max(time_s / APPROACH_TIME, 0.0), 1.0)
    s = u * u * (3.0 - 2.0 * u)
    return (1.0 - s) * start + s * goal


class Loop(Generic[AnyRobot]):
    """Loop of one robot under one controller that holds one posture.

    Call `cycle` once per control period. Visitors get the observation of each cycle
    after its physics, and change nothing.
    """

    def __init__(
        self,
        sim: AnyRobot,
        controller: Controller,
        goal: FloatArray | None,
        control_period: float = CONTROL_PERIOD,
    ) -> None:
        """Reset the controller; the robot will move from its set-points to the posture.

        Args:
            sim: robot at rest.
            controller: controller that sets the limits.
            goal: (n_joints,) set-points of the posture in rad; None: keep the robot's.
            control_period: cycle in s, a multiple of the physics step.
        """
        self.sim = sim
        self.controller = controller
        self.period = control_period
        self._ticks = ticks_of("control period", control_period, sim.dt)
        self._start = sim.read().target
        self._goal = goal
        self._posture = self._start
        self._begin_s = sim.time_s
        self._holds = goal is None
        self.decided = Limits(stiffness=np.full(len(sim.robot.joints), np.nan))
        """The controller's decision in the last cycle; NaN before the first."""
        self._take_shift: Callable[[FloatArray | None], None] | None = (
            sim.take_shift if isinstance(sim, AcceptsShift) else None
        )
        self.disturb: Callable[[AnyRobot], None] | None = None
        """Called before every tick, for instance to push the robot."""
        self._writer = SoleWriter(sim)
        self._in_force = self._start
        self._limits_current = False
        motor = sim.robot.motor_of_joint
        self._motors = [np.flatnonzero(motor == i) for i in range(max(motor) + 1)]
        self._n = 0
        with attribute_errors_to(controller, "reset"):
            controller.reset(sim.robot)

    def close(self) -> None:
        """Release the robot in its present state for another loop."""
        self._writer.close()

    @property
    def limits(self) -> FloatArray:
        """(n_joints,) stiffness decided by the controller in the last cycle."""
        return self.decided.stiffness

    @property
    def shift(self) -> FloatArray | None:
        """(n_joints,) shift decided in the last cycle, in rad; None: no shift."""
        return self.decided.shift

    def cycle(self) -> Observation:
        """Run one control period, and return the observation at its beginning.

        Raises:
            BadInput: the controller returned an invalid limit or shift.
            ControllerFailed: the controller raised.
        """
        observation = self.sim.read()
        self._n += 1
        with attribute_errors_to(
            self.controller, f"step {self._n} (t = {observation.time_s:.3f} s)"
        ):
            decided = self.controller.step(observation)
        check_answer(self.controller, decided)
        if decided.shift is not None:
            check_shift(decided.shift, self.sim.robot)
        self._write(decided, observation)
        if self._take_shift is not None:
            self._take_shift(decided.shift)
        self.decided = decided
        self._run()
        return observation

    def _write(self, decided: Limits, observation: Observation) -> None:
        """Apply a decision, completely or not at all."""
        target = self._target(decided.shift)
        if target is None and (decided.stiffness == 0.0).any():
            target = self._follow_limp(decided.stiffness, observation.q)
        current = decided.current_limit
        if current is None and self._limits_current:  # remove the limit
            current = np.full(len(self._start), np.inf)
        command = Command(
            target=target, stiffness=decided.stiffness, current_limit=current
        )
        self._writer.write(command)
        self._limits_current = decided.current_limit is not None
        if target is not None:
            self._in_force = target

    def _follow_limp(self, stiffness: FloatArray, q: FloatArray) -> FloatArray:
        """Return the set-points in force; those of limp motors follow their joints.

        This way an arm that hung down does not snap back when it becomes stiff again.
        """
        target, robot = self._in_force.copy(), self.sim.robot
        for joints in self._motors:
            if (stiffness[joints] == 0.0).any():
                lower, upper = robot.lower[joints].max(), robot.upper[joints].min()
                target[joints] = min(max(q[joints].mean(), lower), upper)
        return target

    def _run(self) -> None:
        """Step the physics for one period."""
        if self.disturb is None:
            self.sim.step(self._ticks)
            return
        for _ in range(self._ticks):
            self.disturb(self.sim)
            self.sim.step(1)

    def _target(self, shift: FloatArray | None) -> FloatArray | None:
        """Return the set-points to write, (n_joints,); None: keep those in force."""
        robot = self.sim.robot
        if self._holds:
            if shift is None and self.decided.shift is None:
                return None
            if self._goal is None and self._take_shift is not None:
                return None  # a recording sets its own set-points and shift
        elif self._goal is not None:
            time_s = self.sim.time_s - self._begin_s + self.period
            self._holds = time_s >= APPROACH_TIME
            way = approach(self._start, self._goal, time_s)
            # At the start, a joint at its stop may read slightly beyond it.
            self._posture = np.clip(way, robot.lower, robot.upper)
        if shift is None:
            return self._posture
        return np.clip(self._posture + shift, robot.lower, robot.upper)


def run_for(
    loop: Loop[AnyRobot],
    duration_s: float,
    visit: Callable[[Observation], None] | None = None,
) -> None:
    """Run whole cycles for `duration_s` seconds."""
    end = loop.sim.time_s + duration_s - 0.5 * loop.period
    while loop.sim.time_s < end:
        observation = loop.cycle()
        if visit is not None:
            visit(observation)
