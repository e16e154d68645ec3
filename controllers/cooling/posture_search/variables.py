"""What a posture search moves: motors, those that mirror each other as one.

q = wanted + map · x,    lower <= x <= upper.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.cooling.posture_search.cfg import PostureSearchCfg, kept_joints
from controllers.cooling.posture_search.mirror import find_mirror_pairs, is_symmetric
from models import BadInput, Robot

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ROOM_RAD = 1e-6
"""A variable with less room does not move."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variables:
    """The variables x of a search."""

    names: tuple[str, ...]
    """What each moves: a motor, or two that mirror each other."""
    map: FloatArray
    """(n_joints, n) angles for a unit of each; 1, -1 or 0."""
    lower: FloatArray
    """(n,) in rad from the wanted posture, 0 or less."""
    upper: FloatArray
    """(n,) 0 or more."""

    @property
    def is_moved(self) -> BoolArray:
        """(n_joints,) which joints may move."""
        return np.asarray(self.map.any(axis=1))


def choose_variables(
    robot: Robot, wanted: FloatArray, cfg: PostureSearchCfg
) -> Variables:
    """Return the variables of a search around the (n_joints,) `wanted` angles.

    Raises:
        BadInput: nothing is left that may move.
        UnknownName: a joint that is to be kept is not of this robot.
    """
    columns = _free_motors(robot, cfg)
    names = {m: robot.motors[m].name for m in columns}
    for pair in () if cfg.may_be_asymmetric else find_mirror_pairs(robot):
        one, other = robot.motor_of_joint[[pair.joint, pair.other]].tolist()
        if not is_symmetric(pair, wanted):
            continue
        if one == other:
            if pair.sign < 0.0:  # such as a head's yaw: it stays in the middle
                columns.pop(one, None)
        elif one in columns and other in columns:
            columns[one] = columns[one] + pair.sign * columns.pop(other)
            names[one] = f"{names[one]} and {robot.motors[other].name}"
        else:  # one is kept, so its image is kept
            columns.pop(one, None)
            columns.pop(other, None)
    table = np.array(list(columns.values())).reshape(-1, len(robot.joints)).T
    lower, upper = _bounds(robot, wanted, cfg, table)
    may_move = upper - lower > ROOM_RAD
    if not may_move.any():
        raise BadInput(
            f"nothing is left that may move; kept: {', '.join(cfg.keep) or 'none'}. "
            "Keep fewer joints, or allow an asymmetric posture."
        )
    return Variables(
        names=tuple(names[m] for m, may in zip(columns, may_move, strict=True) if may),
        map=table[:, may_move],
        lower=lower[may_move],
        upper=upper[may_move],
    )


def _free_motors(robot: Robot, cfg: PostureSearchCfg) -> dict[int, FloatArray]:
    """Return by motor (n_joints,) 1 for its joints, for motors that may move."""
    kept = kept_joints(robot, cfg.keep)
    columns = {}
    for m, motor in enumerate(robot.motors):
        is_of_legs = set(motor.joints) <= set(robot.leg_joints)
        if (cfg.moves_arms or is_of_legs) and not kept & set(motor.joints):
            columns[m] = np.isin(robot.joint_names, motor.joints).astype(np.float64)
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
