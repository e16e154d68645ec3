"""Balance of a robot on its soles: margins to tipping, and a fuzzy instability.

Projected on the plane perpendicular to the vertical from the inertial unit,

    cop = Σ f_k p_k / Σ f_k,        ξ = c + ċ √(h / g),

where sensor k of the soles at p_k measures the force f_k, c is the centre of mass at
the height h above the soles, g is gravity, and ξ is the capture point, the foot
position at which the robot would come to rest [pratt2006]. A margin is the distance to
the nearest edge of the convex hull of the soles, negative outside. The fall manager of
the NAO acts when the centre of mass leaves the soles [nao-doc, fall manager]; ξ
indicates this earlier, because it includes the speed.

Assumptions: the body turns as a rigid body about a sole point p with the angular
velocity ω, ċ = ω × (c - p), so joint motion is ignored; the ground is level at the
soles; a sole point counts as support if it is within `REACH_M` of the lowest point.

`balance watch` combines three values with fuzzy rules: margin of the centre of
pressure, margin of the capture point, and turning rate. With separate thresholds the
result would switch back and forth. The fuzzy sets are tuned to simulations (the command
is not kept): the capture margin of a NAO at rest was 30 to 47 mm. NAOs that recovered
from a push reached a capture margin of 0 and turning rates of 40 to 100 degrees/s. With
the capture point more than 20 mm outside, none recovered.
"""

from dataclasses import dataclass
from math import acos, atan2, degrees, sqrt

import numba
import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
    check_between,
)
from nao_testbed.controllers.schemas.library.fuzzy import (
    FuzzyController,
    FuzzySet,
    FuzzyVariable,
    Rule,
    triangle,
)
from nao_testbed.controllers.schemas.schema import PerceptiveSchema
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    GravityFilterCfg,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray

REACH_M = 0.04
"""Maximum height in m above the lowest sole point at which a sole point counts as
support: that of the inner edge of a foot when the robot tilts by 20 degrees over the
other foot."""
MIN_LOAD_NEWTON = 3.0
"""Minimum sum of the forces in N for a centre of pressure: one resolution step
(0.39 N [nao6-datasheet]) for each of the eight sensors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceState:
    """Balance at one observation; lengths in m, angles in rad."""

    tilt: float
    """Angle between the base's z axis and the vertical."""
    tilt_rate: float
    """Speed of the base about horizontal axes, in rad/s, not negative."""
    load_newton: float
    """Sum of the forces under the soles."""
    cop_margin: float
    """Margin of the centre of pressure in the hull of the soles' sensors, never
    negative; 0 without a load."""
    com_margin: float
    """Margin of the centre of mass."""
    capture_margin: float
    """Margin of the capture point."""
    heading: float
    """Direction of the capture point from the middle of the soles: 0 forwards, positive
    to the left."""


class Balance:
    """Balance estimator of one robot; call `step` at a fixed period."""

    def __init__(self, robot: Robot) -> None:
        """Build the kinematics of the soles.

        Raises:
            BadInput: the robot has no force sensors under its feet.
        """
        if not robot.force_sensors:
            raise BadInput(
                f"robot {robot.name!r} has no force sensors; balance requires sensors "
                "under the soles."
            )
        self._dynamics = Dynamics(robot, robot.force_sensors)
        self._imu = robot.imu.link
        self._filter = GravityFilter(GravityFilterCfg())

    def step(self, observation: Observation) -> BalanceState:
        """Process the newest observation."""
        dynamics = self._dynamics
        dynamics.update(observation.q)
        turn = dynamics.link_rotation(self._imu)
        up = turn @ self._filter.step(
            observation.time_s, observation.gyro, observation.accelerometer
        )
        load, cop, com, capture, heading, rate = _margins(
            dynamics.point_positions,
            observation.fsr,
            dynamics.com,
            up,
            turn @ observation.gyro,
        )
        return BalanceState(
            tilt=acos(min(1.0, max(-1.0, float(up[2])))),
            tilt_rate=rate,
            load_newton=load,
            cop_margin=cop,
            com_margin=com,
            capture_margin=capture,
            heading=heading,
        )


@numba.njit(cache=True)
def _margins(
    points: FloatArray,
    forces: FloatArray,
    com: FloatArray,
    up: FloatArray,
    omega: FloatArray,
) -> tuple[float, float, float, float, float, float]:
    """Return load; margins of cop, com, capture point; heading; tilt rate.

    Args:
        points: (n, 3) sensor positions of the soles, base frame, in m.
        forces: (n,) normal forces of the sensors in N.
        com: (3,) centre of mass, base frame, in m.
        up: (3,) unit vector of the vertical, base frame.
        omega: (3,) angular velocity of the base, base frame, in rad/s.
    """
    # Loops: numba needs seconds to compile array expressions and slices.
    # Axes of the horizontal plane: x ahead, y to the left.
    ahead, left = np.zeros(3), np.empty(3)
    ahead[0] = 1.0
    _remove(up[0], up, ahead)
    length = sqrt(_dot(ahead, ahead))
    if length < 1e-6:  # on its back or belly: any direction is forwards
        for i in range(3):
            ahead[i] = 1.0 if i == 1 else 0.0
        _remove(up[1], up, ahead)
        length = sqrt(_dot(ahead, ahead))
    for i in range(3):
        ahead[i] = ahead[i] / length
    _cross(up, ahead, left)
    n = len(points)
    heights = np.empty(n)
    flat = np.empty((n, 2))
    lowest, foot = np.inf, 0
    for k in range(n):
        heights[k] = _dot(points[k], up)
        flat[k, 0] = _dot(points[k], ahead)
        flat[k, 1] = _dot(points[k], left)
        if heights[k] < lowest:
            lowest, foot = heights[k], k
    corners = np.empty((n, 2))
    n_corners, middle_x, middle_y = 0, 0.0, 0.0
    load, x, y = 0.0, 0.0, 0.0
    for k in range(n):
        load += forces[k]
        x += forces[k] * flat[k, 0]
        y += forces[k] * flat[k, 1]
        if heights[k] <= lowest + REACH_M:
            corners[n_corners, 0] = flat[k, 0]
            corners[n_corners, 1] = flat[k, 1]
            middle_x += flat[k, 0]
            middle_y += flat[k, 1]
            n_corners += 1
    hull = corners[:n_corners]
    middle_x, middle_y = middle_x / n_corners, middle_y / n_corners

    cop = 0.0
    if load >= MIN_LOAD_NEWTON:
        cop = _margin(hull, x / load, y / load)

    c_x, c_y = _dot(com, ahead), _dot(com, left)
    h = max(_dot(com, up) - lowest, 0.0)
    # ċ = ω × r with r from the soles up to the centre of mass.
    r, v = np.empty(3), np.empty(3)
    for i in range(3):
        r[i] = com[i] - points[foot, i]
    _cross(omega, r, v)
    time = sqrt(h / GRAVITY)
    x = c_x + time * _dot(v, ahead)
    y = c_y + time * _dot(v, left)
    heading = atan2(y - middle_y, x - middle_x)
    spin = _dot(omega, up)
    rate = sqrt(max(0.0, _dot(omega, omega) - spin * spin))
    return load, cop, _margin(hull, c_x, c_y), _margin(hull, x, y), heading, rate


@numba.njit(cache=True)
def _dot(a: FloatArray, b: FloatArray) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@numba.njit(cache=True)
def _cross(a: FloatArray, b: FloatArray, result: FloatArray) -> None:
    result[0] = a[1] * b[2] - a[2] * b[1]
    result[1] = a[2] * b[0] - a[0] * b[2]
    result[2] = a[0] * b[1] - a[1] * b[0]


@numba.njit(cache=True)
def _remove(length: float, axis: FloatArray, vector: FloatArray) -> None:
    """Subtract this length along an axis from a vector."""
    for i in range(3):
        vector[i] -= length * axis[i]


@numba.njit(cache=True)
def _margin(points: FloatArray, x: float, y: float) -> float:
    """Return the distance of a point to the nearest edge of a convex hull, in m.

    Outside, the result is negative: minus the largest distance to the line of an edge.
    Points on one line have no inside: minus the distance to this line, or to the point
    if all coincide.

    Args:
        points: (n, 2) points of the hull, in m.
        x: x of the point, in m.
        y: y of the point, in m.
    """
    n = len(points)
    margin = np.inf
    for i in range(n):
        for j in range(n):
            e_x, e_y = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
            length = sqrt(e_x * e_x + e_y * e_y)
            if length < 1e-9:
                continue
            is_edge = True  # with all points to its left
            for k in range(n):
                side = e_x * (points[k, 1] - points[i, 1]) - e_y * (
                    points[k, 0] - points[i, 0]
                )
                if side < -1e-9 * length:
                    is_edge = False
                    break
            if is_edge:
                side = e_x * (y - points[i, 1]) - e_y * (x - points[i, 0])
                margin = min(margin, side / length)
    if margin < np.inf:
        return margin
    d_x, d_y = points[0, 0] - x, points[0, 1] - y
    return -sqrt(d_x * d_x + d_y * d_y)


@dataclass(frozen=True, kw_only=True)
class BalanceWatchParameters(Parameters):
    """Thresholds of `instability`, from 0 (stable) to 1 (falling)."""

    unstable_from: float = bounded(0.5, 0.0, 1.0)
    """Instability at which the robot counts as unstable, in [0, 1]."""
    stable_below: float = 0.35
    """Instability below which the robot counts as stable again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("stable_below", self.stable_below, 0.0, self.unstable_from)


class BalanceWatch(PerceptiveSchema[BalanceWatchParameters]):
    """Fuzzy estimate of the instability from both margins and the turning rate."""

    info = SchemaInfo(
        "balance watch",
        "Estimate how stable the robot is on its soles.",
        period_s=0.1,
        parameters=BalanceWatchParameters,
        outputs=(
            Variable(
                "instability", float, "From 0 (stable) to 1 (falling).", initial=0.0
            ),
            Variable(
                "is_unstable",
                bool,
                "True from high instability until it is low again.",
                initial=False,
            ),
            Variable(
                "cop_margin_m",
                float,
                "Distance of the centre of pressure to the edge of the soles' sensors.",
                unit="m",
                initial=0.0,
            ),
            Variable(
                "capture_margin_m",
                float,
                "Distance of the capture point to that edge; negative outside.",
                unit="m",
                initial=0.0,
            ),
            Variable(
                "is_on_soles",
                bool,
                "True if the soles carry the robot; otherwise no value is valid.",
                initial=False,
            ),
        ),
    )

    def start(self) -> None:
        """Build the rules."""
        self._balance = Balance(self.robot)
        self._rules = instability_rules()
        self._is_unstable = False

    def perceive(self) -> None:
        """Evaluate the newest observation."""
        seen = self._balance.step(self.observation)
        is_on_soles = seen.load_newton >= MIN_LOAD_NEWTON
        instability = self._rules.decide(
            {
                "pressure margin": seen.cop_margin,
                "capture margin": seen.capture_margin,
                "speed": degrees(seen.tilt_rate),
            }
        )
        now = self.parameters
        limit = now.stable_below if self._is_unstable else now.unstable_from
        self._is_unstable = is_on_soles and instability >= limit
        self.write("is_on_soles", is_on_soles)
        self.write("instability", instability if is_on_soles else 0.0)
        self.write("is_unstable", self._is_unstable)
        self.write("cop_margin_m", seen.cop_margin)
        self.write("capture_margin_m", seen.capture_margin)


def instability_rules() -> FuzzyController:
    """Return the rules from margins (m) and turning rate (degrees/s) to instability."""
    pressure = FuzzyVariable(
        name="pressure margin",
        low=0.0,
        high=0.05,
        words={
            "edge": FuzzySet(foot=0.0, rise=0.0, fall=0.003, end=0.015),
            "inside": FuzzySet(foot=0.003, rise=0.015, fall=0.05, end=0.05),
        },
    )
    capture = FuzzyVariable(
        name="capture margin",
        low=-0.1,
        high=0.1,
        words={
            "outside": FuzzySet(foot=-0.1, rise=-0.1, fall=-0.02, end=0.0),
            "edge": triangle(-0.02, 0.0, 0.025),
            "inside": FuzzySet(foot=0.0, rise=0.025, fall=0.1, end=0.1),
        },
    )
    speed = FuzzyVariable(
        name="speed",
        low=0.0,
        high=200.0,
        words={
            "slow": FuzzySet(foot=0.0, rise=0.0, fall=20.0, end=60.0),
            "quick": FuzzySet(foot=20.0, rise=60.0, fall=200.0, end=200.0),
        },
    )
    instability = FuzzyVariable(
        name="instability",
        low=-0.2,  # so that the centres of the outer fuzzy sets are 0 and 1
        high=1.2,
        words={
            "none": triangle(-0.2, 0.0, 0.2),
            "some": triangle(0.15, 0.35, 0.55),
            "much": triangle(0.45, 0.65, 0.85),
            "fall": triangle(0.8, 1.0, 1.2),
        },
    )
    rules = (
        Rule(when={"capture margin": "inside", "speed": "slow"}, then="none"),
        Rule(when={"capture margin": "inside", "speed": "quick"}, then="some"),
        Rule(when={"capture margin": "edge", "speed": "slow"}, then="some"),
        Rule(when={"capture margin": "edge", "speed": "quick"}, then="much"),
        Rule(when={"capture margin": "edge", "pressure margin": "edge"}, then="much"),
        Rule(when={"capture margin": "outside", "speed": "slow"}, then="much"),
        Rule(when={"capture margin": "outside", "speed": "quick"}, then="fall"),
    )
    return FuzzyController(
        (pressure, capture, speed), instability, rules, otherwise=0.0
    )
