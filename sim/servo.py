"""Motor board: PD servo, torque limits, gear friction, coupled joints, play.

For a motor that drives joints j (usually one), with the calibration error δ of its
encoder, the measured angle is θ = mean(q_j - δ_j), counted in steps of the
motor-side encoder, and with ω = mean(v_j):

    τ  = kp (θ* - θ) + kd (ω* - ω)
    τ  clipped to ± τ_stall U/U_n - (τ_stall/ω_0) ω             (torque-speed line)
    τ  clipped to ± min(stiffness · effort_limit, K I)

Each joint gets its share of τ minus its gear friction:

    z' = v, |z| ≤ τ_c / k     (Prandtl: elastic up to the Coulomb friction τ_c)
    τ_joint = τ / n - k z - coupling

The element is rate independent: below the break-away torque it is a spring and does
not creep, above it slides at exactly τ_c (Dahl 1968 with a step exponent). A stiff
spring and damper couple the joints on one motor, as a model of their common shaft.

**Play** of ± β between motor and joint: the servo reads the angle of the motor, which
is light and reaches its set-point within the play,

    θ_m = θ* within θ ± β, otherwise the nearer end of this range.

Inside the play τ = 0, and the joint turns freely without gear friction. At an end the
motor pushes the joint in one direction only. A motor without torque follows the joint.

Besides its heat c τ², c = R / K² of the data, a motor draws the work

    W = ∫ max(τ ω, -c τ²) dt:

external power covers at most its heat, and no power flows back.

**Parallel motors** (`models.robot`) drive their joints together. The servo of each
joint asks for its τ, limited by its stiffness; with ω = G⁻¹ v, the motors give

    τ_m = Gᵀ τ, clipped to their torque-speed lines and to ± min(|G|ᵀ limit, K I),
    τ_joint = G⁻ᵀ (τ_m - k_m z_m),    z_m' = ω_m,  |z_m| <= τ_c,m / k_m.

Their play is in the joints of the linkage: a joint inside its play gets no torque.

`sim.body.stiffness` computes the other torque limits, I and stiffness.

The kernels are compiled by numba: one call per tick instead of about twenty array
operations. An engine whose step is a C function is also stepped by compiled code,
without Python, over all ticks up to the next observation (`run_native`). PyBullet has
no C function; its ticks run in Python (`sim.body`). Both kernels are in this file
because numba compares only a kernel's own file with its cache.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.ranges import FrictionScale, GearPlay
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import NativeStep
from nao_testbed.sim.recording.recorder import LastSecond

PARALLEL = -2
"""In place of a second joint: several motors drive the joint of this servo."""
COUPLING_STIFFNESS = 500.0
"""Spring between two joints on one motor, in N·m/rad: 0.1 degrees at 1 N·m
(estimate; invisible to the encoders)."""
COUPLING_DAMPING = 1.0
"""Damper between them, in N·m·s/rad: about a third of critical with the rotor share."""


@dataclass(frozen=True, kw_only=True)
class ServoCfg(Checked):
    """Effects of the motor board that are modelled."""

    kind: str = "torque"
    """`torque`: the servo of this module; `pybullet`: the engine's own motors, with a
    torque limit but without gear friction, encoder or torque-speed line."""
    friction_scale: Annotated[
        FrictionScale, Field(title="gear friction: friction_scale")
    ] = 1.0
    """Factor on the gear friction of every joint; 0 switches it off."""
    play_deg: Annotated[GearPlay, Field(title="gear play: play_deg")] = 0.0
    """2 β of every joint, in degrees."""
    encoder: bool = True
    """Count angles in encoder steps; False: continuous angles."""
    torque_speed: bool = True
    """Limit the torque by motor speed and battery voltage."""
    battery_volt: Annotated[float, Field(gt=0.0)] | None = None
    """Supply voltage in V; None: the battery's nominal voltage."""

    def __post_init__(self) -> None:
        """Check the kind of servo, and that it supports gear play."""
        super().__post_init__()
        if self.kind not in SERVOS:
            raise BadInput(
                f"servo {self.kind!r} is unknown; give one of {', '.join(SERVOS)}."
            )
        if self.play_deg > 0.0 and self.kind != "torque":
            raise BadInput(
                f"gear play of {self.play_deg:g} degrees needs the servo 'torque', "
                f"not {self.kind!r}; remove one of them."
            )


SERVOS = ("torque", "pybullet")


class ParallelMotors(NamedTuple):
    """Constants and live arrays of a robot's p parallel motors, for the kernels."""

    motor: NDArray[np.intp]
    """(p,) indices of the motors."""
    joint: NDArray[np.intp]
    """(p,) indices of their joints, those of the servos at the same places."""
    G_t: FloatArray
    """(p, p) Gᵀ."""
    G_inverse: FloatArray
    """(p, p) G⁻¹."""
    stall: FloatArray
    """(p,) τ_stall U/U_n in N·m."""
    slope: FloatArray
    """(p,) τ_stall/ω_0 in N·m·s/rad."""
    loss: FloatArray
    """(p,) c in W/(N·m)²."""
    friction: FloatArray
    """(p,) τ_c in N·m."""
    gear: FloatArray
    """(p,) k in N·m/rad."""
    limit: FloatArray
    """(n_motors,) K I of all motors in N·m."""
    side: FloatArray
    """(p,) side on which the play of each joint is closed."""
    after_gear: FloatArray
    """(p,) τ_m - k_m z_m in N·m."""


class Servo:
    """State and constants of all motor boards; call `step` once a tick.

    The arrays `target`, `velocity` (θ* and ω*), `limit`, `kp`, `kd`, `motor_torque`,
    `joint_torque`, `square_sum` and `work` are live: the caller writes the first five
    and reads the others.
    """

    def __init__(
        self,
        robot: Robot,
        cfg: ServoCfg,
        dt: float,
        misalignment: FloatArray,
        joint_torque: FloatArray | None = None,
    ) -> None:
        """Arrange the constants in motor order.

        Args:
            robot: the robot.
            cfg: modelled effects.
            dt: period in s.
            misalignment: (n_joints,) true angle minus measured angle, in rad; read in
                each tick, so that it may change.
            joint_torque: (n_joints,) output array; None creates one.
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
        self.work = np.zeros(m)
        heating = [motor.one_node for motor in robot.motors]
        self.loss = np.array([h.resistance / h.torque_constant**2 for h in heating])
        lead, follow = _pairs(robot)
        self.lead_of_joint = lead[robot.servo_of_joint]
        """(n_joints,) leading joint of each joint's servo."""
        sharing = np.bincount(robot.servo_of_joint)[robot.servo_of_joint]
        self.sharing = sharing
        """(n_joints,) joints on the same shaft: they share brushes, bearings, gear."""
        leading = [robot.joints[j] for j in lead]
        nominal = robot.battery.nominal_volt
        scale = (cfg.battery_volt or nominal) / nominal
        ratio = np.array([motor.gear_ratio for motor in robot.motors])
        stall = np.array([motor.stall_torque for motor in robot.motors]) * ratio
        speed = np.array([motor.no_load_speed for motor in robot.motors]) / ratio
        friction = np.array([joint.friction for joint in robot.joints])
        gear = np.array([joint.presliding_stiffness for joint in robot.joints])
        self.gear = gear / sharing
        """(n_joints,) k, each joint's share of the gear stiffness, in N·m/rad."""
        self.kp = np.array([joint.kp for joint in leading])
        """(n_motors,) in N·m/rad; live."""
        self.kd = np.array([joint.kd for joint in leading])
        """(n_motors,) in N·m·s/rad; live."""
        self.lead = lead
        """(n_motors,) leading joint of each servo."""
        slope = stall / speed if cfg.torque_speed else np.zeros(m)
        stall = stall * scale if cfg.torque_speed else np.full(m, np.inf)
        parallel = robot.is_parallel
        block = np.ix_(parallel, lead[parallel])
        self.parallel = ParallelMotors(
            np.flatnonzero(parallel),
            lead[parallel],
            robot.transmission[block],
            robot.inverse_transmission[block],
            stall[parallel],
            slope[parallel],
            self.loss[parallel],
            cfg.friction_scale * robot.motor_friction[parallel],
            robot.motor_presliding[parallel],
            np.full(m, np.inf),
            np.zeros(np.count_nonzero(parallel)),
            np.zeros(np.count_nonzero(parallel)),
        )
        self.arguments = (
            self.target,
            self.velocity,
            self.limit,
            misalignment,
            self.presliding,
            self.joint_torque,
            self.motor_torque,
            self.square_sum,
            self.work,
            self.loss,
            lead,
            follow,
            self.kp,
            self.kd,
            np.array([j.servo_step if cfg.encoder else 0.0 for j in leading]),
            np.where(parallel, np.inf, stall),
            np.where(parallel, 0.0, slope),
            cfg.friction_scale * friction / sharing,
            self.gear,
            self.parallel if parallel.any() else None,
            np.deg2rad(0.5 * cfg.play_deg),
            dt,
        )
        """Arguments of `servo_torques` after q and v; the arrays are live."""

    def step(self, q: FloatArray, v: FloatArray) -> bool:
        """Compute the torques of one tick from true angles and velocities.

        Returns:
            False if a torque is not finite.
        """
        finite: bool = servo_torques(q, v, *self.arguments)
        return finite

    def reset(self) -> None:
        """Set friction state and sums to 0."""
        for array in (
            self.presliding,
            self.joint_torque,
            self.motor_torque,
            self.square_sum,
            self.work,
        ):
            array[:] = 0.0


def _pairs(robot: Robot) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the leading joint of each servo, and its follower, -1 or `PARALLEL`.

    Raises:
        BadInput: a motor drives more than two joints.
    """
    follow = []
    for (lead, joints), parallel in zip(
        robot.servos.items(), robot.is_parallel, strict=True
    ):
        if len(joints) > 2:
            raise BadInput(
                f"motor {lead} drives {len(joints)} joints; "
                "the servo couples two at most."
            )
        alone = PARALLEL if parallel else -1
        follow.append(robot.joint_index(joints[1]) if len(joints) == 2 else alone)
    return robot.lead_joints.copy(), np.array(follow, dtype=np.intp)


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
    work: FloatArray,
    loss: FloatArray,
    lead: NDArray[np.intp],
    follow: NDArray[np.intp],
    kp: FloatArray,
    kd: FloatArray,
    step: FloatArray,
    stall: FloatArray,
    slope: FloatArray,
    friction: FloatArray,
    gear: FloatArray,
    parallel: ParallelMotors | None,
    play: float,
    dt: float,
) -> bool:
    """Write the torques and sums of one tick, in the symbols of the module.

    Arrays are by joint, from `motor_torque` to `slope` by motor: W in J and c in
    W/(N·m)²; its joints, `follow` -1 if it has one, `PARALLEL` if it has other motors
    too; kp and kd; step of the encoder in rad, 0 for none; τ_stall U/U_n and
    τ_stall/ω_0. Friction is τ_c in N·m, gear is k in N·m/rad, play is β in rad.

    Returns:
        False if a torque is not finite.
    """
    finite = True
    for m in range(lead.size):
        a, b = lead[m], follow[m]
        theta = q[a] - misalignment[a]
        omega = v[a]
        coupling = 0.0
        if b >= 0:
            other = q[b] - misalignment[b]
            apart = theta - other
            if abs(apart) >= play:
                apart -= play * np.sign(apart)
                coupling = COUPLING_STIFFNESS * apart + COUPLING_DAMPING * (
                    omega - v[b]
                )
            theta = 0.5 * (theta + other)
            omega = 0.5 * (omega + v[b])
        side = 0.0  # direction in which the motor pushes; 2: both
        if play == 0.0 or limit[a] == 0.0:
            side = 2.0
        elif not abs(target[a] - theta) < play:
            side = np.sign(target[a] - theta)
            theta += side * play
        if step[m] > 0.0:
            theta = np.rint(theta / step[m]) * step[m]
        tau = kp[m] * (target[a] - theta) + kd[m] * (velocity[a] - omega)
        tau = min(max(tau, -stall[m] - slope[m] * omega), stall[m] - slope[m] * omega)
        tau = min(max(tau, -limit[a]), limit[a])
        if side == 0.0 or (side * tau < 0.0 and side != 2.0):
            tau = 0.0
        if b == PARALLEL:
            joint_torque[a], motor_torque[m] = tau, side  # for `_drive_parallel`
            continue
        motor_torque[m] = tau
        square_sum[m] += tau * tau
        work[m] += max(tau * omega, -loss[m] * tau * tau) * dt
        for j, sign in ((a, -1.0), (b, 1.0)):
            if j < 0:
                continue
            bound = friction[j] / gear[j]
            share, stuck = tau if b < 0 else 0.5 * tau, 0.0
            if side != 0.0:
                z[j] = min(max(z[j] + v[j] * dt, -bound), bound)
                stuck = gear[j] * z[j]
                if side != 2.0 and side * (share - stuck) < 0.0:
                    share = stuck = 0.0
            joint_torque[j] = share + sign * coupling - stuck
            finite &= np.isfinite(joint_torque[j])
    return (
        finite
        if parallel is None  # known when it is compiled
        else finite
        & _drive_parallel(
            v, limit, z, joint_torque, motor_torque, square_sum, work, parallel, dt
        )
    )


@numba.njit(cache=True)
def _drive_parallel(
    v: FloatArray,
    limit: FloatArray,
    z: FloatArray,
    joint_torque: FloatArray,
    motor_torque: FloatArray,
    square_sum: FloatArray,
    work: FloatArray,
    parallel: ParallelMotors,
    dt: float,
) -> bool:
    """Replace the torques that servos ask for by those that their motors give.

    Arguments as of `servo_torques`; z of a motor is at the place of its joint. On entry
    `motor_torque` has the sides of the joints' play.
    """
    p, finite = parallel, True
    for i in range(p.motor.size):
        p.side[i] = motor_torque[p.motor[i]]
    for i in range(p.motor.size):
        m, place = p.motor[i], p.joint[i]
        tau, omega, most = 0.0, 0.0, 0.0
        for k in range(p.joint.size):
            tau += p.G_t[i, k] * joint_torque[p.joint[k]]
            omega += p.G_inverse[i, k] * v[p.joint[k]]
            most += abs(p.G_t[i, k]) * limit[p.joint[k]]
        most = min(most, p.limit[m])
        low, high = -p.stall[i] - p.slope[i] * omega, p.stall[i] - p.slope[i] * omega
        tau = min(max(tau, low), high)
        tau = min(max(tau, -most), most)
        motor_torque[m] = tau
        square_sum[m] += tau * tau
        work[m] += max(tau * omega, -p.loss[i] * tau * tau) * dt
        bound = p.friction[i] / p.gear[i]
        z[place] = min(max(z[place] + omega * dt, -bound), bound)
        p.after_gear[i] = tau - p.gear[i] * z[place]
    for k in range(p.joint.size):
        tau, side = 0.0, p.side[k]
        for i in range(p.motor.size):
            tau += p.G_inverse[i, k] * p.after_gear[i]
        if side == 0.0 or (side * tau < 0.0 and side != 2.0):
            tau = 0.0
        joint_torque[p.joint[k]] = tau
        finite &= np.isfinite(tau)
    return finite


# -- consecutive ticks -----------------------------------------------------------------


def run_native(
    native: NativeStep,
    servo: Servo,
    row: FloatArray,
    ring: LastSecond,
    clock: NDArray[np.int64],
    ticks: int,
) -> bool:
    """Advance by a number of ticks.

    In each tick: θ, ω  ->  τ  ->  ring  ->  engine  ->  θ, ω.

    Args:
        native: the engine's step.
        servo: servo that computes the torques.
        row: (3 n_joints,) angles in rad, velocities in rad/s and torques in N·m, side
            by side; the torque part is the servo's own array.
        ring: ring buffer that stores the row of each tick.
        clock: (1,) number of ticks so far, advanced with the engine.
        ticks: number of ticks.

    Returns:
        False if a torque of the next tick is not finite; row and ring hold it.
    """
    finite: bool = _run(
        native.function,
        native.model,
        native.data,
        native.positions,
        native.velocities,
        native.forces,
        native.wrenches,
        native.q_index,
        native.v_index,
        servo.arguments,
        row,
        ring.times,
        ring.rows,
        ring.n_pushed,
        clock,
        ticks,
    )
    return finite


def _type_call(_context: Any, function: Any, model: Any, data: Any) -> Any:
    """Define the numba call of a C function with two pointers by its address."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer()
        called = builder.inttoptr(args[0], kind)
        builder.call(called, [builder.inttoptr(one, pointer) for one in args[1:]])
        return context.get_dummy_value()

    return types.void(function, model, data), generate


_call: Any = intrinsic(_type_call)


@numba.njit(cache=True, nogil=True)
def _run(
    function: int,
    model: int,
    data: int,
    positions: FloatArray,
    velocities: FloatArray,
    forces: FloatArray,
    wrenches: FloatArray,
    q_index: Any,
    v_index: Any,
    servo: Any,
    row: FloatArray,
    ring_times: FloatArray,
    ring_rows: FloatArray,
    n_pushed: NDArray[np.int64],
    clock: NDArray[np.int64],
    ticks: int,
) -> bool:
    n = q_index.size
    q, v, tau = row[:n], row[n : 2 * n], row[2 * n :]
    dt = servo[-1]
    for _ in range(ticks):
        finite = servo_torques(q, v, *servo)
        place = n_pushed[0] % ring_times.size
        for i in range(row.size):  # a slice's assignment takes seconds to compile
            ring_rows[place, i] = row[i]
        ring_times[place] = clock[0] * dt
        n_pushed[0] += 1
        if not finite:
            return False
        for j in range(n):
            forces[v_index[j]] = tau[j]
        _call(function, model, data)
        clock[0] += 1
        forces[:] = 0.0
        wrenches[:] = 0.0
        for j in range(n):
            q[j] = positions[q_index[j]]
            v[j] = velocities[v_index[j]]
    return True
