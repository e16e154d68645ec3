"""Resting postures: faces of a hull by hand, and every posture in the world."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body.placement import (
    place_at_rest,
    resting_faces,
    resting_normal,
    rotation_to_normal,
)
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulationCfg
from tests.sim.conftest import Simulate

CLEARANCE = 1e-3  # m
FLAT = 0.2  # N, below it a link only brushes the ground
SOLES = {"l_ankle", "r_ankle"}
HIPS = {"LHip", "RHip"}
ARMS = {"LForeArm", "RForeArm", "l_wrist", "r_wrist"}

# Links that must carry, and that may carry, by the shape of each posture.
CARRIED_BY: dict[str, tuple[set[str], set[str]]] = {
    "Stand": (SOLES, set()),
    "StandInit": (SOLES, set()),
    "StandZero": (SOLES, set()),
    "PoseInit": (SOLES, set()),
    "Crouch": (SOLES, set()),
    # The published angles differ from side to side: three points carry, a sole rests.
    "Sit": (HIPS, SOLES),
    "SitRelax": (HIPS, SOLES),
    "Gorilla": (SOLES | {"LForeArm", "RForeArm"}, set()),
    "LyingBack": ({"Head"} | SOLES, {"torso"}),
    # Arms and legs hold up the belly; the angles do not determine which of them.
    "LyingBelly": ({"r_ankle"}, ARMS | HIPS | SOLES | {"torso"}),
}

directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(
    lambda v: float(np.linalg.norm(v)) > 0.1
)


def unit(v: tuple[float, ...]) -> FloatArray:
    direction: FloatArray = np.array(v) / np.linalg.norm(v)
    return direction


@given(normal=directions, up=directions)
def test_rotation_turns_normal_upright(
    normal: tuple[float, ...], up: tuple[float, ...]
) -> None:
    n, u = unit(normal), unit(up)
    quaternion = rotation_to_normal(n, u)
    assert np.linalg.norm(quaternion) == pytest.approx(1.0)
    if n @ u > -1.0 + 1e-6:
        assert_allclose(rotation_from_quaternion(quaternion) @ n, u, atol=1e-6)


def test_upside_down_is_turned_by_half_a_turn() -> None:
    down = np.array([0.0, 0.0, -1.0])
    R = rotation_from_quaternion(rotation_to_normal(down, -down))
    assert_allclose(R @ down, -down, atol=1e-12)


def box(robot: Robot, half: FloatArray) -> FloatArray:
    """Return the corners of a box, as many points as the robot has candidates."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    n = len(robot.contact_points)
    inside = np.zeros((n - 8, 3))
    return np.vstack([corners * half, inside])


def test_a_box_rests_on_each_of_its_sides(two_leg: Robot) -> None:
    """Six faces when its centre of mass is in the middle."""
    points = box(two_leg, np.array([0.1, 0.2, 0.3]))
    rests = resting_faces(two_leg, points, np.zeros(3))
    normals = {tuple(np.rint(rest.normal).astype(int)) for rest in rests}
    assert normals == {
        *((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)),
    }
    for rest in rests:
        assert_allclose(np.abs(rest.normal).max(), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("com_x", "stands"), [(0.0, True), (0.099, True), (0.101, False)]
)
def test_a_box_topples_when_its_mass_leaves_the_face(
    two_leg: Robot, com_x: float, stands: bool
) -> None:
    points = box(two_leg, np.array([0.1, 0.2, 0.3]))
    rests = resting_faces(two_leg, points, np.array([com_x, 0.0, 0.0]))
    upright = [rest for rest in rests if rest.normal[2] > 0.999]
    assert bool(upright) == stands


@pytest.mark.parametrize(
    ("effectors", "normal"),
    [
        (("left_sole",), (1.0, 0.0, 0.0)),
        (("right_sole",), (-1.0, 0.0, 0.0)),
        (("left_sole", "right_sole"), (0.0, 0.0, 1.0)),  # four faces: the upright one
    ],
)
def test_the_posture_chooses_among_the_faces(
    two_leg: Robot, effectors: tuple[str, ...], normal: tuple[float, ...]
) -> None:
    """The back corners of the box belong to one sole, the front ones to the other."""
    posture = dataclasses.replace(two_leg.posture("Stand"), effectors=effectors)
    points = box(two_leg, np.array([0.1, 0.2, 0.3]))
    assert_allclose(
        resting_normal(two_leg, posture, points, np.zeros(3)), normal, atol=1e-12
    )


def test_without_a_resting_face_it_is_upright(two_leg: Robot) -> None:
    points = box(two_leg, np.array([0.1, 0.2, 0.3]))
    far = np.array([5.0, 5.0, 5.0])
    normal = resting_normal(two_leg, two_leg.posture("Stand"), points, far)
    assert_allclose(normal, [0.0, 0.0, 1.0])


@pytest.mark.parametrize("posture", load_robot(default_robot_folder()).postures)
@pytest.mark.parametrize("slope_deg", [0.0, 5.0])
def test_every_posture_is_placed_on_the_ground(
    nao: Robot, posture: str, slope_deg: float
) -> None:
    """The robot neither floats nor penetrates before the first tick."""
    engine = make_engine(nao, WorldCfg(slope_deg=slope_deg))
    place_at_rest(engine, nao, nao.posture(posture))
    clearance = engine.clearance()
    engine.close()
    assert abs(clearance) < CLEARANCE


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-13")
@pytest.mark.parametrize("posture", load_robot(default_robot_folder()).postures)
def test_every_posture_rests_on_the_ground(
    nao: Robot, simulate: Simulate, posture: str
) -> None:
    """No link penetrates, and the same links carry the robot after 3 s."""
    sim = simulate(nao, SimulationCfg(), posture)
    assert abs(sim.engine.clearance()) < CLEARANCE
    sim.step(3000)
    truth = sim.truth()
    assert not truth.has_fallen
    assert abs(sim.engine.clearance()) < CLEARANCE
    load: dict[str, float] = {}
    for contact in truth.contacts:
        load[contact.link] = load.get(contact.link, 0.0) + contact.normal_force
    carriers = {link for link, force in load.items() if force > FLAT}
    must, may = CARRIED_BY[posture]
    assert must <= carriers <= must | may, load
    assert sum(load.values()) == pytest.approx(nao.total_mass * 9.81, rel=0.03)


@pytest.mark.scenario
@pytest.mark.parametrize("posture", ["Stand", "Straight"])
def test_another_robot_rests_on_its_soles(
    two_leg: Robot, simulate: Simulate, posture: str
) -> None:
    sim = simulate(two_leg, SimulationCfg(), posture)
    assert abs(sim.engine.clearance()) < CLEARANCE
    sim.step(1000)
    assert not sim.has_fallen()
    assert {c.link for c in sim.truth().contacts} == {"left_foot", "right_foot"}


@pytest.mark.scenario
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_a_fallen_robot_is_set_down(
    two_leg: Robot, simulate: Simulate, engine: EngineName
) -> None:
    """Only the base changes: joints, set-points, heat and clock are kept."""
    cfg = SimulationCfg(world=WorldCfg(engine=engine))
    sim = simulate(two_leg, cfg, "Stand")
    for _ in range(500):
        sim.push(two_leg.base_link, np.array([30.0, 0.0, 0.0]))
        sim.step(1)
    sim.step(1000)
    assert sim.has_fallen()
    before, q, heat = sim.read(), sim.q.copy(), sim.heating.temperature.copy()
    sim.set_down("Stand")
    assert not sim.has_fallen()
    assert abs(sim.engine.clearance()) < CLEARANCE
    assert np.array_equal(sim.q, q)
    assert not sim.v.any()
    assert np.array_equal(sim.heating.temperature, heat)
    assert np.array_equal(sim.read().target, before.target)
    assert sim.read().time_s == before.time_s
    sim.step(2000)
    assert not sim.has_fallen()
    assert {c.link for c in sim.truth().contacts} == {"left_foot", "right_foot"}
