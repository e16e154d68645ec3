"""Variables and options of a posture search.

The search moves motors, with a mirrored pair as one variable:

    q = wanted + map · x,    lower <= x <= upper.

Mirrored joints are found from the robot's own geometry. A reflection in the base's
plane y = 0, M = diag(1, -1, 1), maps a rotation by θ about an axis a at p to a rotation
by -θ about M a at M p. So joint j mirrors joint i where, with all angles 0, p_j = M p_i
and a_j = ±M a_i; then θ_j = s θ_i with s = -(M a_i) · a_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, degrees, pi
from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field

from nao_testbed.controllers.heat_minimization.set_point_shift import DEGREE
from nao_testbed.controllers.heat_minimization.standing_problem import FRICTION
from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.dynamics import build_model
from nao_testbed.controllers.stiffness.kernels import BoolArray
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray, NotNegative, Positive


@dataclass(frozen=True, kw_only=True)
class PostureSearchCfg(Checked):
    """Limits of a search; the defaults suit a NAO on a level floor."""

    within_rad: float = 5.0 * DEGREE
    """Maximum change of an angle of the desired posture, in rad."""
    com_margin_m: NotNegative = 0.02
    """Minimum distance of the centre of mass from the edges of its support, in m."""
    joint_margin_rad: NotNegative = DEGREE
    """Minimum distance from a joint's stop, in rad; a joint closer to it in the
    desired posture may stay there."""
    torque_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
    """Maximum torque of a motor, as a fraction of its limit at stiffness 1."""
    clearance_m: NotNegative = 0.003
    """Minimum distance between links, in m; links closer in the desired posture may
    not come closer still."""
    moves_arms: bool = False
    """True: joints outside the legs may move too, and their heat counts."""
    keep: Sequence[str] = ()
    """Joints, or groups of joints, that keep their desired angles."""
    feet_may_move: bool = False
    """False: both soles keep their position, so that the robot can reach the posture
    without lifting a foot. True: the soles must only lie flat on one plane."""
    may_be_asymmetric: bool = False
    """False: symmetric joint pairs of the desired posture stay symmetric."""
    slope_deg: float = 0.0
    """Slope of the ground, rising towards the front of the robot, in degrees."""
    friction: Positive = FRICTION
    """Assumed Coulomb coefficient."""
    starts: int = 5
    """Number of starting points; the first is the desired posture."""
    seed: int = 0
    """Seed of the other starting points."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.within_rad <= pi / 2.0:
            raise BadInput(
                f"search range is {degrees(self.within_rad):g} degrees; give a number "
                "above 0, up to 90."
            )
        steepest = degrees(atan(self.friction))
        if not abs(self.slope_deg) < steepest:
            raise BadInput(
                f"slope is {self.slope_deg} degrees; with friction {self.friction} a "
                f"robot stands on less than {steepest:.1f} degrees."
            )
        if self.starts < 1 or self.seed < 0:
            raise BadInput(
                f"starts = {self.starts}, seed = {self.seed}; give at least one start, "
                "and a seed from 0 up."
            )


def kept_joints(robot: Robot, keep: Sequence[str]) -> frozenset[str]:
    """Return the joints that `keep` names, individually or by group.

    Raises:
        UnknownName: a name is neither a group nor a joint.
    """
    kept: set[str] = set()
    for name in keep:
        if name in robot.groups:
            kept.update(robot.groups[name])
        else:
            kept.add(robot.joint_names[robot.joint_index(name)])
    return frozenset(kept)


ALIKE = 1e-3
"""Tolerance of positions (m) and axes."""
SYMMETRIC_RAD = 3.0 * DEGREE
"""Largest difference of measured mirrored joints that are meant to be equal: joint
errors and sag cause smaller differences, asymmetric stances larger ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorPair:
    """Two joints, left and right, or one joint that mirrors itself."""

    joint: int
    """Index of the first joint, in joint order."""
    other: int
    """Index of the second joint; the same for a joint in the plane."""
    sign: float
    """θ_other = sign · θ_joint in a symmetric posture."""


def find_mirror_pairs(robot: Robot) -> tuple[MirrorPair, ...]:
    """Return the pairs of `robot`; joints without a mirror image are omitted."""
    places, axes = _joint_axes(robot)
    M = np.array((1.0, -1.0, 1.0))
    pairs, taken = [], set[int]()
    for i in range(len(places)):
        if i in taken:
            continue
        reflected = M * axes[i]
        for j in range(i, len(places)):
            cosine = float(reflected @ axes[j])
            is_place = np.abs(places[j] - M * places[i]).max() < ALIKE
            if j not in taken and is_place and abs(abs(cosine) - 1.0) < ALIKE:
                pairs.append(MirrorPair(joint=i, other=j, sign=-np.sign(cosine)))
                taken |= {i, j}
                break
    return tuple(pairs)


def is_symmetric(pair: MirrorPair, angles: FloatArray) -> bool:
    """Return True if the two angles mirror each other within `ALIKE` rad."""
    difference = angles[pair.other] - pair.sign * angles[pair.joint]
    return bool(abs(difference) < ALIKE)


def symmetric_stance(robot: Robot, angles: FloatArray) -> Posture:
    """Return a stance on both feet in which nearly mirrored joints mirror each other.

    `angles` are (n_joints,) in rad.
    """
    start = angles.copy()
    for pair in find_mirror_pairs(robot):
        one, other = angles[pair.joint], pair.sign * angles[pair.other]
        if abs(one - other) < SYMMETRIC_RAD:
            mean = 0.5 * (one + other)
            start[pair.joint], start[pair.other] = mean, pair.sign * mean
    return Posture(
        name="this stance",
        angles=start[robot.lead_joints[robot.servo_of_joint]],
        effectors=robot.feet,
        offset=None,
        status="estimate",
    )


def _joint_axes(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Return (n_joints, 3) positions in m and unit axes, base frame, angles 0."""
    model = build_model(robot)
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    places, axes = [], []
    for name in robot.joint_names:
        j = model.getJointId(name)
        places.append(np.array(data.oMi[j].translation))
        axes.append(np.array(data.J[3:, model.idx_vs[j]]))
    return np.array(places), np.array(axes)


ROOM_RAD = 1e-6
"""Minimum range of a movable variable, in rad."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variables:
    """Variables x of a search."""

    names: tuple[str, ...]
    """Name of each variable: a motor, or a mirrored pair of motors."""
    map: FloatArray
    """(n_joints, n) change of the angles per unit of each variable; 1, -1 or 0."""
    lower: FloatArray
    """(n,) in rad from the desired posture, 0 or less."""
    upper: FloatArray
    """(n,) 0 or more."""

    @property
    def is_moved(self) -> BoolArray:
        """(n_joints,) mask of the movable joints."""
        return np.asarray(self.map.any(axis=1))


def choose_variables(
    robot: Robot, wanted: FloatArray, cfg: PostureSearchCfg
) -> Variables:
    """Return the variables of a search around the (n_joints,) `wanted` angles.

    Raises:
        BadInput: no joint is movable.
        UnknownName: a name in `keep` is neither a joint nor a group.
    """
    columns = _free_servos(robot, cfg)
    names = {m: robot.servo_names[m] for m in columns}
    for pair in () if cfg.may_be_asymmetric else find_mirror_pairs(robot):
        one, other = robot.servo_of_joint[[pair.joint, pair.other]].tolist()
        if not is_symmetric(pair, wanted):
            continue
        if one == other:
            if pair.sign < 0.0:  # such as a head's yaw: it stays in the middle
                columns.pop(one, None)
        elif one in columns and other in columns:
            columns[one] = columns[one] + pair.sign * columns.pop(other)
            names[one] = f"{names[one]} and {robot.servo_names[other]}"
        else:  # one is kept, so its mirror image is kept too
            columns.pop(one, None)
            columns.pop(other, None)
    table = np.array(list(columns.values())).reshape(-1, len(robot.joints)).T
    lower, upper = _bounds(robot, wanted, cfg, table)
    may_move = upper - lower > ROOM_RAD
    if not may_move.any():
        raise BadInput(
            f"no joint is free to move; kept: {', '.join(cfg.keep) or 'none'}. "
            "Keep fewer joints, or allow an asymmetric posture."
        )
    return Variables(
        names=tuple(names[m] for m, may in zip(columns, may_move, strict=True) if may),
        map=table[:, may_move],
        lower=lower[may_move],
        upper=upper[may_move],
    )


def _free_servos(robot: Robot, cfg: PostureSearchCfg) -> dict[int, FloatArray]:
    """Return per movable servo a (n_joints,) vector, 1 for its joints."""
    kept = kept_joints(robot, cfg.keep)
    columns = {}
    for m, joints in enumerate(robot.servos.values()):
        is_of_legs = set(joints) <= set(robot.leg_joints)
        if (cfg.moves_arms or is_of_legs) and not kept & set(joints):
            columns[m] = np.isin(robot.joint_names, joints).astype(np.float64)
    return columns


def _bounds(
    robot: Robot, wanted: FloatArray, cfg: PostureSearchCfg, table: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds, (n,) each, of the columns of `table`."""
    margin = cfg.joint_margin_rad
    down = np.minimum(robot.lower + margin - wanted, 0.0)
    up = np.maximum(robot.upper - margin - wanted, 0.0)
    lower = np.full(table.shape[1], -cfg.within_rad)
    upper = np.full(table.shape[1], cfg.within_rad)
    for k, column in enumerate(table.T):
        for j in np.flatnonzero(column):
            low, high = sorted((column[j] * down[j], column[j] * up[j]))
            lower[k], upper[k] = max(lower[k], low), min(upper[k], high)
    return lower, upper
