"""`RobotModel`: parts that this body does not have are nobody's (RM-41, RM-42).

The tree of resources is the same for all bodies of a robot, so that a behaviour written
for one starts on another and learns in the ordinary way what it cannot have: a request
for legs waits until its time limit, and names the owner that has them.
"""

from controllers.resources.body.virtual_owner import ROBOT_MODEL
from controllers.resources.ledger import Ledger
from models import Robot


def freeze_absent(ledger: Ledger, robot: Robot, tick: int) -> None:
    """Occupy what the body of a robot lacks, before any behaviour runs.

    A complete robot has none of this: nothing happens.

    Args:
        ledger: of the robot's whole tree.
        robot: a body of it, as `Robot.with_body` gives it.
        tick: now.
    """
    if robot.absent:
        ledger.freeze(robot.absent, ROBOT_MODEL, tick, effort_cap=0.0)


def change_absent(ledger: Ledger, before: Robot, after: Robot, tick: int) -> None:
    """Let a robot have another body: what that lacks too is nobody's from now on.

    Parts that it has again are given back. Nothing is free in between.

    Args:
        ledger: of the robot's whole tree.
        before: the body that it had.
        after: the body that it has now.
        tick: now.
    """
    lacked, lacks = _leaves(ledger, before), _leaves(ledger, after)
    if new := sorted(lacks - lacked):
        ledger.freeze(new, ROBOT_MODEL, tick, effort_cap=0.0)
    if back := sorted(lacked - lacks):
        ledger.thaw(ROBOT_MODEL, tick, back)


def _leaves(ledger: Ledger, robot: Robot) -> set[str]:
    return {leaf for part in robot.absent for leaf in ledger.tree.leaves(part)}
