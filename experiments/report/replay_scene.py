"""The 3-D replay: recorded robots side by side, in a page that opens from a file.

    clothe -> pose_robot -> build_replay

viser writes a recording only for a server. The server listens on the loopback interface
for the moment of writing, serves nothing, and is stopped. Where the base was not
recorded it is worked out from accelerometer, gyroscope and ground, and the page says
so.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from experiments.common.drawing.page import Replay, duration, number
from experiments.heat.figures.robot_view import colours_of
from experiments.report.replay_body import OFF, Body, TreeJoint, turns
from experiments.report.replay_motion import (
    Motion,
    dress,
    has_base_pose,
    misalignment,
    pose_robot,
    slope_deg,
)
from experiments.report.run_source import RecordedTrial
from models import BadInput, Robot
from sim.engine.obstacles import Obstacle

if TYPE_CHECKING:
    from viser import (
        ArrowsHandle,
        IcosphereHandle,
        LabelHandle,
        MeshHandle,
        SceneNodeHandle,
        ViserServer,
    )
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
FORCE_RGB = (46, 160, 67)
METRES_A_NEWTON = 0.005
"""Length of an arrow: 13 cm below each foot of a NAO that stands."""
WOOD = (194, 166, 128)
"""Colour of an obstacle."""
SEEN_THROUGH = 0.4
"""Opacity of an obstacle: the hand below a table stays in sight."""


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
        lay_stage(server, len(motions), height, slope_deg)
        # Seen from ahead of the robots, +y is to the right.
        n = len(motions)
        places = height * APART * (np.arange(n) - 0.5 * (n - 1))
        actors = [
            _Actor(server, i, motion, float(y), height, slope_deg)
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


class Figure:
    """One robot in a scene; `put` moves it, telling what has changed enough to see."""

    def __init__(
        self,
        server: "ViserServer",
        number: int,
        body: Body,
        name: str,
        y: float,
        height: float,
    ) -> None:
        """Place it.

        Args:
            server: of the scene.
            number: of the robot in it, from 0.
            body: what it looks like.
            name: that stands above it.
            y: where it stands, in m.
            height: of the robot in m.
        """
        robot = body.robot
        scene = self._scene = server.scene
        self.root = f"/robot {number + 1}"
        self.paths = {robot.base_link: f"{self.root}/base"}
        scene.add_frame(self.root, show_axes=False, position=(0.0, y, 0.0))
        self._base = scene.add_frame(self.paths[robot.base_link], show_axes=False)
        self._links: dict[int, tuple[SceneNodeHandle, TreeJoint]] = {}
        for joint in body.tree:
            path = f"{self.paths[joint.parent]}/{_plain(joint.child)}"
            self.paths[joint.child] = path
            frame = scene.add_frame(
                path,
                show_axes=False,
                position=tuple(joint.position),
                wxyz=_wxyz(joint.rotation),
            )
            if joint.name in robot.joint_names:
                self._links[robot.joint_index(joint.name)] = (frame, joint)
        self._drums: dict[int, MeshHandle] = {}
        for k, shape in enumerate(body.shapes):
            mesh = scene.add_mesh_simple(
                f"{self.paths[shape.link]}/shape {k}",
                shape.points.astype(np.float32),
                shape.triangles.astype(np.uint32),
                color=shape.rgb,
            )
            if shape.joint is not None:
                self._drums[robot.joint_index(shape.joint)] = mesh
        self._text_height = 1.12 * height
        self._label = scene.add_label(
            f"{self.root}/name", name, position=(0.0, 0.0, self._text_height)
        )
        self._lamps: dict[str, IcosphereHandle] = {}
        self._arrows: dict[str, ArrowsHandle] = {}
        self._said: LabelHandle | None = None
        n = len(robot.joints)
        self._shown_q = np.full(n, np.inf)
        self._shown_colours = np.full((n, 3), -COLOUR_STEP, dtype=int)
        self._shown_p, self._shown_rotation = np.full(3, np.inf), np.zeros((3, 3))

    def add_lamp(self, name: str, link: str, position: FloatArray) -> None:
        """Let a lamp be seen, dark at first.

        Args:
            name: of the LED group.
            link: that carries it.
            position: (3,) in the link frame, in m.
        """
        self._lamps[name] = self._scene.add_icosphere(
            f"{self.paths[link]}/{_plain(name)}",
            LAMP_RADIUS_M,
            (round(OFF),) * 3,
            subdivisions=2,
            position=tuple(position.tolist()),
        )

    def shine(self, name: str, rgb: NDArray[np.intp]) -> None:
        """Give a lamp its colour, (3,) in 255ths."""
        colour = tuple(rgb.tolist())
        if self._lamps[name].color != colour:
            self._lamps[name].color = colour

    def press(self, link: str, p: FloatArray, newton: float) -> None:
        """Draw the ground's force on a link, an arrow that ends at its centre.

        Args:
            link: a foot.
            p: (3,) centre of pressure in the link frame, in m.
            newton: of the force along the link's z; 0: no arrow.
        """
        arrow = self._arrows.get(link)
        if arrow is None:
            arrow = self._arrows[link] = self._scene.add_arrows(
                f"{self.paths[link]}/force",
                np.zeros((1, 2, 3), dtype=np.float32),
                FORCE_RGB,
                shaft_radius=0.004,
                head_radius=0.01,
                head_length=0.02,
                visible=False,
            )
        if arrow.visible != (newton > 0.0):
            arrow.visible = newton > 0.0
        begin = p - np.array([0.0, 0.0, METRES_A_NEWTON * newton])
        points = np.stack([begin, p])[None].astype(np.float32)
        if np.abs(points - arrow.points).max() > WAY_STEP_M:
            arrow.points = points

    def say(self, text: str) -> None:
        """Write what is said above the robot; empty in silence."""
        if self._said is None:
            if not text:
                return
            self._said = self._scene.add_label(
                f"{self.root}/said", "", position=(0.0, 0.0, 1.1 * self._text_height)
            )
        if self._said.text != text:
            self._said.text, self._said.visible = text, bool(text)

    def stand_among(self, obstacles: Sequence[Obstacle], slope_deg: float) -> None:
        """Show what stands in its way.

        Args:
            obstacles: in the frame of the robot's start.
            slope_deg: of the ground there.
        """
        if not obstacles:
            return
        root = f"{self.root}/obstacles"
        self._scene.add_frame(root, show_axes=False, wxyz=_sloped(slope_deg))
        for one in obstacles:
            self._scene.add_box(
                f"{root}/{_plain(one.name)}",
                color=WOOD,
                dimensions=one.size,
                opacity=SEEN_THROUGH,
                position=one.position,
                wxyz=_wxyz(Rotation.from_euler("z", one.yaw_deg, True).as_matrix()),
            )

    def put(
        self,
        rotation: FloatArray,
        p: FloatArray,
        q: FloatArray,
        degc: FloatArray,
        text: str,
    ) -> None:
        """Be like this.

        Args:
            rotation: (3, 3) base to world.
            p: (3,) of the base in m.
            q: (n_joints,) true angles in rad.
            degc: (n_joints,) temperature of the joints' motors in °C.
            text: above it.
        """
        cosine = (np.trace(self._shown_rotation.T @ rotation) - 1.0) / 2.0
        has_turned = cosine < np.cos(ANGLE_STEP)
        if has_turned or np.abs(p - self._shown_p).max() > WAY_STEP_M:
            self._base.wxyz, self._base.position = _wxyz(rotation), tuple(p)
            self._shown_rotation, self._shown_p = rotation, p
        for j, (frame, joint) in self._links.items():
            if abs(q[j] - self._shown_q[j]) > ANGLE_STEP:
                frame.wxyz = _wxyz(turns(joint, q[j : j + 1], 1)[0])
                self._shown_q[j] = q[j]
        colours = np.rint(255.0 * colours_of(degc)).astype(int)
        for j, drum in self._drums.items():
            if np.abs(colours[j] - self._shown_colours[j]).max() >= COLOUR_STEP:
                drum.color = tuple(colours[j].tolist())
                self._shown_colours[j] = colours[j]
        if self._label.text != text:
            self._label.text = text


class _Actor:
    """One recorded robot in the scene; `show` moves it to a moment of its run."""

    def __init__(
        self,
        server: "ViserServer",
        number: int,
        motion: Motion,
        y: float,
        height: float,
        slope_deg: float,
    ) -> None:
        figure = Figure(server, number, motion.body, motion.name, y, height)
        figure.stand_among(motion.obstacles, slope_deg)
        for lamp in motion.lamps:
            figure.add_lamp(lamp.name, lamp.link, lamp.position)
        self._figure, self._motion = figure, motion

    def show(self, i: int) -> None:
        """Tell what has changed since the last call so much that it can be seen."""
        motion, figure = self._motion, self._figure
        text = hottest_text(motion.name, motion.body.robot, motion.degc[i])
        figure.put(
            motion.rotation[i], motion.position[i], motion.q[i], motion.degc[i], text
        )
        for lamp in motion.lamps:
            figure.shine(lamp.name, lamp.rgb[i])
        figure.say(motion.said[i])


def hottest_text(name: str, robot: Robot, degc: FloatArray) -> str:
    """Name the hottest joint of a robot; `degc` is (n_joints,)."""
    hottest = int(degc.argmax())
    return f"{name}: {robot.joint_names[hottest]} {degc[hottest]:.0f} °C"


def lay_stage(server: "ViserServer", n: int, height: float, slope_deg: float) -> None:
    """Lay the ground, and set the camera so that all robots are seen from ahead."""
    # No map of surroundings and no shadows: on a computer without a graphics card each
    # of them makes a picture take several times as long.
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(cast_shadow=False)
    server.scene.add_light_ambient("/light", intensity=AMBIENT)
    width = height * APART * n
    server.scene.add_grid(
        "/ground",
        width=round(2.0 * height, 1),
        height=round(width + height, 1),
        cell_size=0.1,
        section_size=0.5,
        wxyz=_sloped(slope_deg),
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


def _sloped(slope_deg: float) -> tuple[float, float, float, float]:
    half = -np.deg2rad(slope_deg) / 2.0  # nose up: minus about y
    return float(np.cos(half)), 0.0, float(np.sin(half)), 0.0


def _plain(name: str) -> str:
    return name.replace("/", "-")


SHORTEST_STEP_S = 0.04
MOST_STEPS = 1500
"""Moments that are drawn; a quarter of an hour at every 0.6 s."""
MINUTES_FROM_S = 120.0
"""From this length on the clock of the replay counts minutes."""
COLOURS = 12
"""Colours of the scale beside the replay."""


def build_replay(
    arms: Sequence[RecordedTrial], robots: Mapping[str, Robot], caption: str
) -> Replay:
    """Return the replay of robots side by side.

    Args:
        arms: with rows.
        robots: by name of the arm.
        caption: what is seen.

    Raises:
        BadInput: rows lack what a replay needs.
    """
    pass  # viser
    from experiments.heat.figures.robot_view import (  # noqa: PLC0415  # the engine
        COLDEST_DEGC,
        HOTTEST_DEGC,
        colour_of,
    )

    end_s = max(float(arm.frame.index[-1]) for arm in arms)
    step_s = max(SHORTEST_STEP_S, end_s / MOST_STEPS)
    grid_s = np.arange(0.0, end_s + 0.5 * step_s, step_s)
    bodies: dict[Path, Body] = {}
    motions = []
    for arm in arms:
        robot = robots[arm.name]
        if robot.urdf not in bodies:
            bodies[robot.urdf] = dress(arm, robot)
        motions.append(pose_robot(arm, bodies[robot.urdf], grid_s))
    in_minutes = end_s >= MINUTES_FROM_S
    html = build_scene(motions, grid_s, 60.0 if in_minutes else 1.0, slope_deg(arms[0]))
    return Replay(
        html=html,
        caption=caption,
        notes=(
            *_notes(arms, robots, step_s, in_minutes=in_minutes),
            *_effector_notes(motions),
        ),
        scale=tuple(
            _hex(colour_of(float(degc)))
            for degc in np.linspace(COLDEST_DEGC, HOTTEST_DEGC, COLOURS)
        ),
        coldest_degc=COLDEST_DEGC,
        hottest_degc=HOTTEST_DEGC,
    )


def _notes(
    arms: Sequence[RecordedTrial],
    robots: Mapping[str, Robot],
    step_s: float,
    *,
    in_minutes: bool,
) -> tuple[str, ...]:
    clock = (
        "The clock counts minutes: at 1x, a second shows a minute."
        if in_minutes
        else "The clock counts seconds; 1x is real time."
    )
    notes = [
        f"{clock} The rows are shown every {duration(step_s)}.",
        *base_notes(arms),
    ]
    if any(misalignment(arm, robots[arm.name]).any() for arm in arms):
        notes.append(
            "Joint angles are those of the encoders with the calibration errors of the "
            "settings put back."
        )
    slope = slope_deg(arms[0])
    if slope:
        notes.append(f"The ground rises by {number(slope)}° ahead of the robots.")
    return tuple(notes)


def _effector_notes(motions: Sequence[Motion]) -> list[str]:
    notes = []
    if any(motion.lamps for motion in motions):
        notes.append("Each ball is a group of LEDs in its mean colour, grey when off.")
    if any(any(motion.said) for motion in motions):
        notes.append(
            "What is said or played is written above the robot; the scene itself is "
            "silent."
        )
    return notes


def base_notes(arms: Sequence[RecordedTrial]) -> list[str]:
    """Say whose base is where it was, and whose is where it probably was."""
    known = [arm.name for arm in arms if has_base_pose(arm)]
    guessed = [arm.name for arm in arms if arm.name not in known]
    notes = []
    if known:
        whose = f" of {', '.join(known)}" if guessed else ""
        notes.append(
            f"The base{whose} is where the simulator had it: the truth, which no "
            "sensor tells."
        )
    if guessed:
        whose = f" of {', '.join(guessed)}" if known else ""
        notes.append(
            f"The pose of the base{whose} is not recorded. Its tilt is estimated from "
            "accelerometer and gyroscope, its height from the lowest point of the "
            "body, which touches the ground; points that touch stay where they are. "
            "Heading, slides and flights are not known."
        )
    return notes


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255.0 * part):02x}" for part in rgb)
