"""Cameras follow the pinhole equation; rendering has no side effect."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import Command, TakesPictures
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.sensors.cameras import prepare_picture
from tests.sim.conftest import Simulate

WIDTH, HEIGHT = 320, 240


def put_ball(sim: SimulatedRobot, place: FloatArray, radius: float = 0.02) -> None:
    from nao_testbed.sim.engine.bullet import p
    from nao_testbed.sim.engine.bullet_engine import BulletEngine

    assert isinstance(sim.engine, BulletEngine)
    client = sim.engine._client
    shape = p.createVisualShape(
        p.GEOM_SPHERE, radius=radius, rgbaColor=[1, 0, 0, 1], physicsClientId=client
    )
    p.createMultiBody(
        baseVisualShapeIndex=shape, basePosition=place, physicsClientId=client
    )


def red_middle(rgb: NDArray[np.uint8]) -> FloatArray:
    """Return column and row of the middle of the red pixels."""
    r, g, b = (rgb[..., i].astype(int) for i in range(3))
    rows, columns = np.nonzero((r > 60) & (r > 2 * g) & (r > 2 * b))
    assert len(rows) > 4, "the ball is not in the picture"
    return np.array([columns.mean() + 0.5, rows.mean() + 0.5])


@pytest.mark.requirement("JD-23")
@pytest.mark.parametrize("name", ["CameraTop", "CameraBottom"])
@pytest.mark.parametrize(("ahead", "left", "up"), [(0.5, 0, 0), (0.45, 0.12, -0.05)])
def test_a_ball_matches_the_pinhole_model(
    nao: Robot, simulate: Simulate, name: str, ahead: float, left: float, up: float
) -> None:
    """column = w/2 - f y/x, row = h/2 - f z/x with f = h / (2 tan 23.8°), by hand."""
    sim = simulate(nao, SimulationCfg(), "StandZero")
    camera = next(one for one in nao.cameras if one.name == name)
    head, R = sim.engine.link_pose("Head")
    place = np.array([ahead, left, up])
    world = head + R @ (
        np.array(camera.position) + rotation_from_rpy(np.array(camera.rpy)) @ place
    )
    put_ball(sim, world)
    f = HEIGHT / (2.0 * np.tan(np.deg2rad(23.8)))
    expected = [WIDTH / 2.0 - f * left / ahead, HEIGHT / 2.0 - f * up / ahead]
    picture = sim.look(name, WIDTH)
    assert picture.rgb.shape == (HEIGHT, WIDTH, 3)
    assert_allclose(red_middle(picture.rgb), expected, atol=1.5)  # pixels


def test_engines_without_rendering_draw_pictures(
    nao: Robot, simulate: Simulate
) -> None:
    """A box matches the pinhole model."""
    place = (0.6, 0.05, 0.45)
    box = Obstacle(name="box", size=(0.04, 0.04, 0.04), position=place)
    world = WorldCfg(engine="mujoco", obstacles=(box,))
    sim = simulate(nao, SimulationCfg(world=world), "StandZero")
    camera = next(one for one in nao.cameras if one.name == "CameraTop")
    head, R = sim.engine.link_pose("Head")
    eye = head + R @ np.array(camera.position)
    C = R @ rotation_from_rpy(np.array(camera.rpy))
    x, y, z = (np.array(place) - eye) @ C
    f = HEIGHT / (2.0 * np.tan(np.deg2rad(23.8)))
    expected = [WIDTH / 2.0 - f * y / x, HEIGHT / 2.0 - f * z / x]
    rgb = sim.look("CameraTop", WIDTH).rgb
    assert rgb.shape == (HEIGHT, WIDTH, 3)
    r, b = (rgb[..., i].astype(int) for i in (0, 2))
    rows, columns = np.nonzero(r > b + 15)
    middle = [columns.mean() + 0.5, rows.mean() + 0.5]
    assert_allclose(middle, expected, atol=3.0)  # pixels; it shows three faces


def test_drawn_pictures_equal_those_of_pybullet(nao: Robot, simulate: Simulate) -> None:
    box = Obstacle(name="box", size=(0.1, 0.1, 0.3), position=(0.6, 0.1, 0.15))
    pictures = []
    for engine in ("pybullet", "mujoco"):
        world = WorldCfg(engine=engine, obstacles=(box,), slope_deg=3.0)
        sim = simulate(nao, SimulationCfg(world=world), "Stand")
        views = [sim.look(camera.name, WIDTH).rgb for camera in nao.cameras]
        pictures.append(np.array(views, dtype=int))
    apart = np.abs(pictures[0] - pictures[1]).max(axis=-1)
    assert (apart <= 12).mean() > 0.95  # all but edges


def test_a_prepared_picture_shows_the_time_of_preparation(
    nao: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, SimulationCfg(world=WorldCfg(engine="mujoco")), "Stand")
    draw = prepare_picture(nao, sim.engine, sim.time_s, "CameraTop", 64)
    seen = sim.look("CameraTop", 64).rgb
    target = sim.read().target.copy()
    target[nao.joint_index("HeadYaw")] += 0.5
    sim.write(Command(target=target))
    sim.step(500)
    assert (sim.look("CameraTop", 64).rgb != seen).any()
    assert_array_equal(draw().rgb, seen)


def test_camera_fields_of_view_match_the_data_sheet(nao: Robot) -> None:
    """60.9 degrees across follow from 47.6 upright and 4:3; 1.2 and 39.7 down."""
    for camera, down in zip(nao.cameras, (1.2, 39.7), strict=True):
        half = np.tan(camera.vertical_fov / 2.0) * camera.width / camera.height
        assert np.rad2deg(2.0 * np.arctan(half)) == pytest.approx(60.9, abs=0.1)
        ahead = rotation_from_rpy(np.array(camera.rpy))[:, 0]
        assert -np.rad2deg(np.arcsin(ahead[2])) == pytest.approx(down, abs=0.05)


def test_a_picture_changes_nothing(nao: Robot, simulate: Simulate) -> None:
    ends = []
    for looks in (True, False):
        sim = simulate(nao, SimulationCfg(), "Stand")
        for _ in range(5):
            sim.step(20)
            if looks:
                sim.look("CameraTop", 64)
        ends.append(sim.truth())
    assert_array_equal(ends[0].q, ends[1].q)
    assert_array_equal(ends[0].motor_torque, ends[1].motor_torque)


def test_camera_name_and_width_are_validated(
    nao: Robot, two_leg: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, SimulationCfg(), "Stand")
    assert isinstance(sim, TakesPictures)
    with pytest.raises(UnknownName, match="CameraTop"):
        sim.look("CameraTp")
    for width in (15, 1281):
        with pytest.raises(BadInput, match=f"{width} pixels wide; accepted: 16 to"):
            sim.look("CameraTop", width)
    with pytest.raises(UnknownName):
        simulate(two_leg, SimulationCfg(), next(iter(two_leg.postures))).look("Any")
