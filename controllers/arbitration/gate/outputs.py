"""Outputs in force on a robot, and the changes of a slot.

The set-point of a joint without a commander holds its position:

    q* = clip(q*_in_force, q - a, q + a),   a = effort_limit / kp + encoder_step

a is the error at which the servo, τ = kp (q* - q), reaches the torque of stiffness 1.
Clipping to ±a changes no torque, so a loaded leg does not sag. On a NAO a is 1 to 2
degrees, so a moving joint stops near its position. Afterwards the set-point is
constant: the commanded velocity is zero, as for every joint without a velocity in this
slot.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.gate.device_map import JointLeaf
from nao_testbed.controllers.interface.robot_interface import (
    Command,
    LedSetting,
    Observation,
    ServoGains,
    SoundChunk,
)
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray


def holding_lags(robot: Robot) -> FloatArray:
    """Return the largest lag a of each joint's set-point, (n_joints,) in rad.

    Source of effort limits and gains: the robot's joint table. One encoder step is
    added, since the measured angle is a multiple of it.
    """
    return np.array(
        [joint.effort_limit / joint.kp + joint.encoder_step for joint in robot.joints]
    )


def hold(
    in_force: float, measured: float, lag: float, lower: float, upper: float
) -> float:
    """Return the set-point that holds a joint at its position, all in rad.

    Args:
        in_force: present set-point.
        measured: angle measured by the joint's encoder.
        lag: largest distance between set-point and measured angle.
        lower: lowest set-point of the joint.
        upper: highest set-point. An encoder may read slightly beyond both bounds.
    """
    near = min(max(in_force, measured - lag), measured + lag)
    return min(max(near, lower), upper)


class Outputs:
    """Outputs in force on the robot, and outputs of the present slot.

    The gate is the robot's only writer, so outputs are not read back. Call `begin`; the
    writers change `target`, `stiffness`, `leds` and `sound`; call `command`, and `keep`
    after the write. Arrays that were passed to a robot are never changed.

    Set-points exclude the `shift` of the stiffness controller, which `command` adds.
    """

    def __init__(self, robot: Robot, observation: Observation) -> None:
        self.robot = robot
        self.lags = holding_lags(robot)
        self._target = observation.target
        self._velocity: FloatArray | None = None
        self._stiffness = observation.stiffness
        self._cap = np.ones(len(robot.joints))
        self._current: FloatArray | None = None
        self._limp = _limp_joints(self._stiffness)
        self._shift = np.zeros(len(robot.joints))
        self.gains: ServoGains | None = None
        """Gains of the servos to be written next; None: unchanged."""
        self.begin()

    def begin(self) -> None:
        """Start a slot with the outputs in force."""
        self.shift: FloatArray = self._shift
        """(n_joints,) shift added to the written set-points, in rad. Never changed in
        place; a changed shift is a new array."""
        self.target = self._target.copy()
        """(n_joints,) set-points, in rad."""
        self.velocity: FloatArray | None = None
        """(n_joints,) velocity set-points in rad/s; None: 0."""
        self.stiffness = self._stiffness.copy()
        """(n_joints,) commanded stiffness before the caps."""
        self.current = self._current
        """(n_joints,) current limit of the motors in A, inf for no limit; None: no
        motor was ever limited. Never changed in place."""
        self.cap = self._cap
        """(n_joints,) upper limit of the written stiffness, in [0, 1]."""
        self.moves = False
        """True if a set-point is written in this slot."""
        self.stiffens = False
        """True if a stiffness is written in this slot."""
        self.leds: dict[str, LedSetting] | None = None
        """LED group to the setting to which it fades from this slot on."""
        self.sound: SoundChunk | None = None
        """Sound of this slot."""

    @property
    def in_force(self) -> FloatArray:
        """(n_joints,) set-points in force without shift, in rad; not to be changed."""
        return self._target

    def set_velocity(self, place: Any, velocity: float) -> None:
        """Set the velocity set-points of joints for this slot, in rad/s."""
        if self.velocity is None:
            self.velocity = np.zeros(len(self.target))
        self.velocity[place] = velocity

    def limp(self) -> tuple[int, ...]:
        """Return the joints that have zero stiffness from this slot on."""
        if self.stiffens:
            self._limp = _limp_joints(np.minimum(self.stiffness, self.cap))
        return self._limp

    def keep_stiffness(self, joints: Sequence[int]) -> None:
        """Restore the stiffness of joints from before this slot."""
        where = list(joints)
        self.stiffness[where] = self._stiffness[where]
        if self.current is not self._current:
            before = self._current
            self.limit_current(where, np.inf if before is None else before[where])

    def limit_current(self, place: Any, current: FloatArray | float) -> None:
        """Set the current limit of the motors of joints from this slot on, in A.

        Args:
            place: array index of the joints.
            current: one value for all, or one per joint; inf: no limit.
        """
        if self.current is None:
            self.current = np.full(len(self.target), np.inf)
        elif self.current is self._current:
            self.current = self.current.copy()
        self.current[place] = current

    def bound(self, cap: FloatArray) -> None:
        """Set the stiffness caps from this slot on, (n_joints,) in [0, 1]."""
        self.cap = cap
        self.stiffens |= not np.array_equal(cap, self._cap)

    def command(self) -> Command | None:
        """Return the command of this slot, or None."""
        stops = self._velocity is not None and self.velocity is None
        moves = self.moves or stops or self.shift is not self._shift
        if not (moves or self.stiffens or self.leds or self.sound or self.gains):
            return None
        return Command(
            target=self._shifted() if moves else None,
            velocity=self.velocity,
            stiffness=np.minimum(self.stiffness, self.cap) if self.stiffens else None,
            current_limit=None if self.current is self._current else self.current,
            leds=self.leds,
            sound=self.sound,
            gains=self.gains,
        )

    @property
    def shift_in_force(self) -> FloatArray:
        """(n_joints,) last written shift in rad; not to be changed."""
        return self._shift

    def set_shift(self, joints: Sequence[int], values: Sequence[float]) -> None:
        """Set the shift of joints from this slot on, in rad."""
        present = self.shift
        if any(present[j] != value for j, value in zip(joints, values, strict=True)):
            if present is self._shift:
                present = self.shift = present.copy()
            for joint, value in zip(joints, values, strict=True):
                present[joint] = value

    def reduce_shift(self, joints: Sequence[int], step: float) -> None:
        """Reduce the shift of joints towards zero by at most a step, in rad."""
        present = self.shift
        self.set_shift(
            joints, [float(x - np.clip(x, -step, step)) for x in present[list(joints)]]
        )

    def fold_shift(self, joints: Sequence[int]) -> None:
        """Add the shift of joints to their set-points; the output does not change."""
        where = list(joints)
        self.target[where] = self._shifted()[where]
        self.set_shift(joints, [0.0] * len(where))
        self.moves = True

    def is_shifted(self, joints: Sequence[int]) -> bool:
        """Return True if one of the joints has a shift."""
        return any(self.shift[joint] != 0.0 for joint in joints)

    def _shifted(self) -> FloatArray:
        """Return the shifted set-points, (n_joints,), within the joints' ranges."""
        if not self.shift.any():
            return self.target
        robot = self.robot
        return np.clip(self.target + self.shift, robot.lower, robot.upper)

    def keep(self) -> None:
        """Store the written command as the one in force."""
        self._target = self.target
        self._velocity = self.velocity
        self._shift = self.shift
        self._stiffness = self.stiffness
        self._current = self.current
        self._cap = self.cap
        self.gains = None


def _limp_joints(stiffness: FloatArray) -> tuple[int, ...]:
    """Return the indices with zero stiffness."""
    return tuple(np.flatnonzero(stiffness == 0.0).tolist())


class PresentTargets(Mapping[str, float]):
    """Leaf of a motor to its present set-point in rad, the start of a motion.

    Read-only view of the last written set-points; joints on one motor follow the
    leading joint.
    """

    def __init__(self, outputs: Outputs, motors: Sequence[JointLeaf]) -> None:
        self._outputs = outputs
        self._leads = {leaf.name: int(leaf.joints[0]) for leaf in motors}

    def __getitem__(self, leaf: str) -> float:
        """Return the set-point of one motor's leaf, in rad."""
        return float(self._outputs.in_force[self._leads[leaf]])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the leaves."""
        return iter(self._leads)

    def __len__(self) -> int:
        """Return the number of the leaves."""
        return len(self._leads)
