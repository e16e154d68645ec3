"""Compiled kernels: they agree with NumPy, and no run waits for the compiler."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.stiffness import ContactForceCfg, Dynamics, GroundPlaneCfg
from nao_testbed.controllers.stiffness.contact_forces import (
    balance,
    build_contact_problem,
    solve_contact_problem,
    solve_three,
)
from nao_testbed.controllers.stiffness.ground_plane import (
    fit_sole_plane,
    least_direction,
)
from nao_testbed.models import Robot

ROOT = Path(__file__).resolve().parents[3]
RTOL_SOLVE = 1e-13  # times the condition of A: rounding
ATOL_DIRECTION = 1e-9  # rad; rounding over the gap of the eigenvalues
SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
QUICK = settings(deadline=None, max_examples=50)


@QUICK
@given(seed=SEEDS)
def test_three_equations_agree_with_lapack(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(3, 3)), rng.normal(size=3)
    A[0, 0] *= rng.integers(2)  # a zero where elimination would begin
    expected = np.linalg.solve(A, B)
    error = np.abs(solve_three(A, B) - expected).max()
    assert error <= RTOL_SOLVE * np.linalg.cond(A) * np.abs(expected).max()


@QUICK
@given(seed=SEEDS, thickness=st.sampled_from((0.0, 1e-4, 0.003)))
def test_least_direction_agrees_with_lapack(seed: int, thickness: float) -> None:
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    points = (rng.uniform(-1.0, 1.0, (8, 3)) * (0.1, 0.05, thickness)) @ turn
    C = points.T @ points / 8
    values, vectors = np.linalg.eigh(C)
    least, middle, direction = least_direction(C)
    np.testing.assert_allclose((least, middle), values[:2], atol=1e-15)
    off = np.linalg.norm(np.cross(direction, vectors[:, 0]))
    assert off < ATOL_DIRECTION
    assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-12)


def test_least_direction_of_a_sphere_is_a_unit_vector() -> None:
    least, middle, direction = least_direction(2.0 * np.eye(3))
    assert (least, middle) == (2.0, 2.0)
    assert np.linalg.norm(direction) == 1.0


@QUICK
@given(seed=SEEDS)
def test_plane_of_all_sensors_uses_only_the_pressed_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cfg = GroundPlaneCfg()
    points = rng.uniform(-0.1, 0.1, (8, 3)) * (1.0, 1.0, 0.02)
    force = rng.uniform(0.0, 2.0, 8)
    com = np.array((0.0, 0.0, 0.3))
    found = fit_sole_plane(points, com, cfg, force)
    expected = fit_sole_plane(points[force >= cfg.pressed_newton], com, cfg)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        np.testing.assert_allclose(found, expected, atol=1e-12)


@QUICK
@given(seed=SEEDS)
def test_contact_term_is_contact_matrix_times_forces(nao: Robot, seed: int) -> None:
    """Steps 670 and 680 combined equal the two in sequence."""
    rng = np.random.default_rng(seed)
    dynamics = Dynamics(nao, nao.contact_points)
    dynamics.update(rng.uniform(nao.lower, nao.upper))
    points = rng.choice(len(nao.contact_points), size=5, replace=False)
    up = rng.normal(size=3)
    up /= np.linalg.norm(up)
    forces = rng.uniform(0.0, 50.0, 5)
    np.testing.assert_allclose(
        dynamics.contact_term(points, up, forces),
        dynamics.contact_matrix(points, np.tile(up, (len(points), 1, 1))) @ forces,
        atol=1e-11,
        err_msg="N·m",
    )


@QUICK
@given(seed=SEEDS, n=st.integers(min_value=0, max_value=9))
def test_balance_kernel_agrees_with_build_and_solve(seed: int, n: int) -> None:
    """`balance` selects points, builds and solves like the two public functions."""
    rng = np.random.default_rng(seed)
    cfg = ContactForceCfg()
    position = rng.uniform(-0.1, 0.1, (9, 3))
    allowed = np.zeros(9, dtype=np.bool_)
    allowed[rng.choice(9, size=n, replace=False)] = True
    com, up = rng.uniform(-0.05, 0.05, 3), np.array((0.0, 0.0, 1.0))
    load_points, load_forces = rng.uniform(-0.1, 0.1, (1, 3)), np.array((-3.0,))
    problem = build_contact_problem(
        position[allowed],
        com,
        up,
        weight=52.0,
        cfg=cfg,
        load_points=load_points,
        load_forces=load_forces,
    )
    contacts, forces, flags, is_solved = balance(
        position,
        allowed,
        com,
        up,
        52.0,
        load_points,
        load_forces,
        problem.Q,
        cfg.regularisation,
        cfg.tolerance_m,
    )
    np.testing.assert_array_equal(contacts, np.flatnonzero(allowed))
    solution = solve_contact_problem(problem)
    if is_solved:
        np.testing.assert_allclose(forces, solution.forces, rtol=1e-12)
        assert flags == solution.flags
    else:
        assert (forces < 0.0).any()
        assert (solution.forces >= 0.0).all()


STEPS = """
FLOOR = "nao_testbed.controllers"
import dataclasses
import sys
import numpy as np
from nao_testbed import controllers
from numba.core.dispatcher import Dispatcher

def compiled():
    homes = [m for n, m in sys.modules.items() if n.startswith(FLOOR)]
    kernels = {id(v): v for m in homes for v in vars(m).values()
               if isinstance(v, Dispatcher)}
    return sum(len(kernel.signatures) for kernel in kernels.values())

print(compiled())
from nao_testbed.models import load_robot
robot = load_robot()
n, motors = len(robot.joints), len(robot.motors)

def strange(values):
    table = np.zeros((len(values), 2))
    table[:, 0] = values
    table.setflags(write=False)
    return table[:, 0]

for name in ("smart", "smart-full"):
    controller = controllers.make_controller(name)
    controller.reset(robot)
    before = compiled()
    seen = set()
    for k, posture in enumerate(robot.postures.values()):
        for pressed in (0, 3, 4, 8):
            for tilt in (0.0, 0.5):
                fsr = np.zeros(len(robot.force_sensors))
                fsr[:pressed] = 6.0
                fields = dict(
                    q=posture.angles, v=np.zeros(n), target=posture.angles,
                    stiffness=np.ones(n), current=np.zeros(motors),
                    temperature=np.full(motors, 30.0), gyro=np.zeros(3),
                    accelerometer=9.81 * np.array((np.sin(tilt), 0.0, np.cos(tilt))),
                    fsr=fsr,
                )
                controller.step(controllers.Observation(
                    time_s=float(k), **{a: strange(b) for a, b in fields.items()}))
                seen |= set(controller.flag_counts)
    print(compiled() - before, len(seen) > 3)
"""


@pytest.mark.slow
def test_nothing_is_compiled_at_import_nor_after_reset() -> None:
    """Strided views and read-only arrays need no kernels of their own type."""
    ran = subprocess.run(
        [sys.executable, "-c", STEPS],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    at_import, *afterwards = ran.stdout.splitlines()
    assert at_import == "0"
    assert afterwards == ["0 True"] * 2
