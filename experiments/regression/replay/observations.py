"""Recordings for replays and the log server, from run folders and other logs.

A run folder has the observations that its controller got. In other logs, each control
period of 20 ms is an observation: the newest value of every sensor. Missing velocities
are the slopes of the angles, missing set-points the angles, missing stiffness 1, and
other missing sensors NaN; each is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nao_testbed.controllers.interface.robot_interface import (
    OPTIONAL_READINGS,
    READINGS,
)
from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD, RobotSetting
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_folder import Run, read_run
from nao_testbed.sim.recording.run_meta import recorded_robot
from nao_testbed.sim.replayed_robot import RecordedObservations, read_observations

STALE_S = 1.0
"""Angles older than this, in s, give no observation."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """Observations of a robot."""

    observations: RecordedObservations
    run: Run | None
    """Run of the observations; None for another log."""
    remarks: tuple[str, ...] = ()
    """Repairs of the log, and replacements of missing sensors."""


def read_recording(
    source: Path, robot_folder: Path | None = None, entries: Sequence[str] = ()
) -> Recording:
    """Read a run folder, or a log of `read_log`, as observations.

    Args:
        source: path of the log.
        robot_folder: folder of the robot; None: that of the run, or the default robot.
        entries: user's map of the columns, as in `read_log`.

    Raises:
        BadInput: the source cannot be read, is incomplete, or is of another robot.
    """
    if not (source / "meta.json").is_file() and (
        source.is_file() or any(source.glob("meta*"))
    ):
        robot = load_robot(robot_folder)
        return _of_log(read_log(source, robot, entries), robot)
    run = read_run(source)
    robot = recorded_robot(run.meta, robot_folder)
    return Recording(observations=read_observations(run, robot), run=run)


def _of_log(log: Log, robot: Robot) -> Recording:
    log = check_sensors(log, robot, needs_current=False)
    grid, rows = _periods(log)
    signals, remarks = dict(log.signals), [repair.what for repair in log.repairs]
    torques = signals.get("torque", {})
    signals.setdefault(
        "current",
        {
            m.name: torques[m.name] / m.one_node.torque_constant
            for m in robot.motors
            if m.name in torques
        },
    )
    values: dict[str, FloatArray] = {}
    for name, reading in READINGS.items():
        if name in OPTIONAL_READINGS:
            continue
        members, columns = reading.members(robot), signals.get(name, {})
        missing = [member for member in members if member not in columns]
        instead, other = "NaN", np.full((len(grid), len(members)), np.nan)
        match name:
            case "q":
                posture = robot.posture(RobotSetting().posture_of(robot))
                instead, other[:] = f"those of {posture.name}", posture.angles
            case "v" if missing:
                instead = "slopes of the angles"
                other[:] = np.gradient(values["q"], grid, axis=0)
            case "target":
                instead, other[:] = "the angles", values["q"]
            case "stiffness":
                instead, other[:] = "1", 1.0
        if missing:
            which = "all" if len(missing) == len(members) else f"{len(missing)} members"
            remarks.append(f"{name} of {which} missing: {instead}")
        for k, member in enumerate(members):
            if member in columns:
                other[:, k] = _newest(columns[member], rows)
        other.setflags(write=False)
        values[name] = other
    recorded = RecordedObservations(
        robot=robot,
        time_s=grid,
        values=values,
        limits=None,
        shifts=np.broadcast_to(0.0, values["q"].shape),
        is_exact=True,
        period_s=CONTROL_PERIOD,
    )
    return Recording(observations=recorded, run=None, remarks=tuple(remarks))


def _periods(log: Log) -> tuple[FloatArray, IndexArray]:
    """Return the times of the observations from 0 on, and the newest row at each."""
    angles = np.array(list(log.signals["q"].values()))
    has_angles = np.isfinite(angles).any(axis=0)
    time_s = log.time_s - log.time_s[has_angles][0]
    seen_s = time_s[has_angles]
    n = int(seen_s[-1] / CONTROL_PERIOD + 1e-6) + 1
    grid = CONTROL_PERIOD * np.arange(n, dtype=np.float64)
    newest_s = seen_s[np.searchsorted(seen_s, grid + 1e-6, side="right") - 1]
    grid = grid[grid - newest_s < STALE_S]
    return grid, np.searchsorted(time_s, grid + 1e-6, side="right") - 1


def _newest(values: FloatArray, rows: IndexArray) -> FloatArray:
    """Return the newest known value at some rows; before the first, the first."""
    known = np.flatnonzero(np.isfinite(values))
    newest = np.searchsorted(known, rows, side="right") - 1
    return values[known[np.maximum(newest, 0)]]
