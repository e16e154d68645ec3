"""Internal forces of the legs have exactly six patterns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.standing_problem import (
    build_standing_problem,
    joule_loss,
    sole_points,
)
from nao_testbed.controllers.interface.controller import FixedStiffness
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.experiments.closed_loop.leg_forces import find_internal_forces
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.experiments.heat.figures.charts import internal_figure
from nao_testbed.models import BadInput, load_robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

NAO = load_robot()
STAND = NAO.posture("PoseInit").angles
ATOL_TORQUE = 1e-6  # N·m, and per newton of internal force


@given(seed=st.integers(0, 2**16), newtons=st.floats(0.0, 30.0))
@settings(max_examples=30)
def test_all_internal_forces_are_found(seed: int, newtons: float) -> None:
    """Internal forces added to the minimum are recovered completely."""
    rng = np.random.default_rng(seed)
    points = sole_points(NAO)
    dynamics = Dynamics(NAO, points)
    dynamics.update(STAND)
    up = np.array([0.0, 0.0, 1.0])  # any direction: the internal part is the same
    problem = build_standing_problem(
        dynamics, NAO, up, np.arange(len(points)), loss=joule_loss(NAO)
    )
    null = np.linalg.svd(problem.base_map)[2][6:]
    push = newtons * null.T @ rng.normal(size=len(null))
    before = find_internal_forces(NAO, STAND, np.zeros(len(NAO.joints)))
    effort = before.least_loss.effort - problem.contact_map @ push
    split = find_internal_forces(NAO, STAND, effort)
    assert split.patterns.shape == (11, 6)
    atol = ATOL_TORQUE * (1.0 + newtons)
    assert_allclose(split.unexplained, 0.0, atol=atol)
    assert_allclose(split.least + split.internal, split.measured, atol=atol)


def test_other_torques_remain_as_residual() -> None:
    """Eleven motors, six patterns: five directions stay unexplained."""
    zero = find_internal_forces(NAO, STAND, np.zeros(len(NAO.joints)))
    foreign = np.linalg.svd(zero.patterns.T)[2][-1]  # at right angles to all six
    effort = zero.least_loss.effort.copy()
    effort[NAO.joint_index("LHipYawPitch")] += foreign[0]
    for name, torque in zip(zero.motors[1:], foreign[1:], strict=True):
        effort[NAO.joint_index(name)] += torque
    split = find_internal_forces(NAO, STAND, effort)
    assert_allclose(split.unexplained, foreign, atol=ATOL_TORQUE)
    assert_allclose(split.internal, 0.0, atol=ATOL_TORQUE)


def test_misaligned_ankle_in_engine_is_an_internal_force() -> None:
    """The engine is an independent oracle."""
    cfg = SimulationCfg(misalignment_deg={"LAnklePitch": 1.5})
    sim = SimulatedRobot(NAO, cfg, "PoseInit")
    run_for(Loop(sim, FixedStiffness(), STAND), 3.0)
    truth = sim.truth()
    sim.close()
    split = find_internal_forces(NAO, truth.q, truth.joint_torque)
    beyond = split.measured - split.least
    assert np.abs(beyond).max() > 0.5  # N·m
    assert np.sum(split.unexplained**2) < 0.02 * np.sum(beyond**2)
    assert split.least_w < 0.3 * split.measured_w
    words = [t.get_text() for t in internal_figure(split, "fight").legends[0].texts]
    assert "with 6 internal forces" in words


def test_unbalanced_angles_are_rejected() -> None:
    q = STAND.copy()
    for side in "LR":
        q[NAO.joint_index(f"{side}AnklePitch")] -= 0.9  # leans far back
    with pytest.raises(BadInput, match="no forces at the soles balance"):
        find_internal_forces(NAO, q, np.zeros(len(NAO.joints)))
