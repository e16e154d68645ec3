"""Recorded run behind the robot interface: recorded sensor values, no motion.

    run = read_run(Path("runs/heat/smart"))
    replay = ReplayRobot(read_observations(run, recorded_robot(run.meta)))
    while not replay.is_over:
        decided = controller.step(replay.read())
        replay.take_shift(decided.shift)
        replay.step(20)

This is the log server of [jdec-urjc] (3.2): code runs without robot and simulator, and
algorithms are compared on exactly the same input.

`read` returns the observations that the recorded controller got. A row is used if the
stiffness controller was called in it (its `limits` are present); in a run without such
a controller, every row is used. Rows of fast-forwarded heat are left out.

The loop is open. Commands are checked and kept (`commanded`), and do not change later
sensor values, which respond to the recorded controller.

The shift of the set-points is the exception. A controller that shifts set-points finds
its shift in `Observation.target`, and treats other changes of the target as requests of
other owners. So `read` removes the recorded controller's last shift from the recorded
set-points and adds that of the present controller (`take_shift`). If both shifts are
equal, the set-points are bit-identical.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import (
    OPTIONAL_READINGS,
    READINGS,
    Command,
    Observation,
    check_command,
    check_shift,
)
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import (
    LIMITS,
    OBSERVED,
    SHIFT,
    Channel,
    channel_of,
    observation_channels,
)
from nao_testbed.sim.recording.run_folder import Run

SHIFT_SINCE = 3
"""Format since which a run records its controller's shifts of set-points."""

LATE = 1.5
"""Number of periods after which the next observation counts as following a jump."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedObservations:
    """Sensor values of a run, in order; read-only."""

    robot: Robot
    time_s: FloatArray
    """(n,) times of reading, in s of the run's clock."""
    values: Mapping[str, FloatArray]
    """(n, size) by field of `Observation`."""
    limits: FloatArray | None
    """(n, n_joints) limits by the recorded controller; None without a controller."""
    shifts: FloatArray | None
    """(n, n_joints) shifts of set-points by the recorded controller, in rad, 0 if it
    decided none. None if unknown: the run was recorded before format 3."""
    is_exact: bool
    """True if every digit was recorded. Otherwise values are rounded to seven digits
    and differ from those that the controller got."""
    period_s: float
    """Usual time between two observations, in s."""

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self.time_s)

    def at(self, i: int) -> Observation:
        """Return the observation of row `i`, as new arrays."""
        fields = {name: block[i].copy() for name, block in self.values.items()}
        return Observation(time_s=float(self.time_s[i]), **fields)

    @property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Intervals in s without observations: heat was fast-forwarded."""
        late = np.flatnonzero(np.diff(self.time_s) > LATE * self.period_s)
        return tuple(
            (float(self.time_s[i]), float(self.time_s[i + 1])) for i in late.tolist()
        )


def read_observations(run: Run, robot: Robot) -> RecordedObservations:
    """Read the observations of a run, and check that they are complete.

    Args:
        run: run, from `sim.recording.run_folder.read_run`.
        robot: robot from `sim.recording.run_meta.recorded_robot`.

    Raises:
        BadInput: the run has another robot, is too old or empty, or parts are missing.
    """
    _check_whole(run)
    channels = {
        channel.name: channel
        for channel in (
            *observation_channels(robot),
            OBSERVED,
            channel_of(robot, LIMITS),
            channel_of(robot, SHIFT),
        )
    }
    _check_columns(run, robot, channels)
    frame = run.frame
    if frame.empty:
        raise BadInput(
            f"{run.folder} has no rows ({run.state}): a killed run loses the rows "
            f"after its last part. Give another run."
        )

    def block(name: str) -> FloatArray:
        columns = list(channels[name].columns)
        return frame[columns].to_numpy(dtype=np.float64)

    limits = block(LIMITS)
    was_asked = ~np.all(np.isnan(limits), axis=1)
    has_controller = bool(was_asked.any())
    kept = was_asked if has_controller else np.ones_like(was_asked)
    time_s = block(OBSERVED.name)[kept, 0]
    steps = np.diff(time_s)
    if (steps <= 0.0).any():
        i = int(np.argmax(steps <= 0.0))
        raise BadInput(
            f"{run.folder}: the observation at {time_s[i + 1]} s follows that at "
            f"{time_s[i]} s; times must increase. Record the run again."
        )
    return RecordedObservations(
        robot=robot,
        time_s=_read_only(time_s),
        values={name: _read_only(block(name)[kept]) for name in _observed(run)},
        limits=_read_only(limits[kept]) if has_controller else None,
        shifts=_shifts(run, channels[SHIFT], kept, has_controller=has_controller),
        is_exact=_is_exact(run, channels),
        period_s=float(np.median(steps)) if len(steps) else np.inf,
    )


def _observed(run: Run) -> list[str]:
    """Return the required fields of observations, and the optional ones of the run."""
    there = {column.partition(".")[0] for column in run.meta.columns}
    return [name for name in READINGS if name in there or name not in OPTIONAL_READINGS]


def _shifts(
    run: Run, channel: Channel, kept: NDArray[np.bool_], *, has_controller: bool
) -> FloatArray | None:
    """Return the decided shifts of the kept rows, or None if unknown."""
    columns = list(channel.columns)
    if columns[0] in run.meta.columns:
        decided = run.frame[columns].to_numpy(dtype=np.float64)[kept]
        return _read_only(np.nan_to_num(decided, copy=False, nan=0.0))
    if has_controller and run.meta.format < SHIFT_SINCE:
        return None
    return np.broadcast_to(0.0, (int(kept.sum()), len(columns)))


def _check_whole(run: Run) -> None:
    """Check that the run is complete.

    Raises:
        BadInput: a part between others, or at the end of a closed run, is missing.
    """
    parts = sorted(path.name for path in run.folder.glob("part-*.parquet"))
    for i, name in enumerate(parts):
        expected = f"part-{i:05d}.parquet"
        if name != expected:
            raise BadInput(
                f"{run.folder} lacks {expected}, but has {name}: up to 30 s are "
                f"missing in the middle. Restore the file; a replay over the gap "
                f"would not be a run of this controller."
            )
    rows = run.meta.rows
    if rows is not None and len(run.frame) < rows:
        raise BadInput(
            f"{run.folder} has {len(run.frame)} of {rows} recorded rows: its last "
            f"parts are missing. Restore them."
        )


def _check_columns(run: Run, robot: Robot, channels: Mapping[str, Channel]) -> None:
    """Check that the columns of the run are those of the robot.

    Raises:
        BadInput: a column for replay is missing, or the run is of another robot.
    """
    there = run.meta.columns
    if OBSERVED.name not in there:
        raise BadInput(
            f"{run.folder} was recorded without the times of its observations (format "
            f"{run.meta.format}), so it cannot be replayed. Record the run again."
        )
    needed = [OBSERVED.name, LIMITS, *_observed(run)]
    if any(column.startswith(f"{SHIFT}.") for column in there):
        needed.append(SHIFT)
    missing = [c for name in needed for c in channels[name].columns if c not in there]
    known = {column for channel in channels.values() for column in channel.columns}
    others = [c for c in there if c.partition(".")[0] in needed and c not in known]
    if missing or others:
        which = (
            f"has no column {missing[0]!r}"
            if missing
            else f"has a column {others[0]!r}"
        )
        raise BadInput(
            f"{run.folder} was recorded on another robot: it {which}, unlike robot "
            f"{robot.name!r} in {robot.folder}. Give the folder of that robot, "
            "unchanged, with --robot."
        )


def _is_exact(run: Run, channels: Mapping[str, Channel]) -> bool:
    """Return True if every value of the observations is stored as float64."""
    dtypes = run.frame.dtypes
    names = [column for name in _observed(run) for column in channels[name].columns]
    return all(dtypes[name] == np.float64 for name in names)


def _read_only(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array


class RecordingOver(TestbedError):
    """Error: the recording has ended."""


class ReplayRobot:
    """Recording that implements `RobotInterface`.

    `read` returns the newest observation up to the present time, as recorded, with the
    recorded time. `step` advances the time. If heat was fast-forwarded in the recorded
    run, the clock jumps as in that run: a step that ends more than one period after an
    observation ends at the next observation.
    """

    def __init__(self, recorded: RecordedObservations, dt: float = 1e-3) -> None:
        """Start at the first observation.

        Args:
            recorded: observations from `read_observations`.
            dt: length of a tick in s; an observation is available from the tick that is
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
        """True if the last observation is older than a period."""
        joints = len(recorded.robot.joints)
        shape = len(recorded), joints
        self._target = np.full(shape, np.nan)
        self._stiffness = np.full(shape, np.nan)
        self._no_shift = np.zeros(joints)
        self._decided: FloatArray | None = None
        """Last shift decided up to the present observation; None before the first."""
        self._in_force: FloatArray | None = None
        """Last shift decided before the present observation; None before the first."""

    @property
    def robot(self) -> Robot:
        """Robot description that defines the order of the arrays."""
        return self.recorded.robot

    @property
    def time_s(self) -> float:
        """Present time of the recorded run's clock, in s."""
        return self.tick * self.dt

    @property
    def place(self) -> int:
        """Number of the observation that `read` returns."""
        return self._n

    @property
    def commanded(self) -> dict[str, FloatArray]:
        """Copies of the `target` and `stiffness` last written at each observation.

        Each is (n_observations, n_joints), NaN without a command.
        """
        return {"target": self._target.copy(), "stiffness": self._stiffness.copy()}

    def read(self) -> Observation:
        """Return the newest observation of the present time.

        Raises:
            RecordingOver: the recording has ended.
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
        """Apply this shift from the next observation on.

        Until the first call, set-points keep the shift of the recorded controller. They
        always do if the recording has no shifts (`RecordedObservations.shifts`).

        Args:
            shift: (n_joints,) decision of a controller on the present observation, in
                rad; None: none.

        Raises:
            BadInput: the shift is invalid for a robot.
        """
        if shift is None:
            self._decided = self._no_shift
            return
        check_shift(shift, self.robot)
        self._decided = np.array(shift, dtype=np.float64)

    def write(self, command: Command) -> None:
        """Store a command with the present observation.

        Raises:
            BadInput: the command is invalid for a robot; nothing is stored.
            RecordingOver: the recording has ended.
        """
        self._check_not_over()
        check_command(command, self.robot)
        if command.target is not None:
            self._target[self._n] = command.target
        if command.stiffness is not None:
            self._stiffness[self._n] = command.stiffness

    def step(self, ticks: int) -> None:
        """Advance by ticks; do nothing after the end.

        Raises:
            BadInput: `ticks` is negative.
        """
        if ticks < 0:
            raise BadInput(f"{ticks} ticks; time cannot go back. Open the run again.")
        if self.is_over:
            return
        before = self._n
        self._advance(ticks)
        if self._n != before:
            self._in_force = self._decided

    def _advance(self, ticks: int) -> None:
        """Advance to the newest observation, across a jump, or to the end."""
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
        """Do nothing: a replay holds no resources."""

    def _check_not_over(self) -> None:
        if self.is_over:
            raise RecordingOver(
                f"the recording ended at {self.recorded.time_s[-1]:.3f} s; there are "
                f"no more rows at {self.time_s:.3f} s."
            )
