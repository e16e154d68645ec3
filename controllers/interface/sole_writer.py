"""Single writer per robot, so that writers cannot overwrite each other.

    writer = SoleWriter(robot)
    writer.write(Command(target=q))
    writer.close()  # another writer may register now

The writer is the closed loop if it has a robot to itself, and the gate of the
reservations if several owners share the robot.
"""

from weakref import WeakValueDictionary

from nao_testbed.controllers.interface.robot_interface import Command, RobotInterface
from nao_testbed.models import BadInput


class SoleWriter:
    """Exclusive writer of a robot until it is closed or garbage-collected.

    A wrapper of a robot counts as a separate robot.
    """

    def __init__(self, robot: RobotInterface) -> None:
        """Register as the writer of the robot.

        Raises:
            BadInput: the robot already has a writer.
        """
        self._robot = robot
        if _WRITERS.setdefault(id(robot), self) is not self:
            raise BadInput(
                "this robot already has a writer, a loop or a gate; use it, or "
                "close it first (Loop.close, Gate.close), since two would overwrite "
                "each other's commands."
            )

    def check_open(self) -> None:
        """Raise if the writer has been closed.

        Raises:
            BadInput: this writer is closed.
        """
        if _WRITERS.get(id(self._robot)) is not self:
            raise BadInput(
                "this loop or gate is closed; create another one for its robot."
            )

    def write(self, command: Command) -> None:
        """Apply a command, completely or not at all.

        Raises:
            BadInput: this writer is closed, or from `RobotInterface.write`.
        """
        self.check_open()
        self._robot.write(command)

    def close(self) -> None:
        """Release the robot in its present state; may be called twice."""
        if _WRITERS.get(id(self._robot)) is self:
            del _WRITERS[id(self._robot)]


_WRITERS: "WeakValueDictionary[int, SoleWriter]" = WeakValueDictionary()
"""Id of a robot to its writer, whose reference to the robot keeps the id valid."""
