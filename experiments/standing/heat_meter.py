"""What one robot's motors went through: efforts, heat, first time at 80 °C."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.standing.published import SHUT_DOWN_DEGC
from experiments.standing.results import JointResult
from sim.robot import SimulatedRobot

FloatArray = NDArray[np.float64]


class HeatMeter:
    """Sums over a run; call `add` after every stretch of time, however long."""

    def __init__(self, sim: SimulatedRobot) -> None:
        """Begin at the robot's present time and temperatures."""
        self._sim = sim
        self._start = sim.heating.temperature.copy()
        self._last = self._start.copy()
        self._begin_s = self._last_s = sim.time_s
        self._effort_time = np.zeros_like(self._start)
        self.reached_s = np.where(self._start >= SHUT_DOWN_DEGC, 0.0, np.inf)
        """(n_motors,) first time at 80 °C in s, inf where it was not reached."""

    def add(self, mean_abs_torque: FloatArray) -> list[str]:
        """Take the stretch since the last call.

        Args:
            mean_abs_torque: (n_motors,) mean of |motor torque| over it, in N·m.

        Returns:
            The motors that reached 80 °C in it.
        """
        sim = self._sim
        temperature, time_s = sim.heating.temperature, sim.time_s
        self._effort_time += mean_abs_torque * (time_s - self._last_s)
        crossing = (temperature >= SHUT_DOWN_DEGC) & np.isinf(self.reached_s)
        reached: list[str] = []
        if crossing.any():
            rise = np.maximum(temperature - self._last, 1e-12)
            part = (SHUT_DOWN_DEGC - self._last) / rise
            at = self._last_s + part * (time_s - self._last_s)
            self.reached_s[crossing] = at[crossing]
            reached = [sim.robot.motor_names[m] for m in np.flatnonzero(crossing)]
        self._last, self._last_s = temperature, time_s
        return reached

    def energy_of(self, joints: Sequence[str]) -> float | None:
        """Return the heat made in the motors of joints in J; None: they are none."""
        robot = self._sim.robot
        motors = {robot.motor_of_joint[robot.joint_index(name)] for name in joints}
        if not motors:
            return None
        return float(self._sim.heating.joule_energy[sorted(motors)].sum())

    def results(self, mean_square: FloatArray) -> dict[str, JointResult]:
        """Return the outcome of every joint; coupled joints share their motor's.

        Args:
            mean_square: (n_motors,) last mean squared torques in N²m²: what the
                forecasts go on with.
        """
        sim = self._sim
        heating, robot = sim.heating, sim.robot
        duration = max(self._last_s - self._begin_s, 1e-9)
        steady = heating.steady_state(mean_square)
        ahead = self._last_s + heating.time_to_reach(mean_square, SHUT_DOWN_DEGC)
        forecast = np.where(np.isfinite(self.reached_s), self.reached_s, ahead)
        energy = heating.joule_energy
        results = {}
        for joint, m in zip(robot.joint_names, robot.motor_of_joint, strict=True):
            results[joint] = JointResult(
                start_degc=float(self._start[m]),
                end_degc=float(self._last[m]),
                rise_k=float(self._last[m] - self._start[m]),
                mean_abs_effort_nm=float(self._effort_time[m] / duration),
                joule_loss_j=float(energy[m]),
                time_to_80_degc_s=_finite(self.reached_s[m]),
                steady_degc=float(steady[m]),
                forecast_80_degc_s=_finite(forecast[m]),
            )
        return results


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
