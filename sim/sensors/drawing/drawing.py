"""Software rendering of a robot, for every engine and without a display.

Triangles fill a depth buffer. The corners of a pixel's triangle have the
perspective-correct weights w_k = (b_k / z_k) / Σ (b_i / z_i), with the barycentric
coordinates b of the picture plane and the depths z. The light of the pixel is

    grey (ambient + diffuse max(0, n · l)),    n ~ Σ w_k n_k,

with the direction l to the lamp and the normals n_k of the corners
(`meshes.corner_normals`).
"""

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.interface import (
    Engine,
    EngineMissing,
    rotation_from_quaternion,
)
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import Camera, Rendering, WorldCfg, slope_quaternion
from nao_testbed.sim.sensors.drawing.meshes import Shape, drum_of
from nao_testbed.sim.sensors.drawing.solids import box

WOOD, SKY = (194, 166, 128), (214, 224, 232)
"""Colours of obstacles and of the background."""
TILES, TILE_M = ((162, 184, 240), (238, 238, 238)), 1.0
"""Colours of the tiles of the ground, and their size in m: those of PyBullet."""


class DrawnRobot:
    """Drawable robot; call `place`, then `render`, as often as needed, and `close`."""

    def __init__(
        self,
        robot: Robot,
        engine: Engine,
        shapes: Sequence[Shape],
        world: WorldCfg | None = None,
    ) -> None:
        """Create a drawable robot from its shapes.

        Args:
            robot: robot of the shapes.
            engine: source of the poses of the links, see `posing_engine`.
            shapes: shapes in the frames of the links.
            world: world with the obstacles for `photograph`; None: no obstacles.
        """
        absent = {j.link for j in robot.joints if j.name in robot.absent_joints}
        self._shapes = [one for one in shapes if one.link not in absent]
        self._engine = engine
        self._placed: tuple[FloatArray, FloatArray] | None = None
        drums = tuple(drum_of(name) for name in robot.joint_names)
        self.links = (*(link.name for link in robot.links), *drums)
        names = [(one.joint and drum_of(one.joint)) or one.link for one in self._shapes]
        link = [self.links.index(name) for name in names]
        sizes = [len(one.triangles) for one in self._shapes]
        self._link = np.append(np.repeat(link, sizes), -1).astype(np.int32)
        """(n + 1,) link of each triangle; -1 at the end, the number of none."""
        self._grey = np.repeat([float(one.rgb[0]) for one in self._shapes], sizes)
        world = world or WorldCfg()
        boxes = [_corners_of(one, world.slope_deg) for one in world.obstacles]
        self._boxes = np.concatenate([np.zeros((0, 3, 3)), *boxes])

    def place(
        self, q: FloatArray, base_position: FloatArray, base_quaternion: FloatArray
    ) -> None:
        """Set the pose: joint angles in rad, base link frame in m and x y z w."""
        self._engine.place(q, base_position, base_quaternion)
        self._placed = None

    def base_pose(self) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and quaternion (4,) of the base link frame."""
        return self._engine.base_pose()

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and rotation (3, 3) of a link frame."""
        return self._engine.link_pose(link)

    def render(self, camera: Camera, *, is_lit: bool = True) -> Rendering:
        """Return a camera's picture of the robot; without light it is black."""
        corners, normals = self._in_the_world()
        number, depth, weights = fill(camera, corners)
        grey = np.zeros(number.shape)
        if is_lit:
            grey = lit(camera, number, normals, weights, self._grey)
        grey = grey.round().clip(0, 255).astype(np.uint8)
        return Rendering(
            camera=camera,
            rgb=np.broadcast_to(grey[..., None], (*grey.shape, 3)),
            depth=depth,
            link=self._link[number],
            links=self.links,
        )

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and largest coordinates (3,) in the world, in m."""
        corners, _ = self._in_the_world()
        points = corners.reshape(-1, 3)
        return points.min(axis=0), points.max(axis=0)

    def photograph(self, camera: Camera) -> NDArray[np.uint8]:
        """Return a camera's picture of robot and obstacles, (height, width, 3)."""
        rendering = self.render(camera)
        number, depth, weights = fill(camera, self._boxes)
        image = np.where(
            rendering.link[..., None] >= 0, rendering.rgb, np.array(SKY, np.uint8)
        )
        is_box = (number >= 0) & (depth < rendering.depth)
        flat = np.cross(
            self._boxes[:, 1] - self._boxes[:, 0], self._boxes[:, 2] - self._boxes[:, 0]
        )
        normals = np.repeat(flat[:, None], 3, axis=1)
        light = lit(camera, number, normals, weights, np.ones(len(flat)))[is_box]
        image[is_box] = (np.array(WOOD) * light[:, None]).clip(0.0, 255.0)
        return image

    def photograph_scene(self, camera: Camera) -> NDArray[np.uint8]:
        """Return the picture with the tiles of the ground, (height, width, 3)."""
        image, slope = self.photograph(camera), self._engine.cfg.slope_deg
        towards = rotation_from_quaternion(slope_quaternion(slope))
        depth = ground_depth(camera, towards[:, 2])
        is_ground = (image == SKY).all(axis=-1) & (depth < camera.far)
        points = camera.eye + camera.rays()[is_ground] * depth[is_ground][:, None]
        tile = np.floor(points @ towards[:, :2] / TILE_M).sum(axis=-1) % 2.0
        image[is_ground] = np.array(TILES, np.uint8)[tile.astype(int)]
        return image

    def close(self) -> None:
        """Release the source of the poses; may be called twice."""
        self._engine.close()

    def _in_the_world(self) -> tuple[FloatArray, FloatArray]:
        """Return corners in m and their normals, world, both (n triangles, 3, 3)."""
        if self._placed is not None:
            return self._placed
        corners, normals = [], []
        for shape in self._shapes:
            p, R = self._engine.link_pose(shape.link)
            corners.append((shape.points @ R.T + p)[shape.triangles])
            normals.append(shape.normals @ R.T)
        self._placed = np.concatenate(corners), np.concatenate(normals)
        return self._placed


def posing_engine(robot: Robot) -> Engine:
    """Return an engine for the poses of links that accepts this robot.

    Raises:
        BadInput: no installed engine accepts the robot.
    """
    try:
        return make_engine(robot, WorldCfg())
    except EngineMissing:
        raise
    except BadInput:
        return make_engine(robot, WorldCfg(engine="mujoco"))


def lit(
    camera: Camera,
    number: NDArray[np.int64],
    normals: FloatArray,
    weights: FloatArray,
    grey: FloatArray,
) -> FloatArray:
    """Return the light on the triangles that a camera sees, (h, w); 0 beside them.

    Args:
        camera: camera with its lamp.
        number: (h, w) number of the triangle, -1 for none.
        normals: (n, 3, 3) normals at the corners of the triangles, of any length.
        weights: (h, w, 3) weights of the corners.
        grey: (n,) light that a triangle reflects of full light.
    """
    light = np.zeros(number.shape)
    lamp = np.array(camera.light) / np.linalg.norm(camera.light)
    ambient, diffuse = camera.ambient, camera.diffuse
    _light(number, normals, weights, grey, lamp, ambient, diffuse, light)
    return light


@numba.njit(cache=True)
def _light(
    number: NDArray[np.int64],
    normals: FloatArray,
    weights: FloatArray,
    grey: FloatArray,
    lamp: FloatArray,
    ambient: float,
    diffuse: float,
    light: FloatArray,
) -> None:
    """Write `lit` into `light`; `lamp` is l, (3,)."""
    n = np.zeros(3)
    for row in range(number.shape[0]):
        for column in range(number.shape[1]):
            t = number[row, column]
            if t < 0:
                continue
            square = facing = 0.0
            for i in range(3):
                n[i] = 0.0
                for k in range(3):
                    n[i] += weights[row, column, k] * normals[t, k, i]
                square += n[i] * n[i]
                facing += n[i] * lamp[i]
            facing /= max(np.sqrt(square), 1e-30)
            light[row, column] = grey[t] * (ambient + diffuse * max(facing, 0.0))


def ground_depth(camera: Camera, normal: FloatArray, every: int = 1) -> FloatArray:
    """Return (h, w) depth of the ground along the line of sight in m; inf beyond it.

    Args:
        camera: camera of the picture.
        normal: (3,) normal of the ground, a plane through the origin.
        every: step between the pixels, in both directions.
    """
    with np.errstate(divide="ignore"):
        depth = -np.dot(camera.eye, normal) / (camera.rays(every) @ normal)
    is_seen = (depth > 0.0) & (depth < 2.0 * camera.far)
    found: FloatArray = np.where(is_seen, depth, np.inf)
    return found


def fill(
    camera: Camera, corners: FloatArray
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Render triangles into a depth buffer.

    Args:
        camera: camera of the picture.
        corners: (n, 3, 3) in the world, in m; a triangle that extends nearer than
            `camera.near` or farther than `camera.far` is omitted.

    Returns:
        Number of the triangle, -1 for none, and depth in m, inf for none, both
        (height, width); weights of its corners (height, width, 3).
    """
    shape = camera.height, camera.width
    number = np.full(shape, -1, dtype=np.int64)
    inverse = np.zeros(shape)
    weights = np.zeros((*shape, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        pixel, depth = camera.project(corners)
    a, b, c = ((depth > camera.near) & (depth < camera.far)).T
    of = np.flatnonzero(a & b & c)
    _fill(pixel[of], 1.0 / depth[of], of, number, inverse, weights)
    with np.errstate(divide="ignore"):
        return number, 1.0 / inverse, weights


@numba.njit(cache=True)
def _fill(
    pixel: FloatArray,
    near: FloatArray,
    of: NDArray[np.int64],
    number: NDArray[np.int64],
    inverse: FloatArray,
    weights: FloatArray,
) -> None:
    """Fill the buffers in place.

    Args:
        pixel: (n, 3, 2) column and row of the corners.
        near: (n, 3) their 1 / depth in 1/m.
        of: (n,) indices of the triangles.
        number: (h, w) index of the visible triangle.
        inverse: (h, w) 1 / depth of that triangle.
        weights: (h, w, 3) weights of its corners.
    """
    height, width = number.shape
    for t in range(len(of)):
        x0, y0 = pixel[t, 0]
        x1, y1 = pixel[t, 1]
        x2, y2 = pixel[t, 2]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if area == 0.0:
            continue
        first = max(0, int(np.ceil(min(y0, y1, y2) - 0.5)))
        last = min(height - 1, int(np.floor(max(y0, y1, y2) - 0.5)))
        left = max(0, int(np.ceil(min(x0, x1, x2) - 0.5)))
        right = min(width - 1, int(np.floor(max(x0, x1, x2) - 0.5)))
        for row in range(first, last + 1):
            y = row + 0.5
            for column in range(left, right + 1):
                x = column + 0.5
                b0 = ((x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)) / area
                b1 = ((x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)) / area
                b2 = 1.0 - b0 - b1
                if b0 < 0.0 or b1 < 0.0 or b2 < 0.0:
                    continue
                w0, w1, w2 = b0 * near[t, 0], b1 * near[t, 1], b2 * near[t, 2]
                total = w0 + w1 + w2
                if total > inverse[row, column]:
                    inverse[row, column] = total
                    number[row, column] = of[t]
                    weights[row, column, 0] = w0 / total
                    weights[row, column, 1] = w1 / total
                    weights[row, column, 2] = w2 / total


def _corners_of(obstacle: Obstacle, slope_deg: float) -> FloatArray:
    """Return the triangles (n, 3, 3) of a box, in the world, in m."""
    mesh = box(np.array(obstacle.size))
    slope = rotation_from_quaternion(slope_quaternion(slope_deg))
    yaw = rotation_from_rpy(np.array([0.0, 0.0, np.deg2rad(obstacle.yaw_deg)]))
    points = (mesh.points @ yaw.T + np.array(obstacle.position)) @ slope.T
    corners: FloatArray = points[mesh.triangles]
    return corners
