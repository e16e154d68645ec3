"""Model of a standing robot's sensors: foot wrenches and angle errors.

The unknowns are the wrench w_i of the ground on each sole, the error e_j of each leg
angle, the true vertical u, the floor's normal n and height h_0, and the deviations of
the weight W = m g and of the centre of mass c from the model. With the measured angles
θ, and everything evaluated at q = θ + e, the means of a log must agree with

    motors      S (g - Σ C_i w_i) = T ± gear friction
    weight      Σ w_i = ((W + ΔW) u, 0) about the centre of mass c + Δc
    soles       the corners c_k that touch:  n·c_k = h_0;  the others: n·c_k >= h_0
    pressure    each w_i acts within its sole
    sensors     force sensors: the shares of w_i;  accelerometer: u
    floor       n = u - D s,   D_k = ∂n/∂e of both ankles about axis k
    feet        position and yaw of one sole relative to the other, as in the posture

S, g, C as in `controllers.heat_minimization.standing_problem`. Each line is a row of
residuals divided by its standard deviation, so the sum of squares is -2 log likelihood.
The hypothesis "joint j is misaligned" is a wider prior of e_j, "the floor slopes" one
of s, "the robot carries a load" one of ΔW and Δc. A slope s is the equivalent error
angle of both ankles. In the three rows of the soles and the two of the accelerometer,
all pitch joints of a leg have nearly equal directions, and so do its roll joints: only
the placement of the feet distinguishes them. The last row is an assumption that the
user must satisfy (`Assumptions.feet`).

Gear friction is known only up to a factor, which scales the residuals of the motors;
`fit` takes the factor. Soles are flat and rigid, the floor is flat; links do not bend.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pinocchio as pin
from pydantic import Field
from scipy.optimize import least_squares
from scipy.spatial import ConvexHull

from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.dynamics import (
    GRAVITY,
    Dynamics,
    build_model,
    build_shapes,
)
from nao_testbed.controllers.stiffness.kernels import BoolArray, cross
from nao_testbed.experiments.heat.xray.standing import Standing
from nao_testbed.models import BadInput, ContactPoint, Posture, Robot
from nao_testbed.models.values import FloatArray, Positive
from nao_testbed.sim.sensors.force_sensors import share_map, shares_of_load

Feet = Literal["placed", "anywhere"]
DEGREE = np.pi / 180.0


@dataclass(frozen=True, kw_only=True)
class Assumptions(Checked):
    """Standard deviations of quantities that are assumed, not measured."""

    feet: Feet = "placed"
    """`placed`: the soles are placed as in the posture, within `feet_m` and `yaw_rad`,
    for example on marks or by eye. `anywhere`: unknown."""
    feet_m: Positive = 0.002
    yaw_rad: Positive = 0.5 * DEGREE
    floor_rad: Annotated[float, Field(gt=0.0, le=0.2)] = 0.003
    """Standard deviation of the floor's slope: 0.2°, a good indoor floor."""
    com_m: Annotated[float, Field(gt=0.0, le=0.1)] = 0.0004
    """Error of the model's centre of mass, which is exact in the simulator."""
    gain: Positive = 0.02
    """Relative error of the servo's law: set-point minus angle equals torque over
    kp."""


TORQUE_NM = 0.01
"""Standard deviation of a mean torque, in addition to gear friction."""
FORCE_N = 0.3
"""Standard deviation of the weight."""
FSR_N = 0.1
"""Standard deviation of a mean force, noise averaged: a quarter of a sensor step."""
CORNER_M = 1e-4
"""Standard deviation of the height of a corner: depth to which soles sink in."""
EDGE_M = 3e-4
"""Standard deviation of the edge of a sole."""
ACCELEROMETER_RAD = 7e-4
"""Standard deviation of the mean vertical: gain errors of 10 % at a tilt of 0.4°."""
UNKNOWN_TILT_RAD = 0.1
"""Standard deviation of the vertical without an accelerometer."""
ANGLE_RAD = 1e-4
"""Standard deviation of an angle computed from set-point and torque, in addition to
`gain`."""
NEAR_EDGE_M = 1.5e-3
"""Distance of the centre of pressure from an edge within which a sole may stand on this
edge alone."""
NEAR_POSTURE_RAD = np.deg2rad(4.0)
"""Largest distance of a set-point from the posture that the robot holds."""
MOMENT = 0.1
"""Scale of moments relative to forces in the vector of unknowns, in N·m/N."""
HEIGHT_M = 1e-3
"""Scale of h_0."""
TOLERANCE = 1e-4
"""Relative change at which a fit ends; probabilities are then accurate to 0.001."""
N_SHARED = 15
"""Unknowns without a width: 12 of the soles, 2 of the vertical, h_0."""
FLOOR = slice(0, 2)
"""Indices of the slopes among the widths: pitch, then roll, in rad."""
LOAD = slice(2, 5)
"""Indices of the load among the widths: ΔW in N, Δc forwards and to the left in m."""
NOT_SEEN = 0.3
"""Prior of an absent load, as a fraction of the model's mass errors."""
N_OTHER = 5
"""Number of widths before those of the angles."""


_Wrench = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Sole:
    """Underside of a foot: a convex polygon at z = `height` of its link."""

    link: str
    height: float
    corners: FloatArray
    """(n, 2) counter-clockwise in the link's frame, in m."""
    normals: FloatArray
    """(n, 2) inward normals of the edges from each corner to the next."""

    def inside(self, place: FloatArray) -> FloatArray:
        """Return the distance of a point (2,) inside each edge, (n,) in m."""
        return np.asarray(((place - self.corners) * self.normals).sum(axis=1))

    def edge_corners(self, edge: int) -> tuple[int, int]:
        """Return the corners at the ends of an edge."""
        return edge, (edge + 1) % len(self.corners)


def soles_of(robot: Robot) -> tuple[Sole, Sole]:
    """Return the undersides of both feet, from the URDF's collision boxes.

    A foot without a box has its contact points as corners.

    Raises:
        BadInput: the robot does not have two feet.
    """
    if len(robot.feet) != 2:
        raise BadInput(
            f"robot {robot.name!r} has {len(robot.feet)} feet; the X-ray needs two."
        )
    model = build_model(robot)
    shapes = build_shapes(robot, model)
    left, right = (_sole_of(robot, foot, model, shapes) for foot in robot.feet)
    return left, right


def _sole_of(
    robot: Robot, foot: str, model: pin.Model, shapes: pin.GeometryModel
) -> Sole:
    points = [p for p in robot.contact_points if p.effector == foot]
    if len(points) < 3:
        raise BadInput(f"foot {foot} has {len(points)} contact points; give three.")
    link = points[0].link
    below = np.array([p.position for p in points])
    for shape in shapes.geometryObjects:
        half = getattr(shape.geometry, "halfSide", None)
        frame = model.frames[shape.parentFrame]
        if half is None or frame.name != link:
            continue
        signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3), -1).reshape(-1, 3)
        to_link = frame.placement.inverse() * shape.placement
        corners = np.array([to_link.act(half * sign) for sign in signs])
        lowest = corners[corners[:, 2] < corners[:, 2].min() + 1e-3]
        if len(lowest) >= 3 and lowest[:, 2].mean() < below[:, 2].mean() + 1e-3:
            below = lowest
    hull = ConvexHull(below[:, :2])
    corners = below[hull.vertices, :2]
    along = np.roll(corners, -1, axis=0) - corners
    normals = np.column_stack((-along[:, 1], along[:, 0]))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return Sole(link, float(below[:, 2].mean()), corners, normals)


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoSoles:
    """Robot on both soles at given angles."""

    place: FloatArray
    """(3,) x, y in m and yaw in rad of the first sole in the second's frame."""
    unevenness: FloatArray
    """(3,) height in m, roll and pitch in rad of the first sole relative to the
    second."""
    rotation: FloatArray
    """(3, 3) axes of the first sole in the base frame."""
    tau: FloatArray
    """(n_joints,) holding torques in N·m."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StandingFit:
    """Most likely state under one hypothesis."""

    z: FloatArray
    """(n,) scaled unknowns."""
    width: FloatArray
    """(5 + n_legs,) prior standard deviations of slopes in rad, load in N and m, and
    angle errors in rad."""
    friction: float
    """Factor on the gears' friction."""
    residual: FloatArray
    jacobian: FloatArray

    @property
    def misfit(self) -> float:
        """Sum of squared residuals, including prior terms."""
        return float(self.residual @ self.residual)

    @property
    def values(self) -> FloatArray:
        """(5 + n_legs,) values to which the widths belong."""
        return self.z[N_SHARED:] * self.width

    @property
    def error(self) -> FloatArray:
        """(n_legs,) angle errors, true minus measured, in rad."""
        return self.values[N_OTHER:]


class StandingModel:
    """Residuals of one log; `fit` returns the state for given priors."""

    def __init__(
        self, robot: Robot, standing: Standing, assumptions: Assumptions
    ) -> None:
        """Store the sensors' means, and determine the touching corners of the soles."""
        self.robot, self.assumptions = robot, assumptions
        self.standing = standing
        self.soles = soles_of(robot)
        points = [
            ContactPoint(
                name=f"{sole.link}{k}",
                link=sole.link,
                position=(float(x), float(y), sole.height),
                effector=sole.link,
                fsr=None,
            )
            for sole in self.soles
            for k, (x, y) in enumerate(sole.corners)
        ]
        self._dynamics = Dynamics(robot, points)
        first = len(self.soles[0].corners)
        self._corners = np.arange(first), np.arange(first, len(points))
        self._middles = [np.array([*s.corners.mean(0), 0.0]) for s in self.soles]
        self._spread = [_spread(sole) for sole in self.soles]
        self.weight = self._dynamics.mass * GRAVITY
        self.legs = np.array([robot.joint_index(n) for n in robot.leg_joints])
        self.sharing = robot.transmission
        self._counts = joule_loss(robot) > 0.0
        friction = robot.motor_friction[self._counts]
        self._gear_sd = friction / np.sqrt(3.0)
        self._sensors = [
            [k for k, s in enumerate(robot.force_sensors) if s.link == sole.link]
            for sole in self.soles
        ]
        self._share = [
            share_map(np.array([robot.force_sensors[k].position[:2] for k in ks]))
            for ks in self._sensors
            if ks
        ]
        self.q, angle_sd = self._angles()
        self.width = np.concatenate(
            (
                np.full(2, assumptions.floor_rad),
                NOT_SEEN * np.array([FORCE_N, assumptions.com_m, assumptions.com_m]),
                angle_sd,
            )
        )
        self.ankles, self._slopes = self._like_slopes()
        self.posture = _held_posture(robot, standing)
        self._beside = self._nominal()
        self._up = self._measured_up()
        self._touches: tuple[BoolArray, ...] | None = None
        self._touches = self._find_touching()

    @property
    def uses_placement(self) -> bool:
        """True if the feet are assumed to be placed as in a posture."""
        return self._beside is not None

    @property
    def touching(self) -> tuple[int, int]:
        """Number of corners of each sole that certainly touch; two: an edge."""
        assert self._touches is not None
        left, right = self._touches
        return int(left.sum()), int(right.sum())

    def torque_sd(self, friction: float) -> FloatArray:
        """Return (n,) standard deviations of the motors' rows in N·m.

        Args:
            friction: factor on the gears' friction.
        """
        known = np.hypot(friction * self._gear_sd, TORQUE_NM)
        return np.asarray(np.hypot(known, self.standing.effort_sd[self._counts]))

    def fit(
        self,
        width: FloatArray | None = None,
        start: StandingFit | None = None,
        friction: float = 1.0,
    ) -> StandingFit:
        """Find the most likely state.

        Args:
            width: (5 + n_legs,) prior standard deviations, as in `StandingFit`; None:
                those of sensors and assumptions.
            start: start of the search; None: from the force sensors.
            friction: factor on the gears' friction.
        """
        width = self.width if width is None else width
        z = self._first_guess()
        if start is not None:
            z = start.z.copy()
            z[N_SHARED:] = start.values / width
        torque_sd = self.torque_sd(friction)
        found = least_squares(
            self._residual,
            z,
            args=(width, torque_sd),
            max_nfev=60,
            ftol=TOLERANCE,
            xtol=TOLERANCE,
        )
        return StandingFit(
            z=found.x,
            width=width,
            friction=friction,
            residual=found.fun,
            jacobian=np.asarray(found.jac),
        )

    def with_standing(self, standing: Standing) -> "StandingModel":
        """Return the model of slightly other means: same corners and widths."""
        other = copy(self)
        other.standing = standing
        other.q, _ = other._angles()
        return other

    def residual_at(self, fit: StandingFit) -> FloatArray:
        """Return the residuals of this model in the state of a fit."""
        return self._residual(fit.z, fit.width, self.torque_sd(fit.friction))

    def wrenches(self, fit: StandingFit) -> FloatArray:
        """Return the wrenches of the ground on the soles, (2, 6).

        Force in N, then moment in N·m about the base's origin, in the base's axes.
        """
        self._dynamics.update(self._true_angles(fit.z, fit.width))
        found = []
        for i in range(2):
            turn, origin, force, moment = self._wrench(fit.z, i)
            force = turn @ force
            moment = turn @ moment + np.cross(origin, force)
            found.append(np.concatenate((force, moment)))
        return np.array(found)

    def up(self, fit: StandingFit) -> FloatArray:
        """Return the vertical in the base frame, (3,)."""
        return self._directions(fit.z, fit.width)[0]

    def true_angles(self, fit: StandingFit) -> FloatArray:
        """Return the measured angles corrected by their errors, (n_joints,) in rad."""
        return self._true_angles(fit.z, fit.width)

    def place(self, q: FloatArray, z: FloatArray) -> TwoSoles:
        """Return the robot on both soles at angles q, under the wrenches in z."""
        self._dynamics.update(q)
        no_slope = np.concatenate((z[:N_SHARED], 0.0 * self.width))
        up = self._directions(no_slope, self.width)[0]
        return self._two_soles(z[:12], up)

    def balance(self, q: FloatArray, second: FloatArray, up: FloatArray) -> TwoSoles:
        """Return the robot on both soles, with the remaining load on the first sole.

        Args:
            q: (n_joints,) true angles in rad.
            second: (6,) scaled wrench on the second sole.
            up: (3,) vertical in the axes of the first sole.
        """
        dynamics = self._dynamics
        dynamics.update(q)
        vertical = dynamics.link_rotation(self.soles[0].link) @ up
        z = np.concatenate((np.zeros(6), second))
        turn, origin, force, moment = self._wrench(z, 1)
        force, moment = turn @ force, turn @ moment
        moment = moment + np.cross(origin - dynamics.com, force)
        turn, origin, _, _ = self._wrench(z, 0)
        force = self.weight * vertical - force
        moment = -moment - np.cross(origin - dynamics.com, force)
        z[:6] = np.concatenate((turn.T @ force, turn.T @ moment / MOMENT))
        return self._two_soles(z, vertical)

    def _two_soles(self, z: FloatArray, up: FloatArray) -> TwoSoles:
        way, turn = self._beside_second()
        return TwoSoles(
            place=self._place_of_feet(),
            unevenness=np.array([way[2], turn[2, 1], turn[0, 2]]),
            rotation=self._dynamics.link_rotation(self.soles[0].link).copy(),
            tau=self._torques([self._wrench(z, i) for i in range(2)], up),
        )

    def _torques(self, wrenches: Sequence[_Wrench], up: FloatArray) -> FloatArray:
        """Return g - Σ C_i w_i, (n_joints,) in N·m, at the dynamics' angles."""
        tau = self._dynamics.gravity_term(-GRAVITY * up)
        for i, (turn, _, force, moment) in enumerate(wrenches):
            corners = self._corners[i]
            along = np.broadcast_to(turn.T, (len(corners), 3, 3)).copy()
            at_corners = self._spread[i] @ np.concatenate((force, moment))
            tau = tau - self._dynamics.contact_matrix(corners, along) @ at_corners
        return tau

    def _angles(self) -> tuple[FloatArray, FloatArray]:
        """Return the angles, and the standard deviations of the leg angles.

        Set-point and torque give a finer angle than the encoder, within the accuracy of
        the servo's gain. If they contradict the encoder, the encoder is used.
        """
        robot, seen = self.robot, self.standing
        step = np.array([joint.encoder_step for joint in robot.joints])
        q, width = seen.q.copy(), np.maximum(step / np.sqrt(12.0), ANGLE_RAD)
        if seen.target is not None:
            kp = np.array([joint.kp for joint in robot.joints])
            servos = robot.servo_of_joint
            wind_up = (robot.servo_torques @ seen.effort)[servos] / kp
            fine = seen.target - wind_up
            unsure = np.sqrt(robot.servo_torques**2 @ seen.effort_sd**2)[servos] / kp
            finer = np.hypot(ANGLE_RAD, self.assumptions.gain * wind_up)
            finer = np.hypot(finer, unsure)
            shared = np.bincount(servos)[servos] > 1
            finer[shared] *= 3.0  # the coupling of the joints yields slightly
            is_known = np.zeros(len(q), dtype=np.bool_)
            is_known[self.legs] = True
            better = is_known & (np.abs(fine - q) < 2.0 * step) & (finer < width)
            q, width = np.where(better, fine, q), np.where(better, finer, width)
        return q, width[self.legs]

    def _nominal(self) -> FloatArray | None:
        """Return the relative position of the soles in the posture."""
        if self.assumptions.feet == "anywhere" or self.posture is None:
            return None
        self._dynamics.update(self.posture.angles)
        return self._place_of_feet()

    def _place_of_feet(self) -> FloatArray:
        """Return x, y in m and yaw in rad of the first sole in the second's frame."""
        way, turn = self._beside_second()
        return np.array([way[0], way[1], np.arctan2(turn[1, 0], turn[0, 0])])

    def _beside_second(self) -> tuple[FloatArray, FloatArray]:
        """Return centre and axes of the first sole in the axes of the second."""
        first, second = (self._dynamics.link_rotation(s.link) for s in self.soles)
        way = self._centre(0) - self._centre(1)
        return second.T @ way, second.T @ first

    def _measured_up(self) -> FloatArray:
        """Return the vertical in the base frame, from the accelerometer or soles."""
        self._dynamics.update(self.q)
        a = self.standing.accelerometer
        if a is not None:
            up = self._dynamics.link_rotation(self.robot.imu.link) @ a
        else:
            axes = [self._dynamics.link_rotation(s.link)[:, 2] for s in self.soles]
            up = axes[0] + axes[1]
        return np.asarray(up / np.linalg.norm(up))

    def _first_guess(self) -> FloatArray:
        z = np.zeros(N_SHARED + len(self.width))
        for i, ks in enumerate(self._sensors):
            if self.standing.fsr is None or not ks:
                z[6 * i + 2] = 0.5 * self.weight
                continue
            force = self.standing.fsr[ks]
            places = [self.robot.force_sensors[k].position for k in ks]
            x, y, _ = force @ np.array(places)
            z[6 * i + 2 : 6 * i + 5] = force.sum(), y / MOMENT, -x / MOMENT
        self._dynamics.update(self.q)
        z[14] = float((self._dynamics.point_positions @ self._up).mean()) / HEIGHT_M
        return z

    def _find_touching(self) -> tuple[BoolArray, ...]:
        """Return the corners of each sole that certainly touch.

        Only wrenches are used: if the centre of pressure is near an edge, the sole may
        have tipped about this edge, and its other corners are above the floor.
        """
        fit = self.fit()
        variance = np.diag(np.linalg.inv(fit.jacobian.T @ fit.jacobian))
        found = []
        for i, sole in enumerate(self.soles):
            _, place = _pressure(fit.z[6 * i : 6 * i + 6])
            sd = MOMENT * np.sqrt(variance[[6 * i + 4, 6 * i + 3]])
            sd /= max(fit.z[6 * i + 2], 1.0)
            doubt = NEAR_EDGE_M + np.sqrt((sole.normals**2) @ (sd**2))
            touches = np.ones(len(sole.corners), dtype=np.bool_)
            for edge in np.flatnonzero(sole.inside(place) < doubt).tolist():
                on_edge = np.isin(np.arange(len(touches)), sole.edge_corners(edge))
                touches &= on_edge
            found.append(touches)
        return tuple(found)

    def _true_angles(self, z: FloatArray, width: FloatArray) -> FloatArray:
        q = self.q.copy()
        q[self.legs] += z[N_SHARED + N_OTHER :] * width[N_OTHER:]
        return q

    def _like_slopes(self) -> tuple[tuple[tuple[str, ...], ...], FloatArray]:
        """Return the pairs of joints whose equal errors look like a slope.

        Returns:
            Their names for pitch and roll, one of each leg, empty if a leg has no such
            joint; and (2, 2), x and y of the rotation of the sole's normal per rad of
            each.
        """
        step = 1e-4
        self._dynamics.update(self.q)
        axes = [self._dynamics.link_rotation(sole.link).copy() for sole in self.soles]
        last: list[dict[int, str]] = [{}, {}]
        turns = np.zeros((2, 2, 2))
        for k in self.legs.tolist():
            q = self.q.copy()
            q[k] += step
            self._dynamics.update(q)
            for i, sole in enumerate(self.soles):
                turned = self._dynamics.link_rotation(sole.link) - axes[i]
                normal = turned[:2, 2] / step
                if np.abs(normal).max() < 0.8:  # other leg or other axis
                    continue
                kind = int(np.abs(normal).argmax())
                last[i][kind] = self.robot.joint_names[k]
                turns[i, :, kind] = normal
        alike = [
            float(turns[0, :, kind] @ turns[1, :, kind]) > 0.6 for kind in range(2)
        ]
        names = tuple(
            tuple(each[kind] for each in last) if alike[kind] else ()
            for kind in range(2)
        )
        return names, np.where(alike, turns.mean(0), np.eye(2))

    def _directions(
        self, z: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the vertical and the floor's normal, base frame."""
        has = self.standing.accelerometer is not None
        noise = self.standing.accelerometer_sd / GRAVITY
        tilt = np.hypot(ACCELEROMETER_RAD, noise) if has else UNKNOWN_TILT_RAD
        up = self._up.copy()
        up[:2] += tilt * z[12:14]
        up /= np.linalg.norm(up)
        normal = up.copy()
        slopes = z[N_SHARED:][FLOOR] * width[FLOOR]
        normal[:2] -= self._slopes @ slopes
        return up, normal / np.linalg.norm(normal)

    def _centre(self, i: int) -> FloatArray:
        """Return the mean of a sole's corners, (3,) in the base frame."""
        corners = self._corners[i]
        total = np.add.reduce(self._dynamics.point_positions[corners])
        return np.asarray(total / len(corners))

    def _wrench(self, z: FloatArray, i: int) -> _Wrench:
        """Return axes of a sole, its origin in the base frame, force and moment."""
        turn = self._dynamics.link_rotation(self.soles[i].link)
        origin = self._centre(i) - turn @ self._middles[i]
        part = z[6 * i : 6 * i + 6]
        return turn, origin, part[:3], MOMENT * part[3:]

    def _residual(
        self, z: FloatArray, width: FloatArray, torque_sd: FloatArray
    ) -> FloatArray:
        dynamics, seen, assumed = self._dynamics, self.standing, self.assumptions
        dynamics.update(self._true_angles(z, width))
        up, normal = self._directions(z, width)
        wrenches = [self._wrench(z, i) for i in range(2)]
        tau = self._torques(wrenches, up)
        more, *aside = z[N_SHARED:][LOAD] * width[LOAD]
        com = dynamics.com + np.array([*aside, 0.0])
        force, moment = -(self.weight + more) * up, np.zeros(3)
        heights = dynamics.point_positions @ normal - HEIGHT_M * z[14]
        rows: list[FloatArray] = []
        for i, sole in enumerate(self.soles):
            turn, origin, pressing, twisting = wrenches[i]
            corners = self._corners[i]
            pressing = turn @ pressing
            force = force + pressing
            moment = moment + turn @ twisting
            moment = moment + cross(origin - com, pressing)
            load, place = _pressure(z[6 * i : 6 * i + 6])
            rows.append(np.minimum(sole.inside(place), 0.0) / EDGE_M)
            if seen.fsr is not None and self._sensors[i]:
                on_sole = np.array([load, load * place[0], load * place[1]])
                shares = shares_of_load(self._share[i], on_sole, len(self._sensors[i]))
                off = shares - seen.fsr[self._sensors[i]]
                rows.append(off / np.hypot(FSR_N, seen.fsr_sd))
            if self._touches is not None:
                h = heights[corners]
                flat = np.where(self._touches[i], h, np.minimum(h, 0.0))
                rows.append(flat / CORNER_M)
        torque = self.sharing @ tau
        rows.insert(0, (torque - seen.effort)[self._counts] / torque_sd)
        rows += [
            force / FORCE_N,
            moment / (self.weight * assumed.com_m),
            np.array([1e-3 * (z[14] - self._first_height)]),
            z[12:14],
        ]
        if self._beside is not None:
            away = self._place_of_feet() - self._beside
            sd = np.array([assumed.feet_m, assumed.feet_m, assumed.yaw_rad])
            rows.append(away / sd)
        rows.append(z[N_SHARED:])  # priors of values with widths come last
        return np.concatenate(rows)

    @cached_property
    def _first_height(self) -> float:
        return float(self._first_guess()[14])


def _pressure(part: FloatArray) -> tuple[float, FloatArray]:
    """Return the load of a sole in N and its centre of pressure (2,), link frame."""
    load = max(float(part[2]), 1e-3)
    return load, MOMENT * np.array([-part[4], part[3]]) / load


def _spread(sole: Sole) -> FloatArray:
    """Return the map (3 n, 6) from a wrench on the sole to minimum corner forces."""
    n = len(sole.corners)
    to_wrench = np.zeros((6, 3 * n))
    for k, (x, y) in enumerate(sole.corners):
        to_wrench[:3, 3 * k : 3 * k + 3] = np.eye(3)
        to_wrench[3:, 3 * k : 3 * k + 3] = [[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]]
    return np.asarray(np.linalg.pinv(to_wrench))


def _held_posture(robot: Robot, seen: Standing) -> Posture | None:
    """Return the posture that the legs hold; None: no known posture."""
    legs = [robot.joint_index(name) for name in robot.leg_joints]
    held = seen.q if seen.target is None else seen.target

    def distance(posture: Posture) -> float:
        return float(np.abs(posture.angles - held)[legs].max())

    on_feet = [p for p in _postures(robot) if set(robot.feet) <= set(p.effectors)]
    if not on_feet:
        return None
    nearest = min(on_feet, key=distance)
    return nearest if distance(nearest) <= NEAR_POSTURE_RAD else None


def _postures(robot: Robot) -> Sequence[Posture]:
    return list(robot.postures.values())
