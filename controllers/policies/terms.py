"""Observation vector of a policy, composed of terms, in preallocated arrays.

angular_velocity    gyro in the base's frame, 3, rad/s
gravity             direction of gravity in that frame, 3; (0, 0, -1) upright
command             commanded velocity: x, y in m/s, yaw in rad/s
command_xy          x and y of the command
command_yaw         yaw of the command
joint_position      measured angle minus default, per joint of the policy, rad
joint_velocity      velocity per joint of the policy, rad/s
last_action         output of the last step, clipped, before the scale
phase_sin           sine of the phases of both feet, 2
phase_cos           cosine of the phases of both feet, 2

The phases start at (0, π) and advance by 2π per gait period; they stay at (π, π) while
the command is zero [holosoma].
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.policies.layout import FittedLayout
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray

Fill = Callable[[Observation, FloatArray], None]
"""Function that writes a term of an observation into an array."""
STANDING_COMMAND = 0.01
"""Command in m/s and rad/s below which the phases do not advance [holosoma]."""


class Gait:
    """Gait phases of both feet."""

    def __init__(self, command: FloatArray, step: float) -> None:
        """Store the command (3,) and the phase increment per step, in rad."""
        self._stands = bool(
            np.linalg.norm(command[:2]) < STANDING_COMMAND
            and abs(command[2]) < STANDING_COMMAND
        )
        self._step = step
        self.phase = np.full(2, np.pi) if self._stands else np.array([0.0, np.pi])
        """(2,) phases in rad."""

    def advance(self) -> None:
        """Advance by one step."""
        if not self._stands:
            self.phase += self._step
            self.phase -= 2.0 * np.pi * (self.phase >= np.pi)


class ObservationVector:
    """Input vector of a policy; call `fill` once per step."""

    def __init__(
        self, fitted: FittedLayout, robot: Robot, command: FloatArray, where: str
    ) -> None:
        """Allocate the vector.

        Args:
            fitted: layout of the policy.
            robot: robot of the run.
            command: (3,) commanded velocity.
            where: name of the policy, for messages.

        Raises:
            BadInput: a term does not fit the robot.
        """
        if robot.imu.link != robot.base_link:
            raise BadInput(
                f"{where}: the IMU of {robot.name} is on link {robot.imu.link!r}, not "
                f"on the base {robot.base_link!r}; policies see the motion of the base."
            )
        n, layout = len(fitted.index), fitted.layout
        self._fitted = fitted
        self.last_action = np.zeros(n)
        """(n_actions,) last action, after the clip."""
        self._command = command
        self._gait = Gait(command, 2.0 * np.pi * layout.period_s / layout.gait_period_s)
        self._joint = np.zeros(n)
        self._default = fitted.default[fitted.index]
        fills: dict[str, tuple[int, Fill]] = {
            "angular_velocity": (3, lambda seen, out: np.copyto(out, seen.gyro)),
            "gravity": (3, lambda seen, out: np.copyto(out, seen.gravity)),
            "command": (3, lambda _, out: np.copyto(out, command)),
            "command_xy": (2, lambda _, out: np.copyto(out, command[:2])),
            "command_yaw": (1, lambda _, out: np.copyto(out, command[2:])),
            "joint_position": (n, self._position),
            "joint_velocity": (n, lambda seen, out: self._take(seen.v, out)),
            "last_action": (n, lambda _, out: np.copyto(out, self.last_action)),
            "phase_sin": (2, lambda _, out: self._phase(np.sin, out)),
            "phase_cos": (2, lambda _, out: self._phase(np.cos, out)),
        }
        sizes = [fills[one.term][0] * one.history for one in fitted.terms]
        ends = np.cumsum(sizes).tolist()
        self.values: NDArray[np.float32] = np.zeros((1, ends[-1]), np.float32)
        """(1, n) input of the policy; live."""
        n_new = [fills[one.term][0] for one in fitted.terms]
        self._new = np.zeros(sum(n_new))
        self._scale = np.ones(sum(n_new))
        new, scales = (
            np.split(v, np.cumsum(n_new)[:-1]) for v in (self._new, self._scale)
        )
        self._fills = [
            (fills[one.term][1], v) for one, v in zip(fitted.terms, new, strict=True)
        ]
        for term, scale in zip(fitted.terms, scales, strict=True):
            given = np.array(term.scale, dtype=np.float64)
            if given.ndim and len(given) != scale.size:
                raise BadInput(
                    f"{where}: scale of term {term.term!r} has {len(given)} values; it "
                    f"has {scale.size} elements."
                )
            scale[:] = given
        parts = np.split(self.values[0], ends[:-1])
        self._rows = [
            (v, part.reshape(term.history, v.size))
            for term, v, part in zip(fitted.terms, new, parts, strict=True)
        ]
        self._has_history = any(one.history > 1 for one in fitted.terms)
        self._is_first = True

    def fill(self, observation: Observation) -> None:
        """Compute the vector from an observation.

        Raises:
            BadInput: the robot has no attitude sensor.
        """
        if not len(observation.gravity):
            raise BadInput(
                "the robot does not report the direction of gravity, which policies "
                "need; run it on a simulated robot."
            )
        for fill, new in self._fills:
            fill(observation, new)
        self._new *= self._scale
        if self._has_history:
            for new, rows in self._rows:
                rows[:-1] = new if self._is_first else rows[1:]
                rows[-1] = new
        else:
            self.values[0] = self._new
        self._is_first = False
        self._gait.advance()

    def act(self, action: FloatArray) -> FloatArray:
        """Store an action and return its set-points, (n_joints,) in rad; a copy.

        Args:
            action: (n_actions,) output of the policy.
        """
        clip, fitted = self._fitted.layout.action_clip, self._fitted
        self.last_action[:] = action if clip is None else np.clip(action, -clip, clip)
        target = fitted.default.copy()
        target[fitted.index] += fitted.scale * self.last_action
        return target

    def _take(self, values: FloatArray, out: FloatArray) -> None:
        np.take(values, self._fitted.index, out=out)

    def _position(self, seen: Observation, out: FloatArray) -> None:
        self._take(seen.q, out)
        out -= self._default

    def _phase(self, wave: np.ufunc, out: FloatArray) -> None:
        wave(self._gait.phase, out=out)
