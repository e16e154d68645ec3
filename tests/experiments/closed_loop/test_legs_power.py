"""The legs' power, its minimum, and its settling time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.leg_forces import (
    LegsPower,
    StandingLoss,
    are_at_stops,
    least_powers,
)
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.models import load_robot
from nao_testbed.sim.engine.world import Payload, WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.servo import ServoCfg

NAO = load_robot()


def test_power_is_resistance_times_current_squared() -> None:
    """A knee with 1 N·m draws 1 / K A; head motors do not count."""
    legs, mean_square = LegsPower(NAO), np.zeros(len(NAO.motors))
    knee = NAO.motors[NAO.motor_names.index("LKneePitch")].one_node
    mean_square[NAO.motor_names.index("LKneePitch")] = 1.0
    mean_square[NAO.motor_names.index("HeadYaw")] = 9.0
    legs.add(1.0, mean_square)
    assert legs.last_w is not None
    current = 1.0 / knee.torque_constant
    assert_allclose(legs.last_w, knee.resistance * current**2)


def test_before_any_physics_there_is_no_power() -> None:
    assert LegsPower(NAO).last_w is None


@pytest.mark.parametrize(
    ("powers", "settled_s"),
    [
        ([9.0, 4.0, 1.0, 1.02, 0.99, 1.0], 3.0),
        ([1.0, 1.0, 1.0, 1.0], 1.0),
        ([9.0, 4.0, 1.0, 1.0, 1.0], None),  # not known to continue
        ([0.01, 0.04, 0.02, 0.03], 1.0),  # all within 0.05 W
        ([1.0], None),
    ],
)
def test_settled_time_is_the_last_entry_into_the_band(
    powers: list[float], settled_s: float | None
) -> None:
    legs, knee = LegsPower(NAO), NAO.motor_names.index("LKneePitch")
    motor = NAO.motors[knee].one_node
    for k, watts in enumerate(powers):
        mean_square = np.zeros(len(NAO.motors))
        mean_square[knee] = watts * motor.torque_constant**2 / motor.resistance
        legs.add(k + 1.0, mean_square)
    assert legs.settled_s() == settled_s


def test_a_fast_forwarded_power_settles() -> None:
    """Most of this short run is fast-forwarded."""
    legs = LegsPower(NAO)
    legs.hold(1.0)  # nothing to hold yet
    legs.add(2.0, np.full(len(NAO.motors), 4.0))
    legs.add(3.0, np.ones(len(NAO.motors)))
    assert legs.settled_s() is None
    before = legs.last_w
    legs.hold(20.0)
    assert legs.settled_s() == 3.0
    assert legs.last_w == before


def test_minimum_of_a_level_robot_is_that_of_its_posture() -> None:
    """0.550 W in PoseInit, by the cone programme at the angles of the table."""
    sim = SimulatedRobot(NAO, SimulationCfg(), "PoseInit")
    try:
        least = least_powers(sim)
        assert least is not None
        assert_allclose(least.without_gears_w, 0.550, rtol=0.03)  # sunk a little
        assert least.with_gears_w is not None
        assert_allclose(least.with_gears_w, 0.290, rtol=0.05)
    finally:
        sim.close()


def test_minimum_of_a_robot_includes_its_payload() -> None:
    """A weight over both soles loads the knees: power is quadratic in it."""
    powers = []
    for mass_kg in (1e-3, 2.0):
        load = Payload(link="torso", mass_kg=mass_kg)
        cfg = SimulationCfg(world=WorldCfg(payloads=(load,)))
        sim = SimulatedRobot(NAO, cfg, "PoseInit")
        try:
            least = least_powers(sim)
        finally:
            sim.close()
        assert least is not None
        powers.append(least.without_gears_w)
    below = ("LTibia", "LAnklePitch", "l_ankle")
    carried = NAO.total_mass - 2.0 * sum(
        link.mass for link in NAO.links if link.name in below
    )  # load of the knees
    assert_allclose(powers[1] / powers[0], (1.0 + 2.0 / carried) ** 2, rtol=0.1)


def test_gears_help_by_their_friction() -> None:
    """A tenth of the friction helps a little, zero friction does not."""
    helps = []
    for scale in (0.0, 0.1):
        cfg = SimulationCfg(servo=ServoCfg(friction_scale=scale))
        sim = SimulatedRobot(NAO, cfg, "PoseInit")
        try:
            least = least_powers(sim)
        finally:
            sim.close()
        assert least is not None
        assert least.with_gears_w is not None
        helps.append(least.without_gears_w - least.with_gears_w)
    assert_allclose(helps[0], 0.0, atol=1e-4)
    assert 0.005 < helps[1] < 0.05  # 0.26 W at full friction


@pytest.mark.slow
def test_minima_of_motors_are_those_of_the_joint_optimum() -> None:
    """An ankle misaligned by 2° heats itself and its knee; the head is excluded."""
    cfg = SimulationCfg(misalignment_deg={"LAnklePitch": 2.0})
    sim = SimulatedRobot(NAO, cfg, "PoseInit")
    try:
        goal = NAO.posture("PoseInit").angles
        loop = Loop(sim, make_controller("fixed"), goal, 0.02)
        for _ in range(200):
            loop.cycle()
        standing, square = StandingLoss(sim), sim.mean_square.copy()
        found = standing.solve()
        assert found is not None
        _, least = found
        least_w = standing.least_w()
        ankle = NAO.motor_index("LAnklePitch")
        lost_w = standing.loss * square
        assert_allclose(least_w.sum(), least.loss_w)
        assert least_w[ankle] < 0.5 * lost_w[ankle]
        assert least_w.sum() < lost_w.sum()
        assert least_w[NAO.motor_index("HeadYaw")] == 0.0
        sim.set_misalignment("LAnklePitch", 0.0)  # the same solver
        for _ in range(200):
            loop.cycle()
        above_w = standing.loss * sim.mean_square - standing.least_w()
        assert above_w[ankle] < 0.2 * (lost_w - least_w)[ankle]
    finally:
        sim.close()


def test_a_joint_at_its_stop_needs_no_motor() -> None:
    """In a misaligned crouching robot an ankle and a knee rest on their stops."""
    errors = {"LAnklePitch": -1.5, "RKneePitch": 1.5}
    sim = SimulatedRobot(NAO, SimulationCfg(misalignment_deg=errors), "Crouch")
    try:
        q = sim.truth().q.copy()
        knee, hip = NAO.joint_index("RKneePitch"), NAO.joint_index("RHipPitch")
        assert are_at_stops(NAO, q)[knee]
        assert not are_at_stops(NAO, q)[hip]
        least = least_powers(sim)
        assert least is not None
        assert least.with_gears_w is not None
        assert least.with_gears_w < 0.5 * least.without_gears_w
    finally:
        sim.close()


def test_a_sliding_robot_has_no_minimum() -> None:
    world = WorldCfg(slope_deg=4.0)
    sim = SimulatedRobot(NAO, SimulationCfg(world=world), "PoseInit")
    try:
        assert least_powers(sim) is not None
        assert least_powers(sim, friction=0.05) is None  # tan 4° = 0.07
    finally:
        sim.close()
