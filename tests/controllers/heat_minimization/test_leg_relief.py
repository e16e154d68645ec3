"""Relief of legs on a slope: forces are normal to the soles, not to the horizon."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.least_loss import solve_least_loss
from nao_testbed.controllers.heat_minimization.leg_relief import LegRelief
from nao_testbed.models import load_robot
from tests.controllers.heat_minimization.standing import standing_problem

NAO = load_robot()
ATOL_N = 1.0
"""The torques explain the weight to 1 %: `BASE_SIGMA` of `present_forces`."""


@pytest.mark.parametrize("slope_deg", [0.0, 10.0, -10.0])
def test_normal_forces_follow_the_slope(slope_deg: float) -> None:
    """Soles bear W cos(slope) normal to the ground and W sin(slope) along it."""
    slope = np.deg2rad(slope_deg)
    up = np.array((np.sin(slope), 0.0, np.cos(slope)))
    relief = LegRelief(NAO, friction=0.5)
    present = relief.find(
        NAO.posture("PoseInit").angles,
        solve_least_loss(standing_problem(NAO, up=up)).motor_effort,
        is_pressed=np.ones(len(NAO.feet), dtype=np.bool_),
        up=up,
    )
    least = solve_least_loss(present.problem)
    along, across, normal = least.forces.sum(axis=0)
    assert_allclose(normal, relief.weight * np.cos(slope), atol=ATOL_N)
    level = relief.weight * abs(np.sin(slope))
    assert_allclose(np.hypot(along, across), level, atol=ATOL_N)
