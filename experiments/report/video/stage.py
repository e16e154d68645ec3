"""Recorded robot in front of a fixed camera, with one picture per time.

Software rendering is the main cost of a video. A robot without visible motion is
therefore not rendered again; only its colours change.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy.spatial.transform import Rotation

from nao_testbed.experiments.heat.figures.posed_robot import (
    FROM,
    FROM_THE_SIDE,
    SLOPE_SEEN_DEG,
    Outline,
    Pose,
    aim,
    dressed,
    outline,
)
from nao_testbed.experiments.heat.figures.robot_view import (
    BACKGROUND,
    LINE_DARKNESS,
    colours_of,
    covered,
    ground_lines,
    lamp,
)
from nao_testbed.experiments.report.replay.track import RobotTrack
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import Camera, Rendering, WorldCfg
from nao_testbed.sim.sensors.drawing.drawing import DrawnRobot, ground_depth
from nao_testbed.sim.sensors.drawing.meshes import drum_of

OVERSAMPLING = 1.5
"""Number of drawn pixels per shown pixel, in each direction, for smooth edges."""
GLANCES = 12
"""Number of times that determine a robot's range of motion, so that it stays in the
picture."""
TURNED = np.deg2rad(0.1)
"""Smallest visible rotation of a joint or the base."""
MOVED_M = 5e-4
REDDENED = 3
"""Largest invisible change of colour, from 0 to 255."""
_BOX = Image.Resampling.BOX
SHADED_EVERY = 5
"""Number of pictures of a moving robot per update of its shadow."""
SHADOW = 0.22
"""Darkness of the ground right below a robot."""
AFAR_M = 50.0
"""Depth in m of pixels without a robot."""
LAMP_RADIUS_M = 0.008


class Stage:
    """Stage with one robot; `picture` returns it at a time."""

    def __init__(
        self, motion: RobotTrack, drawn: DrawnRobot, camera: Camera, slope_deg: float
    ) -> None:
        """Prepare ground and obstacles.

        Args:
            motion: motion of the robot.
            drawn: drawable robot; `close` closes it.
            camera: camera with `OVERSAMPLING` pixels per shown pixel.
            slope_deg: slope of the ground in degrees, rising towards +x.
        """
        self._motion, self._drawn, self._camera = motion, drawn, camera
        self.width = round(camera.width / OVERSAMPLING)
        self.height = round(camera.height / OVERSAMPLING)
        slope = np.deg2rad(slope_deg)
        normal = np.array([-np.sin(slope), 0.0, np.cos(slope)])
        depth = ground_depth(camera, normal)
        self._is_ground = np.isfinite(depth)
        far = np.where(self._is_ground, depth, 1.0)
        self._points = np.array(camera.eye) + camera.rays() * far[..., None]
        lines = ground_lines(self._points, normal) * self._is_ground
        self._floor = (1.0 - 0.5 * LINE_DARKNESS * lines)[..., None] * BACKGROUND
        if motion.obstacles:
            self._add_obstacles(slope_deg)
        robot = motion.body.robot
        self._shown: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self._colours = np.full((len(robot.joints), 3), -REDDENED)
        self._said_lamps: tuple[tuple[int, ...], ...] = ()
        self._age = SHADED_EVERY
        self._ground = Image.new("RGB", (self.width, self.height))
        self._picture = self._ground

    def close(self) -> None:
        """Release the robot."""
        self._drawn.close()

    def picture(self, i: int) -> Image.Image:
        """Return the picture at time i of the motion's grid."""
        has_moved = self._pose(i)
        colours = np.rint(255.0 * colours_of(self._motion.degc[i])).astype(int)
        has_changed = bool(np.abs(colours - self._colours).max() >= REDDENED)
        lamps = tuple(tuple(one.rgb[i].tolist()) for one in self._motion.lamps)
        if has_moved or has_changed or lamps != self._said_lamps:
            self._colours, self._said_lamps = colours, lamps
            self._picture = self._painted()
        return self._picture

    def _pose(self, i: int) -> bool:
        """Render the robot if it has moved; return True if it has."""
        motion = self._motion
        now = motion.q[i], motion.position[i], motion.rotation[i]
        if self._shown is not None and not _differs(self._shown, now):
            return False
        quaternion = Rotation.from_matrix(now[2]).as_quat()
        self._drawn.place(now[0], now[1], quaternion)
        self._shown = now
        rendering = self._drawn.render(self._camera)
        self._body = _Grey(rendering, self._motion.body.robot.joint_names)
        self._age += 1
        if self._age >= SHADED_EVERY:
            self._age = 0
            self._ground = self._shaded(rendering)
        self._lamps = self._seen_lamps(rendering)
        return True

    def _shaded(self, rendering: Rendering) -> Image.Image:
        """Return the ground with the shadow of the robot."""
        if not (rendering.link >= 0).any():  # the robot is not in the picture
            return _small(self._floor, self.width, self.height)
        above = lamp(self._drawn.bounds(), np.array([1e-3, 0.0, 1.0]))
        sky = self._drawn.render(above, is_lit=False)
        dark = SHADOW * covered(self._points, sky, 12.0) * self._is_ground
        return _small(self._floor * (1.0 - dark)[..., None], self.width, self.height)

    def _painted(self) -> Image.Image:
        """Return the coloured robot on the ground."""
        body = Image.fromarray(self._body.painted(self._colours), "RGBA")
        draw = ImageDraw.Draw(body)
        for (x, y, r), rgb in zip(self._lamps, self._said_lamps, strict=True):
            if r:
                draw.ellipse((x - r, y - r, x + r, y + r), fill=(*rgb, 255))
        # RGBa: colours are multiplied by opacity, so that the background does not bleed
        # into the edges.
        size = (self.width, self.height)
        small = body.convert("RGBa").resize(size, _BOX).convert("RGBA")
        picture = self._ground.copy()
        picture.paste(small, mask=small)
        return picture

    def _seen_lamps(self, rendering: Rendering) -> list[tuple[float, float, float]]:
        """Return column, row and radius in pixels of each lamp; radius 0: hidden."""
        camera, found = self._camera, []
        for one in self._motion.lamps:
            p, rotation = self._drawn.link_pose(one.link)
            pixel, far = camera.project(p + rotation @ one.position)
            x, y = pixel.tolist()
            row, column = int(y), int(x)
            is_in = 0 <= row < camera.height and 0 <= column < camera.width
            is_hidden = not is_in or rendering.depth[row, column] < far - 0.02
            scale = camera.height / (2.0 * np.tan(np.deg2rad(camera.fov_deg) / 2.0))
            r = 0.0 if is_hidden else float(LAMP_RADIUS_M * scale / far)
            found.append((x, y, r))
        return found

    def _add_obstacles(self, slope_deg: float) -> None:
        """Draw the obstacles: the difference of renderings with and without them."""
        motion = self._motion
        pose = _pose_of(motion, 0)
        bare = dressed(motion.body.robot, pose, WorldCfg(slope_deg=slope_deg))
        away = motion.position[0] + np.array([AFAR_M, 0.0, 0.0])
        seen = []
        for one in (bare, self._drawn):
            one.place(pose.q, away, pose.base_quaternion)
            seen.append(one.photograph(self._camera).astype(float) / 255.0)
        bare.close()
        is_there = np.abs(seen[1] - seen[0]).max(axis=2) > 0.0
        self._floor = np.where(is_there[..., None], seen[1], self._floor)
        self._is_ground &= ~is_there


class _Grey:
    """Grey rendering of a robot, to be coloured."""

    def __init__(self, rendering: Rendering, joints: Sequence[str]) -> None:
        grey = rendering.rgb[..., 0].astype(np.float32) / 255.0
        drum = {drum_of(joint): j + 1 for j, joint in enumerate(joints)}
        of_link = np.array([0, *(drum.get(name, 0) for name in rendering.links)])
        self._drum = of_link[rendering.link + 1]
        self._on_drum = self._drum > 0
        self._light = (0.45 + 0.55 * grey[self._on_drum]).clip(0.0, 1.0)
        self._rgba = np.empty((*grey.shape, 4), np.uint8)
        self._rgba[..., :3] = (255.0 * (1.12 * grey).clip(0.0, 1.0))[..., None]
        self._rgba[..., 3] = np.where(rendering.link >= 0, 255, 0)

    def painted(self, colours: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return (h, w, 4): drums in colours (n_joints, 3), transparent background."""
        table = np.vstack([np.zeros((1, 3)), colours]).astype(np.float32)
        picture = self._rgba.copy()
        of_drums = table[self._drum[self._on_drum]] * self._light[:, None]
        picture[self._on_drum, :3] = of_drums.astype(np.uint8)
        return picture


def stages_of(
    motions: Sequence[RobotTrack], width: int, height: int, slope_deg: float
) -> list[Stage]:
    """Return stages that show robots at one scale over their whole runs.

    Args:
        motions: motions of the robots.
        width: width of a picture, in pixels.
        height: height of a picture, in pixels.
        slope_deg: slope of the ground in degrees, rising towards +x.
    """
    towards = FROM_THE_SIDE if abs(slope_deg) > SLOPE_SEEN_DEG else FROM
    drawn, outlines = [], []
    for motion in motions:
        world = WorldCfg(slope_deg=slope_deg, obstacles=motion.obstacles)
        robot = dressed(motion.body.robot, _pose_of(motion, 0), world)
        drawn.append(robot)
        last = len(motion.q) - 1
        some = sorted({round(last * k / (GLANCES - 1)) for k in range(GLANCES)})
        middle = motion.position[some].mean(axis=0)
        seen = []
        for i in some:
            pose = _pose_of(motion, i)
            robot.place(pose.q, pose.base_position, pose.base_quaternion)
            seen.append(outline(robot, towards, middle))
        cloud = np.hstack([one.cloud for one in seen])
        outlines.append(Outline(wide=seen[0].wide, cloud=cloud))
    cameras = aim(
        outlines, round(height * OVERSAMPLING), width=round(width * OVERSAMPLING)
    )
    return [
        Stage(motion, robot, camera, slope_deg)
        for motion, robot, camera in zip(motions, drawn, cameras, strict=True)
    ]


def _pose_of(motion: RobotTrack, i: int) -> Pose:
    return Pose(
        q=motion.q[i],
        base_position=motion.position[i],
        base_quaternion=Rotation.from_matrix(motion.rotation[i]).as_quat(),
    )


def _differs(
    a: tuple[FloatArray, FloatArray, FloatArray],
    b: tuple[FloatArray, FloatArray, FloatArray],
) -> bool:
    """Return True if two poses differ visibly."""
    cosine = (np.trace(a[2].T @ b[2]) - 1.0) / 2.0
    return bool(
        np.abs(a[0] - b[0]).max() > TURNED
        or np.abs(a[1] - b[1]).max() > MOVED_M
        or cosine < np.cos(TURNED)
    )


def _small(image: FloatArray, width: int, height: int) -> Image.Image:
    pixels = (255.0 * image).clip(0.0, 255.0).astype(np.uint8)
    return Image.fromarray(pixels, "RGB").resize((width, height), _BOX)
