"""NAO behind the robot interface: one list read and one alias write a period.

    read    ALMemory.getListData(keys)                             -> Observation
    write   DCM.setAlias([alias, "ClearAll", "time-separate", 0,
                          [now, now + 0.1 s, now + 1.1 s], values])

Each write holds for 0.1 s. It also commands a return motion after that: linearly in 1 s
to the home values, the set-points and stiffness found at the start. The next write
cancels the return before it starts. So the robot returns home by itself if this process
is killed, hangs or loses its connection. A value that was written once is written in
all later periods.

Time is the robot's: `step` waits until the robot's clock has advanced, in real time or,
for a simulated robot, faster.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nao_testbed.controllers.interface.robot_interface import (
    Command,
    Observation,
    check_command,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.naoqi.connection import CONNECT_S, Connection
from nao_testbed.sim.naoqi.device_keys import DeviceKeys
from nao_testbed.sim.replayed_robot import RecordingOver

ANSWER_S = 0.1
"""Time limit of a call, in s of our clock; later answers are late."""
HOLD_S = 0.1
"""Time for which a write holds, in s of our clock."""
HOME_S = 1.0
"""Duration of the return motion, in s of the robot's clock."""
POLL_S = 0.1
"""Polling period of the robot's clock during the return motion, in s of our clock."""
MAX_HOME_S = 10.0
"""Time limit of the wait for the return motion, in s of the robot's clock at its
measured rate."""
STIFFNESS, ALL = "nao-testbed stiffness", "nao-testbed joints"
"""Names of the aliases."""
SMALLEST_RATE, LARGEST_RATE = 0.9, 1.1
"""Range of rates in which the robot's clock counts as real time."""
RATE_S = 0.3
"""Time over which the rate of the robot's clock is measured at the start, in s."""
_WRAP = 1 << 32


class RobotClock:
    """Estimate of the robot's clock from the times read with the values."""

    def __init__(self, ms: int, at_s: float) -> None:
        """Start at a reading of the robot's clock.

        Args:
            ms: reading of the robot's clock; may roll over (32 bits with a sign).
            at_s: time of the reading by our clock.
        """
        self._first_ms = self._last_ms = ms
        self._passed_ms = 0
        self._at_s = self._begin_s = at_s
        self._begin_ms = 0
        self.rate = 1.0
        """Seconds of the robot's clock per second of real time; above 1 in fast
        simulations."""

    def note(self, ms: int, at_s: float) -> float:
        """Register a reading at a time of our clock; return it in s since the start."""
        self._passed_ms += (ms - self._last_ms + _WRAP // 2) % _WRAP - _WRAP // 2
        self._last_ms, self._at_s = ms, at_s
        return self._passed_ms / 1000.0

    def measure(self, *, least_s: float = 1.0) -> None:
        """Compute the rate from the readings since the last measurement."""
        passed_s = self._at_s - self._begin_s
        if passed_s < least_s:
            return
        rate = (self._passed_ms - self._begin_ms) / 1000.0 / passed_s
        is_ours = SMALLEST_RATE <= rate <= LARGEST_RATE
        self.rate = 1.0 if is_ours or rate <= 0.0 else rate
        self._begin_s, self._begin_ms = self._at_s, self._passed_ms

    def at(self, at_s: float) -> float:
        """Return the estimated reading at a time of our clock, in s since the start."""
        ahead_s = self.rate * (at_s - self._at_s)
        return self._passed_ms / 1000.0 + ahead_s

    def as_ms(self, time_s: float) -> int:
        """Return a time in s since the start as a reading of the robot's clock."""
        ms = self._first_ms + round(1000.0 * time_s)
        return (ms + _WRAP // 2) % _WRAP - _WRAP // 2


class NaoqiRobot:
    """Robot at the other end of a connection; implements `RobotInterface`.

    Use: construct, then `read`, `write`, `step` in turn; `return_control` at the end,
    and `close`.
    """

    def __init__(
        self,
        robot: Robot,
        connection: Connection,
        *,
        answer_s: float = ANSWER_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Find the robot's devices and read them, without a command.

        Args:
            robot: description of the robot.
            connection: connection to the robot; `close` closes it.
            answer_s: time limit of a call, in s of our clock.
            clock: our clock, in s.
            sleep: function that waits for a time in s of our clock.

        Raises:
            BadInput: the robot is of another type, has no device manager, or its legs
                are limp.
            ConnectionTimeout: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        self._robot = robot
        self._connection = connection
        self._local_clock, self._sleep = clock, sleep
        self.dt = 1e-3
        self.answer_s = answer_s
        self.keys = DeviceKeys(robot)
        if not connection.has_service("DCM"):
            raise BadInput(
                f"{connection.url} has no DCM, the device manager of NAOqi up to 2.7, "
                "by which joints are commanded here."
            )
        self._memory = connection.service("ALMemory")
        self._dcm = connection.service("DCM")
        self._motion = connection.service("ALMotion")
        self._has_clock = True
        self._clock = self._find_clock()
        self._sensed: tuple[Any, ...] = ()
        self._sensed_at_s = 0.0
        self.age_s = 0.0
        """Age of the values of the last `read`, in s of our clock, counted from the
        start of the call that first returned them."""
        self.round_trip_s = 0.0
        """Duration of the last call, in s."""
        self.n_late = 0
        """Periods that started more than one period late."""
        self._due_s = 0.0
        self._last = self._read(CONNECT_S)
        self.home_target = self._last.target
        """(n_joints,) home: set-points in rad found at the start."""
        self.home_stiffness = self._last.stiffness
        """(n_joints,) stiffness of its user, restored at the end."""
        self._user_stiffness: list[float] | None = None
        self._had_smart_stiffness: bool | None = None
        self._target: FloatArray | None = None
        self._stiffness: FloatArray | None = None
        self._max_current = robot.effort_limit / robot.torque_per_current(
            np.array([m.one_node.torque_constant for m in robot.motors])
        )
        """(n_joints,) current at stiffness 1, in A."""
        self._has_control = False

    # -- the robot interface ------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """Robot description that defines the order of the arrays."""
        return self._robot

    @property
    def time_s(self) -> float:
        """Last known time of the robot's clock since the start, in s."""
        return self._last.time_s

    def read(self) -> Observation:
        """Return the newest sensor values; `age_s` is their age.

        Raises:
            ConnectionTimeout: the robot does not answer.
            ConnectionLost: the connection has ended.
            RecordingOver: a recording is served instead of a robot, and has ended.
        """
        self._last = self._read(self.answer_s)
        return self._last

    def write(self, command: Command) -> None:
        """Apply set-points and stiffness for the next 0.1 s.

        A current limit bounds the stiffness, which on a NAO scales the current.

        Raises:
            BadInput: as in `check_command`; or the command has LEDs or a sound.
            ConnectionTimeout: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        check_command(command, self._robot)
        if command.leds is not None or command.sound is not None:
            raise BadInput(
                "a robot at naoqi:// accepts set-points and stiffness; for LEDs and "
                "sound use its own services."
            )
        if command.gains is not None:
            raise BadInput(
                "a robot at naoqi:// has fixed servo gains, and the controller sets "
                "its own; run it on a simulated robot."
            )
        if command.target is not None:
            self._target = np.array(command.target, dtype=np.float64)
        if command.stiffness is not None:
            self._stiffness = np.array(command.stiffness, dtype=np.float64)
            if command.current_limit is not None:
                share = np.minimum(command.current_limit / self._max_current, 1.0)
                self._stiffness = np.minimum(self._stiffness, share)
        self._send()

    def step(self, ticks: int) -> None:
        """Wait until `ticks` periods of 1 ms have passed by the robot's clock."""
        period_s = ticks * self.dt
        self._due_s += period_s
        late_s = self._now_s() - self._due_s
        if late_s > period_s:
            self.n_late += 1
            self._due_s += late_s
        if late_s < 0.0:
            self._sleep(-late_s / self._clock.rate)

    def close(self) -> None:
        """Close the connection; a second call has no effect."""
        self._connection.close()

    # -- beyond the interface -------------------------------------------------------

    @property
    def rate(self) -> float:
        """Seconds of the robot's clock per real second; 1 or more if simulated."""
        return self._clock.rate

    @property
    def written_target(self) -> FloatArray | None:
        """(n_joints,) set-points of the last write, in rad; None before the first."""
        return self._target

    def take_control(self) -> None:
        """Take control of the stiffness; disable the robot's smart stiffness.

        Raises:
            ConnectionTimeout: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        call, motion = self._connection.call, self._motion
        self._user_stiffness = list(
            call(CONNECT_S, motion.getStiffnesses, list(self._robot.servo_names))
        )
        self._had_smart_stiffness = bool(
            call(CONNECT_S, motion.getSmartStiffnessEnabled)
        )
        keys = self.keys
        user = np.array(self._user_stiffness)
        self.home_stiffness = user[self._robot.servo_of_joint]
        for name, actuators in (
            (STIFFNESS, keys.stiffness_actuators),
            (ALL, [*keys.stiffness_actuators, *keys.positions]),
        ):
            _, known = call(CONNECT_S, self._dcm.createAlias, [name, actuators])
            unknown = [a for a, k in zip(actuators, known, strict=True) if not k]
            if unknown:
                raise BadInput(f"the DCM there has no actuator {unknown[0]}.")
        call(CONNECT_S, motion.setSmartStiffnessEnabled, False)
        self._has_control = True
        self._due_s = self._now_s()

    def return_control(self, limit_s: float = 1.0) -> None:
        """Move the robot home linearly in 1 s, and wait for it.

        It restores the user's stiffness and smart stiffness as before `take_control`.

        Args:
            limit_s: time limit of each call; after a late answer the wait ends, and the
                robot returns home by itself.

        Raises:
            ConnectionTimeout: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        if not self._has_control:
            return
        self._has_control = False
        if self._stiffness is not None or self._target is not None:
            self._send(hold_s=0.0, limit_s=limit_s)
            self._wait_until_home(limit_s)
        names, call = list(self._robot.servo_names), self._connection.call
        motion = self._motion
        call(limit_s, motion.setStiffnesses, names, self._user_stiffness)
        call(limit_s, motion.setSmartStiffnessEnabled, self._had_smart_stiffness)

    # -- internals ---------------------------------------------------------------------

    def _wait_until_home(self, limit_s: float) -> None:
        """Wait by the robot's clock, which is slow in a busy simulation."""
        begin_ms, begin_s = self._clock_ms(limit_s), self._local_clock()
        while self._clock_ms(limit_s) < begin_ms + 1000.0 * (HOME_S + 0.1):
            if self._local_clock() > begin_s + MAX_HOME_S / self._clock.rate:
                return  # the robot returns home without us
            self._sleep(POLL_S)

    def _find_clock(self) -> RobotClock:
        """Read all keys once, choose among them, and measure the robot's clock."""
        ask = self._connection.call
        names = self.keys.names
        values = ask(CONNECT_S, self._memory.getListData, names)
        self._has_clock = self.keys.clock_ms(values) is not None
        self.keys.choose_keys(dict(zip(names, values, strict=True)))
        clock = RobotClock(self._clock_ms(), self._local_clock())
        self._sleep(RATE_S)
        clock.note(self._clock_ms(), self._local_clock())
        clock.measure(least_s=0.0)
        return clock

    def _now_s(self) -> float:
        """Return the estimated time of the robot now, in s since the start."""
        return self._clock.at(self._local_clock())

    def _clock_ms(self, limit_s: float = CONNECT_S) -> int:
        return int(self._connection.call(limit_s, self._dcm.getTime, 0))

    def _read(self, limit_s: float) -> Observation:
        sent_s = self._local_clock()
        values = self._connection.call(
            limit_s, self._memory.getListData, self.keys.names
        )
        came_s = self._local_clock()
        self.round_trip_s = came_s - sent_s
        if self.keys.is_over(values):
            raise RecordingOver(
                f"the recording that {self._connection.url} serves has ended"
            )
        sensed = self.keys.sensed(values)
        if sensed != self._sensed:
            self._sensed, self._sensed_at_s = sensed, sent_s
        self.age_s = came_s - self._sensed_at_s
        ms = self.keys.clock_ms(values)
        if ms is None:
            return self.keys.observe(values, self._now_s())
        time_s = self._clock.note(ms, came_s)
        self._clock.measure()
        return self.keys.observe(values, time_s)

    def _send(self, hold_s: float = HOLD_S, limit_s: float | None = None) -> None:
        """Send the last set-points and stiffness, followed by the return motion."""
        keys = self.keys
        if not self._has_control and hold_s:
            self.take_control()
        pairs: list[tuple[FloatArray, FloatArray]] = []
        stiffness = self._stiffness
        if stiffness is None:
            stiffness = self.home_stiffness
        pairs.append((stiffness, self.home_stiffness))
        if self._target is not None:
            pairs.append((self._target, self.home_target))
        rows: list[list[float]] = []
        for now, home in pairs:
            rows += _rows(keys.of_motors(now), keys.of_motors(home))
        begin_s = self._now_s()
        hold_s *= self._clock.rate
        times = [begin_s, begin_s + hold_s, begin_s + hold_s + HOME_S]
        alias = STIFFNESS if self._target is None else ALL
        at_ms = [self._clock.as_ms(t) for t in times]
        if at_ms[1] <= at_ms[0]:
            at_ms[1] = at_ms[0] + 1
        self._connection.call(
            self.answer_s if limit_s is None else limit_s,
            self._dcm.setAlias,
            [alias, "ClearAll", "time-separate", 0, at_ms, rows],
        )


def _rows(now: FloatArray, home: FloatArray) -> list[list[float]]:
    """Return the values of each actuator at the three times of a write."""
    rows: Sequence[list[float]] = np.stack((now, now, home), axis=1).tolist()
    return list(rows)
