"""Vertical and virtual ground plane, with a cross-check of the IMU (610, 630).

**The vertical.** A complementary filter on the unit vector u that points up, after
Mahony [mahony2008], reduced to the direction that gravity determines:

    u̇ = u x ω + (a/|a| - u) / T,

where ω is the gyroscope reading and a the accelerometer reading (specific force). The
gyroscope propagates u through fast motions. The accelerometer corrects u with the time
constant T, only while |a| is close to g: a robot that is pushed or falls does not
measure gravity.

**The plane** is normal to gravity as the inertial unit measures it. The contacts give a
second estimate: the pressed points under the soles lie in one plane, and kinematics
gives the orientation of that plane relative to the torso. On level ground both agree.
**On a slope they differ by its angle, which is correct**: the virtual plane stays
level, the soles do not. So a difference up to `doubt_rad`, which must exceed the slopes
that the robot walks on, is treated as a slope and the inertial unit is used. A small
tilt error cannot be distinguished from a slope on board. A larger difference, or an
accelerometer that does not measure gravity (dead, saturated, upside down), puts the
inertial unit in doubt: a flag is raised and the kinematic vertical is used
(`on_doubt`).

A robot that tips over an edge of its soles must not be mistaken for an upright robot
with a broken sensor. Then only points along that edge are pressed, and collinear points
define no plane: there is no second estimate, and the inertial unit is used.
"""

from dataclasses import dataclass, field
from enum import Enum
from math import acos, cos, exp, hypot, pi, sqrt
from typing import Annotated, Literal

import numba
import numpy as np
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.controllers.stiffness.flags import StiffnessFlag
from nao_testbed.models.values import FloatArray, Positive


@dataclass(frozen=True, kw_only=True)
class GravityFilterCfg(Checked):
    """Parameters of the filter."""

    time_constant_s: Positive = 0.5
    """T in s: slower than the swing of a pushed robot, faster than gyroscope drift."""
    trust_fraction: Positive = 0.2
    """The accelerometer is used while ||a| - g| is below this share of g. Covers the
    10 % of gain error that the data sheet allows [nao6-datasheet] and as much
    motion."""
    stale_after_s: Positive = 1.0
    """Time without a plausible reading after which the vertical is untrusted, in s;
    the gyroscope alone stays within a few degrees for that long."""
    longest_gap_s: float = 0.25
    """Longest time between two observations, in s; a longer gap restarts the filter."""


class GravityFilter:
    """Filter of the vertical; one instance per robot, `step` at every observation.

    State is kept as plain floats: for three numbers they are faster than an array.
    """

    def __init__(self, cfg: GravityFilterCfg) -> None:
        self._cfg = cfg
        self.reset()

    def reset(self) -> None:
        """Clear the vertical; the next reading sets it."""
        self._time: float | None = None
        self._u: tuple[float, float, float] | None = None
        self._stale_s = 0.0

    @property
    def is_trusted(self) -> bool:
        """Return True if a plausible accelerometer reading is recent enough."""
        return self._u is not None and self._stale_s <= self._cfg.stale_after_s

    def step(
        self, time_s: float, gyro: FloatArray, accelerometer: FloatArray
    ) -> FloatArray:
        """Process one reading and return the vertical.

        Args:
            time_s: time of the reading, in s.
            gyro: (3,) in rad/s, IMU frame.
            accelerometer: (3,) in m/s², IMU frame.

        Returns:
            (3,) unit vector up in the IMU frame; before a plausible reading its z axis.
        """
        dt = 0.0 if self._time is None else time_s - self._time
        self._time = time_s
        if dt < 0.0 or dt > self._cfg.longest_gap_s:
            self._u, dt = None, 0.0

        ax, ay, az = accelerometer.tolist()
        norm = sqrt(ax * ax + ay * ay + az * az)
        believable = abs(norm - GRAVITY) < self._cfg.trust_fraction * GRAVITY
        if self._u is None:
            self._stale_s = 0.0 if believable else float("inf")
            if believable:
                self._u = (ax / norm, ay / norm, az / norm)
            return np.array(self._u or (0.0, 0.0, 1.0))

        ux, uy, uz = self._u
        wx, wy, wz = gyro.tolist()
        x = ux + dt * (uy * wz - uz * wy)  # u + dt (u x ω)
        y = uy + dt * (uz * wx - ux * wz)
        z = uz + dt * (ux * wy - uy * wx)
        if believable:
            k = 1.0 - exp(-dt / self._cfg.time_constant_s)
            x += k * (ax / norm - x)
            y += k * (ay / norm - y)
            z += k * (az / norm - z)
            self._stale_s = 0.0
        else:
            self._stale_s += dt
        length = hypot(x, y, z)
        if length < 1e-6:  # u and a opposite: start again from the accelerometer
            self._u = None
            return self.step(time_s, gyro, accelerometer)
        self._u = (x / length, y / length, z / length)
        return np.array(self._u)


_UNTRUSTED = int(StiffnessFlag.IMU_UNTRUSTED)
_DISAGREES = int(StiffnessFlag.IMU_DISAGREES)


class VerticalSource(Enum):
    """Source of the vertical in use."""

    IMU = "imu"
    KINEMATICS = "kinematics"


@dataclass(frozen=True, kw_only=True)
class GroundPlaneCfg(Checked):
    """Parameters of the ground plane and of its cross-check."""

    filter: GravityFilterCfg = field(default_factory=GravityFilterCfg)
    doubt_rad: Annotated[float, Field(gt=0.0, le=pi)] = 0.26
    """Angle (15°) between the verticals above which the IMU is in doubt; larger than
    the steepest slope of use (10°) plus the play of the leg joints (3°)."""
    doubt_ends: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
    """Share of `doubt_rad` below which the doubt ends."""
    on_doubt: Literal["kinematics", "imu"] = "kinematics"
    """Vertical used while in doubt; the flag is raised in both cases."""
    pressed_newton: float = 0.6
    """Force from which a point under a sole counts as pressed: above one step of the
    sensor, 40 g [nao6-datasheet]."""
    narrowest_m: float = 0.01
    """Minimum spread (standard deviation) of the pressed points across their longest
    direction, in m; narrower patterns give no plane."""
    roughest_m: float = 0.004
    """Maximum spread of the pressed points off their plane, in m, reached by soles
    turned by 4°. Rougher patterns (a heel and a flat foot) give no plane."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroundPlane:
    """Virtual plane: its normal, the source and the agreement of the two verticals."""

    up: FloatArray
    """(3,) unit normal in the base frame, against gravity."""
    source: VerticalSource
    difference_rad: float | None
    """Angle between the two verticals; None where the contacts give no plane."""
    flags: int
    """`StiffnessFlag` bits."""


def fit_sole_plane(
    points: FloatArray,
    com: FloatArray,
    cfg: GroundPlaneCfg,
    force: FloatArray | None = None,
) -> FloatArray | None:
    """Return the normal of the plane through pressed sole points, towards the body.

    The direction of smallest spread: the eigenvector of the smallest eigenvalue of the
    points' covariance.

    Args:
        points: (n, 3) positions in the base frame, in m.
        com: (3,) centre of mass of the robot, in m: the normal points to its side.
        cfg: limits on the spread and flatness of the points.
        force: (n,) on each point, in N; None: all are pressed.

    Returns:
        (3,) unit vector, or None where the points define no plane.
    """
    if force is None:
        force = np.full(len(points), cfg.pressed_newton)
        points, com = points.copy(), com.copy()  # contiguous: one kernel variant
    is_plane, normal = _fit_pressed_points(
        points, force, com, cfg.pressed_newton, cfg.narrowest_m, cfg.roughest_m
    )
    return normal if is_plane else None


@numba.njit(cache=True)
def least_direction(C: FloatArray) -> tuple[float, float, FloatArray]:
    """Return the direction in which a symmetric matrix is smallest.

    The eigenvalues are the closed form of [smith1961]: with m = tr C / 3, p² = ‖C - m
    I‖² / 6 and cos 3φ = det((C - m I) / p) / 2,

        λ_2 = m + 2 p cos φ,    λ_0 = m + 2 p cos(φ + 2π/3),    λ_1 = 3 m - λ_0 - λ_2.

    The eigenvector of λ_0 is orthogonal to the rows of C - λ_0 I; the longest cross
    product of two rows is used. It is meaningful only while λ_0 and λ_1 differ.

    Args:
        C: (3, 3) symmetric.

    Returns:
        λ_0, λ_1 (the smallest eigenvalue and the next), and (3,) the unit eigenvector
        of λ_0.
    """
    m = (C[0, 0] + C[1, 1] + C[2, 2]) / 3.0
    xx, yy, zz = C[0, 0] - m, C[1, 1] - m, C[2, 2] - m
    xy, xz, yz = C[0, 1], C[0, 2], C[1, 2]
    p = sqrt((xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    n = np.array((0.0, 0.0, 1.0))
    if p == 0.0:
        return m, m, n
    det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    phi = acos(min(1.0, max(-1.0, 0.5 * det / (p * p * p)))) / 3.0
    least = m + 2.0 * p * cos(phi + 2.0 * pi / 3.0)
    middle = 3.0 * m - least - (m + 2.0 * p * cos(phi))
    longest = 0.0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ax, ay, az = C[i, 0], C[i, 1], C[i, 2]
        bx, by, bz = C[j, 0], C[j, 1], C[j, 2]
        if i == 0:
            ax -= least
        else:
            ay -= least
        if j == 1:
            by -= least
        else:
            bz -= least
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        length = sqrt(x * x + y * y + z * z)
        if length > longest:
            longest = length
            n[0], n[1], n[2] = x / length, y / length, z / length
    return least, middle, n


@numba.njit(cache=True)
def _fit_pressed_points(
    points: FloatArray,
    force: FloatArray,
    com: FloatArray,
    least_force: float,
    narrowest: float,
    roughest: float,
) -> tuple[bool, FloatArray]:
    """Return True if the pressed points define a plane, and its normal, (3,)."""
    centre, n = np.zeros(3), 0
    for k in range(len(points)):
        if force[k] >= least_force:
            centre += points[k]
            n += 1
    if n < 3:
        return False, centre
    centre /= n
    covariance = np.zeros((3, 3))
    for k in range(len(points)):
        if force[k] >= least_force:
            d = points[k] - centre
            for i in range(3):
                for j in range(3):
                    covariance[i, j] += d[i] * d[j] / n
    least, middle, normal = least_direction(covariance)
    if middle < narrowest**2 or least > roughest**2:
        return False, normal
    side = 0.0
    for i in range(3):
        side += normal[i] * (com[i] - centre[i])
    return True, normal if side > 0.0 else -normal


class VerticalSelector:
    """Selection between the two verticals; keeps the doubt as its only state."""

    def __init__(self, cfg: GroundPlaneCfg) -> None:
        self._cfg = cfg
        self._in_doubt = False

    def reset(self) -> None:
        """Clear the doubt."""
        self._in_doubt = False

    def select(
        self, imu_up: FloatArray, imu_trusted: bool, sole_up: FloatArray | None
    ) -> GroundPlane:
        """Return the plane to use.

        Args:
            imu_up: (3,) unit vector up from the inertial unit, base frame.
            imu_trusted: False without a recent plausible reading.
            sole_up: (3,) unit normal of the pressed soles, base frame, or None.
        """
        flags = 0 if imu_trusted else _UNTRUSTED
        if sole_up is None:
            self._in_doubt = False
            return GroundPlane(
                up=imu_up, source=VerticalSource.IMU, difference_rad=None, flags=flags
            )
        cosine = float(imu_up @ sole_up)
        difference = acos(min(1.0, max(-1.0, cosine)))
        threshold = self._cfg.doubt_rad
        if self._in_doubt:
            threshold *= self._cfg.doubt_ends
        self._in_doubt = difference > threshold
        if self._in_doubt:
            flags |= _DISAGREES
        doubted = self._in_doubt or not imu_trusted
        use_soles = doubted and self._cfg.on_doubt == "kinematics"
        return GroundPlane(
            up=sole_up if use_soles else imu_up,
            source=VerticalSource.KINEMATICS if use_soles else VerticalSource.IMU,
            difference_rad=difference,
            flags=flags,
        )
