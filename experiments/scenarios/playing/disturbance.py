"""Forces on the robot and a ground that turns: what the world does to it."""

import numpy as np
from numpy.typing import NDArray

from experiments.coupled.robot import CoupledRobot
from experiments.scenarios.plan.events import Vector3
from sim.simulated_robot import SimulatedRobot

SLOPE_RATE_DEG_S = 2.0
"""At which the ground turns, in degrees/s: under a robot that stands, a jump of its
slope would be a blow."""


class Disturbance:
    """Several pushes at a time, and one ground; `begin` at the beginning of each slot.

    While nothing disturbs the robot it costs nothing.
    """

    def __init__(self, body: CoupledRobot) -> None:
        """Leave the robot alone."""
        self._body = body
        self._pushes: list[tuple[str, NDArray[np.float64], int]] = []
        """Link, force in N, and the slot in which it is over."""
        self._slope_deg: float | None = None
        """To which the ground turns; None: it is there."""

    def push(self, link: str, newton: Vector3, until_tick: int) -> None:
        """Push a link at its centre of mass, in world axes, until a slot."""
        self._pushes.append((link, np.array(newton), until_tick))

    def set_ground(self, friction: float | None, slope_deg: float | None) -> None:
        """Let the ground be another one; it turns at 2 degrees/s."""
        engine = self._body.sim.engine
        if friction is not None:
            engine.set_ground(friction, engine.cfg.slope_deg)
        if slope_deg is not None:
            self._slope_deg = slope_deg

    def begin(self, tick: int) -> None:
        """Begin a slot."""
        if self._slope_deg is not None:
            self._turn(self._slope_deg)
        if self._pushes:
            self._pushes = [push for push in self._pushes if push[2] > tick]
            self._body.disturb = self._apply if self._pushes else None

    def _turn(self, wanted: float) -> None:
        engine = self._body.sim.engine
        most = SLOPE_RATE_DEG_S * self._body.cfg.ledger.tick_s
        present = engine.cfg.slope_deg
        step = min(max(wanted - present, -most), most)
        engine.set_ground(engine.cfg.friction, present + step)
        if abs(wanted - present) <= most:
            self._slope_deg = None

    def _apply(self, sim: SimulatedRobot) -> None:
        for link, force, _ in self._pushes:
            sim.push_com(link, force)
