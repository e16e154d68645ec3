"""Disturbance wrench: forces on the soles beyond the robot's own weight.

ES2659053 splits the forces of the world into contacts and disturbances, W = W_contact +
W_disturbance [ES2659053T3 ¶fig.6], and puts the vertical part of the latter into B of A
Y = B (910, claim 7). The force sensors measure Y. So with A and B as in
`contact_forces.py`, A at the sensors and B of the weight and of all known loads,

    w = A Y - B = [P; M_x; M_y],

P in N, positive downward, and M_x = P (x - x_G), M_y = P (y - y_G) in N·m: a force P
that acts along the vertical line through (x, y). For a payload at rest P = m g, and B
plus w is that of the robot with its payload.

**Observable** from normal forces: these three numbers, i.e. the payload's mass and the
position of its centre on the ground. **Not observable**: its height, the link that
carries it, two horizontal forces and the moment about the vertical. M also cannot be
separated from other causes that move the centre of pressure: F h for a horizontal force
F at height h, or m g e for an error e of the computed centre of mass (at 10 mm 0.5 N·m,
which displaces 2 kg by 26 mm). The leg torques need only P and M: a vertical force acts
on each joint below it by its line of action alone. The torques of an arm that holds the
payload remain unknown.

**Only extra weight counts.** Any other support (hands on a table, a chair, a person
lifting the robot) reduces P at a point that the soles cannot locate. So w is used once
P exceeds a threshold, until P is below half of it.

**Threshold.** A sensor with the step s has an error of at most s / 2. White noise of
standard deviation σ per sample, after a low pass of time constant T sampled each dt,
keeps √(dt / 2T) of σ:

    P_0 = Σ_k s_k / 2 + 7 √(dt / 2T) √(Σ_k σ_k²).

For a NAO 1.77 N, which is 0.18 kg. The threshold does not cover wrong sensor gains, as
on real NAOs: `least_newton` raises it.

Assumptions: nearly still, over T; soles that touch with their sensors; rounding errors
within half a step, so no sensor is at the end of its range.
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray, NotNegative, Positive

NOISE_FACTOR = 7.0
"""Multiple of σ that white noise exceeds less than once in a year of cycles."""
CYCLE_S = 0.02
"""dt of the threshold."""
RELEASE = 0.5
"""Share of the threshold below which w is no longer used."""


@dataclass(frozen=True, kw_only=True)
class DisturbanceCfg(Checked):
    """Conditions for using the soles' forces."""

    mean_s: Positive = 1.0
    """T in s: averages out swings of a robot on its soles, at 1 to 2 Hz."""
    least_newton: NotNegative = 0.0
    """Minimum P for using w, in N, if it is above P_0."""


class DisturbanceEstimator:
    """Estimator of w of one robot: `step` each cycle, then read `wrench`, `is_used`."""

    def __init__(self, robot: Robot, cfg: DisturbanceCfg) -> None:
        self._cfg = cfg
        sensors = robot.force_sensors
        noise = sqrt(sum(sensor.noise_newton**2 for sensor in sensors))
        kept = sqrt(0.5 * CYCLE_S / cfg.mean_s)
        least = 0.5 * sum(s.step_newton for s in sensors) + NOISE_FACTOR * kept * noise
        self.threshold_newton: float = max(cfg.least_newton, least)
        """P_0, or the configured threshold if that is higher."""
        self.reset()

    def reset(self) -> None:
        """Clear the estimate."""
        self.wrench: FloatArray = np.zeros(3)
        """(3,) low-passed w: P in N downward, M_x and M_y in N·m about the robot's own
        centre of mass, axes as in `plane_axes`."""
        self.is_used = False
        """True if P exceeds the threshold."""
        self._time: float | None = None

    def step(
        self, time_s: float, A: FloatArray, B: FloatArray, forces: FloatArray
    ) -> None:
        """Process the newest forces.

        Args:
            time_s: time of the reading, in s.
            A: (3, n_force_sensors) of `balance_equation`, at the sensors.
            B: (3,) of `balance_equation`, for the weight and all known loads.
            forces: (n_force_sensors,) Y in N, finite.
        """
        dt = 0.0 if self._time is None else max(0.0, time_s - self._time)
        self._time = time_s
        w = A @ forces - B
        self.wrench = self.wrench + (1.0 - exp(-dt / self._cfg.mean_s)) * (
            w - self.wrench
        )
        least = self.threshold_newton * (RELEASE if self.is_used else 1.0)
        self.is_used = bool(self.wrench[0] > least)
