"""From joint torques to stiffness (second logic, step 320; ST-18).

    stiffness_i = |τ_i| / τ_max,i + offset_i,    clipped to [0, 1].

τ_max is the torque that the joint gives at stiffness 1 (`robot.effort_limit`), so that
stiffness · τ_max covers the torque that equilibrium needs and the offset is the share
of τ_max kept for what the model leaves out: acceleration, friction, disturbances
[ES2659053T3 ¶320, claim 9].

Joints that share a motor share its limit: the two hip yaw-pitch joints of a NAO turn by
the same angle, so by virtual work their motor gives the sum of their torques. Both
joints get the larger of their own stiffness and that of the sum: enough for one motor
on both, and for a simulation that drives them one by one.
"""

import numpy as np
from numpy.typing import NDArray

from models import Robot

FloatArray = NDArray[np.float64]


class StiffnessLaw:
    """The law of step 320 for one robot."""

    def __init__(self, robot: Robot) -> None:
        """Take the torque limits and the shared motors of `robot`."""
        self._tau_max: FloatArray = robot.effort_limit
        motor = robot.motor_of_joint
        self._same_motor = (motor[:, None] == motor).astype(np.float64)
        self._most_joints = int(self._same_motor.sum(axis=1).max(initial=0.0))
        # The next joint of the same motor, round and round; itself for most joints.
        self._next = np.arange(len(motor))
        for m in range(len(robot.motors)):
            (joints,) = np.nonzero(motor == m)
            self._next[joints] = np.roll(joints, -1)

    def share_of_limit(self, tau: FloatArray) -> FloatArray:
        """Return |τ_i| / τ_max,i, (n_joints,), with joints of one motor as one."""
        of_motor = self._same_motor @ tau
        share = np.maximum(np.abs(tau), np.abs(of_motor)) / self._tau_max
        for _ in range(self._most_joints - 1):
            share = np.maximum(share, share[self._next])
        return np.asarray(share)

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
        stiffness = np.minimum(np.maximum(share + offset, 0.0), 1.0)
        return stiffness, bool(share.max(initial=0.0) > 1.0)
