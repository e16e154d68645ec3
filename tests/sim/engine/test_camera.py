import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.models import default_robot_folder, load_robot
from nao_testbed.sim.engine.world import Camera, WorldCfg
from tests.messages import Messages, each

points = st.tuples(*[st.floats(-0.3, 0.3)] * 3)


@given(points)
def test_a_pixel_ray_passes_through_its_point(
    point: tuple[float, float, float],
) -> None:
    camera = Camera(eye=(2.0, 1.0, 0.8), target=(0.0, 0.0, 0.2), width=400, height=300)
    pixel, depth = camera.project(np.array(point))
    scale = 2.0 * np.tan(np.deg2rad(camera.fov_deg) / 2.0) / camera.height
    x = scale * (pixel[0] - camera.width / 2.0)
    y = -scale * (pixel[1] - camera.height / 2.0)
    ray = np.array([x, y, -1.0]) @ camera.rotation()
    np.testing.assert_allclose(np.array(camera.eye) + depth * ray, point, atol=1e-9)


@given(points)
def test_matrices_and_pixels_give_the_same_projection(
    point: tuple[float, float, float],
) -> None:
    camera = Camera(eye=(1.0, -2.0, 1.0), target=(0.0, 0.1, 0.2))
    clip = camera.projection_matrix() @ camera.view_matrix() @ np.array([*point, 1.0])
    x, y = clip[:2] / clip[3]
    pixel, depth = camera.project(np.array(point))
    expected = [(x + 1.0) * camera.width / 2.0, (1.0 - y) * camera.height / 2.0]
    np.testing.assert_allclose(pixel, expected, atol=1e-6)
    assert clip[3] == pytest.approx(depth)


def test_rendered_points_lie_on_the_robot() -> None:
    """The standing robot's extent, from pixels and depths alone."""
    robot = load_robot(default_robot_folder())
    from nao_testbed.sim.engine.bullet_engine import BulletEngine

    engine = BulletEngine(robot, WorldCfg())
    try:
        engine.place(
            robot.posture("StandZero").angles, np.array([0.1, 0.2, 0.5]), np.eye(4)[3]
        )
        head, _ = engine.link_pose("Head")
        # A distant camera: the outline is the extent.
        picture = engine.render(
            Camera(
                eye=(20.1, 0.2, 0.5),
                target=(0.1, 0.2, 0.5),
                fov_deg=2.5,
                near=15.0,
                far=25.0,
                width=300,
                height=400,
            )
        )
    finally:
        engine.close()
    seen = picture.positions(picture.link >= 0)
    on_head = picture.positions(picture.sees("Head"))
    assert np.isfinite(seen).all()
    assert np.isinf(picture.depth[picture.link < 0]).all()
    size = 2.0 * 20.0 * np.tan(np.deg2rad(1.25)) / 400  # m, of a pixel
    np.testing.assert_allclose(
        on_head[:, 1].max() + on_head[:, 1].min(), 2.0 * head[1], atol=2 * size
    )
    assert np.abs(on_head - head).max() < 0.13
    assert seen[:, 2].max() == on_head[:, 2].max()


def test_messages(messages: Messages) -> None:
    messages(
        a_camera_without_a_picture=each(
            lambda **change: Camera(
                **{**{"eye": (1.0, 0.0, 0.0), "target": (0.0, 0.0, 0.0)}, **change}
            ),
            {"near": 2.0, "far": 1.0},
            width=[0],
            fov_deg=[180.0],
            up=[(1.0, 0.0, 0.0)],
            eye=[(0.0, 0.0, 0.0)],
        )
    )
