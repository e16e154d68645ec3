"""Training terms: heat by the closed form, loss by the contact forces."""

import ast
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

from nao_testbed.controllers.heat_minimization.least_loss import solve_least_loss
from nao_testbed.controllers.heat_minimization.standing_problem import (
    build_standing_problem,
    joule_loss,
    sole_points,
)
from nao_testbed.controllers.stiffness.contact_forces import sole_axes
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.sim.thermal import training
from nao_testbed.sim.thermal.training import HeatConstants, barrier, sole_cone

Floats = NDArray[np.float64]
MU = 0.7
UP = np.array([0.0, 0.0, 1.0])


class Stand:
    """A robot on level ground with contact forces of more than minimum loss."""

    def __init__(self, name: str) -> None:
        self.robot = load_robot(find_robot_folder(name))
        points = sole_points(self.robot)
        dynamics = Dynamics(self.robot, points)
        dynamics.update(self.robot.posture(self.robot.posture_name(None)).angles)
        self.loss = joule_loss(self.robot)
        self.problems = [
            build_standing_problem(
                dynamics,
                self.robot,
                UP,
                np.arange(len(points)),
                loss=self.loss,
                friction=mu,
            )
            for mu in (MU, MU / np.sqrt(2.0))
        ]
        self.foot = np.array([self.robot.feet.index(p.effector) for p in points])
        self.places = dynamics.point_positions.copy()
        self.along = sole_axes(np.tile(UP, (len(points), 1)))
        point, axis = dynamics.joint_axes()
        self.joints = axis, point
        self.centre = np.stack([self.places[self.foot == i].mean(0) for i in (0, 1)])
        half = np.ptp(self.places[self.foot == 0], axis=0) / 2.0
        self.cone = sole_cone(half[0], half[1], MU)

    def pressed(self, seed: int) -> tuple[Floats, Floats]:
        """Return torques and wrenches that minimise other losses."""
        weights = np.exp(1.5 * np.random.default_rng(seed).normal(size=len(self.loss)))
        other = replace(self.problems[1], loss=self.loss * weights)
        forces = solve_least_loss(other).forces
        world = np.einsum("ka,kai->ki", forces, self.along)
        moments = np.cross(self.places - self.centre[self.foot], world)
        wrench = np.hstack((world, moments))
        feet = np.stack([wrench[self.foot == i].sum(0) for i in (0, 1)])
        return other.effort(forces), feet


def test_temperature_follows_the_differential_equation(g1: Robot) -> None:
    heat = HeatConstants.of(g1)
    start, power = np.linspace(20.0, 90.0, len(heat.loss)), np.linspace(0, 60, 29)
    solved = solve_ivp(
        lambda _, T: (power - heat.conductance * (T - heat.ambient)) / heat.capacity,
        (0.0, 300.0),
        start,
        rtol=1e-9,
    )
    np.testing.assert_allclose(heat.heated(start, power, 300.0), solved.y[:, -1], 1e-6)


@pytest.mark.parametrize("name", ["g1", "t1"])
def test_useless_power_is_the_loss_above_the_optimal_forces(name: str) -> None:
    stand = Stand(name)
    heat = HeatConstants.of(stand.robot)
    least, less_friction = (solve_least_loss(one).loss_w for one in stand.problems)
    shares = []
    for seed in range(3):
        torque, wrench = stand.pressed(seed)
        soles = stand.centre, np.stack([np.eye(3)] * 2)
        got = heat.useless_power(torque, stand.joints, soles, wrench, stand.cone)
        legs = stand.loss @ stand.problems[0].motor_effort(torque) ** 2
        assert -1e-3 * legs <= got - (legs - less_friction)
        assert got - (legs - least) <= 1e-3 * legs
        shares.append(got / legs)
        alone = wrench * [[1.0], [0.0]]
        one_foot = heat.useless_power(torque, stand.joints, soles, alone, stand.cone)
        assert one_foot == 0.0
    assert max(shares) > 0.2


def test_the_cone_of_a_sole_equals_wrenches_of_corner_forces() -> None:
    X, Y = 0.1, 0.03
    cone, mu = sole_cone(X, Y, MU), MU / np.sqrt(2.0)
    edges = [
        np.concatenate((f, np.cross([x, y, 0.0], f)))
        for x, y, a, b in product((X, -X), (Y, -Y), (mu, -mu), (mu, -mu))
        for f in [np.array([a, b, 1.0])]
    ]
    assert (cone @ np.transpose(edges)).max() < 1e-12
    rng = np.random.default_rng(0)
    within = 0
    for wrench in rng.normal(size=(120, 6)) * [0.3, 0.3, 0, 0.02, 0.07, 0.03] + [
        0,
        0,
        1,
        0,
        0,
        0,
    ]:
        found = linprog(np.ones(len(edges)), A_eq=np.transpose(edges), b_eq=wrench)
        assert (found.status == 0) == bool((cone @ wrench <= 1e-9).all())
        within += found.status == 0
    assert 20 < within < 100


def test_barrier_is_0_far_from_the_limit_and_rises_smoothly() -> None:
    T = np.linspace(60.0, 90.0, 3001)
    values = barrier(T[:, None], 80.0)
    slopes = np.diff(values) / np.diff(T)
    assert (values[T <= 70.0] == 0.0).all()
    assert (np.diff(slopes) >= -1e-6).all()
    assert np.abs(np.diff(slopes)[T[:-2] < 79.0]).max() < 0.02
    np.testing.assert_allclose(barrier(np.array([75.0, 70.0]), 80.0), np.log(2) - 0.5)


def test_published_constants_of_one_motor_type_differ() -> None:
    nao = load_robot()
    rows: dict[str, list[list[float]]] = {}
    for motor in nao.motors:
        one, N2 = motor.one_node, motor.gear_ratio**2
        loss = one.resistance / one.torque_constant**2 * N2
        pair = rows.setdefault(motor.type, [])
        pair.append([loss, one.conductance, one.heat_capacity])
        pair.append([motor.two_node.joule_constant, *pair[-1][1:]])
    ratios = [np.divide(np.max(v, axis=0), np.min(v, axis=0)) for v in rows.values()]
    factors = HeatConstants.of(nao).factors
    assert (np.max(ratios, axis=0) <= factors).all()
    assert (np.max(ratios, axis=0) > 0.94 * factors).all()


def test_draws_lie_within_their_intervals(g1: Robot) -> None:
    heat = HeatConstants.of(g1)
    draws = heat.drawn(np.random.default_rng(3), 200)
    for name, factor in zip(
        ("loss", "conductance", "capacity"), heat.factors, strict=True
    ):
        ratio = getattr(draws, name) / getattr(heat, name)
        assert ratio.shape == (200, 29)
        assert 1.0 / factor <= ratio.min() < 0.9
        assert 1.1 < ratio.max() <= factor


def test_torch_gives_the_same(g1: Robot) -> None:
    torch = pytest.importorskip("torch")
    stand = Stand("g1")
    pairs = [stand.pressed(seed) for seed in range(4)]
    torque, wrench = (np.stack(one) for one in zip(*pairs, strict=True))
    heat = HeatConstants.of(g1).drawn(np.random.default_rng(0), 4)
    soles = stand.centre, np.stack([np.eye(3)] * 2)
    arrays = (torque, stand.joints, soles, wrench, stand.cone)
    want = heat.useless_power(*arrays)

    def tensor(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(tensor(one) for one in value)
        return torch.tensor(value, dtype=torch.float64)

    same = heat.like(tensor(torque))
    got = same.useless_power(*map(tensor, arrays))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    power = heat.power(torque)
    np.testing.assert_allclose(same.power(tensor(torque)).numpy(), power, rtol=1e-6)
    start = np.full_like(power, 75.0)
    hot = heat.heated(start, power, 50.0)
    np.testing.assert_allclose(
        same.heated(tensor(start), tensor(power), 50.0).numpy(), hot, rtol=1e-6
    )
    np.testing.assert_allclose(
        barrier(tensor(hot), 80.0).numpy(), barrier(hot, 80.0), rtol=1e-6
    )


def test_the_file_can_be_copied_since_it_imports_numpy_only() -> None:
    text = Path(training.__file__).read_text(encoding="utf-8")
    tree = ast.parse(text)
    names = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert names == ["sys", "dataclasses", "itertools", "typing", "numpy"]
    assert len(text.splitlines()) <= 150


@pytest.fixture(scope="module")
def g1() -> Robot:
    return load_robot(find_robot_folder("g1"))
