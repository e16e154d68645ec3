"""Supervisor that ends a run on a fault of the robot or the connection.

    late       an answer takes longer than 0.1 s, or the values are older than 0.1 s
    hot        a motor reports more than 80 °C
    fallen     the body leans by more than 40°
    disobeyed  set-points differ from those written: another program commands

The supervisor only observes. After a stop, the caller returns control of the robot in
its initial state; if the robot is unreachable, commands sent in advance do so
(`sim.naoqi.naoqi_robot`).
"""

from dataclasses import dataclass
from math import cos, radians

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    GravityFilterCfg,
)
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.values import FloatArray


class SupervisorStop(TestbedError):
    """Run ended by the supervisor."""


@dataclass(frozen=True, kw_only=True)
class SupervisorCfg:
    """Limits that end a run."""

    late_s: float = 0.1
    """Maximum age of sensor values, in s of our clock."""
    hottest_degc: float = 80.0
    """Maximum temperature of a motor, in °C: that at which a NAO shuts down
    [es2659053]."""
    lean_deg: float = 40.0
    """Maximum angle between the body's axis and the vertical, in degrees. On a NAO's
    feet the centre of mass leaves the soles before 20°."""
    disobeyed_rad: float = 0.02
    """Maximum difference between set-points in force and written, in rad: more than
    a linear shift covers in a period, less than any motion."""
    disobeyed_s: float = 0.3
    """Time for which the difference may be larger, in s of the robot's clock."""

    def __post_init__(self) -> None:
        """Validate the limits.

        Raises:
            BadInput: a limit is out of its range.
        """
        if not 0.0 < self.late_s <= 10.0:
            raise BadInput(f"--late is {self.late_s} s; give more than 0, at most 10.")
        if not 20.0 <= self.hottest_degc <= 120.0:
            raise BadInput(
                f"--hottest is {self.hottest_degc} °C; give 20 to 120: a motor of the "
                "NAO is damaged above."
            )


class Supervisor:
    """Supervisor of one robot; call `check` after each period."""

    def __init__(self, robot: Robot, cfg: SupervisorCfg | None = None) -> None:
        self.cfg = cfg or SupervisorCfg()
        self._robot = robot
        self._filter = GravityFilter(GravityFilterCfg())
        self._upright = cos(radians(self.cfg.lean_deg))
        self._disobeyed_since: dict[int, float] = {}

    def check(
        self,
        observation: Observation,
        written: FloatArray | None = None,
        age_s: float = 0.0,
    ) -> None:
        """Check a period.

        Args:
            observation: observation at the start of the period.
            written: (n_joints,) previously written set-points in rad; None: none.
            age_s: age of the observation, in s of our clock.

        Raises:
            RunStopped: the run must end; the message gives the reason.
        """
        if age_s > self.cfg.late_s:
            raise SupervisorStop(
                f"late: the newest sensor values are {age_s:.2f} s old; at most "
                f"{self.cfg.late_s:g} s is accepted"
            )
        self._check_heat(observation)
        self._check_upright(observation)
        if written is not None:
            self._check_obeyed(observation, written)

    def _check_heat(self, observation: Observation) -> None:
        degc = observation.temperature
        m = int(np.argmax(degc))
        if degc[m] >= self.cfg.hottest_degc:
            raise SupervisorStop(
                f"hot: {self._robot.motor_names[m]} is at {degc[m]:.0f} °C; the limit "
                f"is {self.cfg.hottest_degc:g} °C"
            )

    def _check_upright(self, observation: Observation) -> None:
        up = self._filter.step(
            observation.time_s, observation.gyro, observation.accelerometer
        )
        if self._filter.is_trusted and up[2] < self._upright:
            lean = np.rad2deg(np.arccos(np.clip(up[2], -1.0, 1.0)))
            raise SupervisorStop(
                f"fallen: the body leans by {lean:.0f}°; at most "
                f"{self.cfg.lean_deg:g}° is accepted"
            )

    def _check_obeyed(self, observation: Observation, written: FloatArray) -> None:
        now = observation.time_s
        off = np.abs(observation.target - written) > self.cfg.disobeyed_rad
        for joint in np.flatnonzero(off).tolist():
            since = self._disobeyed_since.setdefault(joint, now)
            if now - since > self.cfg.disobeyed_s:
                raise SupervisorStop(
                    f"disobeyed: the set-point of {self._robot.joint_names[joint]} is "
                    f"{observation.target[joint]:.3f} rad, though "
                    f"{written[joint]:.3f} rad was written: another program commands "
                    "this robot"
                )
        for joint in [j for j in self._disobeyed_since if not off[j]]:
            del self._disobeyed_since[joint]
