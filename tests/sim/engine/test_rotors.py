"""Rotors in PyBullet act on the joints, not on the rotation of the whole body.

Pinocchio is the reference: M a + nle + diag(J N²) v̇ = τ. In PyBullet the links carry
J N², and `sim.engine.rotors` corrects that with an acceleration that it predicts.
"""

import re
import shutil
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.values import FloatArray

pytest.importorskip("pybullet")

from nao_testbed.sim.body import Body
from nao_testbed.sim.engine.bullet_engine import BulletEngine
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.rotors import Rotors
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.servo import ServoCfg
from tests.sim.engine.oracle import Oracle

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
WEIGHTLESS = WorldCfg(engine="pybullet", gravity=0.0)
ENGINES: tuple[EngineName, ...] = ("pybullet", "mujoco")
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
RTOL_SETTLED = 1e-4  # after 0.3 s, in which the robot moves a little
RTOL_TIPPING = 0.01  # times of some 0.27 s are counted in ms
RTOL_MOTION = 0.02  # the prediction lags; wrong inertias are off by half


@pytest.fixture(params=["nao", "two_leg"])
def robot(request: pytest.FixtureRequest) -> Robot:
    named: Robot = request.getfixturevalue(request.param)
    return named


def engine_of(robot: Robot, q: FloatArray) -> BulletEngine:
    engine = BulletEngine(robot, WEIGHTLESS)
    engine.place(q, np.array([0.0, 0.0, 2.0]), UPRIGHT)
    return engine


def middle_pose(robot: Robot, rng: np.random.Generator) -> FloatArray:
    """Return angles (n,) far from the stops."""
    q: FloatArray = robot.lower + rng.uniform(0.25, 0.75) * (robot.upper - robot.lower)
    return q


def test_torques_equal_rotors_in_links_minus_rotors_in_joints(
    robot: Robot,
) -> None:
    """Compare with Pinocchio at random velocities and accelerations."""
    rng = np.random.default_rng(2)
    bare, loaded = Oracle(robot), Oracle(robot, rotors=True)
    rotors = Rotors(robot, 1e-3, UPRIGHT.tolist())
    n = len(robot.joints)
    for _ in range(5):
        joints = rng.uniform(robot.lower, robot.upper)
        quaternion = rng.standard_normal(4)
        quaternion /= np.linalg.norm(quaternion)
        v, a = rng.standard_normal((2, 3 + n)) * [[3.0], [50.0]]
        q = bare.configuration(joints, np.zeros(3), quaternion)
        R = rotation_from_quaternion(quaternion)
        v_pin, a_pin = np.zeros((2, bare.model.nv))
        v_pin[3:6], a_pin[3:6] = R.T @ v[:3], R.T @ a[:3]
        v_pin[bare.v_of_joint], a_pin[bare.v_of_joint] = v[3:], a[3:]
        links, none = (
            pin.rnea(one.model, one.data, q, v_pin, a_pin).copy()
            for one in (loaded, bare)
        )
        expected = links - none
        expected[bare.v_of_joint] -= bare.armature() * a[3:]
        rotors.base[:4], rotors.base[4:] = quaternion, v[:3]
        rotors.q[:], rotors.v[:] = joints, v[3:]
        rotors.restart()
        rotors.state[1] = a
        rotors.update()
        scale = np.abs(expected).max()
        assert_allclose(expected[:3], 0.0, atol=1e-12 * scale)
        assert_allclose(rotors.base_torque, R @ expected[3:6], atol=1e-12 * scale)
        assert_allclose(rotors.torque, expected[bare.v_of_joint], atol=1e-12 * scale)


@pytest.mark.parametrize("seed", range(3))
def test_joint_and_base_accelerations_match_pinocchio(robot: Robot, seed: int) -> None:
    """Weightless, from rest: (M + diag J N²) a = S τ, once the estimate has settled."""
    rng = np.random.default_rng(seed)
    joints = middle_pose(robot, rng)
    tau = 1e-6 * rng.standard_normal(len(joints))  # it rotates little in 0.3 s
    engine = engine_of(robot, joints)
    q, before, after = np.empty((3, len(joints)))
    turning = []
    for step in range(300):
        engine.apply_torques(tau)
        engine.step()
        if step >= 298:
            before[:] = after
            engine.read_joints(q, after)
            turning.append(engine.link_twist(robot.base_link)[1])
    engine.close()
    oracle = Oracle(robot)
    configuration = oracle.configuration(joints, np.zeros(3), UPRIGHT)
    forces = np.zeros(oracle.model.nv)
    forces[oracle.v_of_joint] = tau
    a = 1e-3 * np.linalg.solve(oracle.mass_matrix(configuration), forces)
    atol = RTOL_SETTLED * np.abs(a).max()
    assert_allclose(after - before, a[oracle.v_of_joint], atol=atol)
    assert_allclose(turning[1] - turning[0], a[3:6], atol=atol)


def test_a_robot_that_swings_its_arms_keeps_its_angular_momentum(nao: Robot) -> None:
    """Links only, without rotors: no external force acts, so it stays zero."""
    engine, oracle = engine_of(nao, nao.posture("Stand").angles), Oracle(nao)
    q, v = np.empty((2, len(nao.joints)))
    shoulders = [nao.joint_index(f"{side}ShoulderPitch") for side in "LR"]
    tau, largest, shares = np.zeros(len(nao.joints)), 0.0, []
    for step in range(200):
        tau[shoulders] = -0.3 * np.sin(2.0 * np.pi * step / 200.0)
        engine.apply_torques(tau)
        engine.step()
        engine.read_joints(q, v)
        position, quaternion = engine.base_pose()
        configuration = oracle.configuration(q, position, quaternion)
        R = engine.link_pose(nao.base_link)[1]
        twist = engine.link_twist(nao.base_link)
        momentum = []
        for velocity in (
            oracle.velocity(v, R, *twist),
            oracle.velocity(v, R, np.zeros(3), np.zeros(3)),
        ):
            model, data = oracle.model, oracle.data
            h = pin.computeCentroidalMomentum(model, data, configuration, velocity)
            momentum.append(float(np.linalg.norm(h.angular)))
        largest = max(largest, momentum[0])
        shares.append(momentum[1])
    engine.close()
    assert largest < RTOL_MOTION * max(shares)


def light_trunk(folder: Path) -> Robot:
    """Return the walker with inertias divided by 100 and rotors ten times as heavy.

    It represents a robot with strong gears and a light pelvis.
    """
    shutil.copytree(TWO_LEG, folder)
    urdf, motors = folder / "two_leg.urdf", folder / "motor_types.csv"
    text = re.sub(
        r'(?<= i[xyz]{2}=")([^"]+)',
        lambda found: str(0.01 * float(found[1])),
        urdf.read_text("utf-8"),
    )
    urdf.write_text(text, "utf-8")
    motors.write_text(motors.read_text("utf-8").replace("4e-07", "4e-06"), "utf-8")
    return load_robot(folder)


def test_heavy_rotors_on_a_light_trunk_do_not_shake(tmp_path: Path) -> None:
    """The estimate is stable for every robot: a jolt decays. See the module."""
    robot = light_trunk(tmp_path / "light")
    engine = engine_of(robot, robot.posture("Stand").angles)
    q, v = np.empty((2, len(robot.joints)))
    start, most = robot.posture("Stand").angles, []
    for step in range(600):
        engine.read_joints(q, v)
        tau = 20.0 * (start - q) - 2.0 * v
        if step < 5:
            tau = tau + 0.5
        most.append(max(np.abs(v).max(), np.abs(engine.link_twist("trunk")[1]).max()))
        engine.apply_torques(tau)
        engine.step()
    engine.close()
    assert np.max(most[500:]) < 0.1 * np.max(most[:20])


def tipping_time(robot: Robot, posture: str, world: WorldCfg) -> float:
    """Tip a robot over its toes or heels; return the time from 5° to 40° in s."""
    n = len(robot.joints)
    body = Body(robot, world, ServoCfg(), np.zeros(n), posture)
    start = body.engine.link_pose(robot.base_link)[1][:, 2]
    ticks = {}
    for limit_deg in (5.0, 40.0):
        while start @ body.engine.link_pose(robot.base_link)[1][:, 2] > np.cos(
            np.deg2rad(limit_deg)
        ):
            assert body.run(1)
            assert body.clock[0] < 1000
        ticks[limit_deg] = body.clock[0]
    body.engine.close()
    return float(ticks[40.0] - ticks[5.0]) * world.physics_dt


@pytest.mark.parametrize("posture", ["PoseInit", "Crouch"])
@pytest.mark.parametrize("slope_deg", [-25.0, 25.0])
def test_a_robot_tips_over_as_fast_as_on_mujoco(
    nao: Robot, posture: str, slope_deg: float
) -> None:
    """All joints held, on a slope too steep for it, forward and backward."""
    pytest.importorskip("mujoco")
    times = [
        tipping_time(
            nao, posture, WorldCfg(engine=name, slope_deg=slope_deg, friction=2.0)
        )
        for name in ENGINES
    ]
    assert times[0] == pytest.approx(times[1], rel=RTOL_TIPPING), times
