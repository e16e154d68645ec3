"""Integration of heat every 20 ms of physics, with the mean squared torque."""

import numpy as np

from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import ticks_of
from nao_testbed.sim.thermal.heating import Heating

HEAT_PERIOD = 0.02
"""Period of the heating model in s: the controllers' cycle."""


class MotorHeat:
    """Heating of a robot's motors, and the tick up to which it is integrated.

    Use: `advance` every `ticks` ticks of physics, or `advance_at_rest` without physics.
    """

    def __init__(self, heating: Heating, dt: float) -> None:
        """Start at tick 0.

        Args:
            heating: heating model at its start temperatures.
            dt: physics step in s.

        Raises:
            BadInput: the heating period is not a multiple of the physics step.
        """
        self._dt = dt
        self.heating = heating
        self.ticks = ticks_of("heating period", HEAT_PERIOD, dt)
        """Heating period in ticks."""
        self.done = 0
        """Tick up to which the temperatures are integrated."""
        self.mean_square = np.zeros_like(heating.ambient)
        """(n_motors,) mean squared motor torque of the last period, in N²m²."""

    def advance(self, tick: int, square_sum: FloatArray) -> None:
        """Heat the motors by the torques of the ticks since the last call.

        Args:
            tick: present tick.
            square_sum: (n_motors,) sum of squared torques since the last call, in N²m²;
                reset to 0.
        """
        ticks = tick - self.done
        np.divide(square_sum, ticks, out=self.mean_square)
        self.heating.advance(self.mean_square, ticks * self._dt)
        square_sum[:] = 0.0
        self.done = tick

    def advance_at_rest(
        self,
        tick: int,
        square_sum: FloatArray,
        mean_square: FloatArray,
        duration_s: float,
    ) -> int:
        """Advance the heat without physics; return the tick at the end.

        Args:
            tick: present tick.
            square_sum: as in `advance`, for the physics up to now.
            mean_square: (n_motors,) mean squared motor torque from now on, in N²m².
            duration_s: a multiple of the heating period, in s.

        Raises:
            BadInput: the duration is not a multiple of the heating period.
        """
        periods = ticks_of("duration", duration_s, self.ticks * self._dt)
        if tick > self.done:
            self.advance(tick, square_sum)
        self.heating.advance(mean_square, duration_s)
        self.done += periods * self.ticks
        return self.done
