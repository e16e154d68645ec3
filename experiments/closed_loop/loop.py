"""Closed loop: every 20 ms read, decide, write, then step the physics.

    observation -> controller -> limits -> robot

The loop defines the order of these steps and the set-points: those of the posture,
approached from the present ones, plus the controller's shift, or set-points of the
controller in their place. Sensor values and decisions can be delayed. The loop is the
only writer of the robot (`SoleWriter`); several owners share a robot through
reservations and their gate.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
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
    ServoGains,
    check_shift,
    own_gains,
)
from nao_testbed.controllers.interface.sole_writer import SoleWriter
from nao_testbed.experiments.closed_loop.controller_failure import attribute_errors_to
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models import BadInput
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
        *,
        observation_delay: float = 0.0,
        action_delay: float = 0.0,
    ) -> None:
        """Reset the controller; the robot will move from its set-points to the posture.

        Args:
            sim: robot at rest.
            controller: controller that sets the limits.
            goal: (n_joints,) set-points of the posture in rad; None: keep the robot's.
            control_period: cycle in s, a multiple of the physics step.
            observation_delay: age in s of the sensor values that the controller sees.
            action_delay: time in s until a decision takes effect.

        Raises:
            BadInput: a time is not a multiple of the physics step, or the control
                period does not divide that of the controller.
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
        self._gains: ServoGains | None = None
        self._written = self.decided
        self._delay(observation_delay, action_delay)
        servo = sim.robot.servo_of_joint
        self._servos = [np.flatnonzero(servo == i) for i in range(max(servo) + 1)]
        self._n = 0
        self._next: Observation | None = None
        with attribute_errors_to(controller, "reset"):
            controller.reset(sim.robot)
        _check_period(controller, control_period)

    def _delay(self, observation_s: float, action_s: float) -> None:
        """Prepare the queues that delay sensor values and decisions."""
        dt, ticks = self.sim.dt, self._ticks
        seen = ticks_of("observation delay", observation_s, dt) if observation_s else 0
        act = ticks_of("action delay", action_s, dt) if action_s else 0
        self._is_delayed = bool(seen)
        self._seen = deque([self.sim.read()], maxlen=seen // ticks + 1)
        self._due: deque[tuple[Limits, Observation]] = deque(maxlen=act // ticks + 1)
        self._reads_at, self._writes_at = -seen % ticks, act % ticks
        pauses = ((self._reads_at, self._look), (self._writes_at, self._write_due))
        self._pauses = sorted((one for one in pauses if one[0]), key=lambda one: one[0])
        """Tick within a period, and the function called at it to read or write."""

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

    @property
    def moved(self) -> FloatArray | None:
        """(n_joints,) shift or set-points decided last, in rad; None: neither."""
        target = self.decided.target
        return self.shift if target is None else target

    def cycle(self) -> Observation:
        """Run one control period, and return the observation at its beginning.

        Raises:
            BadInput: the controller returned an invalid limit or shift.
            ControllerFailed: the controller raised.
        """
        observation, self._next = self.observe(), None
        self._n += 1
        with attribute_errors_to(
            self.controller, f"step {self._n} (t = {observation.time_s:.3f} s)"
        ):
            decided = self.controller.step(observation)
        check_answer(self.controller, decided)
        if decided.shift is not None:
            check_shift(decided.shift, self.sim.robot)
        self._due.append((decided, observation))
        if not self._writes_at:
            self._write_due()
        if self._take_shift is not None:
            self._take_shift(decided.shift)
        self.decided = decided
        self._run()
        return observation

    def _look(self) -> None:
        self._seen.append(self.sim.read())

    def observe(self) -> Observation:
        """Return the delayed sensor values of the next cycle, with the present time."""
        if not self._is_delayed:
            return self.sim.read()
        if self._next is None:
            if not self._reads_at:
                self._look()
            self._next = replace(self._seen[0], time_s=self.sim.time_s)
        return self._next

    def _write_due(self) -> None:
        """Apply the delayed decision, if there is one."""
        if len(self._due) == self._due.maxlen:
            self._write(*self._due[0])

    def _write(self, decided: Limits, observation: Observation) -> None:
        """Apply a decision, completely or not at all."""
        target = self._target(decided)
        if target is None and (decided.stiffness == 0.0).any():
            target = self._follow_limp(decided.stiffness, observation.q)
        current = decided.current_limit
        if current is None and self._limits_current:  # remove the limit
            current = np.full(len(self._start), np.inf)
        gains = decided.gains
        if gains is None and self._gains is not None:
            gains = own_gains(self.sim.robot)
        command = Command(
            target=target,
            stiffness=decided.stiffness,
            current_limit=current,
            gains=None if gains is self._gains else gains,
        )
        self._writer.write(command)
        self._gains, self._written = decided.gains, decided
        self._limits_current = decided.current_limit is not None
        if target is not None:
            self._in_force = target

    def _follow_limp(self, stiffness: FloatArray, q: FloatArray) -> FloatArray:
        """Return the set-points in force; those of limp servos follow their joints.

        An arm that hung down therefore does not snap back when it becomes stiff again.
        """
        target, robot = self._in_force.copy(), self.sim.robot
        for joints in self._servos:
            if (stiffness[joints] == 0.0).any():
                lower, upper = robot.lower[joints].max(), robot.upper[joints].min()
                target[joints] = min(max(q[joints].mean(), lower), upper)
        return target

    def _run(self) -> None:
        """Step the physics for one period."""
        tick = 0
        for pause, act in self._pauses:
            self._step(pause - tick)
            act()
            tick = pause
        self._step(self._ticks - tick)

    def _step(self, ticks: int) -> None:
        if self.disturb is None:
            self.sim.step(ticks)
            return
        for _ in range(ticks):
            self.disturb(self.sim)
            self.sim.step(1)

    def _target(self, decided: Limits) -> FloatArray | None:
        """Return the set-points to write, (n_joints,); None: keep those in force."""
        robot, shift, before = self.sim.robot, decided.shift, self._written
        if decided.target is not None:
            moved = decided.target if shift is None else decided.target + shift
            return np.clip(moved, robot.lower, robot.upper)
        if self._holds:
            if shift is None and before.shift is None and before.target is None:
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


def _check_period(controller: Controller, control_period: float) -> None:
    """Reject a controller whose period is not a multiple of the loop's."""
    period = getattr(controller, "period_s", None)
    if period is None:
        return
    cycles = period / control_period
    if cycles < 0.5 or abs(cycles - round(cycles)) > 1e-6:
        raise BadInput(
            f"controller {controller.name!r} decides every {period:g} s, which is not "
            f"a multiple of the control period of {control_period:g} s; give a control "
            f"period of {period:g} s."
        )


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
