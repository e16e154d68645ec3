"""Looking around: attention selects the next direction, and the head turns to it.

ATTENTION of [jdec-urjc, section 4.4] keeps a map of the whole scene, since a camera
sees a small part of it at a time. Here the map is a grid over the yaw and pitch of the
head, whose values relax with time,

    v ← v∞ + (v - v∞) exp(-Δt / T),

where v is the interest of a direction. The interest of a cell grows while it is not
seen and is 0 when it has been seen; salient places (a face, a noise: its modulation)
increase it. Of two cells with equal interest the nearer one is chosen.

PAN_TILT of the same section activates the perceptive schema attention and turns the
neck to its selection. A joint moves between two angles and begins and ends at rest:
with u = t / T in [0, 1] by the minimum-jerk polynomial [flash1985],

    y = y0 + (y1 - y0) (10 u³ - 15 u⁴ + 6 u⁵),      max |ẏ| = 15/8 |y1 - y0| / T.
"""

from dataclasses import dataclass
from math import exp, isfinite, radians

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
    check_between,
)
from nao_testbed.controllers.schemas.library.common import (
    is_due,
    resources_of_joints,
)
from nao_testbed.controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray


class CellGrid:
    """Cells of equal size over a rectangle; a place is (x, y) in its units."""

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        shape: tuple[int, int],
        initial: float = 0.0,
    ) -> None:
        """Divide a rectangle.

        Args:
            x_range: lower and upper end in x.
            y_range: lower and upper end in y.
            shape: number of cells in x and in y.
            initial: value of all cells.

        Raises:
            BadInput: an end is not finite, a range is empty, or there is no cell.
        """
        for name, (low, high) in (("x", x_range), ("y", y_range)):
            if not (isfinite(low) and isfinite(high) and low < high):
                raise BadInput(
                    f"{name} of a grid is from {low} to {high}; give two numbers, the "
                    "lower one first."
                )
        if min(shape) < 1:
            raise BadInput(
                f"a grid has {shape} cells; give at least 1 in each direction."
            )
        self.x = _centres(x_range, shape[0])
        """(nx,) centres of the cells in x."""
        self.y = _centres(y_range, shape[1])
        """(ny,) centres of the cells in y."""
        self.values = np.full(shape, initial)
        """(nx, ny) values; may be modified by any user of the grid."""

    def relax(self, towards: float, dt: float, time_constant: float) -> None:
        """Relax every cell towards a value.

        Args:
            towards: limit value.
            dt: elapsed time in s, not negative.
            time_constant: T in s, positive.
        """
        keep = exp(-dt / time_constant)
        self.values *= keep
        self.values += towards * (1.0 - keep)

    def put(self, x: float, y: float, reach: tuple[float, float], value: float) -> int:
        """Set all cells whose centre is near a place.

        Args:
            x: x of the place.
            y: y of the place.
            reach: maximum distance in x and in y.
            value: new value.

        Returns:
            The number of these cells.
        """
        near_x, near_y = self._near(x, y, reach)
        self.values[np.ix_(near_x, near_y)] = value
        return int(near_x.sum() * near_y.sum())

    def add(self, x: float, y: float, reach: tuple[float, float], amount: float) -> int:
        """Add to all cells whose centre is near a place, as in `put`."""
        near_x, near_y = self._near(x, y, reach)
        self.values[np.ix_(near_x, near_y)] += amount
        return int(near_x.sum() * near_y.sum())

    def highest(
        self,
        near: tuple[float, float] | None = None,
        cost: float = 0.0,
        weight: FloatArray | None = None,
    ) -> tuple[float, float]:
        """Return the centre of the cell of the highest value.

        Args:
            near: place; a cell's value is reduced by its distance from it. None: no
                reduction.
            cost: reduction per unit of distance.
            weight: (nx, ny) factor of each cell's value; None: 1.

        Returns:
            x and y of the cell; among equals the one with the lowest x, then y.
        """
        worth = self.values if weight is None else weight * self.values
        if near is not None and cost > 0.0:
            dx = self.x[:, None] - near[0]  # (nx, 1)
            dy = self.y[None, :] - near[1]  # (1, ny)
            worth = worth - cost * np.hypot(dx, dy)
        i, j = divmod(int(np.argmax(worth)), len(self.y))
        return float(self.x[i]), float(self.y[j])

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the indices, in x and in y, of the cell whose centre is nearest."""
        i = int(np.argmin(np.abs(self.x - x)))
        j = int(np.argmin(np.abs(self.y - y)))
        return i, j

    def at(self, x: float, y: float) -> float:
        """Return the value of the cell whose centre is nearest."""
        return float(self.values[self.cell(x, y)])

    def _near(
        self, x: float, y: float, reach: tuple[float, float]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return np.abs(self.x - x) <= reach[0], np.abs(self.y - y) <= reach[1]


def _centres(ends: tuple[float, float], n: int) -> FloatArray:
    low, high = ends
    width = (high - low) / n
    return np.array(low + width * (np.arange(n) + 0.5))


CELL_DEG = 10.0
"""Width of a cell in degrees: a sixth of the camera's field of view."""
DISTANCE_COST = 0.05
"""Reduction of interest per rad of distance: it decides only between nearly equal
cells, so that a cell unseen for much longer is never postponed."""


@dataclass(frozen=True, kw_only=True)
class AttentionParameters(Parameters):
    """Range, forgetting and salient places."""

    yaw_deg: float = bounded(60.0, 5.0, 119.0, "degrees")
    """Maximum angle to either side, in degrees."""
    up_deg: float = bounded(15.0, 0.0, 38.0, "degrees")
    """Maximum angle upwards, in degrees."""
    down_deg: float = bounded(20.0, 0.0, 29.0, "degrees")
    """Maximum angle downwards, in degrees."""
    forget_s: float = bounded(10.0, 0.1, 3600.0, "s")
    """Time in which the interest of a cell recovers to 63 %, in s."""
    seen_deg: tuple[float, float] = (20.0, 15.0)
    """Angle from the line of sight within which a cell counts as seen, in yaw and
    pitch, in degrees: slightly less than half of the NAO's camera, 61 by 48."""
    salient_deg: tuple[tuple[float, float, float], ...] = ()
    """Salient places: yaw (left positive), pitch (down positive), both in degrees,
    and the added interest: 1 doubles it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in zip(("yaw", "pitch"), self.seen_deg, strict=True):
            check_between(f"seen_deg ({name})", value, CELL_DEG / 2, 60.0, "degrees")
        if self.up_deg + self.down_deg <= 0.0:
            raise BadInput("up_deg and down_deg are both 0; set one above 0.")
        for _, _, amount in self.salient_deg:
            check_between("amount of salient_deg", amount, 0.0, 100.0)


class Attention(PerceptiveSchema[AttentionParameters]):
    """Map of seen directions, with the most interesting direction as output."""

    info = SchemaInfo(
        "attention",
        "Select the next direction to look at.",
        period_s=0.1,
        parameters=AttentionParameters,
        outputs=(
            Variable(
                "yaw",
                float,
                "Yaw of the most interesting cell.",
                unit="rad",
                initial=0.0,
            ),
            Variable("pitch", float, "Its pitch.", unit="rad", initial=0.0),
            Variable(
                "unseen",
                float,
                "Mean interest of all cells: 0 all just seen, 1 none seen.",
                initial=1.0,
            ),
        ),
    )

    def start(self) -> None:
        """Start with all cells unseen."""
        now, robot = self.parameters, self.robot
        head = robot.head("schema 'attention'")
        self._yaw, self._pitch = map(robot.joint_index, head)
        self._ranges = (now.yaw_deg, now.up_deg, now.down_deg)
        width, height = 2.0 * now.yaw_deg, now.up_deg + now.down_deg
        self._map = CellGrid(
            (-radians(now.yaw_deg), radians(now.yaw_deg)),
            (-radians(now.up_deg), radians(now.down_deg)),
            (max(1, round(width / CELL_DEG)), max(1, round(height / CELL_DEG))),
            initial=1.0,
        )
        self._last_s = self.time_s
        self._set_weights()

    def on_modulated(self) -> None:
        """Update the salient places; new ranges reset the map."""
        now = self.parameters
        if (now.yaw_deg, now.up_deg, now.down_deg) == self._ranges:
            self._set_weights()
        else:
            self.start()

    def perceive(self) -> None:
        """Relax the map, mark the seen cells, and select a direction."""
        now, grid = self.parameters, self._map
        q = self.observation.q
        yaw, pitch = float(q[self._yaw]), float(q[self._pitch])
        grid.relax(1.0, self.time_s - self._last_s, now.forget_s)
        self._last_s = self.time_s
        reach = (radians(now.seen_deg[0]), radians(now.seen_deg[1]))
        grid.put(yaw, pitch, reach, 0.0)
        best = grid.highest((yaw, pitch), DISTANCE_COST, self._weight)
        self.write("yaw", best[0])
        self.write("pitch", best[1])
        self.write("unseen", float(grid.values.mean()))

    def _set_weights(self) -> None:
        self._weight = np.ones(self._map.values.shape)
        for yaw_deg, pitch_deg, amount in self.parameters.salient_deg:
            place = self._map.cell(radians(yaw_deg), radians(pitch_deg))
            self._weight[place] += amount


PEAK = 15.0 / 8.0
"""Ratio of top speed to mean speed."""


class SmoothPath:
    """Minimum-jerk path of one joint; `at` may be called in any order."""

    __slots__ = ("end", "length_s", "start")

    def __init__(self, start: float, end: float, speed: float) -> None:
        """Compute the duration from the top speed.

        Args:
            start: start in rad.
            end: end in rad.
            speed: top speed in rad/s, positive.
        """
        self.start = start
        self.end = end
        self.length_s = PEAK * abs(end - start) / speed

    def at(self, time_s: float) -> float:
        """Return the angle at a time since the start; constant before and after."""
        if time_s >= self.length_s:
            return self.end
        u = max(0.0, time_s / self.length_s)
        return self.start + (self.end - self.start) * u**3 * (
            10.0 - 15.0 * u + 6.0 * u * u
        )


@dataclass(frozen=True, kw_only=True)
class LookAroundParameters(AttentionParameters):
    """Attention parameters, speed and times."""

    speed_deg_s: float = bounded(60.0, 1.0, 200.0, "degrees/s")
    """Top speed of a joint, in degrees/s."""
    stay_s: float = bounded(0.6, 0.0, 3600.0, "s")
    """Time for looking at one place, in s."""
    for_s: float = bounded(0.0, 0.0, 1e6, "s")
    """Time after which it finishes, in s; 0: never."""


class LookAround(ActuationSchema[LookAroundParameters]):
    """Head motion to the least recently seen place, with a stay at each."""

    info = SchemaInfo(
        "look around",
        "Turn the head to the least recently seen direction.",
        period_s=0.01,
        parameters=LookAroundParameters,
        reads=("attention.yaw", "attention.pitch"),
    )

    @classmethod
    def needs_of(
        cls, parameters: LookAroundParameters, robot: Robot
    ) -> tuple[str, ...]:
        """Return the motors of the head."""
        del parameters
        return resources_of_joints(robot, robot.head(f"schema {cls.info.name!r}"))

    def start(self) -> None:
        """Activate attention, and start at the present head angles."""
        self._head = self.robot.head(f"schema {self.info.name!r}")
        self._wake_attention()
        self._start_s = self.time_s
        self._paths: tuple[SmoothPath, ...] = ()
        self._leave_s = self.time_s
        self._duration_s = 0.0
        self._is_there = False

    def on_modulated(self) -> None:
        """Forward new attention parameters at the next iteration."""
        self._is_modulated = True

    def iterate(self) -> None:
        """Follow the present path; at its end stay, then choose the next one."""
        now = self.parameters
        if now.for_s and is_due(self.time_s - self._start_s, now.for_s):
            self.finish()
            return
        if self._is_modulated:
            self._wake_attention()
        if is_due(self.time_s, self._leave_s):
            self._start_path()
        since_s = self.time_s - self._path_s
        if self._is_there:
            return  # the last set-point stays in force
        self._is_there = since_s > self._duration_s
        self.submit_all(
            {
                joint: path.at(since_s)
                for joint, path in zip(self._head, self._paths, strict=True)
            }
        )

    def _wake_attention(self) -> None:
        now = self.parameters
        self.wake(
            "attention",
            yaw_deg=now.yaw_deg,
            up_deg=now.up_deg,
            down_deg=now.down_deg,
            forget_s=now.forget_s,
            seen_deg=now.seen_deg,
            salient_deg=now.salient_deg,
        )
        self._is_modulated = False

    def _start_path(self) -> None:
        """Start a path to attention's direction; the slower joint sets the speed."""
        speed = radians(self.parameters.speed_deg_s)
        goals = (self.read("attention.yaw"), self.read("attention.pitch"))
        target = self.observation.target
        self._paths = tuple(
            SmoothPath(float(target[self.robot.joint_index(joint)]), goal, speed)
            for joint, goal in zip(self._head, goals, strict=True)
        )
        self._path_s = self.time_s
        self._duration_s = max(path.length_s for path in self._paths)
        self._is_there = False
        self._leave_s = self.time_s + self._duration_s + self.parameters.stay_s
