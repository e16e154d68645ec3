"""Which joint is off, by how much, and what cannot be told apart."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.heat.xray.standing import Standing
from experiments.heat.xray.standing_model import (
    N_SHARED,
    Assumptions,
    StandingModel,
    soles_of,
)
from experiments.heat.xray.suspects import SPREAD_RAD, Suspects, find_suspects
from models import BadInput, Robot
from tests.experiments.heat.xray.conftest import DEGREES, JOINT


def test_the_joint_is_named_with_its_error(suspects: Suspects) -> None:
    best = suspects.best
    assert best.joints == (JOINT,)
    (error,) = best.errors
    assert error.low_deg <= DEGREES <= error.high_deg
    assert abs(error.degrees - DEGREES) < 0.3


def test_probabilities_add_up_to_one(suspects: Suspects) -> None:
    total = sum(one.probability for one in suspects.explanations)
    assert total == pytest.approx(1.0)
    assert len(suspects.explanations) == 1 + 12 + 66


def test_without_knowing_where_the_feet_stand_hip_and_ankle_are_alike(
    standing: Standing, robot: Robot
) -> None:
    model = StandingModel(robot, standing, Assumptions(feet="anywhere"))
    assert not model.uses_placement
    found = find_suspects(model)
    alike = ("LHipPitch", "LAnklePitch")
    hip, ankle = (found.by_joint[name] for name in alike)
    other = found.by_joint["RAnklePitch"]
    assert abs(hip.misfit - ankle.misfit) < 6.0
    assert other.misfit > ankle.misfit + 20.0  # the leg is known all the same
    assert_allclose(hip.errors[0].degrees, ankle.errors[0].degrees, atol=0.2)


def test_five_directions_are_told_without_where_the_feet_stand(
    standing: Standing, robot: Robot
) -> None:
    """Of twelve angles: pitch and roll of each leg, and one knee against the other.

    In units of the prior over the noise: beyond 2, a log tells more than is known
    before it. Where the feet stand adds three.
    """
    singular = {}
    for feet in ("placed", "anywhere"):
        model = StandingModel(robot, standing, Assumptions(feet=feet))
        width = np.full(12, SPREAD_RAD)
        fit = model.fit(width)
        shared, angles = np.split(fit.jacobian[:-12], [N_SHARED], axis=1)
        Q, _ = np.linalg.qr(shared)
        singular[feet] = np.linalg.svd(angles - Q @ (Q.T @ angles))[1]
    sure = {feet: int((sizes > 2.0).sum()) for feet, sizes in singular.items()}
    assert sure == {"anywhere": 5, "placed": 8}


def test_a_fit_under_other_priors_follows_to_first_order(model: StandingModel) -> None:
    k = model.robot.leg_joints.index(JOINT)
    narrow, wide = model.width.copy(), model.width.copy()
    narrow[k], wide[k] = 0.8 * SPREAD_RAD, SPREAD_RAD
    linear = model.fit(narrow).with_widths(wide)
    exact = model.fit(wide)
    assert_allclose(linear.error, exact.error, atol=2e-5)
    assert linear.log_evidence == pytest.approx(exact.log_evidence, abs=0.02)


def test_a_robot_that_is_set_right_has_no_suspect(
    standing: Standing, robot: Robot
) -> None:
    """The same robot, its angles read right: the error taken off by hand."""
    q = standing.q.copy()
    assert standing.target is not None
    target = standing.target.copy()
    for angles in (q, target):
        angles[robot.joint_index(JOINT)] += np.deg2rad(DEGREES)
    right = replace(standing, q=q, target=target)
    found = find_suspects(StandingModel(robot, right, Assumptions()))
    assert found.best.errors == ()
    assert found.best.probability > 0.6


def test_soles_are_those_that_the_engine_collides_with(robot: Robot) -> None:
    left, right = soles_of(robot)
    assert_allclose(np.sort(left.corners[:, 0])[[0, -1]], [-0.05, 0.1])
    assert_allclose(np.ptp(left.corners[:, 1]), 0.0888)
    mirrored = right.corners * [1.0, -1.0]
    assert_allclose(np.sort(mirrored, axis=0), np.sort(left.corners, axis=0))
    middle = left.corners.mean(0)
    assert (left.inside(middle) > 0.04).all()
    assert left.inside(middle + np.array([0.2, 0.0])).min() < 0.0


def test_a_word_for_the_feet_that_nobody_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="feet"):
        Assumptions(feet="apart")  # type: ignore[arg-type]
