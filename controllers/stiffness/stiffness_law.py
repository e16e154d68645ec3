"""Stiffness from joint torques (step 320 of ES2659053), and rules that apply it.

    stiffness_i = |τ_i| / τ_max,i + offset_i,    clipped to [0, 1].

τ_max is the torque that the joint gives at stiffness 1 (`robot.effort_limit`), so that
stiffness · τ_max covers the torque for equilibrium. The offset is the share of τ_max
for unmodelled torques: acceleration, friction, disturbances [ES2659053T3 ¶320, claim
9].

Joints on one shaft share its motor's limit: the two hip yaw-pitch joints of a NAO turn
by the same angle, so by virtual work their motor gives the sum of their torques. Both
joints get the larger of their own stiffness and that of the sum. The result is never
below the law for a single joint, although only the sum loads the motor.

Two rules apply the result. In ES2659053 the computed stiffness is in force, in every
posture and in motion. In NAO's own software [naoqi-smart-stiffness], it applies only in
static postures; the user's value caps the computed one; and while a joint moves, the
user's stiffness is in force for all joints (an older text says: for that joint).
"""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.flags import StiffnessFlag
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, Fraction, NotNegative, Positive


class StiffnessLaw:
    """Law of step 320 for one robot."""

    def __init__(self, robot: Robot) -> None:
        self._tau_max: FloatArray = robot.effort_limit.copy()
        motor = robot.servo_of_joint
        # The next joint of the same motor, cyclic; itself for most joints.
        self._next = np.arange(len(motor))
        for m in range(len(robot.servos)):
            (joints,) = np.nonzero(motor == m)
            self._next[joints] = np.roll(joints, -1)
        self._offset = np.zeros(len(motor))

    def share_of_limit(self, tau: FloatArray) -> FloatArray:
        """Return |τ_i| / τ_max,i, (n_joints,); joints of one motor are combined."""
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
            (n_joints,) stiffness in [0, 1], and True if equilibrium alone, without
            offset, exceeds a joint's limit.
        """
        self._offset[:] = offset
        stiffness, is_clipped = _stiffness(share, self._offset)
        return stiffness, is_clipped


@numba.njit(cache=True)
def _share(
    tau: FloatArray, tau_max: FloatArray, following: NDArray[np.intp]
) -> FloatArray:
    """Return the share of the limit that each joint's motor has to provide."""
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
    """Return clip(share + offset), and True if a share is above 1."""
    stiffness, is_clipped = np.empty(len(share)), False
    for i in range(len(share)):
        stiffness[i] = min(max(share[i] + offset[i], 0.0), 1.0)
        is_clipped |= share[i] > 1.0
    return stiffness, is_clipped


@dataclass(frozen=True, kw_only=True)
class PostureTuning(Checked):
    """User's change in one posture: stiffness' = clip(stiffness + extra)."""

    extra: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0
    """Added to the computed stiffness; may be negative."""
    minimum: Fraction = 0.0
    """Lower bound."""
    maximum: Fraction = 1.0
    """Upper bound."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.minimum <= self.maximum:
            raise BadInput(
                f"minimum = {self.minimum}, maximum = {self.maximum}; "
                "give 0 <= minimum <= maximum <= 1."
            )

    def apply(self, stiffness: FloatArray) -> FloatArray:
        """Return the tuned stiffness, (n_joints,)."""
        return np.asarray(np.clip(stiffness + self.extra, self.minimum, self.maximum))


class StiffnessPolicy(Protocol):
    """Policy that selects the stiffness in force."""

    def reset(self, robot: Robot) -> None:
        """Prepare for a run on `robot`."""

    def step(
        self, computed: FloatArray, user: FloatArray, observation: Observation
    ) -> tuple[FloatArray, int]:
        """Return the stiffness in force, (n_joints,), and `StiffnessFlag` bits.

        Args:
            computed: (n_joints,) from step 320.
            user: (n_joints,) the user's stiffness.
            observation: the sensor values.
        """


@dataclass(frozen=True, kw_only=True)
class ES2659053Policy:
    """Policy with the computed stiffness in force."""

    def reset(self, robot: Robot) -> None:
        """Do nothing."""

    def step(
        self,
        computed: FloatArray,
        user: FloatArray,  # noqa: ARG002 - a policy's signature
        observation: Observation,  # noqa: ARG002 - a policy's signature
    ) -> tuple[FloatArray, int]:
        """Return the computed stiffness."""
        return computed, 0


@dataclass(kw_only=True)
class ProductPolicy(Checked):
    """Published rules of the product [naoqi-smart-stiffness]."""

    while_moving: Literal["all", "joint"] = "all"
    """Joints that get the user's stiffness while one moves."""
    moving_rad_s: Positive | None = None
    """Measured speed above which a joint moves, in rad/s. None: a joint moves while
    its set-point does. A limited joint yields under load; if that counted as motion,
    full stiffness would push it back, and the two would alternate."""
    hold_s: NotNegative = 0.2
    """Time for which a joint counts as moving after its last motion, in s; estimate."""

    def reset(self, robot: Robot) -> None:
        """Mark all joints as at rest."""
        self._last_motion = np.full(len(robot.joints), -np.inf)
        self._target: FloatArray | None = None

    def step(
        self, computed: FloatArray, user: FloatArray, observation: Observation
    ) -> tuple[FloatArray, int]:
        """Return the capped stiffness, or the user's where a joint moves."""
        moves = np.zeros(len(user), dtype=bool)
        if self.moving_rad_s is not None:
            moves |= np.abs(observation.v) > self.moving_rad_s
        if self._target is not None:
            moves |= observation.target != self._target
        self._target = observation.target
        self._last_motion[moves] = observation.time_s
        moving = observation.time_s - self._last_motion <= self.hold_s
        capped = np.minimum(computed, user)
        if not moving.any():
            return capped, 0
        flag = int(StiffnessFlag.JOINT_MOVING)
        if self.while_moving == "all":
            return user.copy(), flag
        return np.where(moving, user, capped), flag
