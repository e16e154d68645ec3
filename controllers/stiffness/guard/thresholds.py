"""When the guard wakes, and how often the noise of sensors alone would wake it."""

from dataclasses import dataclass
from math import erfc, exp, pi, radians, sqrt

import numpy as np

from nao_testbed.controllers.interface.checked import Checked, Fraction
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, NotNegative, Positive

DEGREE = radians(1.0)
CYCLE_HZ = 50.0
"""Cycles a second in which a threshold may be crossed."""


@dataclass(frozen=True, kw_only=True)
class GuardCfg(Checked):
    """When the limit gives way, and for how long."""

    gyro_rad_s: Positive = 0.1
    """ω_0: 20 times the noise of a NAO's gyroscope, six times what a robot that stands
    was seen to turn; a push of 10 N for 0.2 s passes it within 40 ms."""
    cop_m: Positive = 0.03
    """c_0: 60 times the noise of the centre of pressure under a NAO. Soles that rattle
    on three corners move it by 10 mm, gears that slip after a motion by 22 mm."""
    cop_s: Positive = 0.04
    """Time constant of c, two cycles: they do so from one to the next."""
    mean_s: Positive = 1.0
    """Time constant of c̄: a robot that settles is slower, a push faster."""
    motion_share: NotNegative = 0.05
    """κ: moment of inertia of a NAO's arms about the shoulders to that of the robot
    about its soles; waving at 4.6 rad/s was seen to turn it by 0.14 rad/s."""
    motion_rad_s: Positive = 0.025
    """Speed of a set-point from which it is a motion, in rad/s: twice that of a shift
    that spares heat; the centre of pressure follows anything slower."""
    legs_rad_s: Positive = 0.05
    """Speed of a leg's set-point from which the limit gives way, in rad/s: above that
    with which shifts come and go when controllers change."""
    motion_s: NotNegative = 0.5
    """Time after a motion before c counts again and the limit of legs comes back."""
    hold_s: NotNegative = 2.0
    """Time without an alarm before the limit comes back: some swings of a robot on its
    soles, at 1 to 2 Hz."""
    release_s: Positive = 1.0
    """Time in which it comes back."""
    release_factor: Positive = 4.0
    """Factor on both thresholds while it does, and until the robot has settled."""
    settle_s: NotNegative = 1.0
    """Time of calm in which a robot settles after the start, in s: some swings."""
    settle_by_s: NotNegative = 10.0
    """Time after the start by which it counts as settled, calm or not."""
    sag_s: Positive = 0.3
    """Time constant of ē: the first cycles of a push hardly change it."""
    bound_rad: NotNegative = 3.0 * DEGREE
    """Largest shift of a set-point: as `minheat`'s; 0: set-points stay."""
    lean_share: Fraction = 0.6
    """k at the alarm: the lean comes two cycles late and rocks the robot if whole."""
    lean_s: NotNegative = 1.0
    """Time in which the lean fades: robots that fall do so in 0.5 to 1 s; 0: none."""
    load_m: Positive = 0.01
    """Distance of c from where it was before the alarm from which a load lasts, in m:
    10 mm are 5 N at the torso of a NAO."""
    margin: Fraction = 0.05
    """Torque beyond a limit, as a share of the largest, from which a load lasts."""
    try_s: Positive = 20.0
    """Time under a lasting load before the limits are lowered for a try, in s."""
    lower_s: Positive = 5.0
    """Time in which a try lowers them, in s: slow enough to see the robot yield."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.release_factor < 1.0:
            raise BadInput(
                f"release_factor = {self.release_factor}; give 1 or more: thresholds "
                "must not be lower while the limit comes back."
            )


def alarms_per_hour(robot: Robot, cfg: GuardCfg, lever: FloatArray) -> float:
    """Return how often noise alone would cross a threshold on a robot that stands.

    Noise is white and normal; a step s of a sensor counts as s / √12. With σ the
    largest standard deviation of an axis, |x| > n σ has in two dimensions the chance
    exp(-n²/2), in three erfc(n/√2) + √(2/π) n exp(-n²/2).

    Args:
        robot: whose sensors.
        cfg: the thresholds.
        lever: (n_force_sensors, 2) places of the force sensors in m.
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

    σ² = Σ_k (p_k σ_k)² / (m g)², with each sensor's noise and step: that of one
    cycle, of which the mean over `cop_s` has less.
    """
    if not len(lever):
        return 0.0
    variance = np.array(
        [s.noise_newton**2 + s.step_newton**2 / 12.0 for s in robot.force_sensors]
    )
    weight = robot.total_mass * GRAVITY
    return float(np.sqrt((variance @ lever**2).max())) / weight
