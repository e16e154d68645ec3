"""Temperatures and currents of a joint's motor, from a run folder."""

from pathlib import Path
from typing import Literal

import numpy as np

from experiments.identify_heating.heat_log import HeatLog
from models import BadInput, Motor, Robot, UnknownName
from sim.recording.run_folder import Run, read_run
from sim.thermal.one_node_fit import HeatRecord

Seen = Literal["sensor", "truth"]

ROW_STEP_S = 1.0
"""Between the rows that are kept, in s: the temperature sensors are as slow."""


def heat_log_of_run(
    folder: Path | str | Run,
    joint: str,
    robot: Robot,
    *,
    seen: Seen = "sensor",
    step_s: float = ROW_STEP_S,
) -> HeatLog:
    """Return what a run says about the motor of a joint.

    Currents are the motor torques of the run over the torque constant of the one-node
    model, so that a fit gives back R/C and λ/C of `robot.motors`. Rows of fast-forward
    hold the torque that heated the motors then: from exact temperatures the constants
    come back to 1e-4.

    Args:
        folder: of the run, or the open run; one of a crashed process is read as far as
            it got.
        joint: its motor may drive others too.
        robot: with the torque constants.
        seen: `sensor` takes what the robot's sensor says, in its steps; `truth` the
            temperature of the heating model.
        step_s: between rows; what happened in between stays in the mean of i².

    Raises:
        BadInput: it is no run, the robot has no such joint, the run lacks a column, or
            too few rows.
    """
    motor = motor_of(joint, robot)
    run = folder if isinstance(folder, Run) else read_run(folder)
    channel = "temperature" if seen == "sensor" else "true_temperature"
    columns = [f"{name}.{motor.name}" for name in (channel, "motor_torque")]
    for column in columns:
        if column not in run.frame.columns:
            raise BadInput(
                f"run {run.folder} has no column {column!r}; give a run of a heat "
                f"experiment or of a scenario, of this robot."
            )
    if len(run.frame) < 2:
        raise BadInput(
            f"run {run.folder} ({run.state}) has {len(run.frame)} rows; nothing can be "
            f"learnt from it."
        )
    degc, torque = (run.frame[column].to_numpy(np.float64) for column in columns)
    record = HeatRecord.from_currents(
        run.frame.index.to_numpy(np.float64),
        degc,
        torque / motor.one_node.torque_constant,
    )
    name = f"{run.folder.name}, {motor.name}"
    return HeatLog(name=name, records=(record.thinned(step_s),))


def motor_of(joint: str, robot: Robot) -> Motor:
    """Return the motor that drives a joint.

    Raises:
        UnknownName: the robot has no such joint.
    """
    for motor in robot.motors:
        if joint in motor.joints:
            return motor
    raise UnknownName("Joint", joint, robot.joint_names, f"robot {robot.name}")
