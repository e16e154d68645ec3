"""Obstacle boxes: placement, contact forces, and detection by sensors."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.body.placement import place_at_rest
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.obstacles import Obstacle, obstacles_of
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.sensors.force_sensors import ForceSensors
from tests.messages import Messages, each
from tests.sim.conftest import Simulate
from tests.sim.engine.oracle import Oracle

TABLE = Obstacle.at("table", "0.3,0.6,0.02@0.27,0,0.3")
"""Its edge is 12 cm ahead of the robot, before and above its hands."""
ATOL_TORQUE = 0.02  # N·m, a robot that still sways: accelerations are left out


def in_world(*obstacles: Obstacle, slope_deg: float = 0.0) -> SimulationCfg:
    return SimulationCfg(world=WorldCfg(obstacles=obstacles, slope_deg=slope_deg))


def pressing(sim: SimulatedRobot, degrees: float, seconds: float = 2.0) -> None:
    """Raise the left arm of a standing robot by an angle, and wait."""
    shoulder = sim.robot.joint_index("LShoulderPitch")
    target = sim.robot.posture("Stand").angles.copy()
    for part in np.linspace(0.0, 1.0, 50):
        now = target.copy()
        now[shoulder] -= part * np.deg2rad(degrees)
        sim.write(Command(target=now))
        sim.step(20)
    sim.step(round(1000 * (seconds - 1.0)))


@pytest.fixture(scope="module")
def pressed(simulate: Simulate, nao: Robot) -> SimulatedRobot:
    """A robot that raises its left arm by 30 degrees under a table's edge."""
    sim = simulate(nao, in_world(TABLE), "Stand")
    pressing(sim, 30.0)
    return sim


@pytest.mark.requirement("ST-27")
def test_a_pressed_arm_is_in_balance(pressed: SimulatedRobot, nao: Robot) -> None:
    """τ = g(q) - J_cᵀ f for the joints of the arm, with Pinocchio's g and J_c."""
    truth = pressed.truth()
    assert truth.obstacle_contacts
    oracle = Oracle(nao)
    model, data = oracle.model, oracle.data
    q = oracle.configuration(truth.q, truth.base_position, truth.base_quaternion)
    tau = pin.computeGeneralizedGravity(model, data, q).copy()
    for contact in truth.obstacle_contacts:
        assert (contact.obstacle, contact.link) == ("table", "l_wrist")
        frame = oracle.frame(contact.link)
        pin.framesForwardKinematics(model, data, q)
        J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = np.array(contact.position) - data.oMf[frame].translation
        moment = np.cross(arm, contact.force)
        tau -= J.T @ np.concatenate([contact.force, moment])
    names = ("LShoulderPitch", "LShoulderRoll", "LElbowYaw", "LElbowRoll")
    joints = [nao.joint_index(name) for name in names]
    assert_allclose(
        truth.joint_torque[joints], tau[oracle.v_of_joint[joints]], atol=ATOL_TORQUE
    )


@pytest.mark.requirement("ST-27")
def test_a_shoulder_at_its_limit_presses_with_its_torque_over_its_lever(
    pressed: SimulatedRobot, nao: Robot
) -> None:
    """By hand: F r = τ_max - friction - the arm's weight on its lever."""
    truth = pressed.truth()
    shoulder = nao.joint_index("LShoulderPitch")
    joint = nao.joints[shoulder]
    assert pressed.motor_torque[nao.servo_of_joint[shoulder]] == pytest.approx(
        -joint.effort_limit, rel=1e-3
    )
    p, R = pressed.engine.link_pose("LShoulder")
    axis = R[:, 1]
    links = ("LShoulder", "LBicep", "LElbow", "LForeArm", "l_wrist", "l_gripper")
    masses = {link.name: link.mass for link in nao.links}
    weight = sum(
        axis
        @ np.cross(pressed.engine.link_com(name) - p, [0.0, 0.0, -9.81 * masses[name]])
        for name in links
        if masses[name]
    )
    pushed = sum(
        axis @ np.cross(np.array(c.position) - p, c.force)
        for c in truth.obstacle_contacts
    )
    assert pushed + weight == pytest.approx(joint.effort_limit, abs=joint.friction)
    total = pressed.engine.obstacle_forces()
    assert total.keys() == {("table", "l_wrist")}
    force = np.sum([c.force for c in truth.obstacle_contacts], axis=0)
    assert total["table", "l_wrist"] == pytest.approx(float(np.linalg.norm(force)))


@pytest.mark.requirement("ST-27")
def test_a_distant_obstacle_changes_no_digit(simulate: Simulate, nao: Robot) -> None:
    alone = simulate(nao, in_world(), "Stand")
    far = simulate(nao, in_world(Obstacle.at("wall", "1,1,1@9,9,0.5")), "Stand")
    for sim in (alone, far):
        pressing(sim, 20.0, seconds=1.2)
    assert_array_equal(alone.truth().q, far.truth().q)
    assert_array_equal(alone.read().fsr, far.read().fsr)
    assert alone.truth().obstacle_contacts == far.truth().obstacle_contacts == ()


def hit(engine: Engine, origin: tuple[float, float, float]) -> float:
    """Return the distance ahead to the first hit, up to 5 m."""
    ahead = np.array([[1.0, 0.0, 0.0]])
    distance, _ = engine.cast(np.array(origin), ahead, 5.0)
    return float(distance[0])


@pytest.mark.parametrize(
    ("box", "distance"),
    [
        ("0.2,1,1@2,0,0.5", 1.9),
        ("0.2,1,1@2,0,0.5,90", 1.5),
        ("0.2,1,1@2,0,0.5,30", 2.0 - 0.1 / np.cos(np.deg2rad(30.0))),
        ("0.2,1,1@2,0.6,0.5", 5.0),
        ("0.2,1,1@2,-0.4,0.5", 1.9),
        ("0.2,1,0.5@2,0,0.2", 5.0),
        ("0.2,1,0.7@2,0,0.2", 1.9),
    ],
)
def test_a_box_is_placed_where_specified(nao: Robot, box: str, distance: float) -> None:
    engine = make_engine(nao, WorldCfg(obstacles=(Obstacle.at("wall", box),)))
    try:
        engine.place(np.zeros(len(nao.joints)), np.array([0.0, 5.0, 1.0]), UPRIGHT)
        assert hit(engine, (0.0, 0.0, 0.5)) == pytest.approx(distance, abs=1e-4)
    finally:
        engine.close()


UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


def test_on_a_slope_a_box_is_placed_on_it(nao: Robot) -> None:
    """In the frame of the start, whose z is the ground's normal."""
    cfg = WorldCfg(obstacles=(Obstacle.at("wall", "0.2,1,1@2,0,0.5"),), slope_deg=10.0)
    engine = make_engine(nao, cfg)
    try:
        engine.place(np.zeros(len(nao.joints)), np.array([0.0, 5.0, 1.0]), UPRIGHT)
        up = engine.ground_normal
        ahead = np.array([up[2], 0.0, -up[0]])
        distance, normal = engine.cast(0.5 * up, ahead[None], 5.0)
        assert distance[0] == pytest.approx(1.9, abs=1e-4)
        assert_allclose(normal[0], -ahead, atol=1e-6)
    finally:
        engine.close()


@pytest.mark.requirement("ST-27")
def test_sonars_and_cameras_detect_it(simulate: Simulate, nao: Robot) -> None:
    wall = Obstacle.at("wall", "0.1,2,2@0.85,0,1")
    alone = simulate(nao, in_world(), "Stand")
    sim = simulate(nao, in_world(wall), "Stand")
    for one in (alone, sim):
        one.step(200)
    assert_allclose(sim.read().sonar, 0.8 - 0.05, atol=0.05)  # sonars protrude 5 cm
    assert (alone.read().sonar > 2.0).all()
    before, behind = (one.look("CameraTop", 160).rgb for one in (alone, sim))
    assert np.mean(np.any(before != behind, axis=-1)) > 0.9


def test_a_robot_must_start_clear_of_it(simulate: Simulate, nao: Robot) -> None:
    """The message names obstacle, link and penetration depth."""
    step = Obstacle.at("step", "0.4,0.4,0.02@0,0,0.01")
    with pytest.raises(BadInput, match=r"'step' .*_ankle is 20\.\d mm inside.*move"):
        simulate(nao, in_world(step), "Stand")
    high = Obstacle.at("high", "0.4,0.4,0.1@0,0,0.38")
    with pytest.raises(BadInput, match=r"'high' .*torso is"):
        simulate(nao, in_world(step, high), "Stand")
    depths = [depth_in_wall(nao, x) for x in (0.13, 0.133, 0.2)]
    assert depths[0] - depths[1] == pytest.approx(0.003, abs=1e-5)
    assert depths[2] == 0.0


def depth_in_wall(nao: Robot, x: float) -> float:
    """Return the depth of a foot in a wall of 10 cm centred at x, in m."""
    wall = Obstacle.at("wall", f"0.1,1,0.05@{x},0,0.025")
    engine = make_engine(nao, WorldCfg(obstacles=(wall,)))
    try:
        place_at_rest(engine, nao, nao.posture("Stand"))
        return max(engine.overlaps().values(), default=0.0)
    finally:
        engine.close()


@pytest.mark.slow
@pytest.mark.requirement("ST-27")
def test_a_sole_measures_a_block_below_but_not_a_wall_beside(nao: Robot) -> None:
    """On blocks the sensors read the weight as on the ground; a wall adds nothing."""
    blocks = obstacles_of({"block": "0.6,0.6,0.04@0,0,0.02", "wall": WALL})
    engine = make_engine(nao, WorldCfg(obstacles=blocks))
    try:
        q = nao.posture("Stand").angles
        engine.place(q, np.array([0.0, 0.0, 0.5]), UPRIGHT)
        engine.place(q, np.array([0.0, 0.0, 0.54 - engine.clearance()]), UPRIGHT)
        limit, still = [20.0] * len(q), [0.0] * len(q)
        for _ in range(1500):
            engine.apply_position_targets(q.tolist(), still, limit, 0.2, 1.0)
            for foot in ("l_ankle", "r_ankle"):  # ahead, against the wall
                engine.push(foot, np.array([30.0, 0.0, 0.0]), engine.link_com(foot))
            engine.step()
        touched = {(c.obstacle, c.link) for c in engine.obstacle_contacts()}
        assert {("wall", "l_ankle"), ("wall", "r_ankle")} <= touched
        assert not engine.contacts()
        fsr = np.zeros(len(nao.force_sensors))
        sensors = ForceSensors(nao, noise=False, resolution=False)
        sensors.read(engine, fsr, np.random.default_rng(0))
        rubs = sum(  # the wall carries a little by friction
            contact.force[2]
            for contact in engine.obstacle_contacts()
            if contact.obstacle == "wall"
        )
        weight = 9.81 * nao.total_mass
        assert fsr.sum() == pytest.approx(weight - rubs, rel=0.02)
        forces = engine.obstacle_forces()
        pushed = forces["wall", "l_ankle"] + forces["wall", "r_ankle"]
        # Friction on the block is at most its coefficient times the weight.
        assert pushed > 60.0 - engine.cfg.friction * weight
    finally:
        engine.close()


WALL = "0.1,1,0.2@0.158,0,0.1"
"""A little ahead of the tips of the feet."""


@given(
    size=st.tuples(*[st.floats(1e-3, 10.0)] * 3),
    position=st.tuples(*[st.floats(-10.0, 10.0)] * 3),
    yaw_deg=st.floats(-360.0, 360.0),
)
def test_a_box_survives_writing_and_reading(
    size: tuple[float, float, float],
    position: tuple[float, float, float],
    yaw_deg: float,
) -> None:
    one = Obstacle(name="a box", size=size, position=position, yaw_deg=yaw_deg)
    again = Obstacle.at("a box", one.box)
    assert_allclose(again.size, size, rtol=1e-5)
    assert_allclose(again.position, position, rtol=1e-5)
    assert_allclose(again.yaw_deg, yaw_deg, rtol=1e-5)


def test_fifty_boxes_around_a_robot_restore(simulate: Simulate, nao: Robot) -> None:
    """The run continues from a snapshot bit for bit."""
    angles = np.linspace(0.0, 2.0 * np.pi, 50, endpoint=False)
    ring = [
        Obstacle.at(f"post {k}", f"0.05,0.05,0.5@{np.cos(a):.3f},{np.sin(a):.3f},0.25")
        for k, a in enumerate(angles)
    ]
    sim = simulate(nao, in_world(TABLE, *ring), "Stand")
    pressing(sim, 30.0, seconds=1.2)
    kept = sim.snapshot()
    sim.step(200)
    first = sim.truth()
    sim.restore(kept)
    sim.step(200)
    assert_array_equal(sim.truth().q, first.q)
    assert [c.force.tolist() for c in sim.truth().obstacle_contacts] == [
        c.force.tolist() for c in first.obstacle_contacts
    ]
    assert {c.obstacle for c in first.obstacle_contacts} == {"table"}


def test_messages(messages: Messages) -> None:
    messages(
        what_is_no_box=each(
            Obstacle.at,
            ("table", "1,1@0,0,0"),
            ("table", "1,1,1@0,0"),
            ("table", "1,1,1@0,0,0,0,0"),
            ("table", "1,1,1"),
            ("table", "1,1,x@0,0,0"),
            ("table", "1,1,0@5,0,0"),
            ("table", "1,-1,1@5,0,0"),
            ("table", "1,1,nan@5,0,0"),
            ("table", "1,1,1@inf,0,0"),
            ("table", "1,1,1@0,0,-11"),
            ("table", "1,1,1@5,0,0,361"),
            ("", "1,1,1@5,0,0"),
            ("a.b", "1,1,1@5,0,0"),
        ),
        two_boxes_have_two_names=lambda: WorldCfg(obstacles=(TABLE, TABLE)),
    )
