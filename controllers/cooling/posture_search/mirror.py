"""Which joints mirror each other, found from the robot's own geometry.

A reflection in the base's plane y = 0, M = diag(1, -1, 1), takes a turn by θ about an
axis a at p to one by -θ about M a at M p. So joint j mirrors joint i where, with all
angles 0, p_j = M p_i and a_j = ±M a_i; then θ_j = s θ_i with s = -(M a_i) · a_j.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from models import Robot

FloatArray = NDArray[np.float64]

ALIKE = 1e-3
"""How well places (m) and axes must agree."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorPair:
    """Two joints, left and right, or one joint that mirrors itself."""

    joint: int
    """Place of the one in joint order."""
    other: int
    """Place of the other; the same for a joint in the plane."""
    sign: float
    """θ_other = sign · θ_joint in a symmetric posture."""


def find_mirror_pairs(robot: Robot) -> tuple[MirrorPair, ...]:
    """Return the pairs of `robot`; joints without a mirror image are in none."""
    places, axes = _joint_axes(robot)
    M = np.array((1.0, -1.0, 1.0))
    pairs, taken = [], set[int]()
    for i in range(len(places)):
        if i in taken:
            continue
        reflected = M * axes[i]
        for j in range(i, len(places)):
            cosine = float(reflected @ axes[j])
            is_place = np.abs(places[j] - M * places[i]).max() < ALIKE
            if j not in taken and is_place and abs(abs(cosine) - 1.0) < ALIKE:
                pairs.append(MirrorPair(joint=i, other=j, sign=-np.sign(cosine)))
                taken |= {i, j}
                break
    return tuple(pairs)


def is_symmetric(pair: MirrorPair, angles: FloatArray) -> bool:
    """Whether the two angles mirror each other within `ALIKE` rad."""
    difference = angles[pair.other] - pair.sign * angles[pair.joint]
    return bool(abs(difference) < ALIKE)


def _joint_axes(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Return (n_joints, 3) places in m and unit axes, in the base frame, angles 0."""
    model = pin.buildModelFromUrdf(
        str(robot.urdf), pin.JointModelFreeFlyer(), mimic=False
    )
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    places, axes = [], []
    for name in robot.joint_names:
        j = model.getJointId(name)
        places.append(np.array(data.oMi[j].translation))
        axes.append(np.array(data.J[3:, model.idx_vs[j]]))
    return np.array(places), np.array(axes)
