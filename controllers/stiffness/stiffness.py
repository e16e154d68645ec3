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
        self._shared = [
            [robot.joint_index(name) for name in motor.joints]
            for motor in robot.motors
            if len(motor.joints) > 1
        ]

    def share_of_limit(self, tau: FloatArray) -> FloatArray:
        """Return |τ_i| / τ_max,i, (n_joints,), with joints of one motor as one."""
        share = np.abs(tau) / self._tau_max
        for joints in self._shared:
            together = abs(sum(tau[i] for i in joints)) / min(
                self._tau_max[i] for i in joints
            )
            share[joints] = max(together, *(share[i] for i in joints))
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
        stiffness = np.minimum(np.maximum(share + offset, 0.0), 1.0)
        return stiffness, bool(share.max(initial=0.0) > 1.0)
