"""The observations of a run, read back as a controller was given them.

    seen = read_observations(read_run(folder), robot)
    seen.at(0)  # the first one

A row is taken where the stiffness controller was asked (its `limits` are there); in a
run without one, every row is. Rows of the time that passed for heat alone are left out:
nobody was asked then.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Observation
from models import BadInput, Robot
from sim.channels import Channel, observation_channels
from sim.replay_channels import (
    LIMITS,
    OBSERVED,
    OBSERVED_CHANNELS,
    SHIFT,
    replay_channels,
    shift_channel,
)
from sim.run_folder import Run

FloatArray = NDArray[np.float64]

SHIFT_SINCE = 3
"""Format since which a run tells how its controller shifted set-points."""

LATE = 1.5
"""An observation that comes after more than so many periods comes after a jump."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedObservations:
    """What the sensors said in a run, in order; read-only."""

    robot: Robot
    time_s: FloatArray
    """(n,) times at which they were read, in s of the run's clock."""
    values: Mapping[str, FloatArray]
    """(n, size) by field of `Observation`."""
    limits: FloatArray | None
    """(n, n_joints) what the recorded controller answered; None: there was none."""
    shifts: FloatArray | None
    """(n, n_joints) how far it answered to shift set-points, in rad, 0 where it decided
    none. None: nobody knows, the run was recorded before format 3."""
    is_exact: bool
    """Every digit was recorded. Otherwise they are rounded to seven, and no controller
    has ever seen them as they are here."""
    period_s: float
    """Usual time between two of them, in s."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.time_s)

    def at(self, i: int) -> Observation:
        """Return the observation of row `i`, as fresh arrays."""
        fields = {name: block[i].copy() for name, block in self.values.items()}
        return Observation(time_s=float(self.time_s[i]), **fields)

    @property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Times in s between which nothing was observed: heat passed alone."""
        late = np.flatnonzero(np.diff(self.time_s) > LATE * self.period_s)
        return tuple(
            (float(self.time_s[i]), float(self.time_s[i + 1])) for i in late.tolist()
        )


def read_observations(run: Run, robot: Robot) -> RecordedObservations:
    """Read the observations of a run, and check that they are all there.

    Args:
        run: from `sim.run_folder.read_run`.
        robot: from `sim.robot_data.recorded_robot`.

    Raises:
        BadInput: the run is of another robot, too old, empty, or parts are missing.
    """
    _check_whole(run)
    channels = {
        channel.name: channel
        for channel in (
            *observation_channels(robot),
            *replay_channels(robot, exact=False),
            shift_channel(robot, exact=False),
        )
    }
    _check_columns(run, robot, channels)
    frame = run.frame
    if frame.empty:
        raise BadInput(
            f"{run.folder} holds no row ({run.state}): a run that is killed loses what "
            f"is younger than its last part. Give another run."
        )

    def block(name: str) -> FloatArray:
        columns = list(channels[name].columns)
        return frame[columns].to_numpy(dtype=np.float64)

    limits = block(LIMITS)
    was_asked = ~np.all(np.isnan(limits), axis=1)
    has_controller = bool(was_asked.any())
    kept = was_asked if has_controller else np.ones_like(was_asked)
    time_s = block(OBSERVED)[kept, 0]
    steps = np.diff(time_s)
    if (steps <= 0.0).any():
        i = int(np.argmax(steps <= 0.0))
        raise BadInput(
            f"{run.folder}: an observation of {time_s[i + 1]} s stands after one of "
            f"{time_s[i]} s; a run has a row for each. Record it again."
        )
    return RecordedObservations(
        robot=robot,
        time_s=_fixed(time_s),
        values={name: _fixed(block(name)[kept]) for name in OBSERVED_CHANNELS},
        limits=_fixed(limits[kept]) if has_controller else None,
        shifts=_shifts(run, channels[SHIFT], kept, has_controller=has_controller),
        is_exact=_is_exact(run, channels),
        period_s=float(np.median(steps)) if len(steps) else np.inf,
    )


def _shifts(
    run: Run, channel: Channel, kept: NDArray[np.bool_], *, has_controller: bool
) -> FloatArray | None:
    """Return the decided shifts of the rows that are kept, None if nobody knows."""
    columns = list(channel.columns)
    if columns[0] in run.meta.columns:
        decided = run.frame[columns].to_numpy(dtype=np.float64)[kept]
        return _fixed(np.nan_to_num(decided, copy=False, nan=0.0))
    if has_controller and run.meta.format < SHIFT_SINCE:
        return None
    return np.broadcast_to(0.0, (int(kept.sum()), len(columns)))


def _check_whole(run: Run) -> None:
    """Refuse a run that lacks rows which it once had.

    Raises:
        BadInput: a part between others, or at the end of a closed run, is missing.
    """
    parts = sorted(path.name for path in run.folder.glob("part-*.parquet"))
    for i, name in enumerate(parts):
        expected = f"part-{i:05d}.parquet"
        if name != expected:
            raise BadInput(
                f"{run.folder} lacks {expected}, though {name} is there: up to 30 s "
                f"are missing in the middle. Bring the file back; a replay over the "
                f"gap would be no run of this controller."
            )
    rows = run.meta.rows
    if rows is not None and len(run.frame) < rows:
        raise BadInput(
            f"{run.folder} holds {len(run.frame)} rows of the {rows} that were "
            f"recorded: its last parts are missing. Bring them back."
        )


def _check_columns(run: Run, robot: Robot, channels: Mapping[str, Channel]) -> None:
    """Refuse a run that has other columns than the robot's.

    Raises:
        BadInput: it was recorded without what a replay needs, or on another robot.
    """
    there = run.meta.columns
    if OBSERVED not in there:
        raise BadInput(
            f"{run.folder} was recorded without the times of its observations (format "
            f"{run.meta.format}), so it cannot be replayed. Record the run again."
        )
    needed = [OBSERVED, LIMITS, *OBSERVED_CHANNELS]
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
            f"{run.folder} was recorded on another robot: it {which}, robot "
            f"{robot.name!r} in {robot.folder} is otherwise. Give the robot's folder "
            f"as it was by --robot."
        )


def _is_exact(run: Run, channels: Mapping[str, Channel]) -> bool:
    """Whether every value of the observations is stored as float64."""
    dtypes = run.frame.dtypes
    names = [column for name in OBSERVED_CHANNELS for column in channels[name].columns]
    return all(dtypes[name] == np.float64 for name in names)


def _fixed(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array
