"""Robot in a viser scene: links, temperatures, lamps, forces and texts.

Only visible changes are sent to the scene.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from nao_testbed.experiments.heat.figures.robot_view import colours_of
from nao_testbed.experiments.report.replay.rig import OFF, Rig, TreeJoint, turns
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.sensors.drawing.meshes import Shape

if TYPE_CHECKING:
    from viser import (
        ArrowsHandle,
        IcosphereHandle,
        LabelHandle,
        MeshHandle,
        SceneNodeHandle,
        ViserServer,
    )


KeyT = TypeVar("KeyT")
ANGLE_STEP = np.deg2rad(0.1)
"""Smallest rotation of a link that is sent, in rad; smaller ones are invisible."""
WAY_STEP_M = 5e-4
COLOUR_STEP = 3
"""Smallest change of a colour that is sent, from 0 to 255."""
LAMP_RADIUS_M = 0.009
TOUCH_RGB = (110, 118, 129)
FORCE_RGB = (46, 160, 67)
METRES_A_NEWTON = 0.0025
"""Length of an arrow in m/N: 6 cm below each foot of a standing NAO."""
WOOD = (194, 166, 128)
"""Colour of an obstacle."""
LEAST_W = 0.05
"""Smallest useless heat of a joint in W that gets a ring; with guessed motor constants,
in multiples of the minimum of the legs, as below."""
RING_SIZE, RING_GROWTH = 1.1, 0.45
"""Radius of a ring divided by that of its drum: at 0 W, and increase at 1 W (square
root law)."""
RING_STEP = 0.03
RING_RGB = (214, 51, 132)
SEEN_THROUGH = 0.4
"""Opacity of an obstacle, so that a hand below a table stays visible."""


class Figure:
    """Robot in a scene; `put` moves it, and sends only visible changes."""

    def __init__(
        self,
        server: "ViserServer",
        number: int,
        body: Rig,
        name: str,
        y: float,
        height: float,
    ) -> None:
        """Add the robot to the scene.

        Args:
            server: server of the scene.
            number: number of the robot in the scene, from 0.
            body: shapes of the robot.
            name: name shown above it.
            y: lateral position, in m.
            height: height of the robot in m.
        """
        robot = body.robot
        scene = self._scene = server.scene
        self.root = f"/robot {number + 1}"
        self.paths = {robot.base_link: f"{self.root}/base"}
        scene.add_frame(self.root, show_axes=False, position=(0.0, y, 0.0))
        self._base = scene.add_frame(self.paths[robot.base_link], show_axes=False)
        self._links: dict[int, tuple[SceneNodeHandle, TreeJoint]] = {}
        for joint in body.tree:
            path = f"{self.paths[joint.parent]}/{plain(joint.child)}"
            self.paths[joint.child] = path
            frame = scene.add_frame(
                path,
                show_axes=False,
                position=tuple(joint.position),
                wxyz=wxyz_of(joint.rotation),
            )
            if joint.name in robot.joint_names:
                self._links[robot.joint_index(joint.name)] = (frame, joint)
        self._drums: dict[int, MeshHandle] = {}
        self._shapes: dict[int, Shape] = {}
        self._rings: dict[int, MeshHandle] = {}
        for k, shape in enumerate(_joined(body.shapes)):
            mesh = scene.add_mesh_simple(
                f"{self.paths[shape.link]}/shape {k}",
                shape.points.astype(np.float32),
                shape.triangles.astype(np.uint32),
                color=shape.rgb,
            )
            if shape.joint is not None:
                j = robot.joint_index(shape.joint)
                self._drums[j], self._shapes[j] = mesh, shape
        self._text_height = 1.12 * height
        self._label = scene.add_label(
            f"{self.root}/name", name, position=(0.0, 0.0, self._text_height)
        )
        self._lamps: dict[str, IcosphereHandle] = {}
        self.touches: dict[str, IcosphereHandle] = {}
        """Touch sensors by name."""
        self._arrows: dict[str, ArrowsHandle] = {}
        self._said: LabelHandle | None = None
        n = len(robot.joints)
        self._shown_q = np.full(n, np.inf)
        self._shown_colours = np.full((n, 3), -COLOUR_STEP, dtype=int)
        self._shown_p, self._shown_rotation = np.full(3, np.inf), np.zeros((3, 3))

    def add_lamp(self, name: str, link: str, position: FloatArray) -> None:
        """Add a lamp, initially dark.

        Args:
            name: name of the LED group.
            link: link that carries it.
            position: (3,) in the link frame, in m.
        """
        self._lamps[name] = self._scene.add_icosphere(
            f"{self.paths[link]}/{plain(name)}",
            LAMP_RADIUS_M,
            (round(OFF),) * 3,
            subdivisions=2,
            position=tuple(position.tolist()),
        )

    def shine(self, name: str, rgb: NDArray[np.intp]) -> None:
        """Set the colour of a lamp, (3,) from 0 to 255."""
        colour = tuple(rgb.tolist())
        if self._lamps[name].color != colour:
            self._lamps[name].color = colour

    def on_joint(self, tell: Callable[[int], None]) -> None:
        """Register a callback for clicks on the drum of a joint."""
        for j, drum in self._drums.items():
            drum.on_click(partial(_tell_of, tell, j))

    def on_touch(self, robot: Robot, tell: Callable[[str], object]) -> None:
        """Add the touch sensors, and register a callback for clicks on them."""
        for name, sensor in robot.touch_sensors.items():
            self.touches[name] = self._scene.add_icosphere(
                f"{self.paths[sensor.link]}/{plain(name)}",
                LAMP_RADIUS_M,
                TOUCH_RGB,
                subdivisions=2,
                position=sensor.position,
            )
            self.touches[name].on_click(partial(_tell_of, tell, name))

    def ring(self, watts: FloatArray) -> None:
        """Draw a ring around each joint whose radius shows its useless heat.

        Args:
            watts: (n_joints,) useless heat in W; below `LEAST_W` no ring is drawn.
        """
        for j, shape in self._shapes.items():
            is_seen = bool(watts[j] >= LEAST_W)
            ring = self._rings.get(j)
            if ring is None:
                if is_seen:
                    self._rings[j] = self._make_ring(j, shape, watts[j])
                continue
            if ring.visible != is_seen:
                ring.visible = is_seen
            size = _ring_size(watts[j])
            if is_seen and np.abs(np.subtract(size, ring.scale)).max() > RING_STEP:
                ring.scale = size

    def _make_ring(self, j: int, shape: Shape, watts: float) -> "MeshHandle":
        """Add rings at the ends of a drum, where it sticks out of the body."""
        _, joint = self._links[j]
        axis = np.array([0.0, 0.0, 1.0]) if joint.axis is None else joint.axis
        middle = 0.5 * (shape.points.min(axis=0) + shape.points.max(axis=0))
        along = (shape.points - middle) @ axis
        away = shape.points - middle - along[:, None] * axis
        radius = float(np.linalg.norm(away, axis=1).max())
        points, triangles = torus(radius)
        ends = [points + np.array([0.0, 0.0, z]) for z in (along.min(), along.max())]
        x, y, z = axis.tolist()
        turn = np.array([1.0 + z, -y, x, 0.0])  # of the z axis to the joint's
        if z < 1e-9 - 1.0:
            turn = np.array([0.0, 1.0, 0.0, 0.0])
        return self._scene.add_mesh_simple(
            f"{self.paths[shape.link]}/ring",
            np.concatenate(ends).astype(np.float32),
            np.concatenate([triangles, triangles + len(points)]).astype(np.uint32),
            color=RING_RGB,
            position=tuple(middle.tolist()),
            wxyz=tuple((turn / np.linalg.norm(turn)).tolist()),
            scale=_ring_size(watts),
        )

    def press(self, link: str, p: FloatArray, newton: float) -> None:
        """Draw the ground's force on a link, an arrow that ends at its centre.

        Args:
            link: a foot.
            p: (3,) centre of pressure in the link frame, in m.
            newton: force in N along the link's z; 0: no arrow.
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
        """Show the spoken text above the robot; empty: no text."""
        if self._said is None:
            if not text:
                return
            self._said = self._scene.add_label(
                f"{self.root}/said", "", position=(0.0, 0.0, 1.1 * self._text_height)
            )
        if self._said.text != text:
            self._said.text, self._said.visible = text, bool(text)

    def stand_among(self, obstacles: Sequence[Obstacle], slope_deg: float) -> None:
        """Show the obstacles.

        Args:
            obstacles: boxes in the frame of the robot's start.
            slope_deg: slope of the ground.
        """
        if not obstacles:
            return
        root = f"{self.root}/obstacles"
        self._scene.add_frame(root, show_axes=False, wxyz=sloped(slope_deg))
        for one in obstacles:
            self._scene.add_box(
                f"{root}/{plain(one.name)}",
                color=WOOD,
                dimensions=one.size,
                opacity=SEEN_THROUGH,
                position=one.position,
                wxyz=_yawed(one.yaw_deg),
            )

    def put(
        self,
        rotation: FloatArray,
        p: FloatArray,
        q: FloatArray,
        degc: FloatArray,
        text: str,
    ) -> None:
        """Set pose, colours and text.

        Args:
            rotation: (3, 3) rotation from base to world.
            p: (3,) position of the base in m.
            q: (n_joints,) true angles in rad.
            degc: (n_joints,) temperature of the joints' motors in °C.
            text: text above the robot.
        """
        cosine = (np.trace(self._shown_rotation.T @ rotation) - 1.0) / 2.0
        has_turned = cosine < np.cos(ANGLE_STEP)
        if has_turned or np.abs(p - self._shown_p).max() > WAY_STEP_M:
            self._base.wxyz, self._base.position = wxyz_of(rotation), tuple(p)
            self._shown_rotation, self._shown_p = rotation, p
        for j, (frame, joint) in self._links.items():
            if abs(q[j] - self._shown_q[j]) > ANGLE_STEP:
                frame.wxyz = wxyz_of(turns(joint, q[j : j + 1], 1)[0])
                self._shown_q[j] = q[j]
        colours = np.rint(255.0 * colours_of(degc)).astype(int)
        for j, drum in self._drums.items():
            if np.abs(colours[j] - self._shown_colours[j]).max() >= COLOUR_STEP:
                drum.color = tuple(colours[j].tolist())
                self._shown_colours[j] = colours[j]
        if self._label.text != text:
            self._label.text = text


def _joined(shapes: Sequence[Shape]) -> list[Shape]:
    """Return shapes in which the parts of a link with one colour are one shape."""
    alike: dict[tuple[str, tuple[int, int, int], str | None], list[Shape]] = {}
    for shape in shapes:
        alike.setdefault((shape.link, shape.rgb, shape.joint), []).append(shape)
    joined = []
    for parts in alike.values():
        first = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
        triangles = [part.triangles + n for part, n in zip(parts, first, strict=True)]
        joined.append(
            replace(
                parts[0],
                points=np.concatenate([part.points for part in parts]),
                triangles=np.concatenate(triangles),
            )
        )
    return joined


def _tell_of(tell: Callable[[KeyT], object], key: KeyT, _event: object) -> None:
    tell(key)


def _ring_size(watts: float) -> tuple[float, float, float]:
    size = float(RING_SIZE + RING_GROWTH * np.sqrt(watts))
    return size, size, 1.0


def torus(
    radius: float, tube: float = 0.14, n: int = 32, m: int = 8
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the points (n m, 3) and triangles of a ring about z.

    Args:
        radius: radius of the ring's centre line.
        tube: radius of the tube.
        n: number of points along the ring.
        m: number of points around the tube.
    """
    u = 2.0 * np.pi * np.arange(n)[:, None] / n
    v = 2.0 * np.pi * np.arange(m) / m
    out = 1.0 + tube * np.cos(v)
    z = np.broadcast_to(tube * np.sin(v), (n, m))
    points = radius * np.stack([np.cos(u) * out, np.sin(u) * out, z], axis=-1)
    i, k = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b = i * m + k, (i + 1) % n * m + k
    c, d = i * m + (k + 1) % m, (i + 1) % n * m + (k + 1) % m
    triangles = np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)])
    return points.reshape(-1, 3), triangles.reshape(-1, 3)


def wxyz_of(rotation: FloatArray) -> tuple[float, float, float, float]:
    """Return a rotation (3, 3) as viser's quaternion w x y z.

    The formula of four divides by the largest number of the quaternion.
    """
    r, trace = rotation, float(np.trace(rotation))
    i = int(np.argmax([*np.diag(r), trace]))
    wxyz = np.empty(4)
    if i == 3:
        wxyz[:] = 1.0 + trace, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        wxyz[0] = r[k, j] - r[j, k]
        wxyz[1 + i] = 1.0 - trace + 2.0 * r[i, i]
        wxyz[1 + j] = r[j, i] + r[i, j]
        wxyz[1 + k] = r[k, i] + r[i, k]
    w, x, y, z = np.round(wxyz / np.linalg.norm(wxyz), 5).tolist()
    return w, x, y, z


def _yawed(yaw_deg: float) -> tuple[float, float, float, float]:
    half = 0.5 * np.deg2rad(yaw_deg)
    return float(np.cos(half)), 0.0, 0.0, float(np.sin(half))


def sloped(slope_deg: float) -> tuple[float, float, float, float]:
    """Return the rotation of a ground that rises forwards, as viser's quaternion."""
    half = -np.deg2rad(slope_deg) / 2.0  # front up: negative about y
    return float(np.cos(half)), 0.0, float(np.sin(half)), 0.0


def plain(name: str) -> str:
    """Return a name without path separators."""
    return name.replace("/", "-")
