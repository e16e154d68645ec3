"""The result of a robot from its rows, where no result was written.

Temperatures are those of the rows. Efforts and heat are sums over the rows with the
torque of the last moment of each, where the run itself takes means over its ticks: they
agree within some per cent on a robot that stands. Forecasts are left out.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from experiments.report.page.run_source import ArmSource
from experiments.standing.published import SHUT_DOWN_DEGC
from experiments.standing.results import ArmResult, HeatResult, JointResult, leg_rise
from models import Robot

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


def arm_from_rows(arm: ArmSource, robot: Robot) -> ArmResult | None:
    """Return the result of one robot; None without rows or temperatures in them.

    Heat in J: sum over rows of R (tau / K)² dt, with R and K of the robot's data.
    """
    frame = arm.frame
    temperature = _by_motor(frame, robot, ("true_temperature", "temperature"))
    if temperature is None or not len(frame):
        return None
    time_s = frame.index.to_numpy(float)
    dt = np.diff(time_s, prepend=0.0)
    torque = _by_motor(frame, robot, ("motor_torque",))
    if torque is None:
        torque = np.full_like(temperature, math.nan)
    heating = [motor.one_node for motor in robot.motors]
    resistance = np.array([h.resistance for h in heating])
    torque_constant = np.array([h.torque_constant for h in heating])
    effort = np.abs(torque).T @ dt / max(dt.sum(), 1e-9)
    energy = ((torque / torque_constant) ** 2 * resistance).T @ dt
    joints = {}
    for name, m in zip(robot.joint_names, robot.motor_of_joint, strict=True):
        hot = np.flatnonzero(temperature[:, m] >= SHUT_DOWN_DEGC)
        joints[name] = JointResult(
            start_degc=float(temperature[0, m]),
            end_degc=float(temperature[-1, m]),
            rise_k=float(temperature[-1, m] - temperature[0, m]),
            mean_abs_effort_nm=float(effort[m]),
            joule_loss_j=float(energy[m]),
            time_to_80_degc_s=float(time_s[hot[0]]) if hot.size else None,
            steady_degc=math.nan,
            forecast_80_degc_s=None,
        )
    state = arm.run.state
    failure = None if state == "done" else state.removeprefix("failed: ")
    return ArmResult(
        controller=arm.name,
        joints=joints,
        left_leg_rise_k=leg_rise(joints, "L"),
        right_leg_rise_k=leg_rise(joints, "R"),
        fell=failure is not None and "fell" in failure,
        failure=failure,
        sim_s=float(time_s[-1]),
        wall_s=math.nan,
        physics_s=math.nan,
    )


def heat_from_rows(arms: Mapping[str, ArmResult], first: ArmSource) -> HeatResult:
    """Put results of robots together; what they share is read from the first one."""
    config = cast("Mapping[str, Any]", first.run.meta.config)
    simulation = config.get("simulation") or {}
    duration_s = config.get("duration_s") or max(arm.sim_s for arm in arms.values())
    return HeatResult(
        minutes=float(duration_s) / 60.0,
        posture=str(config.get("posture", "")),
        seed=first.run.meta.seed,
        misalignment_deg=dict(simulation.get("misalignment_deg") or {}),
        arms=dict(arms),
        settings={
            "robot": first.run.meta.robot,
            "effort_limits_nm": first.run.meta.robot_data.get("effort_limits_nm") or {},
            **_settings(config),
        },
    )


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is recorded of those settings that `heat.json` names."""
    places = {
        "slope_deg": ("simulation", "world", "slope_deg"),
        "servo": ("simulation", "servo", "kind"),
        "gear_friction": ("simulation", "servo", "friction_scale"),
        "heating": ("simulation", "heating", "model"),
        "copper": ("simulation", "heating", "copper_coefficient"),
        "ambient_degc": ("simulation", "heating", "ambient_degc"),
        "protection": ("simulation", "protection"),
        "start_degc": ("simulation", "start_degc"),
        "other_start_degc": ("simulation", "other_start_degc"),
        "control_period_s": ("control_period",),
    }
    found = {}
    for name, (*outer, last) in places.items():
        inside: Any = config
        for key in outer:
            inside = inside.get(key) if isinstance(inside, Mapping) else None
        if isinstance(inside, Mapping) and last in inside:
            found[name] = inside[last]
    if "copper" in found:
        found["copper"] = bool(found["copper"])
    return found


def _by_motor(
    frame: "pd.DataFrame", robot: Robot, channels: tuple[str, ...]
) -> FloatArray | None:
    """Return (n_rows, n_motors) of the first channel that is there, else None."""
    for channel in channels:
        columns = [f"{channel}.{motor}" for motor in robot.motor_names]
        if all(column in frame.columns for column in columns):
            values: FloatArray = frame[columns].to_numpy(float)
            return values
    return None
