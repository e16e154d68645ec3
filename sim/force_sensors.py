"""The force sensors under the soles: shares of each in the load of its sole.

A sole is a plate on its sensors and feels the load along its own normal: nothing when
the foot lies on its side. Of all forces f with the right sum and the right moments
about the sensors' plane,

    Σ f_k = F,    Σ f_k x_k = F x,    Σ f_k y_k = F y,

F the load and (x, y) its centre of pressure in the link frame, the one of least norm
is taken (equal springs, a plate that stays flat); negative shares are cut and the sum
kept. All soles are computed at once, in arrays padded to the largest of them.
"""

import numpy as np
from numpy.typing import NDArray

from models import Robot
from sim.engine import Engine

FloatArray = NDArray[np.float64]


class ForceSensors:
    """All force sensors of a robot; `read` is called when they are due."""

    def __init__(self, robot: Robot, *, noise: bool, resolution: bool) -> None:
        """Lay out the soles side by side.

        Args:
            robot: whose force sensors they are.
            noise: add the noise of the data sheet.
            resolution: round to its steps.
        """
        sensors = robot.force_sensors
        self._links = tuple(dict.fromkeys(sensor.link for sensor in sensors))
        under = [
            [k for k, sensor in enumerate(sensors) if sensor.link == link]
            for link in self._links
        ]
        # From padded rows to the sensors sole by sole, and on to the robot's order.
        self._sole = np.array([i for i, ks in enumerate(under) for _ in ks], int)
        self._slot = np.array([slot for ks in under for slot, _ in enumerate(ks)], int)
        self._column = np.array([k for ks in under for k in ks], int)
        n_soles, widest = len(under), max(map(len, under), default=0)
        self._share = np.zeros((n_soles, widest, 3))  # f = share [F, F x, F y]
        for share, ks in zip(self._share, under, strict=True):
            xy = np.array([sensors[k].position[:2] for k in ks])
            share[: len(ks)] = np.linalg.pinv(np.vstack([np.ones(len(ks)), xy.T]))
        self._load = np.zeros((n_soles, 3, 1))
        self._has_noise = noise
        self._has_steps = resolution
        in_order = [sensors[k] for k in self._column]
        self._noise = np.array([sensor.noise_newton for sensor in in_order])
        self._step = np.array([sensor.step_newton for sensor in in_order])
        self._range = np.array([sensor.range_newton for sensor in in_order])

    def read(self, engine: Engine, fsr: FloatArray, rng: np.random.Generator) -> None:
        """Write the readings in N into `fsr`, (n_force_sensors,)."""
        for link, load in zip(self._links, self._load[:, :, 0], strict=True):
            _read_load(engine, link, load)
        f = (self._share @ self._load)[:, :, 0]  # (n_soles, widest)
        np.maximum(f, 0.0, out=f)
        total = f.sum(axis=1)
        total[total == 0.0] = 1.0
        f *= (self._load[:, 0, 0] / total)[:, None]
        reading = f[self._sole, self._slot]  # (n_force_sensors,)
        if self._has_noise:
            reading += self._noise * rng.standard_normal(reading.size)
        if self._has_steps:
            reading /= self._step
            np.rint(reading, out=reading)
            reading *= self._step
        np.maximum(reading, 0.0, out=reading)
        np.minimum(reading, self._range, out=reading)
        fsr[self._column] = reading


def _read_load(engine: Engine, link: str, load: FloatArray) -> None:
    """Write [F, F x, F y] of a sole in N and N·m, link frame."""
    position, R = engine.link_pose(link)
    force, moment = engine.normal_load(link)
    along_normal = max(float(engine.ground_normal @ R[:, 2]), 0.0)
    force *= along_normal
    moment *= along_normal
    load[0] = force
    load[1:] = ((moment - force * position) @ R)[:2]
