"""Sonars: distance to the nearest surface that reflects their sound.

A sonar detects the first echo from anywhere in its cone. Rays model the sound: one
along the beam, the others on rings about it. With the length r_k of ray k, its
direction d_k and the normal n_k of the surface that it meets,

    reading = min { r_k : -d_k · n_k >= cos(largest incidence) },

the largest range without an echo, rounded to the step and clipped to the range: below
the smallest distance a sonar detects only the presence of an object.

Assumptions: the sound propagates along straight lines; a surface reflects up to a sharp
largest incidence and is a mirror beyond (so that floors give no echo); a sonar does not
detect the robot or the other sonar; an object narrower than the gaps between the rays
(15 degrees) may be missed. Readings have no noise.
"""

import numpy as np

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.interface import Engine

RINGS = (0, 6, 12)
"""Rays on each ring, from the beam outwards: at 0, half and all of the half angle."""


class Sonars:
    """All sonars of a robot; call `read` when they are due."""

    def __init__(self, robot: Robot, *, resolution: bool) -> None:
        """Compute the rays.

        Args:
            robot: robot with these sonars.
            resolution: True: round to the sensors' steps.
        """
        self._sonars = robot.sonars
        self._from = [np.array(one.position) for one in robot.sonars]
        self._rays = [
            cone_rays(one.cone) @ rotation_from_rpy(np.array(one.rpy)).T
            for one in robot.sonars
        ]
        self._least_cosine = [np.cos(one.incidence) for one in robot.sonars]
        self._has_resolution = resolution

    def read(self, engine: Engine, sonar: FloatArray) -> None:
        """Write the readings in m into `sonar`, (n_sonars,)."""
        for k, one in enumerate(self._sonars):
            p, R = engine.link_pose(one.link)
            d = self._rays[k] @ R.T
            r, n = engine.cast(p + R @ self._from[k], d, one.largest)
            answers = -np.einsum("ij,ij->i", d, n) >= self._least_cosine[k]
            reading = float(r[answers].min(initial=one.largest))
            if self._has_resolution and one.step > 0.0:
                reading = round(reading / one.step) * one.step
            sonar[k] = min(max(reading, one.least), one.largest)


def cone_rays(cone: float) -> FloatArray:
    """Return unit vectors (n, 3) of a cone about x; the full angle is in rad."""
    rays = [(1.0, 0.0, 0.0)]
    for ring, count in enumerate(RINGS):
        angle = 0.5 * cone * ring / (len(RINGS) - 1)
        for turn in 2.0 * np.pi * np.arange(count) / max(count, 1):
            across = np.sin(angle)
            rays.append((np.cos(angle), across * np.cos(turn), across * np.sin(turn)))
    return np.array(rays)
