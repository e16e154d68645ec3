"""Losses of the leg motors, their needed part, and possible savings.

A motor loses c <T²>, c = R / K². Of all contact forces that carry the robot in its true
posture, one set has the minimum loss (`controllers.heat_minimization.least_loss`). Its
torques T* give the needed loss, c T*² per motor. The rest is useless: the soles press
against each other by **one internal wrench** w on the left sole and -w on the right
sole,

    T = T* - S (C_l - C_r) w.

At the minimum, a motor may need more than now so that others need less; its useless
loss is then negative. The needed loss assumes gears that turn freely. Stuck gears carry
a part of the load, so an aligned robot may have a smaller total loss (a NAO in PoseInit
0.33 W instead of 0.55 W).

**Saving by a set-point.** With both soles flat on the floor at their place, and servos
as springs,

    T = S (g - Σ C_i w_i) + r = kp (θ* - θ),    soles placed as now, but flat,
    r = clip(r_now + k (θ - θ_now), ±f),

are solved for angles and wrenches, with the set-point θ* of the misaligned joint moved
slowly by minus its error. r is the friction of a gear, f its maximum and k its
stiffness while it is stuck. Friction can take most of a saving: on a G1 whose ankle is
off by 1.7°, 10 W without friction are 0.8 W with it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import root

from nao_testbed.controllers.heat_minimization.least_loss import (
    LeastLoss,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.standing_problem import (
    StandingProblem,
    build_standing_problem,
    joule_loss,
    sole_normals,
    sole_points,
)
from nao_testbed.controllers.stiffness.contact_forces import sole_axes
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.experiments.heat.xray.standing import Standing
from nao_testbed.experiments.heat.xray.standing_model import (
    N_SHARED,
    StandingFit,
    StandingModel,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal import HeatingCfg, make_heating

LIMIT_DEGC = 80.0
"""Temperature in °C at which the robot of [ES2659053T3] shuts down."""
AHEAD_S = 900.0
"""Prediction time of temperatures in s: 15 minutes."""


@dataclass(frozen=True, kw_only=True)
class MotorLoss:
    """Present loss of a leg motor."""

    motor: str
    effort_nm: float
    """Mean torque on the joint's side."""
    loss_w: float
    needed_w: float
    temperature_degc: float | None
    time_to_limit_s: float | None
    """Time in s at the present loss; None: never, or no temperature."""

    @property
    def useless_w(self) -> float:
        """Loss beyond its part of the minimum."""
        return self.loss_w - self.needed_w


@dataclass(frozen=True, kw_only=True)
class InternalWrench:
    """Useless wrench of the ground on the left sole, and opposite on the right one.

    Axes: forward, left, up; about the midpoint between the soles.
    """

    force_n: tuple[float, float, float]
    moment_nm: tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class LegLosses:
    """Losses of the legs."""

    motors: tuple[MotorLoss, ...]
    wrench: InternalWrench

    @property
    def loss_w(self) -> float:
        """Joule loss of all leg motors in W."""
        return sum(motor.loss_w for motor in self.motors)

    @property
    def needed_w(self) -> float:
        """Minimum loss in W that carries the robot in this posture, with free gears."""
        return sum(motor.needed_w for motor in self.motors)

    @property
    def useless_w(self) -> float:
        """Remaining loss; negative if stuck gears save more than the useless part."""
        return self.loss_w - self.needed_w


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Saving by moving one set-point."""

    joint: str
    set_point_deg: float
    """Change of the set-point in degrees."""
    loss_w: float
    """Present loss of the legs in W."""
    loss_after_w: float
    """Loss after the change in W."""
    saved_range_w: tuple[float, float]
    """Saved power in W if gear friction is between half and twice that of the log."""
    cooler_k: dict[str, float]
    """Motor to its temperature reduction after 15 minutes; empty without
    temperatures."""

    @property
    def saved_w(self) -> float:
        """Saved power in W."""
        return self.loss_w - self.loss_after_w


class LegAccount:
    """Split of the heat of one log under one explanation."""

    def __init__(self, model: StandingModel, seen: Standing, fit: StandingFit) -> None:
        """Start from the state that explains the log.

        Raises:
            BadInput: no forces at the soles carry the robot in this state.
        """
        robot = model.robot
        self._model, self._seen, self._fit, self._robot = model, seen, fit, robot
        points = sole_points(robot)
        self._foot = np.array([robot.feet.index(p.effector) for p in points])
        self._dynamics = Dynamics(robot, points)
        self._loss = joule_loss(robot)
        self._up = model.up(fit)
        self.problem, self.least = self._least()

    def losses(self) -> LegLosses:
        """Return watts, times to the limit and the internal wrench."""
        seen, robot = self._seen, self._robot
        times = None
        if seen.temperature is not None:
            heating = make_heating(robot, HeatingCfg())
            heating.reset(seen.temperature)
            times = heating.time_to_reach(seen.mean_square, LIMIT_DEGC)
        motors = []
        for m in np.flatnonzero(self._loss > 0.0):
            degc = None if seen.temperature is None else float(seen.temperature[m])
            time_s = None if times is None else float(times[m])
            motors.append(
                MotorLoss(
                    motor=robot.motor_names[m],
                    effort_nm=float(seen.effort[m]),
                    loss_w=float(self._loss[m] * seen.mean_square[m]),
                    needed_w=float(self._loss[m] * self.least.motor_effort[m] ** 2),
                    temperature_degc=degc,
                    time_to_limit_s=(
                        time_s if time_s is not None and np.isfinite(time_s) else None
                    ),
                )
            )
        return LegLosses(motors=tuple(motors), wrench=self._internal_wrench())

    def saving(
        self, joint: str, degrees: float, friction: float = 1.0
    ) -> Saving | None:
        """Return the saving by moving the set-point of a joint by -degrees, slowly.

        None if the robot would then not stand on both soles. `friction` is the factor
        on the gear friction of the robot's data.
        """
        robot, seen = self._robot, self._seen
        k = robot.leg_joints.index(joint)
        shift = np.zeros(len(robot.leg_joints))
        shift[k] = -np.deg2rad(degrees)
        now = float(self._loss @ seen.mean_square)
        squares = []
        for factor in (1.0, 0.5, 2.0):
            effort = settled_effort(self._model, self._fit, shift, factor * friction)
            if effort is None:
                return None
            squares.append(np.where(self._loss > 0.0, effort**2, seen.mean_square))
        after = squares[0]
        saved = [now - float(self._loss @ square) for square in squares]
        cooler: dict[str, float] = {}
        if seen.temperature is not None:
            heating = make_heating(robot, HeatingCfg())
            heating.reset(seen.temperature)
            gain = heating.predict(seen.mean_square, AHEAD_S) - heating.predict(
                after, AHEAD_S
            )
            cooler = {
                robot.motor_names[m]: float(gain[m])
                for m in np.flatnonzero(self._loss > 0.0)
            }
        return Saving(
            joint=joint,
            set_point_deg=-degrees,
            loss_w=now,
            loss_after_w=float(self._loss @ after),
            saved_range_w=(min(saved), max(saved)),
            cooler_k=cooler,
        )

    def least_at(self, q: FloatArray, up: FloatArray) -> LeastLoss:
        """Return the minimum loss of the legs on both soles.

        Args:
            q: (n_joints,) true angles in rad.
            up: (3,) vertical in the base frame.
        """
        return solve_least_loss(self._problem(q, up))

    def _problem(self, q: FloatArray, up: FloatArray) -> StandingProblem:
        dynamics = self._dynamics
        dynamics.update(q)
        return build_standing_problem(
            dynamics,
            self._robot,
            up,
            np.arange(len(self._foot)),
            loss=self._loss,
            normals=sole_normals(dynamics.point_positions, self._foot, up),
        )

    def _least(self) -> tuple[StandingProblem, LeastLoss]:
        problem = self._problem(self._model.true_angles(self._fit), self._up)
        least = solve_least_loss(problem)
        if not least.is_balanced:
            raise BadInput(
                f"{self._seen.name}: no forces at the soles carry the robot at these "
                "angles; give a log that ends with it standing on both feet."
            )
        return problem, least

    def _least_wrenches(self) -> FloatArray:
        """Return the wrenches of minimum loss, as in `StandingModel.wrenches`."""
        dynamics, up = self._dynamics, self._up
        dynamics.update(self._model.true_angles(self._fit))
        normals = sole_normals(dynamics.point_positions, self._foot, up)
        forces = np.einsum("ka,kab->kb", self.least.forces, sole_axes(normals))
        moments = np.cross(dynamics.point_positions, forces)
        each = np.hstack((forces, moments))
        return np.array([each[self._foot == i].sum(0) for i in range(2)])

    def internal(self) -> FloatArray:
        """Return the internal wrench on the first sole, (6,).

        Force, then moment about the base's origin, in the base's axes.
        """
        extra = self._model.wrenches(self._fit) - self._least_wrenches()
        return np.asarray(0.5 * (extra[0] - extra[1]))

    def _internal_wrench(self) -> InternalWrench:
        w = self.internal()
        self._dynamics.update(self._model.true_angles(self._fit))
        points = self._dynamics.point_positions
        middle = 0.5 * sum(points[self._foot == i].mean(0) for i in range(2))
        moment = w[3:] - np.cross(middle, w[:3])
        ahead = np.array([1.0, 0.0, 0.0])
        ahead -= self._up * (ahead @ self._up)
        ahead /= np.linalg.norm(ahead)
        axes = np.array([ahead, np.cross(self._up, ahead), self._up])
        x, y, z = (axes @ w[:3]).tolist()
        mx, my, mz = (axes @ moment).tolist()
        return InternalWrench(force_n=(x, y, z), moment_nm=(mx, my, mz))


def settled_effort(
    model: StandingModel, fit: StandingFit, shift: FloatArray, friction: float = 0.0
) -> FloatArray | None:
    """Return the motors' torques after a slow shift of set-points.

    Args:
        model: model of the log.
        fit: present state.
        shift: (n_legs,) shift of the set-points, in rad.
        friction: factor on the gear friction of the robot's data.

    Returns:
        (n_motors,) in N·m; None if both soles flat on the floor cannot carry the robot.
    """
    equilibrium = _Equilibrium(model, fit, shift)
    x = equilibrium.start
    for share in (0.0, 0.25, 0.5, 0.75, 1.0) if friction > 0.0 else (0.0,):
        equilibrium.friction = share * friction  # gradually, so that it converges
        found = root(equilibrium.residual, x, method="hybr")
        if not found.success and np.abs(found.fun).max() > 1e-3:
            return None
        x = found.x
    return equilibrium.effort(x)


class _Equilibrium:
    """Equilibrium of springs and gears: 12 angles, and a wrench on the second sole."""

    friction = 0.0
    """Factor on the gear friction of the robot's data."""

    def __init__(
        self, model: StandingModel, fit: StandingFit, shift: FloatArray
    ) -> None:
        robot = model.robot
        self._model, self._robot = model, robot
        self._legs = model.legs
        self._n = len(self._legs)
        self._error = fit.error
        kp = np.array([joint.kp for joint in robot.joints])[self._legs]
        self._servos = robot.servo_of_joint[self._legs]
        effort = model.standing.effort
        wind_up = (robot.servo_torques @ effort)[self._servos] / kp
        self._kp = kp
        # Servos measure the mean of their joints' angles.
        self._set_point = self._measured(model.q[self._legs]) + wind_up
        self._set_point += shift
        self._apart = model.q[self._legs] - self._measured(model.q[self._legs])
        self._effort = effort
        q = model.true_angles(fit)
        self._other = q
        z = fit.z[:N_SHARED].copy()
        state = model.place(q, z)
        self._beside = state.place
        self._up_in_sole = state.rotation.T @ model.up(fit)
        self._second = slice(self._n, self._n + 6)
        self.start = np.concatenate((q[self._legs], z[6:12]))
        carried = model.balance(q, z[6:12], self._up_in_sole)
        self._stuck = effort - model.sharing @ carried.tau

    def residual(self, x: FloatArray) -> FloatArray:
        """Return the residual torques and the closure error."""
        q = self._other.copy()
        q[self._legs] = x[: self._n]
        measured = x[: self._n] - self._error
        mean = self._measured(measured)
        state = self._model.balance(q, x[self._second], self._up_in_sole)
        servo = self._kp * (self._set_point - mean)
        motors = self._model.sharing @ state.tau + self._gears(q)
        torque = (self._robot.servo_torques @ motors)[self._servos]
        rows = servo - torque
        # For joints on one servo the second row is the difference of their angles.
        _, first = np.unique(self._servos, return_index=True)
        follows = np.ones(self._n, dtype=np.bool_)
        follows[first] = False
        rows = np.where(follows, 100.0 * (measured - mean - self._apart), rows)
        closure = np.array([*(state.place - self._beside), *state.unevenness])
        return np.concatenate((rows, 100.0 * closure))

    def effort(self, x: FloatArray) -> FloatArray:
        """Return the motors' torques, (n_motors,) in N·m."""
        q = self._other.copy()
        q[self._legs] = x[: self._n]
        state = self._model.balance(q, x[self._second], self._up_in_sole)
        return np.asarray(self._model.sharing @ state.tau + self._gears(q))

    def _gears(self, q: FloatArray) -> FloatArray:
        """Return r, the friction of the motors' gears, (n_motors,) in N·m."""
        robot = self._robot
        f = self.friction * robot.motor_friction
        k = self.friction * robot.motor_presliding
        turned = robot.inverse_transmission @ (q - self._other)
        return np.clip(np.clip(self._stuck, -f, f) + k * turned, -f, f)

    def _measured(self, angles: FloatArray) -> FloatArray:
        """Return the servos' measurement of leg angles, joint by joint."""
        count = np.bincount(self._servos)
        total = np.bincount(self._servos, weights=angles)
        return np.asarray(total[self._servos] / count[self._servos])
