"""Result of a trial: one robot under one controller, as plain data.

Tables, pages, JSON and sweeps use this record: `as_json` writes it, `json_as` reads it.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

SMALLEST_LEAST_W = 0.01
"""Minimum power below which no ratio to it is reported, in W: a robot in Stand needs
almost none."""

LEG_JOINTS = ("HipRoll", "HipPitch", "KneePitch", "AnkleRoll", "AnklePitch")
"""Joints of a leg in the figures of ES2659053, without the prefix L or R."""
SHUT_DOWN_DEGC = 80.0
"""Temperature of a joint at which the robot is shut down."""
_FINITE = ConfigDict(allow_inf_nan=False)
"""Finite number; an integer of 400 digits is not finite."""


def _inf_of_null(value: object) -> object:
    return math.inf if value is None else value


@dataclass(frozen=True, kw_only=True)
class JointResult:
    """Result of one joint of one robot over a run."""

    __pydantic_config__ = _FINITE

    start_degc: float
    end_degc: float
    rise_k: float
    mean_abs_effort_nm: float
    """Mean |torque| of the motor on the joint side in N·m, before gear friction."""
    joule_loss_j: float
    """Heat produced in the winding over the run in J."""
    time_to_80_degc_s: float | None
    """First time at 80 °C in s; None if not reached in the run."""
    steady_degc: Annotated[
        float, Field(allow_inf_nan=True), BeforeValidator(_inf_of_null)
    ]
    """Final temperature in °C if the last torques continued; inf (null in JSON) if the
    motor would burn first."""
    forecast_80_degc_s: float | None
    """First time at 80 °C in s, extrapolated with the last torques; None: never."""
    power_w: float | None = None
    """Joule loss at the end of the physics in W; None: not a motor of the legs, or the
    robot does not stand."""
    least_w: float | None = None
    """The same with the contact forces of minimum loss of all legs; the rest of
    `power_w` is useless."""


@dataclass(frozen=True, kw_only=True)
class Pressing:
    """Contact of a link with an obstacle."""

    first_s: float
    """Time of the first contact in s."""
    largest_n: float
    """Largest force at the end of a control period, in N; an impact is shorter, and
    found only by chance."""
    last_n: float
    """Force at the end of the last physics, in N."""


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """Result of a robot under one controller; `failure`: reason for an early end."""

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
    """Simulated time with physics, in s; the rest was fast-forward."""
    shut_down_s: float | None = None
    """Time in s at which the protection made the whole robot limp; None: never."""
    flags: dict[str, int] = field(default_factory=dict)
    """Flag of the controller, such as a fall-back, to the number of cycles with it."""
    folder: str | None = None
    legs_joule_loss_j: float | None = None
    """Heat produced in all leg motors over the run in J; None for a robot without
    legs."""
    legs_power_w: float | None = None
    """Joule loss of the legs at the end of the physics in W, with the resistance of the
    data."""
    least_power_w: float | None = None
    """Minimum power in W that contact forces allow in the final posture, without gear
    friction (`experiments.closed_loop.leg_forces`); None if the robot does not
    stand."""
    least_with_gears_w: float | None = None
    """Lower bound of the power in W, with as much load as possible carried by gear
    friction."""
    largest_shift_deg: float = 0.0
    """Largest shift of a set-point by the controller."""
    accepted_share: float | None = None
    """Share of its last shift that a policy accepted (`controllers.policies.cool`);
    None: no policy, or no shift at the end."""
    battery_charge: float | None = None
    """Remaining charge of a battery that was full at the start, as a fraction: 1 - (P_0
    t + W / η) / E, with the power P_0 of computers and sensors and the heat and work W
    of all motors over the run (`models.robot.Battery`)."""
    battery_minutes: float | None = None
    """Minutes until the battery is empty with the last torques."""
    pressing: dict[str, Pressing] = field(default_factory=dict)
    """Contacts by link and obstacle, as `l_wrist on table`."""
    settled_s: float | None = None
    """Time in s from which the legs' power stayed near its last value; None: never."""
    drift_m: float | None = None
    """Horizontal distance of the base from its start at the end, in m; None: fell."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON; a non-finite number becomes None."""
        found: dict[str, Any] = _finite(asdict(self))
        return found


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def leg_rise(joints: Mapping[str, JointResult], names: tuple[str, ...]) -> float | None:
    """Return the sum of the rises of a leg's joints in K.

    Args:
        joints: by joint name.
        names: joints of the leg (`Robot.leg`).

    Returns:
        The sum, or None if the robot has no such leg.
    """
    if not names or not all(name in joints for name in names):
        return None
    return sum(joints[name].rise_k for name in names)
