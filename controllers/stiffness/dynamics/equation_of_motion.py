"""Equation of motion, from its left side to the joint torques (640 to 690).

**Left side (640).** At rest the left side is -M̃(q) G. Its joint rows are used
unchanged; its base rows reduce to the weight m g acting at the centre of mass. In
motion the base rows are a force F and a moment N about the base origin. The ground
gives the component of F along `up`, at the point p of the ground about which the moment
has no component in the plane,

    up x (N - p x F) = 0,    up · p = height of the ground,

which replaces the centre of mass in step 660.

**Motion**, which the full model needs, comes from sensors. Velocities come from the
encoders, the angular velocity from the gyroscope; both are differentiated by filtered
differences: with a low pass of time constant T,

    v̂ ← v̂ + k (v - v̂),    a ← (v̂ - v̂_before) / dt,    k = 1 - exp(-dt / T).

The base acceleration comes from the accelerometer, which measures Ṫ - G at its
position. Its gain error of up to 10 % [nao6-datasheet] would at rest look like an
acceleration of 1 m/s². So the reading is divided by the average gain of the same
sensor; its low-passed difference to g along the vertical in use is the acceleration.

**Loads.** In ES2659053, B holds the vertical component of external disturbances
[ES2659053T3 claim 7], which may be neglected [claim 8]. Neglecting is the default here:
no sensor of the robot measures them. A user can supply a known load, such as a tray in
a hand.

**Torques (670, 680, 690).** ES2659053's simplified model, with L = [0; I] and W the
forces of the ground **on** the robot, reads in its joint rows

    -M̃(q) G = L τ + Cᵗ(q) W    =>    τ = [-M̃(q) G]_joints - [Cᵗ(q) W]_joints.

ES2659053 calls it the *sum* of steps 640 and 680, because it counts the forces of the
robot on the ground; with the forces on the robot the sum is this difference. τ is the
motor torque: positive towards larger joint angles.
"""

from dataclasses import dataclass
from math import exp
from typing import NamedTuple

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics, RobotMotion
from nao_testbed.controllers.stiffness.kernels import cross
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, Positive


@dataclass(frozen=True, kw_only=True)
class MotionCfg(Checked):
    """Parameters of the filters."""

    time_constant_s: Positive = 0.06
    """T of the differences: three cycles; one encoder step of 1.5 mrad then gives
    1.1 rad/s² instead of 3.8."""
    gain_time_constant_s: Positive = 10.0
    """Time constant of the accelerometer's gain estimate, in s."""
    longest_gap_s: float = 0.25
    """Longest time between observations, in s; a longer gap restarts the filters."""


class MotionEstimator:
    """Differentiating filter; `step` at every observation."""

    def __init__(self, robot: Robot, cfg: MotionCfg) -> None:
        """Prepare for a robot with its inertial unit on the base link.

        Raises:
            BadInput: the inertial unit is on another link.
        """
        if robot.imu.link != robot.base_link:
            raise BadInput(
                f"The full model needs the inertial unit on the base link "
                f"{robot.base_link!r}; robot {robot.name!r} has it on "
                f"{robot.imu.link!r}. Use the simplified model."
            )
        self._cfg = cfg
        self._lever = np.array(robot.imu.position)
        self.reset()

    def reset(self) -> None:
        """Clear the motion."""
        self._time: float | None = None

    def step(self, observation: Observation, up: FloatArray) -> RobotMotion:
        """Return the motion at `observation`; no acceleration at the first one.

        Args:
            observation: the sensor values.
            up: (3,) the vertical in use, base frame.
        """
        time, v, w = observation.time_s, observation.v, observation.gyro
        force = observation.accelerometer
        dt = 0.0 if self._time is None else time - self._time
        if self._time is None or dt < 0.0 or dt > self._cfg.longest_gap_s:
            self._v, self._w = v.copy(), w.copy()
            self._a, self._w_dot = np.zeros_like(v), np.zeros(3)
            self._mean = force.copy()
            self._motion_force = np.zeros(3)
        elif dt > 0.0:
            k = 1.0 - exp(-dt / self._cfg.time_constant_s)
            self._a = k * (v - self._v) / dt
            self._w_dot = k * (w - self._w) / dt
            self._v = self._v + k * (v - self._v)
            self._w = self._w + k * (w - self._w)
            slow = 1.0 - exp(-dt / self._cfg.gain_time_constant_s)
            self._mean = self._mean + slow * (force - self._mean)
            gain = float(np.linalg.norm(self._mean)) / GRAVITY
            moving = force / gain - GRAVITY * up if gain > 0.5 else np.zeros(3)
            self._motion_force = self._motion_force + k * (moving - self._motion_force)
        self._time = time
        at_imu = GRAVITY * up + self._motion_force
        return RobotMotion(
            v=self._v,
            a=self._a,
            proper_acceleration=at_imu
            - cross(self._w_dot, self._lever)
            - cross(self._w, cross(self._w, self._lever)),
            angular_velocity=self._w,
            angular_acceleration=self._w_dot,
        )


class LeftSide(NamedTuple):
    """Left side of the equation of motion for the other steps (640)."""

    joints: FloatArray
    """(n_joints,) joint rows in N·m."""
    weight: float
    """Vertical force that the ground must provide, in N; m g at rest."""
    centre: FloatArray
    """(3,) point that must lie over the support: the centre of mass at rest."""


def left_side_at_rest(dynamics: Dynamics, up: FloatArray) -> LeftSide:
    """Return the left side of the simplified model; `up` is a (3,) unit vector."""
    return LeftSide(
        joints=dynamics.gravity_term(-GRAVITY * up),
        weight=dynamics.mass * GRAVITY,
        centre=dynamics.com,
    )


def left_side_in_motion(
    dynamics: Dynamics,
    motion: RobotMotion,
    armature: FloatArray,
    candidates: FloatArray,
    up: FloatArray,
) -> LeftSide:
    """Return the left side of the full model.

    Args:
        dynamics: at the present joint angles.
        motion: motion of joints and base.
        armature: (n_joints,) in kg·m², as of `armature_at_joints`.
        candidates: (n, 3) points in m; the lowest is on the ground.
        up: (3,) unit vector in the base frame.
    """
    base, joints = dynamics.inverse_dynamics(motion)
    joints += armature * motion.a
    force, moment = base[:3], base[3:]
    weight = float(force @ up)
    centre = dynamics.com
    if weight > 0.0:
        ground = float((candidates @ up).min())
        along = force - weight * up
        centre = (cross(up, moment) + ground * along) / weight
    return LeftSide(joints=joints, weight=weight, centre=centre)


def armature_at_joints(robot: Robot) -> FloatArray:
    """Return the rotor inertia per joint, (n_joints,) in kg·m²; divided if shared."""
    return robot.armature


@dataclass(frozen=True, kw_only=True, slots=True)
class JointTorques:
    """Joint torques and their two terms."""

    gravity_term: FloatArray
    """(n_joints,) joint rows of -M̃(q) G; of the whole left side in the full model."""
    contact_term: FloatArray
    """(n_joints,) joint rows of Cᵗ(q) W."""
    tau: FloatArray
    """(n_joints,) their difference, in N·m."""
