"""Result of a trial: one robot under one controller, as plain data.

The record of tables, pages, JSON and sweeps: `as_json` writes it, `json_as` reads it.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

SMALLEST_LEAST_W = 0.01
"""Minimum power below which no ratio to it is reported, in W: a robot in Stand needs
almost none."""

LEG_JOINTS = ("HipRoll", "HipPitch", "KneePitch", "AnkleRoll", "AnklePitch")
"""The joints of a leg that ES2659053 draws; prefixed by L or R."""
SHUT_DOWN_DEGC = 80.0
"""Temperature of a joint at which the robot is shut down."""
_FINITE = ConfigDict(allow_inf_nan=False)
"""Read numbers have to be finite; an integer of 400 digits is not."""


def _inf_of_null(value: object) -> object:
    return math.inf if value is None else value


@dataclass(frozen=True, kw_only=True)
class JointResult:
    """One joint of one robot over a run."""

    __pydantic_config__ = _FINITE

    start_degc: float
    end_degc: float
    rise_k: float
    mean_abs_effort_nm: float
    """Mean of the motor's |torque| on the joint side, gear friction included."""
    joule_loss_j: float
    """Heat made in the winding over the run."""
    time_to_80_degc_s: float | None
    """First time at 80 °C; None where it was not reached in the run."""
    steady_degc: Annotated[
        float, Field(allow_inf_nan=True), BeforeValidator(_inf_of_null)
    ]
    """Where the temperature would end if the last torques stayed for ever; inf (null in
    JSON) where the motor would burn first."""
    forecast_80_degc_s: float | None
    """As `time_to_80_degc_s`, run on with the last torques; None for never."""


@dataclass(frozen=True, kw_only=True)
class Pressing:
    """A link that met an obstacle."""

    first_s: float
    """When it did."""
    largest_n: float
    """Largest force at the end of a control period, in N: an impact is shorter, and
    seen by chance."""
    last_n: float
    """That of the last physics, in N."""


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """One robot under one controller. `failure` says why a run ended early."""

    __pydantic_config__ = _FINITE

    controller: str
    joints: dict[str, JointResult]
    left_leg_rise_k: float | None
    right_leg_rise_k: float | None
    fell: bool
    failure: str | None
    sim_s: float
    wall_s: float
    physics_s: float
    """Simulated time in which the physics was stepped; the rest was fast-forward."""
    shut_down_s: float | None = None
    """When the protection made the whole robot limp, in s; None for never."""
    flags: dict[str, int] = field(default_factory=dict)
    """Cycles in which the controller raised a flag, such as a fall-back, by flag."""
    folder: str | None = None
    legs_joule_loss_j: float | None = None
    """Heat made in all leg motors over the run; None for a robot without legs."""
    legs_power_w: float | None = None
    """That of the last physics in W, with the resistance of the data."""
    least_power_w: float | None = None
    """The least that contact forces allow in the posture at the end, gear friction left
    out (`experiments.closed_loop.leg_forces`); None where it does not stand."""
    least_with_gears_w: float | None = None
    """Lower bound with gear friction bearing as much as possible."""
    largest_shift_deg: float = 0.0
    """Largest shift of a set-point by the controller."""
    battery_charge: float | None = None
    """Fraction of its capacity that is left in a battery which was full at the start:
    1 - (P_0 t + W / η) / E, of the draw P_0 of computers and sensors and the heat and
    work W of all motors over the run (`models.robot.Battery`)."""
    battery_minutes: float | None = None
    """How long that lasts with the heat of the motors' last torques."""
    pressing: dict[str, Pressing] = field(default_factory=dict)
    """Contacts by link and obstacle, as `l_wrist on table`."""
    settled_s: float | None = None
    """From when on the legs' power stayed near its last value; None for never."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON; a number that is not finite is None."""
        found: dict[str, Any] = _finite(asdict(self))
        return found


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def leg_rise(joints: dict[str, JointResult], side: str) -> float | None:
    """Return the sum of the rises of a leg's five joints in K.

    Args:
        joints: by joint name.
        side: `L` or `R`.

    Returns:
        The sum, or None where the robot has no such leg.
    """
    names = [side + joint for joint in LEG_JOINTS]
    if not all(name in joints for name in names):
        return None
    return sum(joints[name].rise_k for name in names)
