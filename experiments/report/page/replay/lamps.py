"""The lamps of a replay: one for each LED group whose place is known, in its colour.

A recording has the mean of a group. Shapes are solid, so a place within those of its
link is drawn on the outside: straight ahead of it, or above, or on the side, whichever
axis leads most away from the middle of the link.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from experiments.report.page.replay.shapes import Body, Shape
from experiments.report.page.run_source import ArmSource
from models import LedGroup
from sim.leds import colour_names

FloatArray = NDArray[np.float64]

OFF = 45.0
"""Of a lamp that is off, each part in 255ths: a dark grey, seen on light parts."""
PARTS = {"rgb": (0, 1, 2), "blue": (2,), "white": (0, 1, 2)}
"""Which parts of a colour, of red, green and blue, the channels of a group set."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lamp:
    """An LED group over a run."""

    name: str
    link: str
    position: FloatArray
    """(3,) in the link frame, in m."""
    rgb: NDArray[np.intp]
    """(n, 3) in 255ths."""


def lamps_of(arm: ArmSource, body: Body, rows: NDArray[np.intp]) -> tuple[Lamp, ...]:
    """Return the lamps of a recorded robot.

    Args:
        arm: with rows; a group that they lack has no lamp.
        body: of the robot.
        rows: (n,) numbers of the rows that are shown.
    """
    lamps = []
    for group in body.robot.leds:
        columns = [f"leds.{name}" for name in colour_names((group,))]
        if group.place is None or not set(columns) <= set(arm.frame.columns):
            continue
        seen = arm.frame[columns].to_numpy(float)[rows]
        shapes = [s for s in body.shapes if s.link == group.link and s.joint is None]
        lamps.append(
            Lamp(
                name=group.name,
                link=group.link,
                position=_on_the_outside(np.array(group.place), shapes),
                rgb=_colours(group, np.clip(np.nan_to_num(seen), 0.0, 1.0)),
            )
        )
    return tuple(lamps)


def _colours(group: LedGroup, seen: FloatArray) -> NDArray[np.intp]:
    """Return (n, 3): grey gives way as the brightest channel comes up."""
    light = np.zeros((len(seen), 3))
    light[:, PARTS[group.channels]] = seen
    off = OFF * (1.0 - light.max(axis=1, keepdims=True))
    rgb: NDArray[np.intp] = np.rint(off + 255.0 * light).astype(np.intp)
    return rgb


def _on_the_outside(place: FloatArray, shapes: Sequence[Shape]) -> FloatArray:
    hulls = [hull for shape in shapes if (hull := _hull(shape)) is not None]
    if not hulls:
        return place
    points = np.vstack([shape.points for shape in shapes])
    away = place - 0.5 * (points.min(axis=0) + points.max(axis=0))
    axis = int(np.abs(away).argmax())
    way = np.eye(3)[axis] * (1.0 if away[axis] >= 0.0 else -1.0)
    for _ in hulls:  # out of one it may be in another
        for normals, offsets in hulls:
            level = normals @ place + offsets
            if (level < 0.0).all():
                rise = normals @ way
                ahead = rise > 1e-12
                place = place + way * (-level[ahead] / rise[ahead]).min()
    return place


def _hull(shape: Shape) -> tuple[FloatArray, FloatArray] | None:
    """Return normals (m, 3) and offsets (m,); None of a flat shape."""
    try:
        sides = ConvexHull(shape.points).equations
    except (QhullError, ValueError):
        return None
    return sides[:, :3], sides[:, 3]
