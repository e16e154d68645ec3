"""A recorded run behind the robot interface: its sensors speak, nothing moves.

    run = read_run(Path("runs/heat/smart"))
    replay = ReplayRobot(read_observations(run, recorded_robot(run.meta)))
    while not replay.is_over:
        decided = controller.step(replay.read())
        replay.take_shift(decided.shift)
        replay.step(20)

This is the log server of [jdec-urjc] (3.2): code runs with neither robot nor simulator,
and algorithms are compared on exactly the same input.

The loop is open. What is written is checked and kept (`commanded`), and changes nothing
of what the sensors say later: they answered to the recorded controller.

One thing follows the controller: its shift of the set-points. Who shifts them finds its
own shift in `Observation.target`, and takes what else changes there for a request of
others. So `read` takes the recorded controller's last shift off the recorded set-points
and puts that of the present controller (`take_shift`) there. Where both are the same
numbers, so are the set-points, bit for bit.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controllers.command_check import check_command, check_shift
from controllers.robot_interface import Command, Observation
from models import BadInput, Robot, TestbedError
from sim.recorded_observations import RecordedObservations

FloatArray = NDArray[np.float64]


class RecordingOver(TestbedError):
    """The recording has ended: there is nothing more to read."""


class ReplayRobot:
    """A recording that implements `RobotInterface`.

    `read` returns the newest observation that had been read at the present time, as it
    was recorded, with its own time. Time goes on by `step`. Where the recorded run let
    time pass for heat alone its clock jumped, and so does this one: a step that ends
    more than one period behind an observation ends at the next one.
    """

    def __init__(self, recorded: RecordedObservations, dt: float = 1e-3) -> None:
        """Stand at the first observation.

        Args:
            recorded: from `read_observations`.
            dt: length of a tick in s; an observation is there from the tick on that is
                nearest to its time.

        Raises:
            BadInput: two observations fall on one tick.
        """
        self.recorded = recorded
        self.dt = dt
        self._ticks = np.rint(recorded.time_s / dt).astype(np.int64)
        if (np.diff(self._ticks) < 1).any():
            raise BadInput(
                f"the recording has observations that are less than dt = {dt} s apart; "
                f"give a shorter tick."
            )
        alone = len(recorded) == 1
        self._period = 1 if alone else max(1, round(recorded.period_s / dt))
        self._n = 0
        self.tick = int(self._ticks[0])
        self.is_over = False
        """The last observation is older than a period."""
        joints = len(recorded.robot.joints)
        shape = len(recorded), joints
        self._target = np.full(shape, np.nan)
        self._stiffness = np.full(shape, np.nan)
        self._no_shift = np.zeros(joints)
        self._decided: FloatArray | None = None
        """Shift told at the present observation or before; None: nobody tells it."""
        self._in_force: FloatArray | None = None
        """Shift told before the present observation was read; None likewise."""

    @property
    def robot(self) -> Robot:
        """The description that the arrays follow."""
        return self.recorded.robot

    @property
    def time_s(self) -> float:
        """Time of the recorded run's clock in s."""
        return self.tick * self.dt

    @property
    def place(self) -> int:
        """Number of the observation that `read` returns."""
        return self._n

    @property
    def commanded(self) -> dict[str, FloatArray]:
        """Copies of the `target` and `stiffness` last written at each observation.

        Each is (n_observations, n_joints), NaN where nothing was written.
        """
        return {"target": self._target.copy(), "stiffness": self._stiffness.copy()}

    def read(self) -> Observation:
        """Return the newest observation of the present time.

        Raises:
            RecordingOver: the recording ended before.
        """
        self._check_not_over()
        observation = self.recorded.at(self._n)
        if self._in_force is None or self.recorded.shifts is None or not self._n:
            return observation
        change = self._in_force - self.recorded.shifts[self._n - 1]
        if not change.any():
            return observation
        target, robot = observation.target, self.robot
        moved = np.clip(target + change, robot.lower, robot.upper)
        return replace(observation, target=np.where(change == 0.0, target, moved))

    def take_shift(self, shift: FloatArray | None) -> None:
        """Let this shift be in force from the next observation on.

        Until the first call set-points are those recorded, with the shift of the
        recorded controller; so they remain where the recording does not tell that
        (`RecordedObservations.shifts`).

        Args:
            shift: (n_joints,) what a controller decided on the present observation, in
                rad; None: none.

        Raises:
            BadInput: no robot would take it.
        """
        if shift is None:
            self._decided = self._no_shift
            return
        check_shift(shift, self.robot)
        self._decided = np.array(shift, dtype=np.float64)

    def write(self, command: Command) -> None:
        """Keep a command beside the present observation.

        Raises:
            BadInput: a robot would refuse it; nothing of it is kept.
            RecordingOver: the recording ended before.
        """
        self._check_not_over()
        check_command(command, self.robot)
        if command.target is not None:
            self._target[self._n] = command.target
        if command.stiffness is not None:
            self._stiffness[self._n] = command.stiffness

    def step(self, ticks: int) -> None:
        """Let ticks pass; nothing happens after the end.

        Raises:
            BadInput: time would go backwards.
        """
        if ticks < 0:
            raise BadInput(f"{ticks} ticks; time does not go back. Open it again.")
        if self.is_over:
            return
        before = self._n
        self._advance(ticks)
        if self._n != before:
            self._in_force = self._decided

    def _advance(self, ticks: int) -> None:
        """Go to the newest observation, over a jump, or to the end."""
        self.tick += ticks
        self._n = int(np.searchsorted(self._ticks, self.tick, side="right")) - 1
        if self.tick - self._ticks[self._n] < self._period:
            return
        if self._n + 1 == len(self._ticks):
            self.is_over = True
            return
        self._n += 1
        self.tick = int(self._ticks[self._n])

    def close(self) -> None:
        """Nothing is held; may be called twice."""

    def _check_not_over(self) -> None:
        if self.is_over:
            raise RecordingOver(
                f"the recording ended at {self.recorded.time_s[-1]:.3f} s; there is "
                f"nothing more to read at {self.time_s:.3f} s."
            )
