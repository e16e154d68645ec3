"""The set-point of a joint that nobody commands any more: hold where it is.

    q* = clip(q*_in_force, q - a, q + a),   a = effort_limit / kp + encoder_step

a is the lag at which the servo, τ = kp (q* - q), already gives all that stiffness 1
allows. Clipping to it changes no torque, so a leg that carries weight does not sag. It
is 1 to 2 degrees on a NAO, so a joint on its way stops near where it is. The set-point
then stands still: the commanded velocity is zero.
"""

import numpy as np
from numpy.typing import NDArray

from models import Robot

FloatArray = NDArray[np.float64]


def holding_lags(robot: Robot) -> FloatArray:
    """Return the largest lag a of each joint's set-point, (n_joints,) in rad.

    Source of effort limits and gains: the robot's joint table. One encoder step is
    added, as the measured angle is a whole number of them.
    """
    return np.array(
        [joint.effort_limit / joint.kp + joint.encoder_step for joint in robot.joints]
    )


def hold(
    in_force: float, measured: float, lag: float, lower: float, upper: float
) -> float:
    """Return the set-point that holds a joint where it is, in rad.

    Args:
        in_force: set-point so far, in rad.
        measured: angle of the joint by its encoder, in rad.
        lag: largest distance between the two that is left, in rad.
        lower: lowest set-point that the joint accepts, in rad.
        upper: highest one, in rad. An encoder may read a little beyond either.
    """
    near = min(max(in_force, measured - lag), measured + lag)
    return min(max(near, lower), upper)
