"""Force sensors under the soles: share of each sensor in the load of its sole.

A sole is a plate on its sensors and carries the load along its own normal; a foot that
lies on its side carries none. Of all forces f with the correct sum and moments about
the sensors' plane,

    Σ f_k = F,    Σ f_k x_k = F x,    Σ f_k y_k = F y,

with load F and centre of pressure (x, y) in the link frame, the model takes those of
minimum norm (equal springs under a flat plate), sets negative shares to 0 and keeps the
sum. A compiled kernel computes all soles at once, in arrays padded to the largest sole:
twenty array operations on eight numbers would cost ten times as much.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import Engine


class ForceSensors:
    """All force sensors of a robot; call `read` when they are due."""

    def __init__(self, robot: Robot, *, noise: bool, resolution: bool) -> None:
        """Arrange the soles in padded arrays.

        Args:
            robot: robot with these force sensors.
            noise: add the noise of the data sheet.
            resolution: True: round to the sensor's steps.
        """
        sensors = robot.force_sensors
        self._links = tuple(dict.fromkeys(sensor.link for sensor in sensors))
        under = [
            [k for k, sensor in enumerate(sensors) if sensor.link == link]
            for link in self._links
        ]
        self._size = np.array([len(ks) for ks in under], dtype=np.intp)
        self._column = np.array([k for ks in under for k in ks], dtype=np.intp)
        self._share = np.zeros((len(under), self._size.max(initial=0), 3))
        for share, ks in zip(self._share, under, strict=True):
            share[: len(ks)] = share_map(
                np.array([sensors[k].position[:2] for k in ks])
            )
        self._position = np.zeros((len(under), 3))
        self._rotation = np.zeros((len(under), 3, 3))
        self._force = np.zeros(len(under))
        self._moment = np.zeros((len(under), 3))
        self._has_noise = noise
        self._normal = np.zeros(len(sensors))
        self._noise = np.array([sensor.noise_newton for sensor in sensors])
        self._step = np.array([s.step_newton if resolution else 0.0 for s in sensors])
        self._range = np.array([sensor.range_newton for sensor in sensors])

    def read(self, engine: Engine, fsr: FloatArray, rng: np.random.Generator) -> None:
        """Write the readings in N into `fsr`, (n_force_sensors,)."""
        for i, link in enumerate(self._links):
            self._position[i], self._rotation[i] = engine.link_pose(link)
            self._force[i], self._moment[i] = engine.normal_load(link)
        if self._has_noise:
            rng.standard_normal(out=self._normal)
        _share_load(
            engine.ground_normal,
            self._position,
            self._rotation,
            self._force,
            self._moment,
            self._share,
            self._size,
            self._column,
            self._normal,
            self._noise,
            self._step,
            self._range,
            fsr,
        )


def share_map(positions: FloatArray) -> FloatArray:
    """Return the matrix (n, 3) from load to shares, before negative ones are set to 0.

    Args:
        positions: (n, 2) of the sensors of a sole in the link frame, in m.
    """
    return np.linalg.pinv(np.vstack([np.ones(len(positions)), positions.T]))


@numba.njit(cache=True)
def shares_of_load(share: FloatArray, load: FloatArray, size: int) -> FloatArray:
    """Return the force on each sensor of a sole, without noise and steps.

    Args:
        share: (at least `size`, 3) from `share_map`.
        load: (3,) F in N, F x and F y in N·m, link frame.
        size: number of sensors.

    Returns:
        Forces in N, one per row of `share`.
    """
    f = share @ load
    total = 0.0
    for slot in range(size):
        f[slot] = max(f[slot], 0.0)
        total += f[slot]
    scale = load[0] / total if total > 0.0 else 0.0
    for slot in range(size):
        f[slot] = f[slot] * scale
    return f


@numba.njit(cache=True)
def _share_load(
    ground_normal: FloatArray,
    position: FloatArray,
    rotation: FloatArray,
    force: FloatArray,
    moment: FloatArray,
    share: FloatArray,
    size: NDArray[np.intp],
    column: NDArray[np.intp],
    normal: FloatArray,
    noise: FloatArray,
    step: FloatArray,
    largest: FloatArray,
    fsr: FloatArray,
) -> None:
    """Distribute the load of each sole; add noise, round, clip to the range."""
    load = np.empty(3)  # F in N, F x and F y in N·m, link frame
    k = 0
    for i in range(size.size):
        R = rotation[i]
        along_normal = max(ground_normal @ np.ascontiguousarray(R[:, 2]), 0.0)
        load[0] = force[i] * along_normal
        about_sole = (moment[i] * along_normal - load[0] * position[i]) @ R
        load[1], load[2] = about_sole[0], about_sole[1]
        f = shares_of_load(share[i], load, size[i])
        for slot in range(size[i]):
            c = column[k]
            reading = f[slot] + noise[c] * normal[k]
            if step[c] > 0.0:
                reading = np.rint(reading / step[c]) * step[c]
            fsr[c] = min(max(0.0, reading), largest[c])  # this order avoids -0.0
            k += 1
