"""The 3-D replay as a page that opens from a file, made by viser.

viser writes a recording only for a server. The server listens on the loopback interface
for the moment of writing, serves nothing, and is stopped.
"""

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from experiments.report.page.replay.motion import Motion
from experiments.report.page.replay.tree import TreeJoint, turns
from experiments.report.robot_view import colours_of
from models import BadInput

if TYPE_CHECKING:
    from viser import MeshHandle, SceneNodeHandle, ViserServer
    from viser.infra import StateSerializer

FloatArray = NDArray[np.float64]

APART = 0.8
"""Between the middles of two robots, in heights of the tallest one."""
ANGLE_STEP = np.deg2rad(0.1)
"""A link is turned anew when it has turned this far: less cannot be seen."""
WAY_STEP_M = 5e-4
AMBIENT = 1.2
"""Strength of the light from everywhere, beside viser's two lamps."""
COLOUR_STEP = 3
"""In 255ths of a colour's part."""
LAMP_RADIUS_M = 0.009


def build_scene(
    motions: Sequence[Motion], grid_s: FloatArray, scale: float, slope_deg: float
) -> str:
    """Return the page of the replay.

    Args:
        motions: of robots that stand side by side, at the times of the grid.
        grid_s: (n,) times in s, evenly spaced.
        scale: of the page's clock: one unit is so many seconds.
        slope_deg: of the ground, which rises towards +x.
    """
    with _server() as server:
        height = max(motion.height for motion in motions)
        _stage(server, len(motions), height, slope_deg)
        # Seen from ahead of the robots, +y is to the right.
        n = len(motions)
        places = height * APART * (np.arange(n) - 0.5 * (n - 1))
        actors = [
            _Actor(server, i, motion, float(y), height)
            for i, (motion, y) in enumerate(zip(motions, places, strict=True))
        ]
        recording: StateSerializer = server.get_scene_serializer()
        step = float(grid_s[1] - grid_s[0]) / scale if len(grid_s) > 1 else 0.0
        for i in range(len(grid_s)):
            if i:
                recording.insert_sleep(step)
            for actor in actors:
                actor.show(i)
        html: str = recording.as_html()
        return html


class _Actor:
    """One robot in the scene; `show` moves it to a moment of its run."""

    def __init__(
        self,
        server: "ViserServer",
        number: int,
        motion: Motion,
        y: float,
        height: float,
    ) -> None:
        robot, body = motion.body.robot, motion.body
        scene = server.scene
        root = f"/robot {number + 1}"
        paths = {robot.base_link: f"{root}/base"}
        scene.add_frame(root, show_axes=False, position=(0.0, y, 0.0))
        self._base = scene.add_frame(paths[robot.base_link], show_axes=False)
        self._links: dict[str, tuple[SceneNodeHandle, TreeJoint]] = {}
        for joint in body.tree:
            path = f"{paths[joint.parent]}/{_plain(joint.child)}"
            paths[joint.child] = path
            frame = scene.add_frame(
                path,
                show_axes=False,
                position=tuple(joint.position),
                wxyz=_wxyz(joint.rotation),
            )
            if joint.name in robot.joint_names:
                self._links[joint.name] = (frame, joint)
        self._drums: dict[str, MeshHandle] = {}
        for k, shape in enumerate(body.shapes):
            mesh = scene.add_mesh_simple(
                f"{paths[shape.link]}/shape {k}",
                shape.points.astype(np.float32),
                shape.triangles.astype(np.uint32),
                color=shape.rgb,
            )
            if shape.joint is not None:
                self._drums[shape.joint] = mesh
        self._label = scene.add_label(
            f"{root}/name", motion.name, position=(0.0, 0.0, 1.12 * height)
        )
        self._lamps = [
            scene.add_icosphere(
                f"{paths[lamp.link]}/{_plain(lamp.name)}",
                LAMP_RADIUS_M,
                tuple(lamp.rgb[0].tolist()),
                subdivisions=2,
                position=tuple(lamp.position.tolist()),
            )
            for lamp in motion.lamps
        ]
        self._shown_rgb = [lamp.rgb[0] for lamp in motion.lamps]
        self._said = (
            scene.add_label(
                f"{root}/said", "", position=(0.0, 0.0, 1.22 * height), visible=False
            )
            if any(motion.said)
            else None
        )
        self._motion = motion
        self._turns = {
            name: turns(joint, motion.q[:, robot.joint_index(name)], len(motion.q))
            for name, (_, joint) in self._links.items()
        }
        self._colours = np.rint(255.0 * colours_of(motion.degc)).astype(int)
        self._shown_q = np.full(motion.q.shape[1], np.inf)
        self._shown_colours = np.full(self._colours.shape[1:], -COLOUR_STEP, dtype=int)
        self._shown_p, self._shown_rotation = np.full(3, np.inf), np.zeros((3, 3))

    def show(self, i: int) -> None:
        """Tell what has changed since the last call so much that it can be seen."""
        motion, robot = self._motion, self._motion.body.robot
        rotation, p = motion.rotation[i], motion.position[i]
        cosine = (np.trace(self._shown_rotation.T @ rotation) - 1.0) / 2.0
        has_turned = cosine < np.cos(ANGLE_STEP)
        if has_turned or np.abs(p - self._shown_p).max() > WAY_STEP_M:
            self._base.wxyz, self._base.position = _wxyz(rotation), tuple(p)
            self._shown_rotation, self._shown_p = rotation, p
        for name, (frame, _) in self._links.items():
            j = robot.joint_index(name)
            if abs(motion.q[i, j] - self._shown_q[j]) > ANGLE_STEP:
                frame.wxyz = _wxyz(self._turns[name][i])
                self._shown_q[j] = motion.q[i, j]
        for name, drum in self._drums.items():
            j = robot.joint_index(name)
            colour = self._colours[i, j]
            if np.abs(colour - self._shown_colours[j]).max() >= COLOUR_STEP:
                drum.color = tuple(colour.tolist())
                self._shown_colours[j] = colour
        for k, (lamp, ball) in enumerate(zip(motion.lamps, self._lamps, strict=True)):
            if (lamp.rgb[i] != self._shown_rgb[k]).any():
                ball.color = tuple(lamp.rgb[i].tolist())
                self._shown_rgb[k] = lamp.rgb[i]
        if self._said is not None and self._said.text != motion.said[i]:
            self._said.text = motion.said[i]
            self._said.visible = bool(motion.said[i])
        hottest = int(motion.degc[i].argmax())
        text = f"{motion.name}: {robot.joint_names[hottest]} "
        text += f"{motion.degc[i, hottest]:.0f} °C"
        if self._label.text != text:
            self._label.text = text


def _stage(server: "ViserServer", n: int, height: float, slope_deg: float) -> None:
    """Lay the ground, and set the camera so that all robots are seen from ahead."""
    # No map of surroundings and no shadows: on a computer without a graphics card each
    # of them makes a picture take several times as long.
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(cast_shadow=False)
    server.scene.add_light_ambient("/light", intensity=AMBIENT)
    slope = np.deg2rad(slope_deg)
    width = height * APART * n
    half = -slope / 2.0  # nose up: minus about y
    server.scene.add_grid(
        "/ground",
        width=round(2.0 * height, 1),
        height=round(width + height, 1),
        cell_size=0.1,
        section_size=0.5,
        wxyz=(float(np.cos(half)), 0.0, float(np.sin(half)), 0.0),
    )
    middle = np.array([0.0, 0.0, 0.5 * height])
    far = max(2.2 * height, 0.8 * width + 0.9 * height)
    eye = middle + far * np.array([0.95, -0.25, 0.16])
    server.initial_camera.position = tuple(eye.tolist())
    server.initial_camera.look_at = tuple(middle.tolist())
    server.initial_camera.fov = float(np.deg2rad(40.0))


def check_viser() -> None:
    """Look whether replays can be made here.

    Raises:
        BadInput: viser is not installed.
    """
    try:
        import viser  # noqa: F401, PLC0415  # heavy, and an extra
    except ImportError as error:
        raise BadInput(
            "the 3-D replay needs viser, which this installation lacks; install "
            "nao-testbed[report], or give --no-replay."
        ) from error


@contextlib.contextmanager
def _server() -> "Iterator[ViserServer]":
    from viser import ViserServer  # noqa: PLC0415  # heavy, and an extra

    # It tells its address on stdout, where data goes.
    with contextlib.redirect_stdout(io.StringIO()):
        server = ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def _wxyz(rotation: FloatArray) -> tuple[float, float, float, float]:
    x, y, z, w = np.round(Rotation.from_matrix(rotation).as_quat(), 5).tolist()
    return w, x, y, z


def _plain(name: str) -> str:
    return name.replace("/", "-")
