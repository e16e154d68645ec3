"""Sign of a motor's current, which NAOqi does not report.

A servo gives the torque T = kp (θ* - θ), and its current is I = T / K. NAOqi reports
|I|, the set-point θ* and the angle θ_n, counted in steps Δ of an encoder on the joint's
side; the servo counts in finer steps. A sign s explains an angle if

    r_s = max(|θ* - θ_n - s K |I| / kp| - Δ/2, 0)

is small. Both signs do if the torque is below kp Δ/2, 0.12 N·m on a NAO's leg. In this
case past readings decide. A torque changes its sign only at zero, so the evidence for
one sign over the other is kept until the current has vanished:

    ℓ  = (r₋² - r₊²) / (2 σ²)            within ± ℓ_max
    λ' = ℓ / t_e - λ / t_f               within ± λ_max
    I  = |I| λ / λ_s                     within ± |I|

λ is the logarithm of the odds of + over -. While the sign is unknown, I is near 0; the
sign becomes known when the set-point moves through a step of the encoder. The bound of
ℓ prevents that one wrong reading reverses a sign.

Assumptions: kp and K of the robot's data are accurate enough to decide between the
signs; the set-point moves slowly enough that the joint follows.
"""

import numpy as np

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray

EVIDENCE_S = 0.1
"""t_e: readings closer in time than this count as one, in s."""
SMALLEST_STEP = 1e-4
"""Smallest encoder step for σ, in rad: a model may have step 0."""
START_S = 0.2
"""Assumed duration of the first reading, in s."""
SIGMA_STEPS = 0.25
"""σ in encoder steps: noise of the current, error of kp."""
MAX_READING = 4.5
"""ℓ_max, of a reading 3 σ off: 0.3 s of readings reverse a certain sign."""
SURE_EVIDENCE = 4.0
"""λ_s, above which a sign counts as known: odds of 55 to 1."""
MAX_EVIDENCE = 8.0
"""λ_max: upper bound of the evidence, which a later change of sign must outweigh."""
FORGET_S = 0.2
"""t_f while the current is near zero, in s."""
KEEP_S = 60.0
"""t_f otherwise."""
VANISHED_SIGMAS = 1.5
"""Number of standard deviations of its noise below which a current counts as zero."""
SIZE_S = 0.2
"""Time constant of the low pass of |I|, in s."""


class CurrentSign:
    """Estimator of the signs of one robot's currents; `step` at every observation."""

    def __init__(self, robot: Robot) -> None:
        """Start without evidence."""
        lead = [robot.joints[j] for j in robot.lead_joints]
        constant = np.array([m.one_node.torque_constant for m in robot.motors])
        self._error_by_current = constant / np.array([joint.kp for joint in lead])
        self._step = np.array([joint.encoder_step for joint in lead])
        self._sigma = SIGMA_STEPS * np.maximum(self._step, SMALLEST_STEP)
        self._vanished = VANISHED_SIGMAS * robot.sensor_rates.current_noise
        self._evidence: FloatArray = np.zeros(len(robot.motors))
        self._size: FloatArray | None = None

    def step(self, size: FloatArray, error: FloatArray, dt: float) -> FloatArray:
        """Return the expected currents, (n_motors,) in A, signed as the torques.

        Args:
            size: (n_motors,) |I| in A.
            error: (n_motors,) set-points minus angles, in rad.
            dt: time since the last call in s.
        """
        if self._size is None:
            self._size, dt = size, START_S
        self._size = self._size + (1.0 - np.exp(-dt / SIZE_S)) * (size - self._size)
        expected = self._error_by_current * size
        plus = self._unexplained(error - expected)
        minus = self._unexplained(error + expected)
        reading = np.clip(0.5 * (minus**2 - plus**2), -MAX_READING, MAX_READING)
        keep_s = np.where(self._size < self._vanished, FORGET_S, KEEP_S)
        evidence = self._evidence * np.exp(-dt / keep_s) + reading * dt / EVIDENCE_S
        self._evidence = np.clip(evidence, -MAX_EVIDENCE, MAX_EVIDENCE)
        signed: FloatArray = size * np.clip(self._evidence / SURE_EVIDENCE, -1.0, 1.0)
        return signed

    def _unexplained(self, error: FloatArray) -> FloatArray:
        """Return r / σ of errors in rad."""
        beyond = np.maximum(np.abs(error) - 0.5 * self._step, 0.0)
        found: FloatArray = beyond / self._sigma
        return found
