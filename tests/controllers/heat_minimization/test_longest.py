"""`longest`: the first hot motor is hot as late as contact forces allow."""

import dataclasses
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.least_loss import (
    evaluate_forces,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.longest import (
    MARGIN,
    SHORTEST_S,
    TOLERANCE,
    Longest,
    LongestCfg,
    MotorTimes,
    TimeSearch,
)
from nao_testbed.controllers.heat_minimization.minheat import MinHeat
from nao_testbed.controllers.heat_minimization.standing_problem import StandingProblem
from nao_testbed.models import load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal import HeatingCfg, make_heating
from tests.controllers.heat_minimization.standing import (
    SpringRobot,
    drawn_problem,
    standing_problem,
    upright,
)

NAO = load_robot()
LIMIT_DEGC = 80.0
TIMES = MotorTimes(NAO, LIMIT_DEGC)
UP = upright(NAO, "Crouch")
CROUCH = standing_problem(NAO, NAO.posture("Crouch").angles, UP)
COOL = np.full(len(NAO.motors), 38.0)
SOON = LongestCfg(replan_s=5.0)
KNEE = int(NAO.motor_of_joint[NAO.joint_index("LKneePitch")])


def warm(motor: int, degc: float) -> FloatArray:
    temperature = COOL.copy()
    temperature[motor] = degc
    return temperature


def search(
    problem: StandingProblem,
    temperature: FloatArray,
    limit: FloatArray | float = np.inf,
) -> tuple[Any, float, int]:
    """Return the torques of the forces that are found, their time, and the steps."""
    seeking = TimeSearch(problem, TIMES, temperature, limit)
    for steps in range(1, 80):
        found = seeking.step()
        if found is not None:
            weighted = dataclasses.replace(problem, loss=problem.loss * found.weights)
            assert_allclose(found.least.forces, solve_least_loss(weighted).forces)
            return evaluate_forces(problem, found.least.forces), found.time_s, steps
    raise AssertionError("it never ends")


@pytest.mark.parametrize("torque", [0.3, 1.0, 2.5])
def test_times_are_those_of_the_heating_model(torque: float) -> None:
    heating = make_heating(NAO, HeatingCfg())
    start = np.linspace(30.0, 75.0, len(NAO.motors))
    heating.reset(start)
    mean_square = np.full(len(NAO.motors), torque**2)
    wanted = heating.time_to_reach(mean_square, LIMIT_DEGC)
    found = TIMES.until_limit(np.full(len(NAO.motors), -torque), start)
    assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("time_s", [30.0, 600.0, 3000.0])
def test_a_motor_at_its_bound_is_too_hot_just_then(time_s: float) -> None:
    temperature = np.linspace(30.0, 79.0, len(NAO.motors))
    bound = TIMES.bounds(time_s, temperature)
    lasts = TIMES.until_limit(1.0001 * bound, temperature)
    assert_allclose(lasts, time_s, rtol=0.05)
    forever = TIMES.bounds(np.inf, temperature)
    assert (TIMES.until_limit(0.999 * forever, temperature) == np.inf).all()


def test_a_motor_beyond_its_limit_may_not_get_hotter() -> None:
    hot = warm(KNEE, 95.0)
    bounds = TIMES.bounds(600.0, hot)
    assert_allclose(bounds[KNEE], TIMES.bounds(np.inf, hot)[KNEE])
    assert TIMES.until_limit(1.01 * bounds, hot)[KNEE] == 0.0
    assert TIMES.until_limit(0.99 * bounds, hot)[KNEE] == np.inf


def least_stretch(problem: StandingProblem, bound: FloatArray) -> float:
    """Return min s with |T| <= s b, in round cones, by another solver."""
    f = cp.Variable((problem.n_points, 3))
    s = cp.Variable()
    flat = cp.reshape(f, (3 * problem.n_points,), order="C")
    T = problem.sharing @ (problem.gravity - problem.contact_map @ flat)
    counts = problem.loss > 0.0
    rules = [cp.abs(T[counts]) <= s * bound[counts]]
    rules += [problem.base_map @ flat == problem.weight]
    rules += [
        cp.norm(f[k, :2]) <= problem.friction * f[k, 2] for k in range(problem.n_points)
    ]
    return float(cp.Problem(cp.Minimize(s), rules).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("temperature", [COOL, warm(KNEE, 70.0), warm(KNEE, 79.5)])
def test_no_forces_last_longer(temperature: FloatArray) -> None:
    found, time_s, steps = search(CROUCH, temperature)
    counts = CROUCH.loss > 0.0
    lasts = TIMES.until_limit(found.motor_effort, temperature)[counts].min()
    assert found.is_balanced
    assert lasts >= 0.97 * time_s
    assert steps <= 25, "2.5 s"
    later = TIMES.bounds(1.01 * time_s, temperature)
    assert least_stretch(CROUCH, later) > 0.98, "4 % of the heat, for what may come"
    with_least = solve_least_loss(CROUCH)
    least = TIMES.until_limit(with_least.motor_effort, temperature)[counts].min()
    assert lasts > 1.3 * least, "nothing is gained: the test shows nothing"


def test_where_friction_is_used_up_the_cones_are_nearly_round() -> None:
    """Pyramids of eight rays stretched the bounds by up to 10 % more."""
    bounds = TIMES.bounds(1200.0, COOL)
    for seed in (3, 8, 23):
        problem = drawn_problem(NAO, seed, 0.15)
        ours = MARGIN * TimeSearch(problem, TIMES, COOL)._stretch(1200.0)
        assert_allclose(ours, least_stretch(problem, bounds), rtol=TOLERANCE)


def test_where_nothing_gets_hot_the_least_heat_is_the_answer() -> None:
    problem = standing_problem(NAO)
    found, time_s, steps = search(problem, COOL)
    assert time_s == np.inf
    assert steps == 2
    assert_allclose(found.loss_w, solve_least_loss(problem).loss_w, rtol=1e-6)


def test_no_torque_beyond_its_limit_is_counted_on() -> None:
    free, free_s, _ = search(CROUCH, COOL)
    ankle = int(NAO.motor_of_joint[NAO.joint_index("LAnkleRoll")])
    limit = np.full(len(NAO.motors), np.inf)
    limit[ankle] = 0.7 * abs(free.motor_effort[ankle])
    found, time_s, _ = search(CROUCH, COOL, limit)
    assert abs(found.motor_effort[ankle]) <= limit[ankle]
    assert SHORTEST_S < time_s < free_s


@pytest.mark.parametrize(("least", "share"), [(0.5, 0.8), (0.77, 0.8), (0.9, 0.92)])
def test_who_never_gets_hot_keeps_off_the_limit(least: float, share: float) -> None:
    """`least` is the share of their bounds that no forces get below."""
    bound = TIMES.bounds(np.inf, COOL)
    load = least / least_stretch(CROUCH, bound)
    light = dataclasses.replace(
        CROUCH, gravity=load * CROUCH.gravity, weight=load * CROUCH.weight
    )
    counts = light.loss > 0.0

    def highest(motor_effort: FloatArray) -> float:
        return float((np.abs(motor_effort) / bound)[counts].max())

    found, time_s, _ = search(light, COOL)
    assert time_s == np.inf
    assert found.is_balanced
    assert highest(found.motor_effort) <= 1.01 * share
    least_loss = highest(solve_least_loss(light).motor_effort)
    assert least_loss > 1.05 * share or least == 0.5, "the test shows nothing"


def crouching() -> SpringRobot:
    return SpringRobot(NAO, np.zeros(len(NAO.joints)), "Crouch", UP)


def test_a_plan_that_promises_no_more_is_not_followed() -> None:
    robot = SpringRobot(NAO, np.zeros(len(NAO.joints)), "PoseInit")
    start = warm(KNEE, 60.0)
    shifts = []
    for controller in (Longest(SOON), MinHeat()):
        controller.reset(NAO)
        shift = np.zeros(len(NAO.joints))
        shifts.append(run_for(controller, robot, 0.0, shift, temperature=start))
    assert np.array_equal(shifts[0], shifts[1])
    assert np.abs(shifts[0]).max() > 0.005, "nothing is shifted: nothing is shown"


def minutes(controller: MinHeat, start: FloatArray) -> float:
    """Return the minutes until a motor of the legs is too hot, on a robot of springs.

    It settles for 20 s; then its torques stay.
    """
    robot = crouching()
    controller.reset(NAO)
    shift = np.zeros(len(NAO.joints))
    for cycle in range(1000):
        seen = robot.observe(0.02 * cycle, shift, temperature=start)
        decided = controller.step(seen)
        assert decided.shift is not None
        shift = decided.shift
    lasts = TIMES.until_limit(robot.motor_effort(shift), start)
    return float(lasts[robot.problem.loss > 0.0].min()) / 60.0


def test_a_crouching_robot_with_a_warm_knee_lasts_longer() -> None:
    start = warm(KNEE, 60.0)
    longest = Longest(SOON)
    lasts = minutes(longest, start)
    _, possible_s, _ = search(CROUCH, start)
    assert lasts > 1.3 * minutes(MinHeat(), start)
    assert lasts > 0.9 * possible_s / 60.0
    assert longest.signals[2] == pytest.approx(lasts, rel=0.05)


def test_it_plans_anew_by_the_clock_and_after_a_motion() -> None:
    robot = crouching()
    controller = Longest(LongestCfg(replan_s=15.0))
    controller.reset(NAO)
    shift = np.zeros(len(NAO.joints))
    searches = []
    for cycle in range(3000):
        is_moving = 1000 <= cycle < 1010
        target = {"target": robot.still.target + 0.3} if is_moving else {}
        seen = robot.observe(0.02 * cycle, shift, temperature=COOL, **target)
        shift_now = controller.step(seen).shift
        assert shift_now is not None
        shift = shift_now
        if controller._search is not None:
            searches.append(cycle)
    earlier = [-99, *searches]
    begins = [c for c, b in zip(searches, earlier, strict=False) if c > b + 50]
    assert len(begins) == 3, "at first, after the motion, and 15 s later"
    assert begins[0] >= 750
    assert begins[1] >= 1010 + 750
    assert begins[2] - begins[1] == 750


def run_for(
    controller: MinHeat,
    robot: SpringRobot,
    begin_s: float,
    shift: FloatArray,
    **seen: Any,
) -> FloatArray:
    """Run for 20 s; return the shift."""
    for cycle in range(1000):
        observation = robot.observe(
            begin_s + 0.02 * cycle, shift, **({"temperature": COOL} | seen)
        )
        decided = controller.step(observation)
        assert decided.shift is not None
        shift = decided.shift
    return shift


def test_a_load_that_comes_later_is_carried() -> None:
    robot, controller = crouching(), Longest(SOON)
    controller.reset(NAO)
    shift = run_for(controller, robot, 0.0, np.zeros(len(NAO.joints)))
    leaning = CROUCH.weight + np.array((0.0, 0.0, 0.0, 0.0, 2.0, 0.0))  # N·m
    carrying = solve_least_loss(dataclasses.replace(CROUCH, weight=leaning))
    robot._carrying = carrying.motor_effort[robot._motors]
    shift = run_for(controller, robot, 20.0, shift)
    run_for(controller, robot, 40.0, shift)
    assert controller.flag_counts["shift at its bound"] == 0


def test_on_one_foot_the_plan_for_two_is_dropped() -> None:
    robot, controller = crouching(), Longest(SOON)
    controller.reset(NAO)
    shift = run_for(controller, robot, 0.0, np.zeros(len(NAO.joints)))
    left = np.array([s.name.startswith("L") for s in NAO.force_sensors])
    run_for(controller, robot, 20.0, shift, fsr=np.where(left, 12.0, 0.0))
    assert controller.state is not None
    assert controller.state.feet == ("LFoot",)


def test_a_motor_beyond_its_limit_is_relieved() -> None:
    found, time_s, _ = search(CROUCH, warm(KNEE, 90.0))
    least = solve_least_loss(CROUCH).motor_effort
    assert time_s > 10.0
    assert abs(found.motor_effort[KNEE]) < 0.95 * abs(least[KNEE])
