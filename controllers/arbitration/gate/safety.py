"""Outputs without a command: safe set-points, effort caps, limp motors.

The set-points of motors without stiffness follow the joints. A limp arm therefore does
not snap back to an old set-point when it becomes stiff, and motions begin at the
present angle.
"""

from collections.abc import Container, Iterable, Sequence

import numpy as np

from nao_testbed.controllers.arbitration.gate.outputs import Outputs
from nao_testbed.controllers.arbitration.gate.shifts import Shifts
from nao_testbed.controllers.arbitration.gate.slot import Line, Slot
from nao_testbed.controllers.arbitration.gate.writers import MotorWriter
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.interface.robot_interface import RobotInterface
from nao_testbed.models import UnknownName
from nao_testbed.models.values import FloatArray


class Safety:
    """Writer of safe set-points and effort caps after changes of the ledger.

    The robot is read only if a motor was lost or is limp.
    """

    def __init__(
        self,
        ledger: Ledger,
        robot: RobotInterface,
        outputs: Outputs,
        slot: Slot,
        shifts: Shifts,
        lines: Sequence[Line],
    ) -> None:
        self._shifts = shifts
        self._ledger = ledger
        self._robot = robot
        self._outputs = outputs
        self._slot = slot
        self._lines = lines
        self._limp: tuple[int, ...] = ()
        self._followers: list[tuple[Line, MotorWriter]] = []
        """Lines of motors with zero stiffness."""
        self._changes = -1
        self._seen = -1
        """Change count of the ledger for the cached results: while it is constant, no
        owner loses a resource and no cap changes."""

    def put(self, written: Container[Line]) -> Sequence[Line]:
        """Put safe values and effort caps; return the lines that were made safe.

        Args:
            written: lines with a command in this slot.
        """
        self._changes = self._ledger.changes
        if self._changes == self._seen:
            return ()
        lines, outputs = self._lines, self._outputs
        lost = without_authority(lines, written, self._slot)
        lost += self._shifts.end(lost)
        if lost:
            observation = self._robot.read()
            for line in lost:
                line.writer.make_safe(observation)
        outputs.bound(least_caps(lines, self._ledger, len(outputs.cap)))
        return lost

    def keep(self, lost: Iterable[Line]) -> None:
        """Store the outputs as in force, including safe values of lost lines."""
        for line in lost:
            line.commander = None
        self._seen = self._changes

    def follow(self, written: Container[Line]) -> None:
        """Put the encoders' angles as set-points of limp motors.

        Args:
            written: lines with a command in this slot; they are skipped.
        """
        limp = self._outputs.limp()
        if limp != self._limp:
            self._limp = limp
            self._followers = [
                (line, line.writer)
                for line in self._lines
                if isinstance(line.writer, MotorWriter)
                and not set(limp).isdisjoint(line.writer.joints)
            ]
        if self._followers:
            observation = self._robot.read()
            for line, writer in self._followers:
                if line not in written:
                    writer.follow(observation)


def without_authority(
    lines: Iterable[Line], written: Container[Line], slot: Slot
) -> list[Line]:
    """Return lines whose last commander lost them, without a command in this slot.

    Args:
        lines: lines whose devices have a safe value.
        written: lines with a command in this slot, whose tokens are valid.
        slot: slot, which queries the ledger.
    """
    return [
        line
        for line in lines
        if line.commander is not None
        and line not in written
        and slot.reason(line.commander, line.name) is not None
    ]


def least_caps(lines: Iterable[Line], ledger: Ledger, n_joints: int) -> FloatArray:
    """Return the largest stiffness of each joint, (n_joints,) in [0, 1].

    The smallest cap of a joint's motor leaf and stiffness leaf counts. A removed leaf
    has no cap.
    """
    caps = np.ones(n_joints)
    for line in lines:
        try:
            cap = ledger.effort_cap(line.name)
        except UnknownName:
            continue
        if cap < 1.0:
            joints = list(line.writer.joints)
            caps[joints] = np.minimum(caps[joints], cap)
    return caps
