"""Recording in place of the simulated robot: the log server of [jdec-urjc] (3.2).

    LogRobot: sensors return the recorded values at the recorded times
    SetPointComparison: commanded set-points compared with the recorded ones, by joint

Commands move nothing. Set-points are compared with the recorded ones; stiffness is
checked and dropped. Lights and sounds go to the simulated devices, since a recording
may lack them. At its end the recording stays at its last row.

`sim.replayed_robot.ReplayRobot` serves controllers that are stepped on a recording;
this class serves callers that need the whole interface of `SimulatedRobot`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from nao_testbed.controllers.interface.robot_interface import (
    OPTIONAL_READINGS,
    READINGS,
    Command,
    Observation,
    check_command,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import FALL_TILT
from nao_testbed.sim.replayed_robot import RecordedObservations
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, Truth


@dataclass(frozen=True, kw_only=True)
class JointDifference:
    """Difference between commanded and recorded set-points of a joint."""

    joint: str
    since_s: float
    """Time of the first command, in s of the session's clock."""
    n_samples: int
    """Compared clock steps; 0 if the recording had ended before."""
    mean_abs_rad: float
    max_abs_rad: float

    def as_json(self) -> dict[str, float | int | None]:
        """Return the data for `--json`: angles in degrees, None without samples."""
        compared = self.n_samples > 0
        return {
            "since_s": round(self.since_s, 6),
            "samples": self.n_samples,
            "mean_abs_deg": _degrees(self.mean_abs_rad) if compared else None,
            "max_abs_deg": _degrees(self.max_abs_rad) if compared else None,
        }


class SetPointComparison:
    """Sums of |commanded - recorded| for each joint, from its first command on."""

    def __init__(self, joints: Iterable[str]) -> None:
        """Create a comparison without commanded joints."""
        self.joints = tuple(joints)
        n = len(self.joints)
        self._since_s = np.full(n, np.nan)
        self._n = np.zeros(n, dtype=np.int64)
        self._sum = np.zeros(n)
        self._max = np.zeros(n)

    def begin(self, joints: Iterable[int], time_s: float) -> None:
        """Compare joints, by index, from now on; keep the start of earlier ones."""
        for i in joints:
            if np.isnan(self._since_s[i]):
                self._since_s[i] = time_s

    def add(self, commanded: FloatArray, recorded: FloatArray) -> None:
        """Compare set-points without shift, both (n_joints,) in rad."""
        compared = ~np.isnan(self._since_s)
        error = np.where(compared, np.abs(commanded - recorded), 0.0)
        self._n += compared
        self._sum += error
        np.maximum(self._max, error, out=self._max)

    @property
    def differences(self) -> tuple[JointDifference, ...]:
        """Differences of the commanded joints."""
        return tuple(
            JointDifference(
                joint=joint,
                since_s=float(self._since_s[i]),
                n_samples=int(self._n[i]),
                mean_abs_rad=float(self._sum[i] / max(self._n[i], 1)),
                max_abs_rad=float(self._max[i]),
            )
            for i, joint in enumerate(self.joints)
            if not np.isnan(self._since_s[i])
        )

    @property
    def never_commanded(self) -> tuple[str, ...]:
        """Joints without a command."""
        never = np.isnan(self._since_s)
        return tuple(
            j for j, is_never in zip(self.joints, never, strict=True) if is_never
        )

    def as_json(self) -> dict[str, object]:
        """Return the data for `--json`."""
        return {
            "joints": {one.joint: one.as_json() for one in self.differences},
            "never_commanded": list(self.never_commanded),
        }


class LogRobot(SimulatedRobot):
    """`SimulatedRobot` with recorded sensor values; it never moves.

    Its clock starts at 0, at the first recorded observation. Set-points are read back
    without the shift of the recorded controller.
    """

    def __init__(
        self,
        recorded: RecordedObservations,
        posture: str,
        base: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        """Create a robot at the first observation.

        Args:
            recorded: observations from `sim.replayed_robot.read_observations`.
            posture: posture of the recorded robot at the start.
            base: true positions (n, 3) in m and quaternions (n, 4), x y z w, of the
                base in each recorded observation; None: unknown, no fall is reported.
        """
        super().__init__(recorded.robot, SimulationCfg(), posture)
        self.recorded = recorded
        self._row_s = recorded.time_s - recorded.time_s[0]
        self._base = base
        self.comparison = SetPointComparison(j.name for j in recorded.robot.joints)
        self._commanded = self.read().target
        """(n_joints,) set-points of the last command, in rad."""

    @property
    def end_s(self) -> float:
        """Time of the last observation, in s of this clock."""
        return float(self._row_s[-1])

    @property
    def is_over(self) -> bool:
        """True from the last observation on."""
        return self.time_s >= self.end_s - 0.5 * self.dt

    @property
    def row(self) -> int:
        """Number of the newest observation at the present time."""
        found = np.searchsorted(self._row_s, self.time_s + 0.5 * self.dt, side="right")
        return max(int(found) - 1, 0)

    def read(self) -> Observation:
        """Return the recorded sensor values, with the time of this clock.

        Sensors that were not recorded read NaN.
        """
        row = self.row
        seen = self.recorded.at(row)
        missing = {
            name: np.full(len(READINGS[name].members(self.robot)), np.nan)
            for name in OPTIONAL_READINGS
            if name not in self.recorded.values
        }
        return replace(
            seen, time_s=self.time_s, target=self._recorded_target(row), **missing
        )

    def write(self, command: Command) -> None:
        """Compare set-points, and apply lights and sounds.

        Raises:
            BadInput: as `SimulatedRobot.write`.
        """
        check_command(command, self.robot)
        if command.sound is not None:
            self.speaker.check(command.sound, self.time_s)
            self.speaker.play(command.sound, self.time_s)
        if command.leds is not None:
            self.leds.fade(command.leds)
        if command.target is not None:
            self._commanded = command.target.copy()

    def note_commanded(self, joints: Iterable[int]) -> None:
        """Register that a program commands joints, by index, from now on."""
        self.comparison.begin(joints, self.time_s)

    def step(self, ticks: int) -> None:
        """Advance the recording, and compare set-points until it ends."""
        was_over = self.is_over
        self._body.clock += ticks
        if not was_over:
            self.comparison.add(self._commanded, self._recorded_target(self.row))

    def set_down(self, posture: str) -> None:
        """Refuse: a recording stays as it is.

        Raises:
            BadInput: always.
        """
        raise BadInput(f"a recorded robot cannot be set down in {posture}.")

    def truth(self) -> Truth:
        """Return recorded angles and temperatures, and the pose of the base."""
        row, seen = self.row, self.read()
        told = replace(
            super().truth(),
            time_s=self.time_s,
            q=seen.q,
            v=seen.v,
            temperature=seen.temperature,
            has_fallen=self.has_fallen(),
        )
        if self._base is None:
            return told
        position, quaternion = self._base
        return replace(
            told,
            base_position=position[row].copy(),
            base_quaternion=quaternion[row].copy(),
        )

    def has_fallen(self) -> bool:
        """Return True if the base has turned by more than 45° since the first row."""
        if self._base is None:
            return False
        first, now = (
            Rotation.from_quat(self._base[1][[0, self.row]])
            .inv()
            .apply((0.0, 0.0, 1.0))
        )
        return float(np.dot(first, now)) < float(FALL_TILT)

    def _recorded_target(self, row: int) -> FloatArray:
        """Return recorded set-points without shift, (n_joints,) in rad.

        The target of a row contains the shift decided in the previous row.
        """
        target: FloatArray = self.recorded.values["target"][row].copy()
        shifts = self.recorded.shifts
        if shifts is None or row == 0:
            return target
        target -= shifts[row - 1]
        return target


def _degrees(rad: float) -> float:
    return round(float(np.rad2deg(rad)), 4)
