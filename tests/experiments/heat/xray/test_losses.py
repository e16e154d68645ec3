"""Needed and useless watts, the internal wrench, and savings by a set-point."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.standing_problem import sole_normals
from nao_testbed.controllers.stiffness.contact_forces import sole_axes
from nao_testbed.experiments.common.drawing.number_text import NOTHING
from nao_testbed.experiments.heat.xray.losses import LegAccount, settled_effort
from nao_testbed.experiments.heat.xray.results.figure import xray_figure
from nao_testbed.experiments.heat.xray.results.tables import headline, heat_table
from nao_testbed.experiments.heat.xray.standing import Standing
from nao_testbed.experiments.heat.xray.standing_model import Assumptions, StandingModel
from nao_testbed.experiments.heat.xray.suspects import Suspects
from nao_testbed.experiments.heat.xray.xray import Xray
from nao_testbed.models import Robot
from tests.experiments.heat.xray.conftest import DEGREES, JOINT


@pytest.fixture(scope="module")
def account(model: StandingModel, standing: Standing, suspects: Suspects) -> LegAccount:
    return LegAccount(model, standing, suspects.fit)


def test_watts_add_up_and_needed_is_below_total(account: LegAccount) -> None:
    losses = account.losses()
    assert losses.loss_w == pytest.approx(sum(m.loss_w for m in losses.motors))
    assert losses.useless_w == pytest.approx(losses.loss_w - losses.needed_w)
    assert 0.0 < losses.needed_w <= losses.loss_w


def test_power_below_needed_is_ascribed_to_gear_friction(
    model: StandingModel, standing: Standing, suspects: Suspects
) -> None:
    calm = replace(standing, mean_square=0.01 * standing.mean_square)
    losses = LegAccount(model, calm, suspects.fit).losses()
    assert losses.useless_w < 0.0
    found = Xray(
        standing=calm, model=model, suspects=suspects, losses=losses, saving=None
    )
    assert "gear friction carries part" in headline(found)
    assert "useless" not in headline(found)


def test_estimated_motors_have_percent_instead_of_watts(
    standing: Standing, suspects: Suspects, robot: Robot, account: LegAccount
) -> None:
    """With estimated constants only shares of the legs' heat are meaningful."""
    guessed = replace(robot, thermal="estimate")
    found = Xray(
        standing=standing,
        model=StandingModel(guessed, standing, Assumptions()),
        suspects=suspects,
        losses=account.losses(),
        saving=None,
    )
    table = heat_table(found)
    assert [c.unit for c in table.columns[2:5]] == ["%"] * 3
    assert table.rows[-1].cells[2] == "100.0"
    shares = [float(row.cells[2]) for row in table.rows[:-1]]
    assert sum(shares) == pytest.approx(100.0, abs=0.05 * len(shares))
    assert {row.cells[-1] for row in table.rows[:-1]} == {NOTHING}
    assert "guesses" in table.note
    said = headline(found)
    assert "% of the heat of the legs is needed" in said
    assert not re.search(r"\d W\b", said)
    left, _ = xray_figure(found).axes
    assert left.get_xlabel() == "Joule loss (% of the heat of the legs)"


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_no_feasible_forces_need_fewer_watts(
    account: LegAccount, data: st.DataObject
) -> None:
    """Additional internal forces cost more than the needed watts."""
    problem, least = account.problem, account.least
    _, _, null = np.linalg.svd(problem.base_map)
    strength = data.draw(
        st.lists(st.floats(-2.0, 2.0), min_size=len(null) - 6, max_size=len(null) - 6)
    )
    forces = least.forces.ravel() + np.array(strength) @ null[6:]
    torque = problem.motor_effort(problem.effort(forces.reshape(-1, 3)))
    assert problem.loss @ torque**2 >= least.loss_w - 1e-6


def test_the_internal_wrench_reproduces_the_torques(
    account: LegAccount, model: StandingModel, suspects: Suspects
) -> None:
    """T - T* = -S (C_l - C_r) w, with the torques of the fit."""
    fit, w = suspects.fit, account.internal()
    state = model.place(model.true_angles(fit), fit.z)
    extra = model.sharing @ state.tau - account.least.motor_effort
    # The wrench as forces at the corners of each sole, by least squares.
    dynamics = account._dynamics
    dynamics.update(model.true_angles(fit))
    points = dynamics.point_positions
    columns = [np.concatenate((e, np.cross(p, e))) for p in points for e in np.eye(3)]
    spread = np.zeros(3 * len(points))
    for foot, sign in ((0, 1.0), (1, -1.0)):
        of_foot = np.repeat(account._foot == foot, 3)
        A = np.array(columns)[of_foot].T
        spread[of_foot] = np.linalg.lstsq(A, sign * w, rcond=None)[0]
    along = np.broadcast_to(np.eye(3), (len(points), 3, 3)).copy()
    C = dynamics.contact_matrix(np.arange(len(points)), along)
    assert_allclose(
        (model.sharing @ (-C @ spread))[account._loss > 0.0],
        extra[account._loss > 0.0],
        atol=0.02,  # N·m: weight and balance are fitted, not exact
    )


def test_minimum_forces_are_in_the_axes_of_the_soles(
    account: LegAccount, model: StandingModel, suspects: Suspects
) -> None:
    up = model.up(suspects.fit)
    dynamics = account._dynamics
    dynamics.update(model.true_angles(suspects.fit))
    axes = sole_axes(sole_normals(dynamics.point_positions, account._foot, up))
    total = np.einsum("ka,kab->b", account.least.forces, axes)
    assert_allclose(total, model.weight * up, atol=0.05)


def test_moving_a_set_point_back_saves_nearly_all(
    account: LegAccount, suspects: Suspects
) -> None:
    (error,) = suspects.best.errors
    saving = account.saving(error.joint, error.degrees)
    assert saving is not None
    assert saving.set_point_deg == -error.degrees
    assert saving.saved_w == pytest.approx(account.losses().useless_w, rel=0.05)
    hottest = max(saving.cooler_k, key=lambda name: saving.cooler_k[name])
    assert hottest.endswith("AnklePitch")


def test_moving_it_the_other_way_heats(account: LegAccount) -> None:
    saving = account.saving(JOINT, -DEGREES)
    assert saving is not None
    assert saving.saved_w < 0.0


def test_gears_keep_the_torques_of_a_set_point_that_does_not_move(
    model: StandingModel, suspects: Suspects
) -> None:
    still = np.zeros(len(model.robot.leg_joints))
    legs = model.robot.motors_of(model.robot.leg_joints)
    present = model.standing.effort[legs]
    effort = settled_effort(model, suspects.fit, still, friction=1.0)
    free = settled_effort(model, suspects.fit, still)
    assert effort is not None
    assert free is not None
    assert_allclose(effort[legs], present, atol=0.02)
    assert np.abs(free[legs] - present).max() > 0.05


def test_the_range_of_a_saving_contains_it(account: LegAccount) -> None:
    saving = account.saving(JOINT, DEGREES)
    assert saving is not None
    low, high = saving.saved_range_w
    assert low <= saving.saved_w <= high
    assert high - low > 0.01


def test_springs_settle_at_the_servo_equation(
    model: StandingModel, suspects: Suspects
) -> None:
    """Torque changes are linear in the shift: soles stick, gears slide."""
    fit, n = suspects.fit, len(model.robot.leg_joints)
    k = model.robot.leg_joints.index("RKneePitch")
    efforts = []
    for degrees in (0.0, 0.1, 0.2):
        shift = np.zeros(n)
        shift[k] = np.deg2rad(degrees)
        effort = settled_effort(model, fit, shift)
        assert effort is not None
        efforts.append(effort)
    once, twice = efforts[1] - efforts[0], efforts[2] - efforts[0]
    assert_allclose(twice, 2.0 * once, atol=0.01)
    assert once[model.robot.motor_index("RKneePitch")] > 0.02


def test_times_to_the_limit_come_from_the_heating_model(
    model: StandingModel, standing: Standing, suspects: Suspects, robot: Robot
) -> None:
    """C dT/dt = R i² - λ (T - Tₑ), solved for 80 °C."""
    m = robot.motor_index("RAnklePitch")
    square = standing.mean_square.copy()
    square[m] = 4.0
    hot = replace(standing, mean_square=square)
    losses = LegAccount(model, hot, suspects.fit).losses()
    one = next(motor for motor in losses.motors if motor.motor == "RAnklePitch")
    data = robot.motors[m].one_node
    power = data.resistance / data.torque_constant**2 * 4.0
    assert one.loss_w == pytest.approx(power)
    end = data.ambient_degc + power / data.conductance
    assert standing.temperature is not None
    start = float(standing.temperature[m])
    expected = (
        data.heat_capacity / data.conductance * np.log((end - start) / (end - 80.0))
    )
    assert one.time_to_limit_s == pytest.approx(expected, rel=1e-6)
