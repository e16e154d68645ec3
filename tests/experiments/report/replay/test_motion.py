"""The replayed motion matches the recorded motion."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from nao_testbed.controllers.registry import make_controller
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.report.replay.actor import Figure, torus
from nao_testbed.experiments.report.replay.rig import (
    Rig,
    clothe,
    place_links,
    read_tree,
)
from nao_testbed.experiments.report.replay.scene import base_notes
from nao_testbed.experiments.report.replay.track import (
    GRAVITY,
    base_rotations,
    dress,
    pose_robot,
    upward,
)
from nao_testbed.experiments.report.run_source import RecordedTrial, read_source
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, Truth

NAO = load_robot()
ATOL_TILT_DEG = 1.5  # the accelerometer gains have errors of some per cent
ATOL_HEIGHT_M = 3e-3  # a foot is 0.16 m long: a degree of tilt lifts its end by 2.8 mm
ATOL_WAY_M = 5e-3
ATOL_STORED = 1e-6  # rows have seven digits

SHELF = Obstacle.at("a shelf", "0.2,0.1,0.3@1,0.5,0.15,30")

vectors = arrays(np.float64, 3, elements=st.floats(-1.0, 1.0)).filter(
    lambda v: np.linalg.norm(v) > 0.1
)


@pytest.mark.parametrize("name", ["nao", "two_leg"])
def test_link_poses_match_pinocchio(name: str, two_leg: Robot) -> None:
    robot = NAO if name == "nao" else two_leg
    rng = np.random.default_rng(3)
    q = rng.uniform(robot.lower, robot.upper, (20, len(robot.joints)))
    tree = read_tree(robot.urdf)
    poses = place_links(tree, robot.base_link, robot.joint_names, q)
    dynamics = Dynamics(robot, robot.contact_points)
    for i, angles in enumerate(q):
        dynamics.update(angles)
        ours = [
            poses[point.link][0][i] @ point.position + poses[point.link][1][i]
            for point in robot.contact_points
        ]
        np.testing.assert_allclose(ours, dynamics.point_positions, atol=1e-12)


@given(vectors)
def test_accelerometer_gives_up_direction_at_rest(direction: FloatArray) -> None:
    up = direction / np.linalg.norm(direction)
    time_s = np.linspace(0.0, 0.08, 5)
    found = upward(time_s, np.tile(GRAVITY * up, (5, 1)), np.zeros((5, 3)))
    np.testing.assert_allclose(found, np.tile(up, (5, 1)), atol=1e-9)


def test_gyroscope_gives_up_direction_in_free_fall() -> None:
    """Rotation of 2 rad/s about y in free fall, where the accelerometer reads zero."""
    time_s = np.linspace(0.0, 0.5, 51)
    felt = np.zeros((51, 3))
    felt[0] = (0.0, 0.0, GRAVITY)
    found = upward(time_s, felt, np.tile([0.0, 2.0, 0.0], (51, 1)))
    turned = Rotation.from_rotvec([0.0, 1.0, 0.0]).inv().apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(found[-1], turned, atol=1e-6)


@given(st.lists(vectors, min_size=1, max_size=10))
def test_base_rotation_maps_up_to_the_world_z_axis(
    directions: list[FloatArray],
) -> None:
    up = np.array([v / np.linalg.norm(v) for v in directions])
    rotation = base_rotations(up)
    np.testing.assert_allclose(
        np.einsum("nij,nj->ni", rotation, up),
        np.tile([0.0, 0.0, 1.0], (len(up), 1)),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        rotation @ np.swapaxes(rotation, 1, 2),
        np.tile(np.eye(3), (len(up), 1, 1)),
        atol=1e-9,
    )


@pytest.fixture(scope="module")
def on_a_slope(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[RecordedTrial, Rig, list[Truth]]:
    """Run of 1 s on a slope of 3° with a misaligned ankle, and its ground truth."""
    folder = tmp_path_factory.mktemp("slope")
    cfg = SimulationCfg(
        world=WorldCfg(slope_deg=3.0, obstacles=(SHELF,)),
        misalignment_deg={"LAnklePitch": 2.0},
    )
    sim = SimulatedRobot(NAO, cfg, "PoseInit")
    recording = RunRecording.open(
        folder, NAO, seed=0, config={"simulation": cfg}, command=()
    )
    loop = Loop(sim, make_controller("fixed"), NAO.posture("PoseInit").angles)
    truths = []
    while sim.time_s < 1.0:
        recording.row(sim, loop.cycle(), loop.decided)
        truths.append(sim.truth())
    recording.close("done")
    sim.close()
    (trial,) = read_source(folder).trials
    return trial, dress(trial, NAO), truths


@pytest.mark.slow
@pytest.mark.scenario
def test_base_pose_equals_that_of_the_simulator(
    on_a_slope: tuple[RecordedTrial, Rig, list[Truth]],
) -> None:
    trial, body, truths = on_a_slope
    grid_s = np.array([truth.time_s for truth in truths])
    motion = pose_robot(trial, body, grid_s)
    true = Rotation.from_quat([truth.base_quaternion for truth in truths])
    np.testing.assert_allclose(motion.rotation, true.as_matrix(), atol=ATOL_STORED)
    position = [truth.base_position for truth in truths]
    np.testing.assert_allclose(motion.position, position, atol=ATOL_STORED)
    assert motion.obstacles == (SHELF,)
    (note,) = base_notes([trial])
    assert "true pose" in note


@pytest.mark.slow(covers=True)
@pytest.mark.scenario
def test_base_pose_is_estimated_for_older_recordings(
    on_a_slope: tuple[RecordedTrial, Rig, list[Truth]],
) -> None:
    """The recording lacks the base pose, so it is estimated from sensors."""
    trial, body, truths = on_a_slope
    known = [name for name in trial.frame.columns if name.startswith("base_")]
    assert len(known) == 7
    trial = replace(trial, frame=trial.frame.drop(columns=known))
    grid_s = np.array([truth.time_s for truth in truths])
    motion = pose_robot(trial, body, grid_s)
    start = truths[0].base_position[:2] - motion.position[0, :2]
    for i, truth in enumerate(truths):
        true = Rotation.from_quat(truth.base_quaternion).as_matrix()
        cosine = motion.rotation[i, 2] @ true[2]
        assert np.rad2deg(np.arccos(min(cosine, 1.0))) < ATOL_TILT_DEG
        height = truth.base_position[2]
        assert motion.position[i, 2] == pytest.approx(height, abs=ATOL_HEIGHT_M)
        way = motion.position[i, :2] + start
        np.testing.assert_allclose(way, truth.base_position[:2], atol=ATOL_WAY_M)
    np.testing.assert_allclose(motion.q[-1], truths[-1].q, atol=np.deg2rad(0.3))
    np.testing.assert_allclose(
        motion.degc[-1],
        truths[-1].temperature[list(NAO.servo_of_joint)],
        atol=1e-3,
    )
    (note,) = base_notes([trial])
    assert "estimated" in note


@pytest.mark.slow
def test_box_on_a_slope_has_the_pose_of_the_engine() -> None:
    import pybullet

    from nao_testbed.sim.engine.bullet_engine import BulletEngine

    cfg = SimulationCfg(world=WorldCfg(slope_deg=10.0, obstacles=(SHELF,)))
    sim = SimulatedRobot(NAO, cfg, "PoseInit")
    assert isinstance(sim.engine, BulletEngine)
    (body,) = sim.engine._obstacles
    p, xyzw = pybullet.getBasePositionAndOrientation(body, sim.engine._client)
    sim.close()
    server = MagicMock()
    figure = Figure(server, 0, clothe(NAO, np.zeros(len(NAO.joints))), "x", 0.0, 0.6)
    figure.stand_among((SHELF,), 10.0)
    frame = server.scene.add_frame.call_args.kwargs
    box = server.scene.add_box.call_args.kwargs
    ground = Rotation.from_quat(frame["wxyz"], scalar_first=True)
    turned = ground * Rotation.from_quat(box["wxyz"], scalar_first=True)
    np.testing.assert_allclose(ground.apply(box["position"]), p, atol=1e-6)
    assert (turned.inv() * Rotation.from_quat(xyzw)).magnitude() < 1e-4
    assert box["dimensions"] == SHELF.size


def test_a_figure_has_each_triangle_of_its_links_in_its_colour() -> None:
    body = clothe(NAO, np.zeros(len(NAO.joints)))
    server = MagicMock()
    figure = Figure(server, 0, body, "x", 0.0, 0.6)
    drawn = [
        (call.args[0].rpartition("/")[0], call.kwargs["color"], *call.args[1:])
        for call in server.scene.add_mesh_simple.call_args_list
    ]
    wanted = [
        (figure.paths[one.link], one.rgb, one.points.astype(np.float32), one.triangles)
        for one in body.shapes
    ]
    assert len(drawn) < len(wanted)
    assert _corners(drawn) == _corners(wanted)


def _corners(
    meshes: Sequence[tuple[str, object, NDArray[Any], NDArray[Any]]],
) -> object:
    """Return link, colour and corners of each triangle, in any order of the meshes."""
    return Counter(
        (link, colour, points[triangle].tobytes())
        for link, colour, points, triangles in meshes
        for triangle in triangles
    )


def test_every_joint_has_its_drum_on_its_child_link(two_leg: Robot) -> None:
    body = clothe(two_leg, np.zeros(len(two_leg.joints)))
    drums = {shape.joint: shape.link for shape in body.shapes if shape.joint}
    assert drums == {joint.name: joint.link for joint in two_leg.joints}
    assert body.n_left_out == 0


def test_torus_is_closed_and_faces_outwards() -> None:
    points, triangles = torus(2.0, tube=0.25, n=200, m=100)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    volume = float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0
    assert volume == pytest.approx(2.0 * np.pi**2 * 2.0 * 0.5**2, rel=2e-3)
