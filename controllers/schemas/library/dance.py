"""Dances, and stops only where the robot stands stably (RM-36).

The motion is played in parts, from one of its stable stops to the next. Asked to stop,
by its modulation or because a motor gets hot, it goes on to the next stop, rests there,
and resumes from there. With the policy `callback` it answers so to those who ask for
its resources: at the next stop it gives them back and has finished.
"""

from dataclasses import dataclass
from math import radians

from controllers.resources.policies import Demand
from controllers.schemas.actuators import Playing
from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.move import NotPlayed
from controllers.schemas.library.needs import resources_of_joints
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.stable_stops import angles_at_end, parts_between_stops
from controllers.schemas.library.state_minded import StateMinded
from controllers.schemas.variables import Variable
from controllers.schemas.waking import Waking
from models import Robot

STILL_THERE_DEG = 8.0
"""Largest difference of a joint from a stop at which the dance can resume from it."""


@dataclass(frozen=True, kw_only=True)
class DanceParameters:
    """What it dances, and when it rests."""

    motion: str = "dance"
    """Name of a motion of the library with `stops_s`."""
    repeat: int = 1
    """How often; 0 for ever."""
    stop: bool = False
    """True lets it rest at the next stop until it is False again."""
    limit_degc: float = 76.0
    """It rests while a motor will be hotter than this within `warn_s`, in °C."""
    warn_s: float = 30.0
    """How far ahead it looks for that, in s; see `hot joint watch`."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("repeat", self.repeat, 0, 1_000_000)
        check_between("limit_degc", self.limit_degc, 0.0, 200.0, "°C")
        check_between("warn_s", self.warn_s, 0.0, 36_000.0, "s")


class Dance(StateMinded[DanceParameters]):
    """Plays the parts of its motion one after another, in the state it begins in."""

    info = SchemaInfo(
        name="dance",
        about="Dances from one stable stop to the next, and rests only there.",
        period_s=0.01,
        parameters=DanceParameters,
        outputs=(
            Variable(
                name="is_resting",
                type=bool,
                about="Whether it rests at a stop because it was asked to.",
                initial=False,
            ),
            Variable(
                name="part",
                type=int,
                about="Number of the part that is played or comes next, from 0.",
                initial=0,
            ),
        ),
        reads=("hot joint watch.is_warning",),
    )
    _part = 0
    _count = 0
    _is_asked = False
    """Whether somebody wants its resources."""

    @classmethod
    def needs_of(cls, parameters: DanceParameters, robot: Robot) -> tuple[str, ...]:
        """Return what the motion moves."""
        motion = robot.library.motion(parameters.motion)
        return resources_of_joints(robot, motion.joints)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: DanceParameters, robot: Robot
    ) -> None:
        """Refuse a motion that there is not, or that cannot be cut at its stops.

        Raises:
            UnknownName: the library has none of this name.
            BadInput: nobody knows where a joint is at a stop.
        """
        del waking
        parts_between_stops(robot.library.motion(parameters.motion), robot)

    def ready(self) -> bool:
        """Whether the robot is in the state in which the motion begins."""
        motion = self.robot.library.motion(self.parameters.motion)
        return self.is_in_state_of(motion.start)

    def start(self) -> None:
        """Begin, or resume from the stop at which it was, if the robot is still there.

        Raises:
            UnknownName: the library has no such motion.
            BadInput: it cannot be cut at its stops.
        """
        now = self.parameters
        motion = self.robot.library.motion(now.motion)
        self._parts = parts_between_stops(motion, self.robot)
        self._playing: Playing | None = None
        if not self._is_where_it_stopped():
            self._part = 0
        self.wake("hot joint watch", limit_degc=now.limit_degc, warn_s=now.warn_s)

    def on_demand(self, demand: Demand) -> None:
        """Note that somebody asks; the next stop is soon enough (RM-36)."""
        del demand
        self._is_asked = True

    def stop(self) -> None:
        """Forget who asked."""
        self._is_asked = False

    def on_modulated(self) -> None:
        """Take over new limits at the next start; the wish to stop counts at once."""

    def iterate(self) -> None:
        """At the end of a part rest, go on, or finish.

        Raises:
            NotPlayed: a part was not played to its end.
        """
        if self._playing is not None:
            if not self._playing.is_over:
                return
            name, failed = self._parts[self._part].name, self._playing.has_failed
            if failed:
                reason = self._playing.reason
                self._playing = None
                raise NotPlayed(f"{name!r} was not played to its end: {reason}")
            self._playing = None
            self._part += 1
            if self._part == len(self._parts):
                self._part = 0
                self._count += 1
                if 0 < self.parameters.repeat <= self._count:
                    self._count = 0
                    self.finish()
                    return
        is_hot = bool(self.read("hot joint watch.is_warning"))
        if self._is_asked:
            self.finish()
            return
        rests = self.parameters.stop or is_hot
        self.write("is_resting", rests)
        self.write("part", self._part)
        if not rests:
            self._playing = self.play(self._parts[self._part])

    def _is_where_it_stopped(self) -> bool:
        if not 0 < self._part < len(self._parts):
            return False
        q = self.observation.q
        where: dict[str, float] = {}
        for part in self._parts[: self._part]:
            where |= angles_at_end(part)
        return all(
            abs(float(q[self.robot.joint_index(joint)]) - angle)
            <= radians(STILL_THERE_DEG)
            for joint, angle in where.items()
        )
