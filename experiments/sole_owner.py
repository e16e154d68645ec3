"""One owner that commands a whole robot alone, as the experiments with one posture do.

It goes through a gate like everybody else: its ledger knows no other owner, so that
nothing is ever refused.
"""

import numpy as np
from numpy.typing import NDArray

from controllers.arbitration.events import Rejected
from controllers.arbitration.gate import Gate
from controllers.arbitration.gate.device_map import map_devices
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.requests import Owner, Request
from controllers.arbitration.resource_tree import ResourceTree
from controllers.interface.robot_interface import RobotInterface

FloatArray = NDArray[np.float64]

NAME = "posture"


class SoleOwner:
    """Holds every motor and every stiffness of a robot by one token.

    Call `command` once a cycle; the ticks of its ledger count these calls.
    """

    def __init__(self, robot: RobotInterface) -> None:
        """Take the whole robot.

        Raises:
            BadInput: the robot's resources are at odds with its devices.
        """
        root = robot.robot.resources
        devices = map_devices(root, robot.robot)
        ledger = Ledger(ResourceTree(root))
        ledger.add_owner(Owner(name=NAME), 0)
        leaves = tuple(leaf.name for leaf in devices.joint_leaves)
        ticket = ledger.request(Request(owner=NAME, resources=leaves), 0)
        token = ticket.outcome.token if ticket.outcome else None
        if token is None:
            raise AssertionError(f"{leaves} are free, but were not granted")
        self._token = token
        self._ledger = ledger
        self._gate = Gate(ledger, robot, devices)
        self._tick = 0

    def command(
        self,
        target: FloatArray | None = None,
        stiffness: FloatArray | None = None,
    ) -> None:
        """Put set-points and stiffness in force; None leaves what is.

        Args:
            target: (n_joints,) in rad.
            stiffness: (n_joints,) in [0, 1].

        Raises:
            BadInput: a value is not finite or out of range; nothing is written.
        """
        gate, token = self._gate, self._token
        if stiffness is not None:
            _expect_none(gate.submit_stiffness(token, stiffness))
        if target is not None:
            _expect_none(gate.submit_set_points(token, target))
        self._tick += 1
        self._ledger.advance(self._tick)
        _expect_none(*gate.flush(self._tick))


def _expect_none(*refused: Rejected | None) -> None:
    if any(refused):
        raise AssertionError(f"the only owner is refused: {refused}")
