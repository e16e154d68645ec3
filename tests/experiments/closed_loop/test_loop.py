"""The closed loop: set-points of a path to a posture, one decision per cycle."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from nao_testbed.controllers.interface.controller import ConstantStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Command, Observation
from nao_testbed.controllers.registry import BUILT_IN, VARIANTS, make_controller
from nao_testbed.experiments.closed_loop.loop import (
    APPROACH_TIME,
    Loop,
    approach,
    run_for,
)
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models import Robot, load_robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.messages import Messages, each

angles = st.floats(-2.0, 2.0)
BAD_ANKLE = {"LAnklePitch": 2.0}


class Counting(ConstantStiffness):
    """Controller that records call times and set-points."""

    def __init__(self) -> None:
        super().__init__(0.7)
        self.times: list[float] = []
        self.targets: list[NDArray[np.float64]] = []

    def step(self, observation: Observation) -> Limits:
        self.times.append(observation.time_s)
        self.targets.append(observation.target)
        return super().step(observation)


@pytest.mark.parametrize("name", [*BUILT_IN, *VARIANTS])
def test_nao_stands_under_every_controller(name: str) -> None:
    """One short closed loop of each; long loops are slow tests of the experiments."""
    nao = load_robot()
    argument = {"constant": ":0.7", "current": ":0.9"}.get(name, "")
    controller = make_controller(name + argument)
    sim = SimulatedRobot(nao, SimulationCfg(misalignment_deg=BAD_ANKLE), "PoseInit")
    try:
        height = sim.truth().base_position[2]
        loop = Loop(sim, controller, nao.posture("PoseInit").angles)
        run_for(loop, 0.5)
        seen = sim.read()
        assert sim.truth().base_position[2] == pytest.approx(height, abs=0.005)
    finally:
        sim.close()
    assert_allclose(seen.stiffness, loop.limits, atol=1e-12)
    legs = [nao.joint_names.index(f"{s}KneePitch") for s in "LR"]
    expected = {"fixed": 1.0, "constant": 0.7, "current": 1.0}.get(name)
    if expected is not None:
        assert_allclose(seen.stiffness, expected, atol=1e-12)
    elif name in {"smart", "smart-full"}:
        assert (seen.stiffness[legs] < 1.0).all(), "stiffness must be below 1"


@pytest.fixture
def stand(two_leg: Robot) -> Iterator[SimulatedRobot]:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    yield sim
    sim.close()


@given(start=angles, goal=angles, time_s=st.floats(-1.0, 5.0))
def test_path_stays_between_start_and_goal(
    start: float, goal: float, time_s: float
) -> None:
    (way,) = approach(np.array([start]), np.array([goal]), time_s)
    assert min(start, goal) - 1e-12 <= way <= max(start, goal) + 1e-12


@pytest.mark.parametrize(
    ("u", "s"), [(-1.0, 0.0), (0.0, 0.0), (0.25, 0.15625), (0.5, 0.5), (2.0, 1.0)]
)
def test_path_follows_its_cubic(u: float, s: float) -> None:
    """s = 3 u² - 2 u³ in [0, 1]: 5/32 at a quarter of the time."""
    start, goal = np.array([1.0, -1.0]), np.array([3.0, 0.5])
    way = approach(start, goal, u * APPROACH_TIME)
    assert_allclose(way, start + s * (goal - start), rtol=0.0, atol=1e-15)


def test_path_starts_and_ends_at_rest() -> None:
    h = 1e-6

    def speed(time_s: float) -> float:
        ends = np.zeros(1), np.ones(1)
        return float(approach(*ends, time_s + h)[0] - approach(*ends, time_s)[0]) / h

    assert abs(speed(0.0)) < 1e-5
    assert abs(speed(APPROACH_TIME - h)) < 1e-5
    assert speed(APPROACH_TIME / 2.0) == pytest.approx(1.5 / APPROACH_TIME, rel=1e-5)


@pytest.mark.requirement("ST-2")
def test_the_controller_decides_once_every_20_ms(stand: SimulatedRobot) -> None:
    controller = Counting()
    run_for(Loop(stand, controller, stand.robot.posture("Stand").angles), 0.2)
    assert_allclose(controller.times, CONTROL_PERIOD * np.arange(10), atol=1e-12)
    assert stand.time_s == pytest.approx(0.2)
    assert (stand.read().stiffness == 0.7).all()


def test_posture_is_reached_in_time_and_then_not_written(
    stand: SimulatedRobot,
) -> None:
    goal = stand.robot.posture("Straight").angles
    begin = stand.read().target
    controller = Counting()
    loop = Loop(stand, controller, goal)
    run_for(loop, APPROACH_TIME)
    half = controller.targets[round(0.5 * APPROACH_TIME / CONTROL_PERIOD)]
    assert_allclose(half, 0.5 * (begin + goal), atol=1e-12)
    assert_allclose(stand.read().target, goal, atol=1e-12)
    other = stand.robot.posture("Stand").angles
    stand.write(Command(target=other))
    run_for(loop, 0.1)
    assert (stand.read().target == other).all(), "the loop still writes set-points"


def test_set_points_stay_inside_the_joints_ranges(two_leg: Robot) -> None:
    """A misaligned encoder reads beyond the stop; set-points stay in the range."""
    beyond = SimulationCfg(misalignment_deg={"left_knee": 60.0})
    sim = SimulatedRobot(two_leg, beyond, "Straight")
    try:
        controller = Counting()
        loop = Loop(sim, controller, two_leg.posture("Stand").angles)
        run_for(loop, 0.1)
    finally:
        sim.close()
    assert controller.targets[0][two_leg.joint_index("left_knee")] < -0.05
    for target in controller.targets[1:]:
        assert (target >= two_leg.lower).all()
        assert (target <= two_leg.upper).all()


class Shifting(Counting):
    """Controller that requests a shift between two times."""

    def __init__(self, shift: NDArray[np.float64]) -> None:
        super().__init__()
        self.wanted = shift

    def step(self, observation: Observation) -> Limits:
        limits = super().step(observation)
        on = 2.1 <= observation.time_s < 2.2
        return Limits(stiffness=limits.stiffness, shift=self.wanted if on else None)


def test_a_shift_is_added_to_the_posture_and_removed(stand: SimulatedRobot) -> None:
    robot = stand.robot
    shift = np.deg2rad(np.linspace(-1.0, 1.0, len(robot.joints)))
    controller = Shifting(shift)
    goal = stand.read().target
    loop = Loop(stand, controller, goal)
    run_for(loop, 2.4)
    seen = dict(zip(np.round(controller.times, 2), controller.targets, strict=True))
    with_shift = np.clip(goal + shift, robot.lower, robot.upper)
    assert_allclose(seen[2.1], np.clip(goal, robot.lower, robot.upper), atol=1e-12)
    assert_allclose(seen[2.14], with_shift, atol=1e-12)
    assert_allclose(seen[2.3], np.clip(goal, robot.lower, robot.upper), atol=1e-12)


@pytest.mark.requirement("ST-2")
def test_messages(messages: Messages, stand: SimulatedRobot) -> None:
    messages(
        a_period_that_is_no_multiple=lambda: Loop(
            stand,
            ConstantStiffness(1.0),
            stand.robot.posture("Stand").angles,
            control_period=0.0125,
        ),
        a_shift_that_no_robot_takes=each(
            lambda wrong: run_for(
                Loop(stand, Shifting(wrong), stand.read().target), 2.4
            ),
            np.full(6, np.nan),
            np.full(6, np.inf),
            np.full(6, -4.0),
            np.zeros(3),
            np.zeros(1),
        ),
    )
