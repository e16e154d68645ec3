"""Settings of the world (clock, ground, gravity, solver, window) and of the camera.

`ticks_of` converts periods to whole physics steps.

Frames of a camera: the world is x forward, y left, z up. The eye looks along -z of its
own frame, x right, y up, as in OpenGL; pixels count from the upper left corner.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import starmap
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked, check_value
from nao_testbed.controllers.interface.ranges import (
    EngineName,
    Gravity,
    GroundFriction,
    SlopeDegrees,
    SolverResidual,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray, number_of
from nao_testbed.sim.engine.obstacles import Obstacle


def ticks_of(name: str, period: float, dt: float) -> int:
    """Convert a period to ticks.

    Raises:
        BadInput: the period is not a whole positive multiple of dt.
    """
    if not (math.isfinite(period) and period > 0.0):
        raise BadInput(f"{name} is {period} s; give a positive number of seconds.")
    ratio = period / dt
    if not math.isfinite(ratio):
        raise BadInput(f"{name} is {period:g} s; the step {dt:g} s is too short.")
    ticks = round(ratio)
    if ticks < 1 or abs(ratio - ticks) > 1e-6 * ticks:
        below = max(int(ratio), 1)
        raise BadInput(
            f"{name} = {period:g} s is not a multiple of the physics step {dt:g} s "
            f"({ratio:.4g} steps); choose {below * dt:g} s or {(below + 1) * dt:g} s."
        )
    return ticks


SHORTEST_STEP_S = 1e-5
"""Shortest physics step in s: a hundredth of the default."""


Coordinate = Annotated[float, Field(ge=-1.0, le=1.0, title="a payload's position in m")]


@dataclass(frozen=True, kw_only=True)
class Payload(Checked):
    """Point mass fixed to a link."""

    link: str
    mass_kg: Annotated[float, Field(ge=0.0, le=50.0, title="payload in kg")]
    position: tuple[float, float, float] | None = None
    """Position in the link's frame, in m; None: at the link's centre of mass."""

    @classmethod
    def at(cls, place: str, mass_kg: float) -> Self:
        """Create a payload from a place `LINK` or `LINK@X,Y,Z` and a mass.

        Raises:
            BadInput: the text has another form, or a value is out of range.
        """
        link, at, text = place.partition("@")
        if not at:
            return cls(link=link, mass_kg=mass_kg)
        try:
            x, y, z = (number_of(part) for part in text.split(","))
        except ValueError as error:
            raise BadInput(
                f"payload is at {place!r}; give a link, or a link and a position in "
                "its frame in m, such as LINK@-0.08,0,0.05."
            ) from error
        return cls(link=link, mass_kg=mass_kg, position=(x, y, z))

    def __post_init__(self) -> None:
        """Check mass and place.

        Raises:
            BadInput: a value is out of range.
        """
        super().__post_init__()
        for x in self.position or ():
            check_value("place", x, Coordinate)

    def place_on(self, robot: Robot) -> FloatArray:
        """Return the position (3,) in the link's frame, in m."""
        if self.position is not None:
            return np.array(self.position)
        (com,) = (link.com for link in robot.links if link.name == self.link)
        return np.array(com)

    @property
    def place(self) -> str:
        """Place as text in the form of `at`."""
        if self.position is None:
            return self.link
        return f"{self.link}@{','.join(f'{x:g}' for x in self.position)}"


def payloads_of(robot: Robot, payload_kg: Mapping[str, float]) -> tuple[Payload, ...]:
    """Return payloads from a mapping of place to mass in the form of `Payload.at`.

    Raises:
        UnknownName: the robot has no such link.
        BadInput: a place or a mass cannot be used.
    """
    links = [link.name for link in robot.links]
    loads = tuple(starmap(Payload.at, payload_kg.items()))
    for load in loads:
        if load.link not in links:
            raise UnknownName("Link", load.link, links, f"robot {robot.name!r}")
    return loads


def slope_quaternion(slope_deg: float) -> tuple[float, float, float, float]:
    """Return the orientation x y z w of a ground that rises towards +x."""
    half = -np.deg2rad(slope_deg) / 2.0  # front up: negative about y
    return (0.0, float(np.sin(half)), 0.0, float(np.cos(half)))


def default_engine() -> EngineName:
    """Return `pybullet`, or `mujoco` if PyBullet is not installed."""
    return "pybullet" if find_spec("pybullet") else "mujoco"


@dataclass(frozen=True, kw_only=True)
class WorldCfg(Checked):
    """Settings of the engine and the world, fixed at the start."""

    engine: EngineName = field(default_factory=default_engine)
    """PyBullet, or MuJoCo, which needs the extra `mujoco`."""
    physics_dt: Annotated[float, Field(ge=SHORTEST_STEP_S, le=0.01)] = 1e-3
    """Physics and servo period in s."""
    gravity: Annotated[Gravity, Field(title="gravity in m/s²")] = 9.81
    """Gravity in m/s²."""
    slope_deg: Annotated[SlopeDegrees, Field(title="slope")] = 0.0
    """Slope of the ground in degrees, rising towards +x (uphill in front of the
    robot)."""
    friction: Annotated[GroundFriction, Field(title="ground friction")] = 0.7
    """Coulomb coefficient of soles on the ground (estimate: rubber, hard floor)."""
    solver_iterations: Annotated[int, Field(ge=1)] = 50
    """Largest number of sweeps of the contact solver; PyBullet's default."""
    solver_residual: SolverResidual = 1e-7
    """Squared residual at which the contact solver stops early; PyBullet's default.
    With 1e-5 a tick of a standing robot costs a tenth less; with an ankle error of 2
    degrees, the leg torques change by less than 1 in 1000."""
    payloads: tuple[Payload, ...] = ()
    """Payloads of the robot, unknown to the models of controllers."""
    obstacles: tuple[Obstacle, ...] = ()
    """Obstacles, unknown to the models of controllers."""
    gui: bool = False
    """Open PyBullet's window."""

    def __post_init__(self) -> None:
        """Check ranges, and that the obstacles' names are unique.

        Raises:
            BadInput: a value cannot be used.
        """
        super().__post_init__()
        names = [one.name for one in self.obstacles]
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"two obstacles are named {name!r}; rename one.")


def check_display() -> None:
    """Check that a display exists: without one, PyBullet's window ends the process.

    Raises:
        BadInput: there is no display.
    """
    if not os.environ.get("DISPLAY"):
        raise BadInput(
            "--gui needs a display and DISPLAY is not set; run without --gui."
        )


Vector3 = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Pinhole camera with its light."""

    eye: Vector3
    """Position of the camera, in m."""
    target: Vector3
    """Point in the centre of the picture, in m."""
    up: Vector3 = (0.0, 0.0, 1.0)
    """Upward direction of the picture; not along the line of sight."""
    fov_deg: float = 25.0
    """Vertical field of view in degrees."""
    width: int = 640
    height: int = 480
    near: float = 0.1
    """Distance of the near clipping plane, in m."""
    far: float = 10.0
    """Distance of the far clipping plane, in m."""
    light: Vector3 = (1.0, 0.6, 2.0)
    """Direction towards the light."""
    ambient: float = 0.6
    """Share of light without direction."""
    diffuse: float = 0.35
    specular: float = 0.05

    def __post_init__(self) -> None:
        """Raise BadInput for settings that give no picture."""
        if self.width < 1 or self.height < 1:
            raise BadInput(
                f"picture of {self.width} × {self.height} pixels; give at least 1 × 1."
            )
        if not 0.0 < self.fov_deg < 180.0:
            raise BadInput(
                f"field of view is {self.fov_deg} degrees; give one in (0, 180)."
            )
        if not 0.0 < self.near < self.far:
            raise BadInput(
                f"the camera sees from {self.near} m to {self.far} m; give "
                "0 < near < far."
            )
        if np.linalg.norm(np.cross(self._forward(), self.up)) < 1e-9:
            raise BadInput(
                f"camera at {self.eye} looks at {self.target} along {self.up}; "
                "give another up vector."
            )

    def _forward(self) -> FloatArray:
        forward: FloatArray = np.array(self.target) - np.array(self.eye)
        return forward

    def rotation(self) -> FloatArray:
        """Return (3, 3), rows right, up and backward: world to eye."""
        backward = -self._forward() / np.linalg.norm(self._forward())
        right = np.cross(self.up, backward)
        right /= np.linalg.norm(right)
        return np.array([right, np.cross(backward, right), backward])

    def view_matrix(self) -> FloatArray:
        """Return (4, 4), world to eye, in m."""
        view = np.eye(4)
        view[:3, :3] = self.rotation()
        view[:3, 3] = -self.rotation() @ np.array(self.eye)
        return view

    def projection_matrix(self) -> FloatArray:
        """Return (4, 4), eye to clip space, as OpenGL's perspective."""
        f = 1.0 / np.tan(np.deg2rad(self.fov_deg) / 2.0)
        near, far = self.near, self.far
        projection = np.zeros((4, 4))
        projection[0, 0] = f * self.height / self.width
        projection[1, 1] = f
        projection[2, 2] = (far + near) / (near - far)
        projection[2, 3] = 2.0 * far * near / (near - far)
        projection[3, 2] = -1.0
        return projection

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Project world points into the picture.

        Args:
            points: (..., 3) in m, in front of the eye.

        Returns:
            Pixels (..., 2), column and row; depths (...) along the line of sight, m.
        """
        eye = (points - np.array(self.eye)) @ self.rotation().T
        depth = -eye[..., 2]
        scale = self.height / (2.0 * np.tan(np.deg2rad(self.fov_deg) / 2.0))
        column = self.width / 2.0 + scale * eye[..., 0] / depth
        row = self.height / 2.0 - scale * eye[..., 1] / depth
        return np.stack([column, row], axis=-1), depth

    def rays(self, every: int = 1) -> FloatArray:
        """Return (h, w, 3): the world vector of every n-th pixel at depth 1 m."""
        scale = 2.0 * np.tan(np.deg2rad(self.fov_deg) / 2.0) / self.height
        x = scale * (np.arange(0, self.width, every) + 0.5 - self.width / 2.0)
        y = -scale * (np.arange(0, self.height, every) + 0.5 - self.height / 2.0)
        right, up, back = self.rotation()
        rays: FloatArray = x[:, None] * right + (y[:, None] * up - back)[:, None]
        return rays


@dataclass(frozen=True, kw_only=True, eq=False)
class Rendering:
    """Picture of the robot by a camera; the ground is not drawn."""

    camera: Camera
    rgb: NDArray[np.uint8]
    """(height, width, 3)."""
    depth: FloatArray
    """(height, width) distance along the line of sight in m; inf without a body."""
    link: NDArray[np.int32]
    """(height, width) number of the link seen, in `links`; -1 without a body."""
    links: tuple[str, ...]

    def sees(self, link: str) -> NDArray[np.bool_]:
        """Return (height, width), True where the pixel shows the link.

        Raises:
            UnknownName: the robot has no such link.
        """
        if link not in self.links:
            raise UnknownName("Link", link, self.links, "the picture")
        mask: NDArray[np.bool_] = self.link == self.links.index(link)
        return mask

    def positions(self, where: NDArray[np.bool_]) -> FloatArray:
        """Return (n, 3): the world points seen at pixels (height, width), in m."""
        rays, depth = self.camera.rays()[where], self.depth[where]
        points: FloatArray = np.array(self.camera.eye) + rays * depth[:, None]
        return points
