"""Live robots that start in the state of a recording at a chosen time.

Set-points, temperatures and the setting come from the recording. The robot starts at
rest, with a new controller; pending actions of behaviours, an operator or a push are
not resumed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import TypeAdapter, ValidationError

from nao_testbed.controllers.registry import check_controllers
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.experiments.live.run_live import LivePlan, plan_of
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_meta import read_meta, recorded_robot
from nao_testbed.sim.robot import SimulationCfg

RECORDED = "recorded"
"""Name of the start posture."""
NEAR = np.deg2rad(25.0)
"""Maximum distance of a joint, in rad, that still counts as a stored posture."""
_SIMULATION = TypeAdapter(SimulationCfg)


@dataclass(frozen=True, kw_only=True)
class ResumedCfg(TrialCfg):
    """Robot that starts with the set-points of a recorded one."""

    origin: Path
    """Run folder of the recorded robot."""
    at_s: float
    """Start time in the recording, in s."""
    set_points: tuple[float, ...]
    """(n_joints,) set-points in rad, without the controller's shift."""

    def load_robot(self) -> Robot:
        """Return the recorded robot with the start posture added."""
        robot = recorded_robot(read_meta(self.origin))
        angles = np.clip(np.array(self.set_points), robot.lower, robot.upper)
        posture = _posture(robot, angles)
        return replace(robot, postures={**robot.postures, RECORDED: posture})


def _posture(robot: Robot, angles: FloatArray) -> Posture:
    """Return a posture with the support of the nearest stored one."""
    stored = list(robot.postures.values())
    far = [float(np.abs(one.angles - angles).max()) for one in stored]
    nearest = stored[int(np.argmin(far))]
    if min(far) > NEAR:
        nearest = replace(nearest, effectors=(), state=None, offset=None)
    return replace(nearest, name=RECORDED, angles=angles, status="estimate")


def plan_resumed(trials: Sequence[RecordedTrial], time_s: float) -> LivePlan:
    """Return robots that start in the recorded states at a time.

    Args:
        trials: trials with rows.
        time_s: time of the recording in s.

    Raises:
        BadInput: a recording lacks required values.
    """
    robot = recorded_robot(trials[0].run.meta)
    names = [trial.name for trial in trials]
    check_controllers(names, robot)
    return plan_of([_resumed(trial, robot, time_s) for trial in trials])


def _resumed(trial: RecordedTrial, robot: Robot, time_s: float) -> ResumedCfg:
    meta = trial.run.meta
    config = cast("Mapping[str, Any]", meta.config)
    try:
        simulation = _SIMULATION.validate_python(config.get("simulation"))
    except ValidationError as error:
        raise BadInput(
            f"{trial.run.folder} lacks the robot setting that this version needs; "
            "record it again."
        ) from error
    row = max(int(trial.frame.index.searchsorted(time_s + 1e-9)) - 1, 0)
    target = _row(trial, "target", robot.joint_names, row)
    shift = _row(trial, "shift", robot.joint_names, row)
    degc = _row(trial, "true_temperature", robot.motor_names, row)
    if not np.isfinite([*target, *degc]).all():
        raise BadInput(
            f"{trial.run.folder} has no set-points or temperatures at {time_s:g} s; "
            "choose another time."
        )
    set_points = target - np.nan_to_num(shift)
    return ResumedCfg(
        controller=trial.name,
        robot_folder=robot.folder,
        posture=RECORDED,
        duration_s=0.0,
        simulation=replace(
            simulation,
            start_degc=dict(zip(robot.motor_names, degc.tolist(), strict=True)),
        ),
        fast_forward=None,
        control_period=float(config.get("control_period") or CONTROL_PERIOD),
        origin=trial.run.folder,
        at_s=time_s,
        set_points=tuple(set_points.tolist()),
    )


def _row(
    trial: RecordedTrial, channel: str, members: Sequence[str], row: int
) -> FloatArray:
    """Return a row of a channel; NaN for missing values."""
    columns = [f"{channel}.{member}" for member in members]
    values: FloatArray = trial.frame.reindex(columns=columns).iloc[row].to_numpy(float)
    return values
