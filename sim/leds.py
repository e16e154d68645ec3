"""LEDs: brightnesses that fade in steps, as the device manager sets them.

    u(t) = u_0 + (u_1 - u_0) min(k T / fade, 1),   k = floor((t - t_0) / T)
    shown: the level of u(t) that is nearest, of `levels` between 0 and 1

The manager interpolates on a straight line, anew in each of its cycles T = 10 ms
[naoqi-dcm]. Nothing is computed in between: whoever looks gets the present values.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from controllers.effectors import LedSetting
from controllers.robot_interface import DEVICE_SLOT_S
from models import LedGroup, Robot, UnknownName

FloatArray = NDArray[np.float64]
RGB = ("red", "green", "blue")
_ROUNDING = 1e-9
"""Of a cycle: time is a sum of ticks that are no binary fractions."""


class Leds:
    """The LEDs of one robot; dark at the start."""

    def __init__(self, robot: Robot, dt: float, clock: Callable[[], int]) -> None:
        """Switch all of them off.

        Args:
            robot: whose LED groups.
            dt: length of a tick in s.
            clock: tells the present tick.
        """
        self._robot = robot.name
        self._dt = dt
        self._clock = clock
        self._groups = {group.name: group for group in robot.leds}
        self._places: dict[str, slice] = {}
        n = 0
        for group in robot.leds:
            size = group.count * group.n_channels
            self._places[group.name] = slice(n, n + size)
            n += size
        self.table = np.zeros((4, n))
        """(4, n_brightnesses) u_0, u_1, t_0 in ticks, fade in s: the whole state."""
        self._steps = np.concatenate(
            [
                np.full(g.count * g.n_channels, max(g.levels - 1.0, 1.0))
                for g in robot.leds
            ]
            or [np.zeros(0)]
        )
        self._average = _averages(robot.leds)

    @property
    def groups(self) -> tuple[LedGroup, ...]:
        """All groups, in the order of the robot's data."""
        return tuple(self._groups.values())

    def fade(self, settings: Mapping[str, LedSetting]) -> None:
        """Let groups fade from what they are now; settings fit them."""
        now = self._clock()
        for name, setting in settings.items():
            group, place = self._groups[name], self._places[name]
            shape = (group.count, group.n_channels)
            part = self.table[:, place]
            part[0] = self._brightness(place, now)
            part[1] = np.broadcast_to(setting.colours, shape).ravel()
            part[2] = now
            part[3] = setting.fade_s

    def state(self, group: str) -> FloatArray:
        """Return what one sees now.

        Args:
            group: name of an LED group.

        Returns:
            (count, channels) in [0, 1].

        Raises:
            UnknownName: the robot has no such group.
        """
        if group not in self._groups:
            raise UnknownName(
                "LED group", group, self._groups, f"robot {self._robot!r}"
            )
        leds = self._groups[group]
        steps = max(leds.levels - 1, 1)
        u = self._brightness(self._places[group], self._clock())
        return (np.round(u * steps) / steps).reshape(leds.count, leds.n_channels)

    def means(self) -> FloatArray:
        """Return what one sees now, group by group, for a recording.

        Returns:
            (n,) mean over the LEDs of a group, a value a channel, in [0, 1]; in the
            order of `colour_names`.
        """
        u = self._brightness(slice(None), self._clock())
        means: FloatArray = self._average @ (np.round(u * self._steps) / self._steps)
        return means

    def _brightness(self, place: slice, now: int) -> FloatArray:
        u_0, u_1, t_0, fade = self.table[:, place]
        cycles = np.floor((now - t_0) * self._dt / DEVICE_SLOT_S + _ROUNDING)
        over = np.maximum(fade, DEVICE_SLOT_S)  # a shorter one is over in one cycle
        fraction = np.minimum(cycles * DEVICE_SLOT_S / over, 1.0)
        fraction[fade == 0.0] = 1.0
        u: FloatArray = u_0 + (u_1 - u_0) * fraction
        return u


def colour_names(groups: Iterable[LedGroup]) -> tuple[str, ...]:
    """Return names such as `ChestLeds.red`, a channel of a group after the other."""
    return tuple(
        f"{group.name}.{colour}"
        for group in groups
        for colour in (RGB if group.n_channels == len(RGB) else (group.channels,))
    )


def _averages(groups: Sequence[LedGroup]) -> FloatArray:
    """Return the matrix (n_colours, n_brightnesses) that takes the mean of each."""
    blocks = [
        np.tile(np.eye(group.n_channels), group.count) / group.count for group in groups
    ]
    n = sum(block.shape[1] for block in blocks)
    matrix = np.zeros((sum(len(block) for block in blocks), n))
    row = column = 0
    for block in blocks:
        matrix[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return matrix
