"""Diagnosis of misaligned joints: error size and ambiguities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text
from numpy.testing import assert_allclose

from nao_testbed.experiments.heat.xray.column_faults import (
    ALL,
    EXCHANGED,
    P_EXCHANGED,
    SURE_SIGN,
    find_column_faults,
    with_exchanged_legs,
    with_reversed,
)
from nao_testbed.experiments.heat.xray.losses import LegAccount
from nao_testbed.experiments.heat.xray.results.figure import xray_figure
from nao_testbed.experiments.heat.xray.results.tables import (
    headline,
    suspects_table,
)
from nao_testbed.experiments.heat.xray.standing import Standing, servo_misfit
from nao_testbed.experiments.heat.xray.standing_model import (
    N_OTHER,
    N_SHARED,
    Assumptions,
    StandingModel,
    soles_of,
)
from nao_testbed.experiments.heat.xray.suspects import (
    FRICTIONS,
    SPREAD_RAD,
    Suspects,
    _Linear,
    find_suspects,
)
from nao_testbed.experiments.heat.xray.verdict import rounded
from nao_testbed.experiments.heat.xray.xray import Xray, undetermined
from nao_testbed.models import BadInput, Robot
from tests.experiments.heat.xray.conftest import DEGREES, JOINT

SMALL = "LHipPitch"
"""Motor with a torque of 0.25 N·m."""


def test_the_joint_is_named_with_its_error(suspects: Suspects) -> None:
    best = suspects.best
    assert best.joints == (JOINT,)
    (error,) = best.errors
    assert error.low_deg <= DEGREES <= error.high_deg
    assert abs(error.degrees - DEGREES) < 0.3


def test_probabilities_add_up_to_one(suspects: Suspects) -> None:
    total = sum(one.probability for one in suspects.explanations)
    assert total == pytest.approx(1.0, abs=0.01)  # those below `LEAST` are omitted
    causes = [one.causes for one in suspects.explanations]
    assert len({*causes}) == len(causes)
    assert {one[0] for one in causes if len(one) == 1} == {*suspects.causes}
    assert len(suspects.causes) == 12 + 3


def test_without_foot_placement_hip_and_ankle_are_ambiguous(
    standing: Standing, robot: Robot
) -> None:
    model = StandingModel(robot, standing, Assumptions(feet="anywhere"))
    assert not model.uses_placement
    found = find_suspects(model)
    alike = ("LHipPitch", "LAnklePitch")
    hip, ankle = (found.by_joint[name] for name in alike)
    other = found.by_joint["RAnklePitch"]
    assert abs(hip.misfit - ankle.misfit) < 6.0
    assert other.misfit > ankle.misfit + 20.0  # the leg is still identified
    assert_allclose(hip.errors[0].degrees, ankle.errors[0].degrees, atol=0.2)


def test_five_directions_are_known_without_foot_placement(
    standing: Standing, robot: Robot
) -> None:
    """Five of twelve: pitch and roll of each leg, and the difference of the knees.

    Singular values are prior over noise: above 2, a log adds information. The
    placement of the feet adds three directions.
    """
    singular = {}
    for feet in ("placed", "anywhere"):
        model = StandingModel(robot, standing, Assumptions(feet=feet))
        width = model.width.copy()
        width[N_OTHER:] = SPREAD_RAD
        fit = model.fit(width)
        shared, angles = np.split(
            fit.jacobian[: -len(width)], [N_SHARED + N_OTHER], axis=1
        )
        level = np.eye(N_OTHER, N_SHARED + N_OTHER, N_SHARED)  # floor and load
        shared = np.vstack((shared, level))
        angles = np.vstack((angles, np.zeros((N_OTHER, 12))))
        Q, _ = np.linalg.qr(shared)
        singular[feet] = np.linalg.svd(angles - Q @ (Q.T @ angles))[1]
    sure = {feet: int((sizes > 2.0).sum()) for feet, sizes in singular.items()}
    assert sure == {"anywhere": 5, "placed": 8}


def test_hypotheses_follow_to_first_order_from_a_fit(model: StandingModel) -> None:
    k = N_OTHER + model.robot.leg_joints.index(JOINT)
    narrow, wide = model.width.copy(), model.width.copy()
    narrow[k], wide[k] = 0.8 * SPREAD_RAD, SPREAD_RAD
    linear = _Linear(model, model.fit(narrow)).weigh(wide)
    for m, factor in enumerate(FRICTIONS.tolist()):
        fit = model.fit(wide, friction=factor)
        exact = _Linear(model, fit).weigh(wide)
        assert_allclose(linear.values[m, N_OTHER:], fit.error, atol=1e-4)
        own = fit.residual @ fit.residual
        assert exact.misfit[m] == pytest.approx(own, rel=1e-3)
        assert linear.score[m] == pytest.approx(exact.score[m], abs=0.1)


@pytest.fixture(scope="module")
def linear(model: StandingModel) -> _Linear:
    return _Linear(model, model.fit())


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_the_quick_score_equals_the_full_one(
    model: StandingModel, linear: _Linear, data: st.DataObject
) -> None:
    """Woodbury's identity against the full inverse."""
    off = data.draw(st.sets(st.integers(0, len(model.width) - 1), max_size=8))
    width = model.width.copy()
    width[sorted(off)] = np.hypot(width[sorted(off)], SPREAD_RAD)
    rest = [k for k in range(len(width)) if k not in off]
    wide = np.array([*sorted(off), *rest])[np.newaxis, :8]
    quick = linear.scores(width[np.newaxis], wide)[0, 0]
    assert_allclose(quick, linear.weigh(width).score, rtol=1e-6, atol=1e-4)


def test_a_calibrated_robot_has_no_suspect(standing: Standing, robot: Robot) -> None:
    found = find_suspects(StandingModel(robot, off_by(standing, robot), Assumptions()))
    assert found.best.errors == ()
    assert found.best.probability > 0.6


def off_by(standing: Standing, robot: Robot, **degrees: float) -> Standing:
    """Return the log with other joints misaligned and the original error removed."""
    q = standing.q.copy()
    assert standing.target is not None
    target = standing.target.copy()
    for name, error in {JOINT: 0.0, **degrees}.items():
        own = DEGREES if name == JOINT else 0.0
        for angles in (q, target):
            angles[robot.joint_index(name)] += np.deg2rad(own - error)
    return replace(standing, q=q, target=target)


def found_in(standing: Standing, robot: Robot) -> Xray:
    model = StandingModel(robot, standing, Assumptions())
    return found_by(model, standing, find_suspects(model))


def found_by(model: StandingModel, standing: Standing, suspects: Suspects) -> Xray:
    losses = LegAccount(model, standing, suspects.fit).losses()
    return Xray(
        standing=standing, model=model, suspects=suspects, losses=losses, saving=None
    )


@pytest.mark.slow
def test_equal_ankle_errors_are_ambiguous_with_a_slope(
    standing: Standing, robot: Robot
) -> None:
    for kind, wrong in (("Pitch", 3.0), ("Roll", -2.0)):
        pair = f"LAnkle{kind}", f"RAnkle{kind}"
        found = found_in(off_by(standing, robot, **dict.fromkeys(pair, wrong)), robot)
        cause = f"both ankles or floor, {kind.lower()}"
        assert list(found.named) == [cause]
        assert found.suspects.error_of(cause).degrees == pytest.approx(wrong, abs=0.2)
        said = headline(found)
        assert f"{pair[0]} and {pair[1]} both have an error of" in said
        assert "or the floor slope is" in said
        assert "cannot distinguish them" in said
        row = suspects_table(found).rows[0].cells
        assert row[0] == f"{pair[0]} and {pair[1]}, or floor"
        told = found.as_json()
        assert told["named"].keys() == {cause}
        assert told["both_ankles_or_floor"][cause]["ankles"] == list(pair)
        assert any(text.startswith("ankles or floor") for text in undetermined(found))
        assert any(pair[1] in t.get_text() for t in _labels(found))


def _labels(found: Xray) -> list[Text]:
    return [text for axes in xray_figure(found).axes for text in axes.get_yticklabels()]


def test_three_joints_off_are_three(standing: Standing, robot: Robot) -> None:
    off = {JOINT: DEGREES, "RAnkleRoll": 1.2, "LHipRoll": 1.5}
    found = found_in(off_by(standing, robot, **off), robot)
    assert found.is_explained
    assert {*found.suspects.best.joints} == off.keys()
    labels = [t.get_text() for t in xray_figure(found).axes[1].get_yticklabels()]
    likeliest = found.verdict.hypotheses[0].causes
    assert labels[: len(likeliest)] == [
        likeliest[0],
        *(f"and {name}" for name in likeliest[1:]),
    ]
    for name, degrees in off.items():
        error = found.suspects.error_of(name)
        assert error.low_deg <= degrees <= error.high_deg


@pytest.mark.slow(covers=True)
def test_gear_friction_is_estimated_too(standing: Standing, robot: Robot) -> None:
    """Gear friction up to three times the model's."""
    rng = np.random.default_rng(4)
    friction = robot.motor_friction
    factors, said = {}, ""
    for most in (0.0, 2.0):
        extra = most * friction * rng.choice([-1.0, 1.0], len(friction))
        kp = np.array([joint.kp for joint in robot.joints])
        assert standing.target is not None
        stuck = replace(
            standing,
            effort=standing.effort + extra,
            target=standing.target + extra[robot.servo_of_joint] / kp,
        )
        found = found_in(stuck, robot)
        assert found.is_explained
        assert {*found.named} <= {JOINT}
        factors[most], said = found.suspects.friction, headline(found)
        assert found.as_json()["gear_friction_factor"] == factors[most]
    assert factors[2.0] > 1.5
    assert factors[2.0] > 1.5 * factors[0.0]
    assert f"{factors[2.0]:.1f} times that of the model" in said


def test_a_load_is_no_joint(standing: Standing, robot: Robot) -> None:
    assert standing.fsr is not None
    heavier = replace(off_by(standing, robot), fsr=1.05 * standing.fsr)
    found = found_in(heavier, robot)
    assert list(found.named) == ["load"]
    mass = found.suspects.best.load_kg
    assert mass == pytest.approx(0.05 * robot.total_mass, abs=0.05)
    assert f"carries {mass:+.2f} kg" in headline(found)


def test_an_unexplained_log_names_no_joint(standing: Standing, robot: Robot) -> None:
    assert standing.fsr is not None
    fsr = standing.fsr.copy()
    fsr[[0, -1]] += 5.0, -3.0
    found = found_in(replace(standing, fsr=fsr), robot)
    assert not found.is_explained
    assert not found.named
    said = headline(found)
    assert said.startswith("No combination of errors explains this log (up to 3 joints")
    assert f"misfit {found.suspects.best.misfit:.0f}, usually at most 40" in said
    assert not any(name in said for name in robot.leg_joints)
    table = suspects_table(found)
    assert {row.cells[1] for row in table.rows} == {"–"}
    assert "no joint is named" in table.note
    told = found.as_json()
    assert told["is_explained"] is False
    assert told["named"] == {}


def test_all_outputs_give_the_same_probability(
    standing: Standing, model: StandingModel, suspects: Suspects
) -> None:
    found = found_by(model, standing, suspects)
    ((name, chance),) = found.named.items()
    assert name == JOINT
    assert f"probability {chance:.0%}" in headline(found)
    *joints, load = [row.cells for row in suspects_table(found).rows]
    assert joints[0][:2] == (JOINT, f"{chance:.0%}")
    assert load[0] == "load, or none"
    total = sum(int(cells[1].rstrip("%")) for cells in joints if cells[1] != "–")
    assert total == 100
    told = found.as_json()
    assert told["named"][JOINT] == told["hypotheses"][0]["probability"] == chance
    texts = [t.get_text() for axes in xray_figure(found).axes for t in axes.texts]
    assert f"{chance:.0%}" in texts


def test_without_an_accelerometer_no_leg_is_named(
    standing: Standing, robot: Robot
) -> None:
    blind = replace(standing, accelerometer=None, fsr=None)
    found = found_in(blind, robot)
    assert not found.named
    said = headline(found)
    for name in robot.leg_joints:
        assert f"{name} has an error of" not in said
    first = found.verdict.hypotheses[0]
    assert {JOINT, "RAnklePitch"} == {*first.causes, *first.mirrored}
    assert sum(one.percent for one in found.verdict.hypotheses) == 100
    assert first.label in said
    assert "has no accelerometer" in said


def test_exchanged_legs_name_no_joint(
    standing: Standing, robot: Robot, suspects: Suspects
) -> None:
    other = with_exchanged_legs(standing, robot)
    assert_allclose(with_exchanged_legs(other, robot).effort, standing.effort)
    found = found_in(other, robot)
    faults = find_column_faults(found.model, found.suspects)
    found = replace(found, column_faults=faults)
    assert faults[0].probability > 0.99
    assert not found.named
    assert "exchanged in this log (probability 100%)" in headline(found)
    assert "columns of the file are probably wrong" in str(found.advice)
    assert sum(one.percent for one in found.verdict.hypotheses) == 100
    rows = [row.cells[:2] for row in suspects_table(found).rows]
    assert (EXCHANGED, "100%") in rows


@pytest.mark.slow
def test_a_torque_of_opposite_sign_names_no_joint(
    standing: Standing, robot: Robot, suspects: Suspects
) -> None:
    """The torque is below the servo check, which rejects larger ones."""
    model = StandingModel(robot, standing, Assumptions())
    own, *signs = find_column_faults(model, suspects)
    assert own.probability < P_EXCHANGED, "correct names must not be doubted"
    assert all(one.probability < P_EXCHANGED for one in signs)
    other = with_reversed(standing, robot, SMALL)
    assert servo_misfit(other, robot) - servo_misfit(standing, robot) < SURE_SIGN
    found = found_in(other, robot)
    faults = find_column_faults(found.model, found.suspects)
    found = replace(found, column_faults=faults)
    assert not found.named
    assert f"torque of {SMALL} probably has the opposite sign" in headline(found)
    assert any(SMALL in text for text in undetermined(found))
    found = found_in(with_reversed(standing, robot, ALL), robot)
    faults = find_column_faults(found.model, found.suspects)
    found = replace(found, column_faults=faults)
    assert f"torque of {ALL} probably has the opposite sign" in headline(found)
    assert sum(one.percent for one in found.verdict.hypotheses) == 100


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=9))
def test_rounded_percents_sum_to_a_hundred(chances: list[float]) -> None:
    whole = rounded(chances)
    assert sum(whole) == 100
    for percent, chance in zip(whole, chances, strict=True):
        assert abs(percent - 100.0 * chance / sum(chances)) < 1.0


def test_soles_equal_the_collision_shapes(robot: Robot) -> None:
    left, right = soles_of(robot)
    assert_allclose(np.sort(left.corners[:, 0])[[0, -1]], [-0.05, 0.1])
    assert_allclose(np.ptp(left.corners[:, 1]), 0.0888)
    mirrored = right.corners * [1.0, -1.0]
    assert_allclose(np.sort(mirrored, axis=0), np.sort(left.corners, axis=0))
    middle = left.corners.mean(0)
    assert (left.inside(middle) > 0.04).all()
    assert left.inside(middle + np.array([0.2, 0.0])).min() < 0.0


def test_an_unknown_value_for_feet_is_rejected() -> None:
    with pytest.raises(BadInput, match="feet"):
        Assumptions(feet="apart")  # type: ignore[arg-type]
