"""Policy whose set-points are shifted slowly to where the motors need less current.

    set-points = policy(observation) + shift,        |shift| <= 3°

The shift is that of `nudge`: twice a second the leg motor with the largest current
gives way by a small step; or the change of angles to the coolest stance near that of
the robot (`cooler_stance`). The policy is not told. It sees the joints move, and either
accepts the shift or moves its own set-points against it:

    accepted share = 1 + (Δ · shift) / (shift · shift),

Δ: mean change of the policy's set-points since the first step. 1: the policy keeps its
set-points; 0: it takes the whole shift back; above 1: it goes further in the same
direction.

Steps need room: the centre of mass, computed from the encoders, must be `MARGIN_M`
inside the polygon of the soles. Below half of it the shift returns to zero. It also
returns, for the rest of the run, if the Joule loss of the legs grows: a robot on soft
servos leans further when a motor that carries it gives way.
"""

from collections.abc import Callable
from dataclasses import replace
from math import radians

import numpy as np

from nao_testbed.controllers.heat_minimization.nudge import Nudge, NudgeCfg
from nao_testbed.controllers.heat_minimization.posture_search.stance import (
    Stance,
    distances_to_edges,
    hull_order,
)
from nao_testbed.controllers.heat_minimization.standing_problem import sole_points
from nao_testbed.controllers.heat_minimization.stillness import LowPass, StillnessCfg
from nao_testbed.controllers.interface.controller import Limits, require_reset
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.policies.cooler_stance import (
    MARGIN_M,
    SETTLING_S,
    StanceShift,
)
from nao_testbed.controllers.policies.policy import Policy, PolicyController
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray

WORSE = 1.1
"""Joule loss of the legs, relative to that before the first step, that ends the
cooling."""
MIN_SHIFT_RAD = radians(0.1)
"""Largest shift of a joint below which there is no accepted share: nearly 0 / 0."""
CHECK_S = 0.5
"""Time between two checks of the margin, in s."""
COOLING = NudgeCfg(
    name="cool",
    calm_s=SETTLING_S,
    stillness=StillnessCfg(
        request_threshold_rad=1.0,  # a policy moves its set-points all the time
        gyro_threshold=0.5,
        velocity_threshold=0.5,
    ),
)
"""Nudges of a robot that sways under its policy; a fall or a push still stops them."""


class CooledPolicy(PolicyController):
    """Controller that runs a policy and shifts its set-points."""

    signal_names = ("accepted_share", "support_margin_m")
    """Signals of the run folder."""

    def __init__(
        self, policy: Policy, name: str | None = None, how: str = "nudge"
    ) -> None:
        """Create the controller.

        Args:
            policy: policy to be cooled.
            name: name of the controller; None: the policy's.
            how: `nudge` or `stance`, the origin of the shift.
        """
        super().__init__(policy, name)
        self._source = StanceShift() if how == "stance" else Nudge(COOLING)
        self._margin: Callable[[FloatArray], float] | None = None

    def reset(self, robot: Robot) -> None:
        """Reset the policy and the shift.

        Raises:
            BadInput: the policy does not fit the robot, or the robot has no soles.
        """
        super().reset(robot)
        self._source.reset(robot)
        self._source.flag_counts = self.flag_counts
        self._margin = _margin_of(robot)
        self._resistance = np.array(
            [
                motor.one_node.resistance
                if m in robot.motors_of(robot.leg_joints)
                else 0
                for m, motor in enumerate(robot.motors)
            ]
        )
        self._loss_w = LowPass(1, 0.4 * SETTLING_S)
        self._most_w = np.inf
        self._mean = LowPass(len(robot.joints), 0.4 * SETTLING_S)
        self._before: FloatArray | None = None
        self._is_worse = False
        self._check_s, self._last_m = 0.0, np.nan
        self._shift = np.zeros(len(robot.joints))

    @property
    def accepted_share(self) -> float | None:
        """Accepted share as of the last step; None if no joint is shifted by 0.1°."""
        shift = self._shift
        if self._before is None or np.abs(shift).max() < MIN_SHIFT_RAD:
            return None
        change = self._mean.value - self._before
        return 1.0 + float(change @ shift) / float(shift @ shift)

    @property
    def signals(self) -> tuple[float, ...]:
        """Accepted share (NaN without a shift) and margin in m, as of the last step."""
        share = self.accepted_share
        return np.nan if share is None else share, self._last_m

    def step(self, observation: Observation) -> Limits:
        """Return the limits of the policy, with the shift."""
        limits = super().step(observation)
        assert limits.target is not None  # a policy's
        self._mean.step(observation.time_s, limits.target)
        loss_w = self._resistance @ observation.current**2
        self._loss_w.step(observation.time_s, np.array([loss_w]))
        if observation.time_s >= self._check_s:
            self._check_s = observation.time_s + CHECK_S
            self._last_m = require_reset(self._margin)(observation.q)
        source = self._source
        self._is_worse |= bool(self._loss_w.value[0] > self._most_w)
        source.enabled = self._last_m > 0.5 * MARGIN_M and not self._is_worse
        if self._last_m > MARGIN_M or not source.enabled:
            self._shift = require_reset(source.step(observation).shift)
        if self._before is None and self._shift.any():
            self._before = self._mean.value.copy()
            self._most_w = WORSE * float(self._loss_w.value[0])
        return replace(limits, shift=self._shift.copy())


def _margin_of(robot: Robot) -> Callable[[FloatArray], float]:
    """Return the function from joint angles to the margin of the centre of mass in m.

    The ground is the plane of the first sole.
    """
    dynamics = Dynamics(robot, sole_points(robot))
    stance = Stance(robot, dynamics, 0.0)

    def margin(q: FloatArray) -> float:
        dynamics.update(q)
        body = stance.at()
        order = hull_order(body.corners)
        return float(distances_to_edges(body.corners, order, body.com).min())

    return margin
