"""Motors without any stiffness: their set-points go where the joints go.

So an arm that hung down does not snap back to an old set-point when it is stiff again,
and a motion begins from where it is.
"""

from collections.abc import Container, Sequence

from controllers.resources.gate.device_writers import MotorWriter
from controllers.resources.gate.outputs import Outputs
from controllers.resources.gate.slot import Line
from controllers.robot_interface import RobotInterface


class LimpMotors:
    """Finds them when a stiffness changes; without any it costs nothing."""

    __slots__ = ("_followers", "_limp", "_lines", "_outputs", "_robot")

    def __init__(
        self, lines: Sequence[Line], outputs: Outputs, robot: RobotInterface
    ) -> None:
        """Watch the lines of motors.

        Args:
            lines: of all motors.
            outputs: of the gate.
            robot: is read only while a joint is limp.
        """
        self._lines = lines
        self._outputs = outputs
        self._robot = robot
        self._limp: tuple[int, ...] = ()
        self._followers: list[tuple[Line, MotorWriter]] = []

    def follow(self, written: Container[Line]) -> None:
        """Put the encoders' angles as set-points of limp motors.

        Args:
            written: lines with a command in this slot, which they obey.
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
