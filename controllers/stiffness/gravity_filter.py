"""The vertical in the frame of the inertial unit (steps 610 and 630).

A complementary filter on the unit vector u that points up, in the spirit of Mahony's
[mahony2008] but on the one direction that gravity can tell:

    u̇ = u x ω + (a/|a| - u) / T,

where ω is the gyroscope and a the accelerometer (specific force). The gyroscope carries
u through quick motions, the accelerometer corrects it with the time constant T, and
only while |a| is close to g: a robot that is pushed or falls does not feel gravity.
"""

from dataclasses import dataclass
from math import exp, hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.dynamics import GRAVITY
from models import BadInput

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GravityFilterCfg:
    """Numbers of the filter."""

    time_constant_s: float = 0.5
    """T: slower than the swing of a pushed robot, quicker than a gyroscope drifts."""
    trust_fraction: float = 0.2
    """The accelerometer is believed while ||a| - g| is below this share of g. Covers
    the 10 % of gain error that the data sheet allows [nao6-datasheet] and as much
    motion."""
    stale_after_s: float = 1.0
    """Time without a believable reading after which the vertical is called untrusted;
    the gyroscope alone carries it that long within a few degrees."""
    longest_gap_s: float = 0.25
    """A longer time between two observations starts the filter anew."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        for name in ("time_constant_s", "trust_fraction", "stale_after_s"):
            value = getattr(self, name)
            if not value > 0.0:
                raise BadInput(f"{name} = {value}; give a number above 0.")


class GravityFilter:
    """Follows the vertical; one instance a robot, `step` at every observation.

    State is kept as plain floats: three numbers cost less so than as an array.
    """

    def __init__(self, cfg: GravityFilterCfg) -> None:
        """Start without a vertical."""
        self._cfg = cfg
        self.reset()

    def reset(self) -> None:
        """Forget the vertical; the next reading sets it."""
        self._time: float | None = None
        self._u: tuple[float, float, float] | None = None
        self._stale_s = 0.0

    @property
    def is_trusted(self) -> bool:
        """Whether a believable accelerometer reading is recent enough."""
        return self._u is not None and self._stale_s <= self._cfg.stale_after_s

    def step(
        self, time_s: float, gyro: FloatArray, accelerometer: FloatArray
    ) -> FloatArray:
        """Take one reading and return the vertical.

        Args:
            time_s: time of the reading, in s.
            gyro: (3,) in rad/s, IMU frame.
            accelerometer: (3,) in m/s², IMU frame.

        Returns:
            (3,) unit vector up in the IMU frame; its z axis while nothing is known.
        """
        dt = 0.0 if self._time is None else time_s - self._time
        self._time = time_s
        if dt < 0.0 or dt > self._cfg.longest_gap_s:
            self._u, dt = None, 0.0

        ax, ay, az = accelerometer.tolist()
        norm = sqrt(ax * ax + ay * ay + az * az)
        believable = abs(norm - GRAVITY) < self._cfg.trust_fraction * GRAVITY
        if self._u is None:
            self._stale_s = 0.0 if believable else float("inf")
            if believable:
                self._u = (ax / norm, ay / norm, az / norm)
            return np.array(self._u or (0.0, 0.0, 1.0))

        ux, uy, uz = self._u
        wx, wy, wz = gyro.tolist()
        x = ux + dt * (uy * wz - uz * wy)  # u + dt (u x ω)
        y = uy + dt * (uz * wx - ux * wz)
        z = uz + dt * (ux * wy - uy * wx)
        if believable:
            k = 1.0 - exp(-dt / self._cfg.time_constant_s)
            x += k * (ax / norm - x)
            y += k * (ay / norm - y)
            z += k * (az / norm - z)
            self._stale_s = 0.0
        else:
            self._stale_s += dt
        length = hypot(x, y, z)
        if length < 1e-6:  # u and a opposite: start again from the accelerometer
            self._u = None
            return self.step(time_s, gyro, accelerometer)
        self._u = (x / length, y / length, z / length)
        return np.array(self._u)
