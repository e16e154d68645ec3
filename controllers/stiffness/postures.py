"""The closest typical posture and its list of effectors (step 650, ST-12).

The robot is compared with stored postures, each of which says which body parts carry
it. Similarity is the root mean square of the angle differences,

    d = sqrt(Σ_i w_i (q_i - q̂_i)² / Σ_i w_i),

and the closest posture counts only when d is within a threshold: "if there is one"
[ES2659053T3 claim 6]. The weights w are 1, and 0 for hands and wrists, which tell
nothing about what carries the robot.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from models import BadInput, Posture, Robot

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class PostureCfg:
    """The similarity criterion."""

    threshold_rad: float = 0.3
    """Root mean square difference below which a typical posture is close, in rad; 0 for
    never. The typical postures of the NAO are 0.38 or more apart, but for StandInit and
    PoseInit (0.04), whose effectors are the same."""
    ignored_joints: tuple[str, ...] = ("LHand", "RHand", "LWristYaw", "RWristYaw")
    """Joints that do not count; names that the robot does not have are skipped."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        if not self.threshold_rad >= 0.0:
            raise BadInput(
                f"threshold_rad = {self.threshold_rad} rad; give 0 (never) or more."
            )


class PostureMatcher:
    """Finds the closest typical posture of one robot."""

    def __init__(self, robot: Robot, cfg: PostureCfg) -> None:
        """Stack the postures that list effectors."""
        self._cfg = cfg
        typical = [p for p in robot.postures.values() if p.effectors]
        self._postures: tuple[Posture, ...] = tuple(typical)
        self._angles = np.array([p.angles for p in typical]).reshape(
            len(typical), len(robot.joints)
        )
        counts = [name not in cfg.ignored_joints for name in robot.joint_names]
        self._weight: FloatArray = np.array(counts, dtype=np.float64)
        self._weight /= max(1.0, self._weight.sum())
        self._any: BoolArray = np.ones(len(robot.contact_points), dtype=np.bool_)
        self._listed: Mapping[str, BoolArray] = {
            posture.name: np.array(
                [point.effector in posture.effectors for point in robot.contact_points]
            )
            for posture in typical
        }

    def closest(self, q: FloatArray) -> Posture | None:
        """Return the typical posture most like `q`, (n_joints,), if there is one."""
        if not self._postures:
            return None
        best, mean_square = _closest(self._angles, self._weight, q)
        if mean_square >= self._cfg.threshold_rad**2:
            return None
        return self._postures[best]

    def listed(self, posture: Posture | None) -> BoolArray:
        """Return which candidate points belong to the effectors of `posture`.

        Returns:
            (n_points,) booleans, all true without a posture.
        """
        return self._any if posture is None else self._listed[posture.name]


@numba.njit(cache=True)
def _closest(
    angles: FloatArray, weight: FloatArray, q: FloatArray
) -> tuple[int, float]:
    """Return the row of `angles` with the least d², and that d² in rad².

    Args:
        angles: (n_postures, n_joints) q̂ of each posture, one or more.
        weight: (n_joints,) w / Σ w.
        q: (n_joints,).
    """
    best, least = 0, np.inf
    for row in range(len(angles)):
        mean_square = 0.0
        for i in range(len(q)):
            difference = q[i] - angles[row, i]
            mean_square += weight[i] * difference * difference
        if mean_square < least:
            best, least = row, mean_square
    return best, least
