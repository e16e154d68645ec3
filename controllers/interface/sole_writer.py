"""Who may write to a robot: one writer at a time, so that no two undo each other.

    writer = SoleWriter(robot)
    writer.write(Command(target=q))
    writer.close()  # now another one may take the robot

The closed loop is a writer where it has a robot to itself; where several owners share
one, the gate of the reservations is.
"""

from weakref import WeakValueDictionary

from nao_testbed.controllers.interface.robot_interface import Command, RobotInterface
from nao_testbed.models import BadInput


class SoleWriter:
    """Writes to a robot, and nobody else does until it is closed or forgotten.

    A wrapper of a robot counts as a robot of its own.
    """

    def __init__(self, robot: RobotInterface) -> None:
        """Take the robot.

        Raises:
            BadInput: it has a writer already.
        """
        self._robot = robot
        if _WRITERS.setdefault(id(robot), self) is not self:
            raise BadInput(
                "this robot has a writer already, a loop or a gate; use that one, or "
                "close it first (Loop.close, Gate.close), since two would undo each "
                "other's commands."
            )

    def check_open(self) -> None:
        """Refuse to go on where the robot was given back.

        Raises:
            BadInput: this writer is closed.
        """
        if _WRITERS.get(id(self._robot)) is not self:
            raise BadInput(
                "this loop or gate is closed; make another one for its robot."
            )

    def write(self, command: Command) -> None:
        """Put a command in force, all of it or nothing.

        Raises:
            BadInput: this writer is closed, or as of `RobotInterface.write`.
        """
        self.check_open()
        self._robot.write(command)

    def close(self) -> None:
        """Give the robot back as it is; may be called twice."""
        if _WRITERS.get(id(self._robot)) is self:
            del _WRITERS[id(self._robot)]


_WRITERS: "WeakValueDictionary[int, SoleWriter]" = WeakValueDictionary()
"""Id of a robot to its writer, which keeps the robot, and so its id."""
