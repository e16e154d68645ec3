"""Thresholds of the guard, and the alarm rate from sensor noise alone."""

from dataclasses import dataclass
from math import erfc, exp, pi, radians, sqrt

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, Fraction, NotNegative, Positive

DEGREE = radians(1.0)
CYCLE_HZ = 50.0
"""Cycles per second at which a threshold may be crossed."""


@dataclass(frozen=True, kw_only=True)
class GuardCfg(Checked):
    """Conditions and durations for raising the limit."""

    gyro_rad_s: Positive = 0.1
    """ω_0 in rad/s: 20 times the noise of a NAO's gyroscope, six times the rate at
    rest; a push of 10 N for 0.2 s exceeds it within 40 ms."""
    cop_m: Positive = 0.03
    """c_0 in m: 60 times the noise of a NAO's centre of pressure. Soles rattling on
    three corners move it by 10 mm, gears slipping after a motion by 22 mm."""
    cop_s: Positive = 0.04
    """Time constant of c in s: two cycles, since rattling soles change c from cycle to
    cycle."""
    mean_s: Positive = 1.0
    """Time constant of c̄ in s: slower than a push, faster than settling."""
    motion_share: NotNegative = 0.05
    """κ: moment of inertia of a NAO's arms about the shoulders to that of the robot
    about its soles; waving at 4.6 rad/s turned it by 0.14 rad/s."""
    motion_rad_s: Positive = 0.025
    """Set-point speed above which a set-point counts as moving, in rad/s: twice that
    of a shift that reduces heat; the centre of pressure follows anything slower."""
    legs_rad_s: Positive = 0.05
    """Leg set-point speed above which the limit is raised, in rad/s: faster than the
    shifts when controllers change."""
    motion_s: NotNegative = 0.5
    """Time in s after a motion before c is used again and the leg limits return."""
    hold_s: NotNegative = 2.0
    """Time in s without an alarm before the limit returns: some swings of a robot on
    its soles, at 1 to 2 Hz."""
    release_s: Positive = 1.0
    """Time in s within which the limit returns."""
    release_factor: Positive = 4.0
    """Factor on both thresholds while the limit returns, and until settled."""
    settle_s: NotNegative = 1.0
    """Calm time after the start that counts as settled, in s: some swings."""
    settle_by_s: NotNegative = 10.0
    """Time after the start when the robot counts as settled in any case, in s."""
    sag_s: Positive = 0.3
    """Time constant of ē in s: the first cycles of a push hardly change it."""
    bound_rad: NotNegative = 3.0 * DEGREE
    """Maximum shift of a set-point in rad, as in `minheat`; 0: no shift."""
    lean_share: Fraction = 0.6
    """k at the alarm: the lean is two cycles late, and a full lean rocks the robot."""
    lean_s: NotNegative = 1.0
    """Time in s in which the lean fades: falls take 0.5 to 1 s; 0: no lean."""
    load_m: Positive = 0.01
    """Distance of c from its position before the alarm above which a load lasts, in
    m: 10 mm are 5 N at the torso of a NAO."""
    margin: Fraction = 0.05
    """Torque beyond a limit, as a share of the maximum, above which a load lasts."""
    try_s: Positive = 20.0
    """Time in s under a lasting load before a try lowers the limits."""
    lower_s: Positive = 5.0
    """Duration of a try in s: slow enough to detect that the robot yields."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.release_factor < 1.0:
            raise BadInput(
                f"release_factor = {self.release_factor}; give 1 or more: thresholds "
                "must not be lower while the limit is restored."
            )


def alarms_per_hour(robot: Robot, cfg: GuardCfg, lever: FloatArray) -> float:
    """Return the expected rate of noise alarms on a robot at rest, per hour.

    Noise is white and normal; a step s of a sensor counts as s / √12. With σ the
    largest standard deviation of an axis, the probability of |x| > n σ is exp(-n²/2) in
    two dimensions, and erfc(n/√2) + √(2/π) n exp(-n²/2) in three.

    Args:
        robot: source of the sensor data.
        cfg: the thresholds.
        lever: (n_force_sensors, 2) positions of the force sensors in m.
    """
    alarms = 0.0
    sigma = robot.imu.gyro_noise * (1.0 + robot.imu.gyro_gain_error)
    if sigma > 0.0:
        n = cfg.gyro_rad_s / sigma
        alarms += erfc(n / sqrt(2.0)) + sqrt(2.0 / pi) * n * exp(-0.5 * n * n)
    sigma = cop_noise(robot, lever)
    if sigma > 0.0:
        n = cfg.cop_m / sigma
        alarms += exp(-0.5 * n * n)
    return 3600.0 * CYCLE_HZ * alarms


def cop_noise(robot: Robot, lever: FloatArray) -> float:
    """Return the standard deviation of the centre of pressure in m, larger axis.

    σ² = Σ_k (p_k σ_k)² / (m g)², with each sensor's noise and step, for one cycle; the
    mean over `cop_s` has less.
    """
    if not len(lever):
        return 0.0
    variance = np.array(
        [s.noise_newton**2 + s.step_newton**2 / 12.0 for s in robot.force_sensors]
    )
    weight = robot.total_mass * GRAVITY
    return float(np.sqrt((variance @ lever**2).max())) / weight
