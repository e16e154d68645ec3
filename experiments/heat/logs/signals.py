"""Signals and units of the columns of a log.

A column is named as in a run folder, `SIGNAL.MEMBER`, such as `q.LKneePitch`; another
unit is part of the first word, as in `q_deg.LKneePitch`. A log of one motor omits the
member; its names must contain the unit: `temperature_degc`, `current_a`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.sim.recording.channels import TIME_COLUMN


class Scale(NamedTuple):
    """Unit of a column: value in the signal's unit = factor · column + offset."""

    factor: float = 1.0
    offset: float = 0.0


_DEGREES = Scale(np.pi / 180.0)
SIGNALS: Mapping[str, Mapping[str, Scale]] = {
    TIME_COLUMN: {
        "time_s": Scale(),
        "time_ms": Scale(1e-3),
        "time_min": Scale(60.0),
        "time_days": Scale(86400.0),
        "time_us": Scale(1e-6),
        "time_ns": Scale(1e-9),
    },
    "q": {"q": Scale(), "q_deg": _DEGREES},  # joints, rad
    "v": {"v": Scale(), "v_deg": _DEGREES},  # joints, rad/s
    "target": {"target": Scale(), "target_deg": _DEGREES},  # joints, rad
    "stiffness": {"stiffness": Scale()},  # joints, [0, 1]
    "current": {"current": Scale(), "current_a": Scale(), "current_ma": Scale(1e-3)},
    "torque": {"torque": Scale(), "effort_nm": Scale()},  # motors, N·m before friction
    "temperature": {
        "temperature": Scale(),
        "temperature_degc": Scale(),
        "temperature_degf": Scale(5.0 / 9.0, -32.0 * 5.0 / 9.0),
        "temperature_k": Scale(1.0, -273.15),
    },
    "fsr": {"fsr": Scale(), "fsr_kg": Scale(GRAVITY)},  # N
    "gyro": {"gyro": Scale()},  # x, y, z, rad/s
    "accelerometer": {"accelerometer": Scale(), "accelerometer_g": Scale(GRAVITY)},
    "motor_torque": {"motor_torque": Scale()},  # simulated runs: heating torque, N·m
    "true_temperature": {"true_temperature": Scale()},  # of its heating model, °C
}
"""Signal to the first parts that its columns may have, each with its unit.

Run folders, their exports, and files written for `identify` and `xray` use these names;
`columns` translates the names of other programs.
"""


def find_signal(column: str) -> tuple[str, str, Scale] | None:
    """Return a column's signal, member and unit; None for an unknown column.

    The member is a joint, motor, sensor or axis; it is empty for the time, and in a log
    of one motor.
    """
    prefix, dot, member = column.partition(".")
    for signal, names in SIGNALS.items():
        says_unit = prefix != signal or signal == TIME_COLUMN
        if prefix in names and (member if dot else says_unit):
            return signal, member, names[prefix]
    return None


def column_names(signal: str, member: str) -> tuple[str, ...]:
    """Return the possible names of the column of a signal."""
    names = SIGNALS[signal]
    named = [f"{name}.{member}" if member else name for name in names]
    return tuple(name for name in named if find_signal(name))
