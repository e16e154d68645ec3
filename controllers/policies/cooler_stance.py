"""Shift of set-points to the coolest stance near that of a standing robot.

    shift = part · (q* - q),    part: 0 to 1 in `RAMP_S`

q: mean measured angles after `SETTLING_S`, corrected so that both soles lie flat; q*:
result of the posture search, at most 3° away in each joint, with the centre of mass
`MARGIN_M` inside the soles' polygon on the slope that the attitude shows. Angles of
mirrored joints are averaged first: the errors of encoders would bend the soles.

The search lowers the loss that the posture needs. The loss by forces between the legs
is not its subject, and the policy may move its set-points against the shift.
"""

from collections import Counter

import numpy as np

from nao_testbed.controllers.heat_minimization.posture_search.posture_problem import (
    PostureProblem,
)
from nao_testbed.controllers.heat_minimization.posture_search.search import (
    NoPostureFound,
    repair,
    search_posture,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
    symmetric_stance,
)
from nao_testbed.controllers.heat_minimization.posture_search.stance import Stance
from nao_testbed.controllers.heat_minimization.set_point_shift import DEGREE
from nao_testbed.controllers.heat_minimization.standing_problem import sole_points
from nao_testbed.controllers.heat_minimization.stillness import LowPass
from nao_testbed.controllers.interface.controller import Limits, require_robot
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray

SETTLING_S = 5.0
"""Time in s before the first step, in which the means settle."""
MARGIN_M = 0.02
"""Distance of the centre of mass inside the soles' polygon that a step needs, in m."""
BOUND_RAD = 3.0 * DEGREE
"""Largest change of an angle in rad."""
RAMP_S = 10.0
"""Time in s from no shift to the whole shift, and back."""


class StanceShift:
    """Shift to a cooler stance, with the interface of `Nudge`."""

    def __init__(self) -> None:
        self.enabled = True
        """Switch; False: the shift returns to zero."""
        self.flag_counts: Counter[str] = Counter()
        self._robot: Robot | None = None

    def reset(self, robot: Robot) -> None:
        """Prepare for `robot`, without a shift."""
        self._robot = robot
        self._q = LowPass(len(robot.joints), 0.4 * SETTLING_S)
        self._change: FloatArray | None = None
        self._part = 0.0

    def step(self, observation: Observation) -> Limits:
        """Return stiffness 1 and the shift until the next step.

        Raises:
            BadInput: `reset` was not called.
        """
        robot = require_robot(self._robot)
        dt = self._q.step(observation.time_s, observation.q)
        if self._change is None and observation.time_s >= SETTLING_S:
            self._change = cooler_stance(robot, self._q.value, observation.gravity)
            if not self._change.any():
                self.flag_counts["no cooler stance"] += 1
        n = len(robot.joints)
        if self._change is None:
            return Limits(stiffness=np.ones(n), shift=np.zeros(n))
        rate = 1.0 if self.enabled else -1.0
        self._part = min(max(self._part + rate * dt / RAMP_S, 0.0), 1.0)
        return Limits(stiffness=np.ones(n), shift=self._part * self._change)


def cooler_stance(robot: Robot, q: FloatArray, gravity: FloatArray) -> FloatArray:
    """Return the change of angles to the coolest stance near a measured one.

    Args:
        robot: robot on both feet.
        q: (n_joints,) measured angles in rad.
        gravity: (3,) direction of gravity, base frame.

    Returns:
        (n_joints,) in rad, zero if no near stance satisfies all constraints.
    """
    stance = symmetric_stance(robot, q)
    dynamics = Dynamics(robot, sole_points(robot))
    dynamics.update(stance.angles)
    try:
        cfg = PostureSearchCfg(
            within_rad=BOUND_RAD,
            com_margin_m=MARGIN_M,
            slope_deg=Stance(robot, dynamics, 0.0).at().slope_deg(-gravity),
            starts=1,
        )
        found = search_posture(robot, stance, cfg).found.angles
    except (NoPostureFound, BadInput):
        return np.zeros(len(q))
    problem = PostureProblem(robot, stance, cfg)
    flat = problem.at(repair(problem, np.zeros(len(problem.variables.names))))
    return np.clip(found - flat.q, -BOUND_RAD, BOUND_RAD)
