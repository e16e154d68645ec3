"""The motor board: PD servo, torque limits, gear friction, coupled joints, faults.

For a motor that drives joints j (usually one), with the calibration error δ of its
encoder, the measured angle is θ = mean(q_j - δ_j), counted in steps of the
motor-side encoder, and with ω = mean(v_j):

    τ  = kp (θ* - θ) + kd (ω* - ω)
    τ  clipped to ± τ_stall U/U_n - (τ_stall/ω_0) ω             (torque-speed line)
    τ  clipped to ± min(stiffness · effort_limit, K I)

and each joint gets its share of τ less what sticks in its gear:

    z' = v, |z| ≤ τ_c / k     (Prandtl: elastic up to the Coulomb friction τ_c)
    τ_joint = τ / n - k z - coupling

The element is rate independent: below the break-away torque it is a spring and does
not creep, above it slides at exactly τ_c (Dahl 1968 with a step exponent). Joints on
one motor are held together by a stiff spring and damper, as by their common shaft.

The kernel is compiled by numba: one call a tick instead of some twenty array
operations.

K is the heating model's torque over current, joint side, so that torque, current and
heat agree; I is a limit of current, if there is one, of the motor board
(`SimulationCfg.current_limit_a`) or commanded, whichever is less.

`StiffnessInForce` says what of a commanded stiffness reaches the motors: cut by
protection and by faults that an experiment injects, motors that give nothing. The
robot does not notice a fault: its stiffness reads back as commanded and its set-points
stand. Who finds it tells the reservations, by a `BrokenPart`; here the drive only
fails.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from controllers.interface.checked import Checked
from models import BadInput, Robot
from models.values import FloatArray, FrictionScale
from sim.thermal.protection import Protection

COUPLING_STIFFNESS = 500.0
"""Spring between two joints on one motor, in N·m/rad: 0.1 degrees at 1 N·m
(estimate; the encoders would not see it)."""
COUPLING_DAMPING = 1.0
"""Damper between them, in N·m·s/rad: about a third of critical with the rotor share."""


@dataclass(frozen=True, kw_only=True)
class ServoCfg(Checked):
    """What of the motor board is modelled."""

    kind: str = "torque"
    """`torque`: the servo of this module; `pybullet`: the engine's own motors, which
    know the torque limit alone: no gear friction, encoder or torque-speed line."""
    friction_scale: Annotated[
        FrictionScale, Field(title="gear friction: friction_scale")
    ] = 1.0
    """Factor on the gear friction of every joint; 0 switches it off."""
    encoder: bool = True
    """Count angles in encoder steps; False: continuous angles."""
    torque_speed: bool = True
    """Bound the torque by motor and battery."""
    battery_volt: Annotated[float, Field(gt=0.0)] | None = None
    """Supply voltage in V; None is the battery's nominal one."""

    def __post_init__(self) -> None:
        """Refuse values without meaning."""
        super().__post_init__()
        if self.kind not in SERVOS:
            raise BadInput(
                f"servo {self.kind!r} is unknown; give one of {', '.join(SERVOS)}."
            )


SERVOS = ("torque", "pybullet")


class Servo:
    """State and constants of all motor boards; `step` is called once a tick.

    The arrays `target`, `velocity` (θ* and ω*), `limit`, `motor_torque`, `joint_torque`
    and `square_sum` are live: the caller writes the first three and reads the others.
    """

    def __init__(
        self,
        robot: Robot,
        cfg: ServoCfg,
        dt: float,
        misalignment: FloatArray,
        joint_torque: FloatArray | None = None,
    ) -> None:
        """Lay out the constants in motor order.

        Args:
            robot: the robot.
            cfg: what is modelled.
            dt: period in s.
            misalignment: (n_joints,) true angle minus measured angle, in rad; looked
                at in each tick, so that it may change.
            joint_torque: (n_joints,) where to write; None for an array of its own.
        """
        n, m = len(robot.joints), len(robot.motors)
        self.dt = dt
        self.misalignment = misalignment
        self.target = np.zeros(n)
        self.velocity = np.zeros(n)
        self.limit = robot.effort_limit.copy()
        self.presliding = np.zeros(n)
        self.joint_torque = np.zeros(n) if joint_torque is None else joint_torque
        self.motor_torque = np.zeros(m)
        self.square_sum = np.zeros(m)
        lead, follow = _pairs(robot)
        self.lead_of_joint = lead[robot.motor_of_joint]
        """(n_joints,) leading joint of each joint's motor."""
        sharing = np.bincount(robot.motor_of_joint)[robot.motor_of_joint]
        self.sharing = sharing
        """(n_joints,) joints on the same motor: they share brushes, bearings, gear."""
        leading = [robot.joints[j] for j in lead]
        nominal = robot.battery.nominal_volt
        scale = (cfg.battery_volt or nominal) / nominal
        ratio = np.array([motor.gear_ratio for motor in robot.motors])
        stall = np.array([motor.stall_torque for motor in robot.motors]) * ratio
        speed = np.array([motor.no_load_speed for motor in robot.motors]) / ratio
        friction = np.array([joint.friction for joint in robot.joints])
        gear = np.array([joint.presliding_stiffness for joint in robot.joints])
        self.gear = gear / sharing
        """(n_joints,) k, each joint's part of it, in N·m/rad."""
        self.arguments = (
            self.target,
            self.velocity,
            self.limit,
            misalignment,
            self.presliding,
            self.joint_torque,
            self.motor_torque,
            self.square_sum,
            lead,
            follow,
            np.array([joint.kp for joint in leading]),
            np.array([joint.kd for joint in leading]),
            np.array([j.servo_step if cfg.encoder else 0.0 for j in leading]),
            stall * scale if cfg.torque_speed else np.full(m, np.inf),
            stall / speed if cfg.torque_speed else np.zeros(m),
            cfg.friction_scale * friction / sharing,
            self.gear,
            dt,
        )
        """Of `servo_torques` after q and v; the arrays are live."""

    def step(self, q: FloatArray, v: FloatArray) -> bool:
        """Compute the torques of one tick from true angles and velocities.

        Returns:
            False when a torque is not finite.
        """
        finite: bool = servo_torques(q, v, *self.arguments)
        return finite

    def reset(self) -> None:
        """Forget friction and sums."""
        for array in (
            self.presliding,
            self.joint_torque,
            self.motor_torque,
            self.square_sum,
        ):
            array[:] = 0.0


def _pairs(robot: Robot) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each motor its leading joint and its follower, or -1.

    Raises:
        BadInput: a motor drives more than two joints.
    """
    lead, follow = [], []
    for motor in robot.motors:
        if len(motor.joints) > 2:
            raise BadInput(
                f"motor {motor.name} drives {len(motor.joints)} joints; "
                "the servo couples two at most."
            )
        lead.append(robot.joint_index(motor.joints[0]))
        follow.append(
            robot.joint_index(motor.joints[1]) if len(motor.joints) == 2 else -1
        )
    return np.array(lead, dtype=np.intp), np.array(follow, dtype=np.intp)


@numba.njit(cache=True)
def servo_torques(
    q: FloatArray,
    v: FloatArray,
    target: FloatArray,
    velocity: FloatArray,
    limit: FloatArray,
    misalignment: FloatArray,
    z: FloatArray,
    joint_torque: FloatArray,
    motor_torque: FloatArray,
    square_sum: FloatArray,
    lead: NDArray[np.intp],
    follow: NDArray[np.intp],
    kp: FloatArray,
    kd: FloatArray,
    step: FloatArray,
    stall: FloatArray,
    slope: FloatArray,
    friction: FloatArray,
    gear: FloatArray,
    dt: float,
) -> bool:
    """Write what one tick changes, in the letters of the module.

    Arrays are by joint, from `lead` to `slope` by motor: its joints, `follow` -1 where
    it has one; kp and kd; step of the encoder in rad, 0 for none; τ_stall U/U_n and
    τ_stall/ω_0. Friction is τ_c in N·m, gear is k in N·m/rad.

    Returns:
        False when a torque is not finite.
    """
    finite = True
    for m in range(lead.size):
        a, b = lead[m], follow[m]
        theta = q[a] - misalignment[a]
        omega = v[a]
        coupling = 0.0
        if b >= 0:
            other = q[b] - misalignment[b]
            coupling = COUPLING_STIFFNESS * (theta - other) + COUPLING_DAMPING * (
                omega - v[b]
            )
            theta = 0.5 * (theta + other)
            omega = 0.5 * (omega + v[b])
        if step[m] > 0.0:
            theta = np.rint(theta / step[m]) * step[m]
        tau = kp[m] * (target[a] - theta) + kd[m] * (velocity[a] - omega)
        tau = min(max(tau, -stall[m] - slope[m] * omega), stall[m] - slope[m] * omega)
        tau = min(max(tau, -limit[a]), limit[a])
        motor_torque[m] = tau
        square_sum[m] += tau * tau
        for j, sign in ((a, -1.0), (b, 1.0)):
            if j < 0:
                continue
            bound = friction[j] / gear[j]
            z[j] = min(max(z[j] + v[j] * dt, -bound), bound)
            share = tau if b < 0 else 0.5 * tau
            joint_torque[j] = share + sign * coupling - gear[j] * z[j]
            if not np.isfinite(joint_torque[j]):
                finite = False
    return finite


def current_limits_of(robot: Robot, limits_a: Mapping[str, float]) -> FloatArray:
    """Return limits of current (n_joints,) in A, inf for who is not named.

    Joints on one motor have one current: the least of their limits.

    Raises:
        UnknownName: the robot has no such joint.
        BadInput: a limit is below 0 or not finite.
    """
    limits = np.full(len(robot.motors), np.inf)
    for name, value in limits_a.items():
        joint = robot.joint_index(name)
        motor = robot.motor_of_joint[joint]
        if not 0.0 <= value < np.inf:  # false for NaN
            raise BadInput(
                f"limit of current of {name} is {value} A; give a number from 0 up. "
                f"Its motor draws at most {_range_said(robot, joint)} at stiffness 1."
            )
        limits[motor] = min(limits[motor], value)
    return limits[robot.motor_of_joint]


def _range_said(robot: Robot, joint: int) -> str:
    motor = robot.motors[robot.motor_of_joint[joint]]
    most = robot.effort_limit[joint] / motor.one_node.torque_constant
    return f"{most:.2f} A"


class StiffnessInForce:
    """Turns stiffness into torque limits.

    Use: `put` whenever the stiffness, a temperature or a motor's health is new.
    """

    def __init__(
        self,
        robot: Robot,
        protection: Protection,
        torque_limit: FloatArray,
        torque_constant: FloatArray,
        board_current: FloatArray,
    ) -> None:
        """Begin with stiffness 1 and a sound robot.

        Args:
            robot: whose effort limits hold at stiffness 1.
            protection: scales the stiffness of hot motors down.
            torque_limit: (n_joints,) in N·m; written by `put`.
            torque_constant: (n_motors,) K, joint torque over current, in N·m/A.
            board_current: (n_joints,) limit of current that always holds, in A; inf
                where there is none.
        """
        self._robot = robot
        self._torque_constant = torque_constant[robot.motor_of_joint]
        self._largest_current = robot.effort_limit / self._torque_constant
        self._board_current = board_current
        self._current_torque = np.zeros(len(robot.joints))
        self.current_limit = np.zeros(len(robot.joints))
        """(n_joints,) in force, in A; the motor's range, tau_max / K, where nothing
        less is."""
        self.limit_current(np.full(len(robot.joints), np.inf))
        self._protection = protection
        self._torque_limit = torque_limit
        self.commanded = np.ones(len(robot.joints))
        """(n_joints,) in [0, 1], as it was written."""
        self.in_force = np.ones(len(robot.joints))
        """(n_joints,) after the protection, as it reads back: faults do not show."""
        self._is_absent = np.isin(robot.joint_names, robot.absent_joints)
        self.health: FloatArray = np.where(self._is_absent, 0.0, 1.0)
        """(n_joints,) share of its torque that a joint's motor can give: 1 or 0, which
        it is for those that the body lacks."""

    def put(self, temperature: FloatArray) -> None:
        """Put limits in force for reported temperatures (n_motors,) in °C."""
        self.in_force[:] = self._protection.apply(self.commanded, temperature)
        np.multiply(self.in_force, self._robot.effort_limit, out=self._torque_limit)
        np.minimum(self._torque_limit, self._current_torque, out=self._torque_limit)
        self._torque_limit *= self.health

    def limit_current(self, current: FloatArray) -> None:
        """Limit the currents of the joints' motors from the next `put` on.

        Args:
            current: (n_joints,) in A, 0 or more; beyond the motor's range it is none.
        """
        limit = np.minimum(current, self._board_current)
        is_less = limit < self._largest_current
        np.minimum(limit, self._largest_current, out=self.current_limit)
        self._current_torque[:] = np.inf
        np.multiply(
            self._torque_constant, limit, out=self._current_torque, where=is_less
        )

    @property
    def limits_current(self) -> bool:
        """Whether any motor's current is limited below its range."""
        return bool((self._current_torque < np.inf).any())

    def set_health(self, motors: Iterable[str], health: float) -> None:
        """Let motors give their torque (1) or nothing (0) from the next `put` on.

        Raises:
            UnknownName: the robot has no such motor; nothing changes.
        """
        places = [self._robot.motor_index(motor) for motor in motors]
        is_meant = np.isin(self._robot.motor_of_joint, places) & ~self._is_absent
        self.health[is_meant] = health

    @property
    def failed_motors(self) -> tuple[str, ...]:
        """Motors that are there and give nothing, in motor order."""
        is_broken = (self.health == 0.0) & ~self._is_absent
        broken = np.unique(self._robot.motor_of_joint[is_broken])
        return tuple(self._robot.motor_names[motor] for motor in broken)

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all that changes, live, but for the torque limits."""
        return (
            self.commanded,
            self.in_force,
            self.health,
            self.current_limit,
            self._current_torque,
        )
