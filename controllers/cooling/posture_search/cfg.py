"""What a posture search may change, and what it must keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, degrees, isfinite, pi, radians

from controllers.cooling.standing_problem import FRICTION
from models import BadInput, Robot


@dataclass(frozen=True, kw_only=True)
class PostureSearchCfg:
    """Limits of a search; the defaults suit a NAO on a level floor."""

    within_rad: float = radians(5.0)
    """Largest change of an angle of the wanted posture."""
    com_margin_m: float = 0.02
    """Least distance of the centre of mass from the edges of its support, in m."""
    joint_margin_rad: float = radians(1.0)
    """Least distance from a joint's stop; a joint that the wanted posture holds closer
    may stay so."""
    torque_share: float = 0.8
    """Largest torque of a motor over its limit at stiffness 1."""
    clearance_m: float = 0.003
    """Least distance between links, in m; links that the wanted posture holds closer
    may not come closer still."""
    moves_arms: bool = False
    """Whether joints that are not of the legs may move too, and their heat counts."""
    keep: Sequence[str] = ()
    """Joints, or groups of joints, that stay as wanted."""
    feet_may_move: bool = False
    """False: both soles stay where they stand, so that the robot can go there without
    lifting a foot. True: they are only held flat on one plane."""
    may_be_asymmetric: bool = False
    """False: what is symmetric in the wanted posture stays so."""
    slope_deg: float = 0.0
    """The ground rises by this angle towards the front of the robot."""
    friction: float = FRICTION
    """Coulomb coefficient that is counted on."""
    starts: int = 5
    """Points from which the search begins; the first is the wanted posture."""
    seed: int = 0
    """Of the other starting points."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        for name in ("com_margin_m", "joint_margin_rad", "clearance_m"):
            value = getattr(self, name)
            if not 0.0 <= value < float("inf"):
                raise BadInput(f"{name} is {value}; give a finite number from 0 up.")
        if not 0.0 < self.within_rad <= pi / 2.0:
            raise BadInput(
                f"a search within {degrees(self.within_rad):g} degrees of a posture "
                "makes no sense; give a number above 0, up to 90."
            )
        if not 0.0 < self.torque_share <= 1.0:
            raise BadInput(
                f"torque_share is {self.torque_share}; give a number above 0, up to 1."
            )
        if not (isfinite(self.friction) and self.friction > 0.0):
            raise BadInput(f"friction is {self.friction}; give a number above 0.")
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
    """Return the names of the joints that `keep` names, itself or by their group.

    Raises:
        UnknownName: there is no such group, and no such joint.
    """
    kept: set[str] = set()
    for name in keep:
        if name in robot.groups:
            kept.update(robot.groups[name])
        else:
            kept.add(robot.joint_names[robot.joint_index(name)])
    return frozenset(kept)
