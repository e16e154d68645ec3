"""MuJoCo behind the engine interface, against PyBullet and the laws of mechanics."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.body.placement import check_clear, place_at_rest
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.interface import Engine, FeatureMissing
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import Camera, Payload, WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.servo import ServoCfg
from tests.sim.engine.oracle import Oracle

pytest.importorskip("mujoco")

ATOL_POSE = 1e-6  # m and rad, PyBullet stores its base pose to 3e-7
ATOL_STAND = 0.02  # N·m, aligned stand: two contact models
ATOL_TILT = 6e-6  # rad, half a count of a leg's encoder
MUJOCO = WorldCfg(engine="mujoco")
UP = np.array([0.0, 0.0, 0.0, 1.0])


@pytest.fixture
def engines(nao: Robot) -> Iterator[tuple[Engine, Engine]]:
    both = make_engine(nao, WorldCfg(engine="pybullet")), make_engine(nao, MUJOCO)
    yield both
    for engine in both:
        engine.close()


@pytest.mark.parametrize("seed", range(4))
def test_both_engines_agree_on_link_positions(
    nao: Robot, engines: tuple[Engine, Engine], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    quaternion = rng.standard_normal(4)
    quaternion /= np.linalg.norm(quaternion)
    q = rng.uniform(nao.lower, nao.upper)
    for engine in engines:
        engine.place(q, np.array([0.3, -0.2, 2.0]), quaternion)
    bullet, mujoco = engines
    for link in nao.links:
        for one, other in zip(
            bullet.link_pose(link.name), mujoco.link_pose(link.name), strict=True
        ):
            assert_allclose(one, other, atol=ATOL_POSE, err_msg=link.name)
        assert_allclose(
            bullet.link_com(link.name), mujoco.link_com(link.name), atol=ATOL_POSE
        )
    assert mujoco.clearance() == pytest.approx(bullet.clearance(), abs=1e-5)
    for one, other in zip(bullet.base_pose(), mujoco.base_pose(), strict=True):
        sign = np.sign(one @ other) if len(one) == 4 else 1.0
        assert_allclose(one, sign * other, atol=ATOL_POSE)


def test_a_torso_is_mounted_at_the_same_height(nao: Robot) -> None:
    """At the height that the legs would give: the hands touch no ground."""
    torso, posture = nao.with_body("T14"), nao.posture("Stand")
    heights = []
    for world in (WorldCfg(engine="pybullet"), MUJOCO):
        engine = make_engine(torso, world)
        place_at_rest(engine, torso, posture)
        engine.step()
        heights.append(engine.base_pose()[0][2])
        assert engine.contacts() == []
        engine.close()
    assert heights[1] == pytest.approx(heights[0], abs=1e-3)  # m, PyBullet's margins


def momentum(engine: Engine, robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Return the linear momentum (3,), and the angular part r × m v (3,)."""
    linear, angular = np.zeros(3), np.zeros(3)
    for link in robot.links:
        p = link.mass * engine.link_twist(link.name)[0]
        linear += p
        angular += np.cross(engine.link_com(link.name), p)
    return linear, angular


def test_a_push_gives_the_momentum_of_its_force_once(nao: Robot) -> None:
    engine = make_engine(nao, replace(MUJOCO, gravity=0.0))
    engine.place(nao.posture("PoseInit").angles, np.array([0.0, 0.0, 2.0]), UP)
    force = np.array([20.0, -10.0, 5.0])
    engine.push("torso", force, engine.link_pose("torso")[0])
    for _ in range(3):
        engine.step()
    linear, _ = momentum(engine, nao)
    assert_allclose(linear, 1e-3 * force, rtol=1e-3)


@pytest.mark.parametrize("link", ["torso", "l_ankle", "Head"])
@pytest.mark.parametrize("seed", range(3))
def test_push_and_torque_accelerations_match_pinocchio(
    nao: Robot, link: str, seed: int
) -> None:
    """At rest and weightless: (M + diag J N²) a = S τ + Jᵀ w."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(nao.lower, nao.upper)
    tau = rng.uniform(-0.5, 0.5, len(q))
    force, place = rng.uniform(-20.0, 20.0, 3), rng.uniform(-0.1, 0.1, 3)
    engine = make_engine(nao, replace(MUJOCO, gravity=0.0))
    engine.place(q, np.array([0.0, 0.0, 2.0]), UP)
    engine.apply_torques(tau.tolist())
    engine.push(link, force, engine.link_pose(link)[0] + place)
    engine.step()

    oracle = Oracle(nao)
    model, data = oracle.model, oracle.data
    full = oracle.configuration(q, np.array([0.0, 0.0, 2.0]), UP)
    M = oracle.mass_matrix(full)
    frame = model.getFrameId(link)
    J = pin.computeFrameJacobian(model, data, full, frame, pin.LOCAL_WORLD_ALIGNED)
    generalised = J.T @ np.concatenate([force, np.cross(place, force)])
    generalised[oracle.v_of_joint] += tau
    expected = 1e-3 * np.linalg.solve(M, generalised)
    got, unused = np.empty_like(q), np.empty_like(q)
    engine.read_joints(unused, got)
    scale = np.abs(expected).max()
    assert_allclose(got, expected[oracle.v_of_joint], atol=1e-7 * scale)
    assert_allclose(
        engine.link_twist(nao.base_link)[1], expected[3:6], atol=1e-7 * scale
    )


@pytest.mark.parametrize(("posture", "more"), [("PoseInit", 0.63), ("Crouch", 0.87)])
def test_rotors_in_the_links_add_to_the_inertia_in_pitch(
    nao: Robot, posture: str, more: float
) -> None:
    """Compare the locked robot about its centre of mass, without the correcting torque.

    See docs/measured/engines.md.
    """
    moments = []
    for rotors in (False, True):
        oracle = Oracle(nao, rotors)
        q = oracle.configuration(nao.posture(posture).angles, np.zeros(3), UP)
        pin.ccrba(oracle.model, oracle.data, q, np.zeros(oracle.model.nv))
        moments.append(oracle.data.Ig.inertia[1, 1])
    assert moments[1] / moments[0] - 1.0 == pytest.approx(more, abs=0.01)


def standing(robot: Robot, world: WorldCfg) -> SimulatedRobot:
    sim = SimulatedRobot(robot, SimulationCfg(world=world), "PoseInit")
    sim.step(3000)
    return sim


@pytest.mark.slow
def test_an_aligned_stand_needs_equal_torques_on_both_engines(nao: Robot) -> None:
    torques = []
    for world in (WorldCfg(engine="pybullet"), MUJOCO):
        sim = standing(nao, world)
        torques.append(sim.joint_torque.copy())
        sim.close()
    assert_allclose(torques[1], torques[0], atol=ATOL_STAND)


def test_soles_pressed_against_each_other_stay_flat(nao: Robot) -> None:
    """Rigid contacts: tilt of the left foot is below encoder resolution."""
    cfg = SimulationCfg(world=MUJOCO, misalignment_deg={"LAnklePitch": 2.0})
    sim = SimulatedRobot(nao, cfg, "PoseInit")
    sim.write(Command(target=nao.posture("PoseInit").angles))
    sim.step(3000)
    touching = [contact.link for contact in sim.truth().contacts]
    assert touching.count("l_ankle") == 4
    up = sim.engine.link_pose("l_ankle")[1][2]
    assert_allclose(up, [0.0, 0.0, 1.0], rtol=0.0, atol=ATOL_TILT)
    sim.close()


def test_ground_reaction_equals_the_weight_with_payload(nao: Robot) -> None:
    load = Payload(link="torso", mass_kg=1.0)
    sim = standing(nao, replace(MUJOCO, payloads=(load,), slope_deg=3.0))
    weight = 9.81 * (sum(link.mass for link in nao.links) + 1.0)
    contacts = sim.truth().contacts
    assert_allclose(sum(c.force for c in contacts), [0.0, 0.0, weight], atol=0.05)
    along = sum(c.normal_force for c in contacts)
    assert along == pytest.approx(weight * np.cos(np.deg2rad(3.0)), abs=0.05)
    by_foot = [sim.engine.normal_load(link)[0] for link in {c.link for c in contacts}]
    assert sum(by_foot) == pytest.approx(along, abs=1e-9)
    sim.close()


def test_a_restored_state_continues_bit_for_bit(nao: Robot) -> None:
    sim = SimulatedRobot(nao, SimulationCfg(world=MUJOCO), "PoseInit")
    kept = sim.snapshot()
    ends = []
    for _ in range(2):
        sim.restore(kept)
        sim.push_com("torso", np.array([0.0, 20.0, 0.0]))
        sim.step(200)
        ends.append((sim.truth().q, sim.truth().base_position))
    sim.forget(kept)
    sim.close()
    assert_allclose(ends[0][0], ends[1][0], rtol=0.0, atol=0.0)
    assert_allclose(ends[0][1], ends[1][1], rtol=0.0, atol=0.0)


def test_a_smooth_ground_lets_a_pushed_robot_slide(nao: Robot) -> None:
    ways = []
    for friction in (0.7, 0.0):
        sim = standing(nao, MUJOCO)
        sim.engine.set_ground(friction, 0.0)
        foot = sim.truth().contacts[0].link
        before = sim.engine.link_pose(foot)[0][0]
        for _ in range(100):
            sim.push_com("torso", np.array([5.0, 0.0, 0.0]))
            sim.step(1)
        ways.append(sim.engine.link_pose(foot)[0][0] - before)
        sim.close()
    assert ways[1] > 1e-3
    assert abs(ways[0]) < 1e-5


def test_boxes_make_contact_appear_and_are_validated(nao: Robot) -> None:
    wall = Obstacle.at("wall", "0.1,2,2@1.05,0,1")
    engine = make_engine(nao, replace(MUJOCO, obstacles=(wall,)))
    place_at_rest(engine, nao, nao.posture("PoseInit"))
    check_clear(engine)
    distance, normal = engine.cast(
        np.array([0.0, 0.0, 0.5]),
        np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]),
        3.0,
    )
    assert_allclose(distance, [1.0, 0.5, 3.0], atol=1e-9)
    assert_allclose(normal, [[-1, 0, 0], [0, 0, 1], [0, 0, 0]], atol=1e-9)
    block = Obstacle.at("block", "0.4,0.4,0.04@0,0,0")  # 2 cm above the ground
    engine = make_engine(nao, replace(MUJOCO, obstacles=(block,)))
    place_at_rest(engine, nao, nao.posture("PoseInit"))
    with pytest.raises(BadInput, match="block"):
        check_clear(engine)
    for _ in range(3):
        engine.step()
    assert {obstacle for obstacle, _ in engine.obstacle_forces()} == {"block"}


def test_a_state_that_is_not_finite_stops_the_run(
    two_leg: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MuJoCo would reset the robot, continue and write a log file."""
    monkeypatch.chdir(tmp_path)
    sim = SimulatedRobot(two_leg, SimulationCfg(world=MUJOCO), "Stand")
    sim.step(10)
    sim.push("trunk", np.array([np.nan, 0.0, 0.0]))
    with pytest.raises(SimulationDiverged, match=r"at 0\.011 s .* not finite"):
        sim.step(5)
    sim.close()
    assert not list(tmp_path.iterdir())


def test_missing_pybullet_error_lists_supported_pythons() -> None:
    code = (
        "import sys; sys.modules['pybullet'] = None\n"
        "from nao_testbed.sim.engine import engine_version\n"
        "engine_version('pybullet')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert "EngineMissing" in ran.stderr
    assert "use engine mujoco, or run: pip install pybullet-arm64" in ran.stderr
    assert "Python 3.11 to 3.13" in ran.stderr


def test_unsupported_features_raise_feature_missing(nao: Robot) -> None:
    with pytest.raises(FeatureMissing, match="--servo torque"):
        SimulationCfg(world=MUJOCO, servo=ServoCfg(kind="pybullet"))
    with pytest.raises(FeatureMissing, match=r"window.*--engine pybullet"):
        make_engine(nao, replace(MUJOCO, gui=True))
    engine = make_engine(nao, MUJOCO)
    with pytest.raises(FeatureMissing, match="pictures"):
        engine.photograph(Camera(eye=(1.0, 0.0, 0.3), target=(0.0, 0.0, 0.3)))
    with pytest.raises(UnknownName, match="tail"):
        make_engine(nao, replace(MUJOCO, payloads=(Payload(link="tail", mass_kg=1.0),)))
