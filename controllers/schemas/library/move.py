"""Plays what the robot knows by heart: a motion, or a command of several outputs."""

from dataclasses import dataclass

from controllers.schemas.actuators import Playing
from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.needs import leaves_under, resources_of_joints
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.state_minded import StateMinded
from controllers.schemas.library.times import is_due
from controllers.schemas.waking import Waking
from controllers.sync.orders.posture_way import joints_to
from models import BadInput, Robot, TestbedError
from models.library import Unit
from models.resources import DeviceKind


class NotPlayed(TestbedError):
    """A motion, a light or a sound did not come to its end."""


@dataclass(frozen=True, kw_only=True)
class MoveParameters:
    """What is played, and how often."""

    motion: str = ""
    """Name of a motion of the library; give this or a command."""
    command: str = ""
    """Name of a command of the library."""
    group: str = ""
    """What a command's outputs are known by if they start together; empty takes the
    command's name."""
    repeat: int = 1
    """How often; 0 for ever."""
    interrupt: str = ""
    """Name of a command with one output: given by a modulation while this plays, it is
    joined on at once, and what is played goes on after it."""
    pause_s: float = 0.0
    """Time between the end of one and the begin of the next, in s."""

    def __post_init__(self) -> None:
        """Refuse two things at once, and numbers out of range.

        Raises:
            BadInput: one of them.
        """
        if self.motion and self.command:
            raise BadInput(
                f"motion {self.motion!r} and command {self.command!r}; give one of "
                "them."
            )
        check_between("repeat", self.repeat, 0, 1_000_000)
        check_between("pause_s", self.pause_s, 0.0, 3600.0, "s")


class Move(StateMinded[MoveParameters]):
    """Plays it with the resources that it takes, and finishes.

    Revoked in the middle it begins anew when it has them again. It is ready in the
    state in which its motion begins, a command also where a way leads there: whoever
    lets it go that way gives it the `needs` of the way too.
    """

    info = SchemaInfo(
        name="move",
        about="Plays a motion or a command of the library.",
        period_s=0.02,
        parameters=MoveParameters,
    )
    _count = 0

    @classmethod
    def needs_of(cls, parameters: MoveParameters, robot: Robot) -> tuple[str, ...]:
        """Return the resources that the motion or the command takes."""
        if parameters.command:
            return needs_of_command(robot, parameters.command)
        motion = robot.library.motion(parameters.motion) if parameters.motion else None
        return () if motion is None else resources_of_joints(robot, motion.joints)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: MoveParameters, robot: Robot
    ) -> None:
        """Refuse to play nothing, or what there is not.

        Raises:
            BadInput: neither a motion nor a command is named.
            UnknownName: the library has none of this name.
        """
        if not (parameters.motion or parameters.command):
            raise BadInput(
                f"{waking.name!r} has nothing to play; give it a motion or a command."
            )
        cls.needs_of(parameters, robot)
        if parameters.interrupt:
            robot.library.order(parameters.interrupt)

    def ready(self) -> bool:
        """Whether the robot is where it begins, or is at it."""
        now = self.parameters
        if now.command:
            return self.can_follow(now.command)
        return self.is_in_state_of(self.robot.library.motion(now.motion).start)

    def start(self) -> None:
        """Begin to play."""
        self._playing: Playing | None = None
        self._next_s = self.time_s
        self._interrupts = False
        self._between: Playing | None = None
        self._look()

    def on_modulated(self) -> None:
        """Note that it is to be interrupted."""
        self._interrupts = bool(self.parameters.interrupt)

    def iterate(self) -> None:
        """Look whether it is over; play it again, or finish.

        Raises:
            NotPlayed: it did not come to its end.
        """
        self._look()

    def stop(self) -> None:
        """Count anew the next time."""
        self._count = 0

    def _look(self) -> None:
        now = self.parameters
        if self._interrupts:
            self._interrupts = False
            self._between = self.interrupt(now.interrupt)
        if self._between is not None and not self._between.is_over:
            return
        if self._playing is not None:
            if not self._playing.is_over:
                return
            if self._playing.has_failed:
                raise NotPlayed(
                    f"{now.motion or now.command!r} was not played to its end: "
                    f"{self._playing.reason}"
                )
            self._playing = None
            self._count += 1
            self._next_s = self.time_s + now.pause_s
            if 0 < now.repeat <= self._count:
                self.finish()
                return
        if is_due(self.time_s, self._next_s):
            if now.command:
                self._playing = self.command(now.command, now.group or None)
            else:
                self._playing = self.play(now.motion)


def needs_of_command(robot: Robot, name: str) -> tuple[str, ...]:
    """Return the resources that a command of the library takes.

    One that goes to a posture takes all that moves on any way there.

    Raises:
        UnknownName: there is no such command, or it names something unknown.
    """
    library = robot.library
    order, needs = library.order(name), list[str]()
    if order.to is not None:
        needs += resources_of_joints(robot, joints_to(library, order.to))
    for unit, output in order.outputs.items():
        if unit is Unit.MOTION:
            needs += resources_of_joints(robot, library.motion(output).joints)
        elif unit is Unit.LIGHT:
            needs += leaves_under(robot, library.light(output).leds)
        else:
            needs += speaker_of(robot)
    return tuple(needs)


def speaker_of(robot: Robot) -> tuple[str, ...]:
    """Return the leaf of the loudspeakers; none if the robot has none."""
    return tuple(
        node.name
        for node in robot.resources.walk()
        if node.device is not None and node.device.kind is DeviceKind.SPEAKER
    )
