"""A NAO behind the robot interface: one list read and one alias write a period.

    read    ALMemory.getListData(keys)                             -> Observation
    write   DCM.setAlias([alias, "ClearAll", "time-separate", 0,
                          [now, now + 0.1 s, now + 1.1 s], values])

Each write holds for 0.1 s. Behind that it commands the way home, on a straight line in
1 s: set-points and stiffness as they were found. The next write takes that back before
it begins. So the robot goes home by itself, if this process is killed, hangs or loses
its connection; nothing here has to work for that. A value that was written once is
written in every period from then on.

Time is the robot's: `step` waits until its clock has advanced, whether that runs as
ours does or, simulated, faster.
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
from nao_testbed.sim.replay import RecordingOver

ANSWER_S = 0.1
"""What a call may take, in s of our clock; later is late."""
HOLD_S = 0.1
"""For which a write holds, in s of our clock."""
HOME_S = 1.0
"""What the way home takes, in s of the robot's clock."""
LOOK_S = 0.1
"""Between two looks at the robot's clock meanwhile, in s of ours."""
MOST_HOME_S = 10.0
"""And how long it is waited for, in s of its clock at the rate that was measured."""
STIFFNESS, ALL = "nao-testbed stiffness", "nao-testbed joints"
"""Names of the aliases."""
SMALLEST_RATE, LARGEST_RATE = 0.9, 1.1
"""Between these the robot's clock runs as ours does."""
RATE_S = 0.3
"""For which the rate of the robot's clock is measured at the start, in s."""
_WRAP = 1 << 32


class RobotClock:
    """The robot's clock, as far as it is known from what came with the values."""

    def __init__(self, ms: int, at_s: float) -> None:
        """Begin.

        Args:
            ms: what the robot's clock shows; it may roll over (32 bits with a sign).
            at_s: when, by our clock.
        """
        self._first_ms = self._last_ms = ms
        self._passed_ms = 0
        self._at_s = self._begin_s = at_s
        self._begin_ms = 0
        self.rate = 1.0
        """Of its seconds in one of ours: above 1 only where a simulation is hurried."""

    def note(self, ms: int, at_s: float) -> float:
        """Take what the clock showed at a time of ours; return it in s since begin."""
        self._passed_ms += (ms - self._last_ms + _WRAP // 2) % _WRAP - _WRAP // 2
        self._last_ms, self._at_s = ms, at_s
        return self._passed_ms / 1000.0

    def measure(self, *, least_s: float = 1.0) -> None:
        """Take the rate from what was noted since it was taken last."""
        passed_s = self._at_s - self._begin_s
        if passed_s < least_s:
            return
        rate = (self._passed_ms - self._begin_ms) / 1000.0 / passed_s
        is_ours = SMALLEST_RATE <= rate <= LARGEST_RATE
        self.rate = 1.0 if is_ours or rate <= 0.0 else rate
        self._begin_s, self._begin_ms = self._at_s, self._passed_ms

    def at(self, at_s: float) -> float:
        """Return what it shows at a time of ours, in s since the begin; an estimate."""
        ahead_s = self.rate * (at_s - self._at_s)
        return self._passed_ms / 1000.0 + ahead_s

    def as_ms(self, time_s: float) -> int:
        """Return what the robot calls a time in s since the begin."""
        ms = self._first_ms + round(1000.0 * time_s)
        return (ms + _WRAP // 2) % _WRAP - _WRAP // 2


class NaoqiRobot:
    """A robot at the other end of a connection; implements `RobotInterface`.

    Use: construct, then `read`, `write`, `step` in turn; `give_back` at the end, and
    `close`.
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
        """Find the robot's devices and look; nothing is commanded yet.

        Args:
            robot: what it is.
            connection: to it; closed with this.
            answer_s: what a call may take, in s of our clock.
            clock: ours, in s.
            sleep: lets a time in s of our clock pass.

        Raises:
            BadInput: it is another robot, has no device manager, or its legs are limp.
            ConnectionLate: it does not answer.
            ConnectionLost: the connection has ended.
        """
        self._robot = robot
        self._connection = connection
        self._our_clock, self._sleep = clock, sleep
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
        """How old the values of the last `read` are, in s of our clock: since the call
        that brought them first was sent."""
        self.round_trip_s = 0.0
        """What the last call took, in s."""
        self.n_late = 0
        """Periods that began more than one period late."""
        self._due_s = 0.0
        self._last = self._read(CONNECT_S)
        self.home_target = self._last.target
        """(n_joints,) set-points in rad that the robot goes back to: those found."""
        self.home_stiffness = self._last.stiffness
        """(n_joints,) likewise, its user's stiffness."""
        self._user_stiffness: list[float] | None = None
        self._had_smart_stiffness: bool | None = None
        self._target: FloatArray | None = None
        self._stiffness: FloatArray | None = None
        self._most = (
            robot.effort_limit
            / np.array([m.one_node.torque_constant for m in robot.motors])[
                list(robot.motor_of_joint)
            ]
        )
        """(n_joints,) current at stiffness 1, in A."""
        self._is_taken = False

    # -- the robot interface ------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The description that the arrays follow."""
        return self._robot

    @property
    def time_s(self) -> float:
        """Time of the robot's clock since the begin, in s, as far as it is known."""
        return self._last.time_s

    def read(self) -> Observation:
        """Return the newest sensor values; `age_s` says how new they are.

        Raises:
            ConnectionLate: the robot does not answer.
            ConnectionLost: the connection has ended.
            RecordingOver: a recording answers in its place, and has ended.
        """
        self._last = self._read(self.answer_s)
        return self._last

    def write(self, command: Command) -> None:
        """Put set-points and stiffness in force until 0.1 s from now.

        A limit of current bounds the stiffness, which on a NAO scales the current.

        Raises:
            BadInput: as of `check_command`; or it commands LEDs or a sound.
            ConnectionLate: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        check_command(command, self._robot)
        if command.leds is not None or command.sound is not None:
            raise BadInput(
                "a robot at naoqi:// is commanded set-points and stiffness; leave LEDs "
                "and sound to its own services."
            )
        if command.target is not None:
            self._target = np.array(command.target, dtype=np.float64)
        if command.stiffness is not None:
            self._stiffness = np.array(command.stiffness, dtype=np.float64)
            if command.current_limit is not None:
                share = np.minimum(command.current_limit / self._most, 1.0)
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
        """End the connection; may be called twice."""
        self._connection.close()

    # -- beyond the interface -------------------------------------------------------

    @property
    def rate(self) -> float:
        """Return its clock's seconds in one of ours: 1 but for hurried simulations."""
        return self._clock.rate

    @property
    def written_target(self) -> FloatArray | None:
        """(n_joints,) set-points that were written last, in rad; None: none yet."""
        return self._target

    def take(self) -> None:
        """Become the one who sets the stiffness: the robot's own control of it ends.

        Raises:
            ConnectionLate: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        call, motion = self._connection.call, self._motion
        self._user_stiffness = list(
            call(CONNECT_S, motion.getStiffnesses, list(self._robot.motor_names))
        )
        self._had_smart_stiffness = bool(
            call(CONNECT_S, motion.getSmartStiffnessEnabled)
        )
        keys = self.keys
        user = np.array(self._user_stiffness)
        self.home_stiffness = user[list(self._robot.motor_of_joint)]
        for name, actuators in (
            (STIFFNESS, keys.hardness),
            (ALL, [*keys.hardness, *keys.positions]),
        ):
            _, known = call(CONNECT_S, self._dcm.createAlias, [name, actuators])
            unknown = [a for a, k in zip(actuators, known, strict=True) if not k]
            if unknown:
                raise BadInput(f"the DCM there knows no actuator {unknown[0]}.")
        call(CONNECT_S, motion.setSmartStiffnessEnabled, False)
        self._is_taken = True
        self._due_s = self._now_s()

    def give_back(self, limit_s: float = 1.0) -> None:
        """Lead the robot home, on a straight line in 1 s, and wait for it.

        Its user's stiffness and its own control of it are as they were before `take`.

        Args:
            limit_s: what each call may take; a late one is waited for no longer, and
                the robot goes home without us.

        Raises:
            ConnectionLate: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        if not self._is_taken:
            return
        self._is_taken = False
        if self._stiffness is not None or self._target is not None:
            self._send(hold_s=0.0, limit_s=limit_s)
            self._wait_until_home(limit_s)
        names, call = list(self._robot.motor_names), self._connection.call
        motion = self._motion
        call(limit_s, motion.setStiffnesses, names, self._user_stiffness)
        call(limit_s, motion.setSmartStiffnessEnabled, self._had_smart_stiffness)

    # -- inside -----------------------------------------------------------------------

    def _wait_until_home(self, limit_s: float) -> None:
        """Wait by the robot's clock, which a busy simulation lets run slowly."""
        begin_ms, begin_s = self._clock_ms(limit_s), self._our_clock()
        while self._clock_ms(limit_s) < begin_ms + 1000.0 * (HOME_S + 0.1):
            if self._our_clock() > begin_s + MOST_HOME_S / self._clock.rate:
                return  # it goes home without us
            self._sleep(LOOK_S)

    def _find_clock(self) -> RobotClock:
        """Read all keys once, choose among them, and measure the robot's clock."""
        ask = self._connection.call
        names = self.keys.names
        values = ask(CONNECT_S, self._memory.getListData, names)
        self._has_clock = self.keys.clock_ms(values) is not None
        self.keys.settle(dict(zip(names, values, strict=True)))
        clock = RobotClock(self._clock_ms(), self._our_clock())
        self._sleep(RATE_S)
        clock.note(self._clock_ms(), self._our_clock())
        clock.measure(least_s=0.0)
        return clock

    def _now_s(self) -> float:
        """Return the robot's time now, in s since the begin; an estimate."""
        return self._clock.at(self._our_clock())

    def _clock_ms(self, limit_s: float = CONNECT_S) -> int:
        return int(self._connection.call(limit_s, self._dcm.getTime, 0))

    def _read(self, limit_s: float) -> Observation:
        sent_s = self._our_clock()
        values = self._connection.call(
            limit_s, self._memory.getListData, self.keys.names
        )
        came_s = self._our_clock()
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
        """Command what was written last, and the way home behind it."""
        keys = self.keys
        if not self._is_taken and hold_s:
            self.take()
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
