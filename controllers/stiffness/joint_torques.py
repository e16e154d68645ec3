"""From equilibrium to joint torques (steps 670, 680, 690; ST-6, ST-17).

The document's simplified model, with L = [0; I] and W the forces of the ground **on**
the robot, reads in its joint rows

    -M̃(q) G = L τ + Cᵗ(q) W    =>    τ = [-M̃(q) G]_joints - [Cᵗ(q) W]_joints.

Where the document speaks of the *sum* of steps 640 and 680 it counts the forces of the
robot on the ground; with the forces on the robot the sum is this difference. τ is what
the motors must give: positive where it pushes the joint towards larger angles.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class JointTorques:
    """The joint torques and the two terms that they come from."""

    gravity_term: FloatArray
    """(n_joints,) joint rows of -M̃(q) G; of the whole left side in the full model."""
    contact_term: FloatArray
    """(n_joints,) joint rows of Cᵗ(q) W."""
    tau: FloatArray
    """(n_joints,) their difference, in N·m."""


def joint_torques(gravity_term: FloatArray, contact_term: FloatArray) -> JointTorques:
    """Return τ = gravity term - Cᵗ W.

    Args:
        gravity_term: (n_joints,) step 640, in N·m.
        contact_term: (n_joints,) steps 670 and 680, in N·m.
    """
    return JointTorques(
        gravity_term=gravity_term,
        contact_term=contact_term,
        tau=gravity_term - contact_term,  # step 690
    )
