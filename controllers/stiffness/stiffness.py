"""From joint torques to stiffness (second logic, step 320; ST-18).

    stiffness_i = |τ_i| / τ_max,i + offset_i,    clipped to [0, 1].

τ_max is the torque that the joint gives at stiffness 1 (`robot.effort_limit`), so that
stiffness · τ_max covers the torque that equilibrium needs and the offset is the share
of τ_max kept for what the model leaves out: acceleration, friction, disturbances
[ES2659053T3 ¶320, claim 9].

Joints that share a motor share its limit: the two hip yaw-pitch joints of a NAO turn by
the same angle, so by virtual work their motor gives the sum of their torques. Both
joints get the larger of their own stiffness and that of the sum: never less than the
law gives a joint by itself, though only the sum loads the motor.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from models import Robot

FloatArray = NDArray[np.float64]


class StiffnessLaw:
    """The law of step 320 for one robot."""

    def __init__(self, robot: Robot) -> None:
        """Take the torque limits and the shared motors of `robot`."""
        self._tau_max: FloatArray = robot.effort_limit.copy()
        motor = robot.motor_of_joint
        # The next joint of the same motor, round and round; itself for most joints.
        self._next = np.arange(len(motor))
        for m in range(len(robot.motors)):
            (joints,) = np.nonzero(motor == m)
            self._next[joints] = np.roll(joints, -1)
        self._offset = np.zeros(len(motor))

    def share_of_limit(self, tau: FloatArray) -> FloatArray:
        """Return |τ_i| / τ_max,i, (n_joints,), with joints of one motor as one."""
        share: FloatArray = _share(tau, self._tau_max, self._next)
        return share

    def stiffness(
        self, share: FloatArray, offset: float | FloatArray
    ) -> tuple[FloatArray, bool]:
        """Add the offset and clip.

        Args:
            share: (n_joints,) from `share_of_limit`.
            offset: one for all joints, or (n_joints,).

        Returns:
            (n_joints,) stiffness in [0, 1], and whether equilibrium alone, without
            offset, asks for more than a joint's limit.
        """
        self._offset[:] = offset
        stiffness, is_clipped = _stiffness(share, self._offset)
        return stiffness, is_clipped


@numba.njit(cache=True)
def _share(
    tau: FloatArray, tau_max: FloatArray, following: NDArray[np.intp]
) -> FloatArray:
    """Return the share of the limit that each joint's motor has to give."""
    share = np.empty(len(tau))
    for i in range(len(tau)):
        of_motor, j = tau[i], following[i]
        while j != i:
            of_motor += tau[j]
            j = following[j]
        largest = max(abs(tau[i]), abs(of_motor)) / tau_max[i]
        j = following[i]
        while j != i:
            largest = max(largest, max(abs(tau[j]), abs(of_motor)) / tau_max[j])
            j = following[j]
        share[i] = largest
    return share


@numba.njit(cache=True)
def _stiffness(share: FloatArray, offset: FloatArray) -> tuple[FloatArray, bool]:
    """Return clip(share + offset), and whether a share is above 1."""
    stiffness, is_clipped = np.empty(len(share)), False
    for i in range(len(share)):
        stiffness[i] = min(max(share[i] + offset[i], 0.0), 1.0)
        is_clipped |= share[i] > 1.0
    return stiffness, is_clipped
