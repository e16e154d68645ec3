"""The world against Pinocchio: frames, masses, rotor inertias, energy, ground."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import Body
from nao_testbed.sim.engine.bullet import p
from nao_testbed.sim.engine.bullet_engine import BulletEngine
from nao_testbed.sim.engine.engine_urdf import (
    rotation_from_rpy,
    rpy_from_rotation,
    write_bullet_urdf,
)
from nao_testbed.sim.engine.world import Payload, WorldCfg
from nao_testbed.sim.servo import ServoCfg
from tests.messages import Messages, each
from tests.sim.engine.oracle import Oracle

MakeEngine = Callable[[Robot, WorldCfg], BulletEngine]

ATOL_POSE = 1e-6  # m and rad, the engine stores its base pose to 3e-7
ENERGY_LOSS = 2e-4  # of the kinetic energy in 0.2 s: second order of the step

UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])

finite_angles = st.floats(-np.pi, np.pi)


@pytest.fixture
def engine() -> Iterator[MakeEngine]:
    made: list[BulletEngine] = []

    def make(robot: Robot, cfg: WorldCfg) -> BulletEngine:
        made.append(BulletEngine(robot, cfg))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def middle_of(robot: Robot) -> FloatArray:
    middle: FloatArray = 0.5 * (robot.lower + robot.upper)
    return middle


def random_pose(
    robot: Robot, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return joint angles inside their ranges, a position high up, a quaternion."""
    q = rng.uniform(robot.lower, robot.upper)
    quaternion = rng.standard_normal(4)
    position = np.array([*rng.uniform(-1.0, 1.0, 2), 5.0])
    return q, position, quaternion / np.linalg.norm(quaternion)


@given(rpy=st.tuples(finite_angles, finite_angles, finite_angles))
def test_roll_pitch_yaw_give_the_rotation_back(rpy: tuple[float, float, float]) -> None:
    R = rotation_from_rpy(np.array(rpy))
    assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=1e-8)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_roll_pitch_yaw_survive_gimbal_lock(pitch: float) -> None:
    R = rotation_from_rpy(np.array([0.3, pitch, -1.1]))
    assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=1e-12)


@pytest.mark.parametrize("name", ["nao", "two_leg"])
def test_engine_frames_and_masses_match_the_plain_urdf(
    name: str, engine: MakeEngine, request: pytest.FixtureRequest
) -> None:
    import pybullet as p

    robot: Robot = request.getfixturevalue(name)
    world, oracle = engine(robot, WorldCfg()), Oracle(robot)
    rng = np.random.default_rng(3)
    for _ in range(3):
        q, position, quaternion = random_pose(robot, rng)
        world.place(q, position, quaternion)
        oracle.place(oracle.configuration(q, position, quaternion))
        for link in robot.links:
            expected_p, expected_R = oracle.link_pose(link.name)
            p_WL, R_WL = world.link_pose(link.name)
            assert_allclose(p_WL, expected_p, atol=ATOL_POSE, err_msg=link.name)
            assert_allclose(R_WL, expected_R, atol=ATOL_POSE, err_msg=link.name)
            index = world._link_index[link.name]
            mass = p.getDynamicsInfo(world._body, index, physicsClientId=world._client)[
                0
            ]
            assert mass == pytest.approx(oracle.mass(link.name), rel=1e-12)
            com = (
                p.getBasePositionAndOrientation(
                    world._body, physicsClientId=world._client
                )[0]
                if index < 0
                else p.getLinkState(
                    world._body,
                    index,
                    computeForwardKinematics=1,
                    physicsClientId=world._client,
                )[0]
            )
            assert_allclose(com, oracle.com(link.name), atol=ATOL_POSE)


@pytest.mark.parametrize("name", ["nao", "two_leg"])
def test_bullet_urdf_moments_include_the_rotor(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A rotor in the moved link and a share c in the inner one: frame and moments."""
    robot: Robot = request.getfixturevalue(name)
    oracle = Oracle(robot, rotors=True)
    path, inertias = write_bullet_urdf(robot, str(tmp_path))
    for link in ET.parse(path).getroot().findall("link"):
        origin = link.find("inertial/origin")
        if origin is None:
            continue
        rpy = np.array([float(x) for x in origin.attrib["rpy"].split()])
        R = rotation_from_rpy(rpy)
        I_with_rotor = R @ np.diag(inertias[link.attrib["name"]].moments) @ R.T
        expected = oracle.inertia(link.attrib["name"])
        scale = np.abs(expected).max()
        assert_allclose(I_with_rotor, expected, atol=1e-7 * scale)  # digits of the URDF


@pytest.mark.parametrize("position", [None, (-0.09, 0.02, 0.05)])
def test_a_payload_is_part_of_its_link(
    position: tuple[float, float, float] | None, nao: Robot, tmp_path: Path
) -> None:
    """Mass, centre and inertia are those of Pinocchio's sum of two bodies."""
    load = Payload(link="torso", mass_kg=2.0, position=position)
    path, inertias = write_bullet_urdf(nao, str(tmp_path), (load,))
    alone = next(link for link in nao.links if link.name == "torso")
    place = np.array(alone.com if position is None else position)
    oracle = Oracle(nao, rotors=True)
    own: Any = pin.Inertia(alone.mass, np.array(alone.com), oracle.inertia("torso"))
    both = own + pin.Inertia(2.0, place, np.zeros((3, 3)))
    links = ET.parse(path).getroot().findall("link")
    (torso,) = [link for link in links if link.attrib["name"] == "torso"]
    origin, mass = torso.find("inertial/origin"), torso.find("inertial/mass")
    assert origin is not None
    assert mass is not None
    assert float(mass.attrib["value"]) == pytest.approx(both.mass)
    centre = [float(x) for x in origin.attrib["xyz"].split()]
    assert_allclose(centre, both.lever, atol=1e-12)
    R = rotation_from_rpy(np.array([float(x) for x in origin.attrib["rpy"].split()]))
    inertia = R @ np.diag(inertias["torso"].moments) @ R.T
    assert_allclose(inertia, both.inertia, atol=1e-7 * np.abs(both.inertia).max())


def test_soles_carry_the_payload(nao: Robot) -> None:
    load = Payload(link="l_gripper", mass_kg=0.5)
    weights = []
    for payloads in ((), (load,)):
        body = Body(
            nao,
            WorldCfg(payloads=payloads),
            ServoCfg(),
            np.zeros(len(nao.joints)),
            "Stand",
        )
        forces = []
        for tick in range(1000):
            body.run(1)
            if tick >= 800:
                forces.append(sum(c.force[2] for c in body.engine.contacts()))
        body.engine.close()
        weights.append(float(np.mean(forces)))
    assert weights[0] == pytest.approx(9.81 * nao.total_mass, rel=2e-3)
    assert weights[1] - weights[0] == pytest.approx(9.81 * 0.5, rel=0.05)


def test_a_payload_needs_a_link_and_a_mass(nao: Robot, engine: MakeEngine) -> None:
    with pytest.raises(BadInput, match=r"Link 'Torso'.*Did you mean 'torso'"):
        engine(nao, WorldCfg(payloads=(Payload(link="Torso", mass_kg=1.0),)))
    for mass_kg in (-1.0, 51.0, np.nan):
        with pytest.raises(BadInput, match="payload in kg = "):
            Payload(link="torso", mass_kg=mass_kg)


def flight(world: BulletEngine, oracle: Oracle) -> tuple[float, float]:
    """Throw a limp robot with moving joints and let it fly for 0.2 s.

    Returns:
        Change of the total energy in J, and the kinetic energy at the start.
    """
    import pybullet as p

    robot = world.robot
    client = {"physicsClientId": world._client}
    middle = middle_of(robot)
    world.place(middle, np.array([0.0, 0.0, 3.0]), UPRIGHT)
    rng = np.random.default_rng(11)
    v = rng.uniform(-0.5, 0.5, len(robot.joints)) * (robot.upper - robot.lower)
    for index, angle, speed in zip(world._indices, middle, v, strict=True):
        p.resetJointState(world._body, index, angle, speed, **client)
    p.resetBaseVelocity(world._body, [0.1, 0.0, 0.5], [0.5, -0.3, 0.4], **client)
    q = np.empty(len(robot.joints))

    def energies() -> tuple[float, float]:
        world.read_joints(q, v)
        position, quaternion = world.base_pose()
        configuration = oracle.configuration(q, position, quaternion)
        R_WB = world.link_pose(robot.base_link)[1]
        velocity = oracle.velocity(v, R_WB, *world.link_twist(robot.base_link))
        return oracle.energies(configuration, velocity)

    before = energies()
    for _ in range(round(0.2 / world.cfg.physics_dt)):
        world.apply_torques([0.0] * len(q))
        world.step()
    after = energies()
    within = (q > robot.lower) & (q < robot.upper)
    assert within.all(), "a joint reached its stop"
    return sum(after) - sum(before), before[0]


@pytest.mark.parametrize("name", ["nao", "two_leg"])
def test_a_thrown_limp_robot_keeps_its_energy(
    name: str, engine: MakeEngine, request: pytest.FixtureRequest
) -> None:
    """No hidden damping: kinetic plus potential energy of the flight, by Pinocchio.

    The engine is of first order: the drift halves with the step. The extrapolation
    to a zero step, 2 E(h/2) - E(h), is the loss by damping.
    """
    robot: Robot = request.getfixturevalue(name)
    oracle = Oracle(robot)
    drift, kinetic = flight(engine(robot, WorldCfg(physics_dt=5e-4)), oracle)
    finer, _ = flight(engine(robot, WorldCfg(physics_dt=2.5e-4)), oracle)
    assert abs(2.0 * finer - drift) < ENERGY_LOSS * kinetic


@pytest.mark.parametrize("slope_deg", [-30.0, 0.0, 5.0])
def test_the_ground_rises_ahead_by_the_slope(
    slope_deg: float, two_leg: Robot, engine: MakeEngine
) -> None:
    """One metre ahead the ground is nearer by sin(slope); one metre aside it is not."""
    world = engine(two_leg, WorldCfg(slope_deg=slope_deg))
    q = np.zeros(len(two_leg.joints))
    clearances = []
    for x, y in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
        world.place(q, np.array([x, y, 2.0]), UPRIGHT)
        clearances.append(world.clearance())
    slope = np.deg2rad(slope_deg)
    here, ahead, aside = clearances
    assert here - ahead == pytest.approx(np.sin(slope), abs=1e-6)
    assert here - aside == pytest.approx(0.0, abs=1e-6)
    assert_allclose(
        world.ground_normal, [-np.sin(slope), 0.0, np.cos(slope)], atol=1e-12
    )


def test_a_window_without_a_display_is_refused(
    two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(BadInput, match="run without --gui"):
        BulletEngine(two_leg, WorldCfg(gui=True))


def test_window_is_close_to_the_robot_without_panels(
    two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the calls only: no display is needed."""
    told: list[tuple[object, ...]] = []
    looks: list[dict[str, object]] = []
    connect = p.connect
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(p, "connect", lambda _mode: connect(p.DIRECT))
    monkeypatch.setattr(
        p, "configureDebugVisualizer", lambda *given, **_: told.append(given)
    )
    monkeypatch.setattr(
        p, "resetDebugVisualizerCamera", lambda **given: looks.append(given)
    )
    engine = BulletEngine(two_leg, WorldCfg(gui=True))
    assert (p.COV_ENABLE_GUI, 0) in told
    assert (p.COV_ENABLE_DEPTH_BUFFER_PREVIEW, 0) in told
    assert not looks, "the robot is not placed yet"
    q = two_leg.posture("Stand").angles
    engine.place(q, np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, 0.0, 1.0]))
    engine.close()
    (look,) = looks
    distance, target = look["cameraDistance"], look["cameraTargetPosition"]
    assert isinstance(distance, float)
    assert isinstance(target, list)
    assert 0.2 < distance < 1.0, "the robot is almost 1 m tall"
    assert 0.1 < target[2] < 0.6, "the middle of the robot"


def test_messages(messages: Messages) -> None:
    messages(
        a_world_that_cannot_be=each(
            WorldCfg,
            physics_dt=[0.0, float("nan"), 0.02],
            slope_deg=[31.0, float("inf")],
            friction=[-0.1],
            gravity=[float("nan")],
            solver_iterations=[0],
            solver_residual=[0.1, float("nan")],
        )
    )
