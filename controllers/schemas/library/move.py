"""Motions, commands and words, once or several times: move, wave, greet, say.

`move` plays what the robot knows by heart: a motion, or a command of several outputs.

`greet` is the example of [ES2535273T3, F7]: speech, lights and the right arm in one
instant, and two steps if it can. Speech and the arm are essential, the legs are
not. With the legs it shifts its weight from foot to foot, which stands
for the two steps of a robot that does not walk here; without them it stays as it is.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

from nao_testbed.controllers.schemas.actuators import Playing
from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
    check_between,
)
from nao_testbed.controllers.schemas.library.common import (
    StateMinded,
    is_due,
    leaves_under,
    needs_of_command,
    resources_of_joints,
    speaker_of,
)
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.library import LONGEST_TEXT


class NotPlayed(TestbedError):
    """A motion, a light or a sound did not come to its end."""


P = TypeVar("P", bound=Parameters)


class Repeating(StateMinded[P]):
    """Plays something once or several times; derive from it.

    Its parameters have `repeat` and `pause_s`. Stopped it counts anew the next time.
    """

    _count = 0

    def play_once(self) -> Playing:
        """Begin to play."""
        raise NotImplementedError

    @property
    def unfinished(self) -> str:
        """What it says of what did not come to its end."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin to play."""
        self._playing: Playing | None = None
        self._next_s = self.time_s
        self.iterate()

    def iterate(self) -> None:
        """Look whether it is over; play it again, or finish.

        Raises:
            NotPlayed: it did not come to its end.
        """
        now: Any = self.parameters
        if self._playing is not None:
            if not self._playing.is_over:
                return
            if self._playing.has_failed:
                raise NotPlayed(f"{self.unfinished}: {self._playing.reason}")
            self._playing = None
            self._count += 1
            self._next_s = self.time_s + now.pause_s
            if 0 < now.repeat <= self._count:
                self.finish()
                return
        if is_due(self.time_s, self._next_s):
            self._playing = self.play_once()

    def stop(self) -> None:
        """Count anew the next time."""
        self._count = 0


@dataclass(frozen=True, kw_only=True)
class MoveParameters(Parameters):
    """What is played, and how often."""

    motion: str = ""
    """Name of a motion of the library; give this or a command."""
    command: str = ""
    """Name of a command of the library."""
    group: str = ""
    """What a command's outputs are known by if they start together; empty takes the
    command's name."""
    repeat: int = bounded(1, 0, 1_000_000)
    """How often; 0 for ever."""
    interrupt: str = ""
    """Name of a command with one output: given by a modulation while this plays, it is
    joined on at once, and what is played goes on after it."""
    pause_s: float = bounded(0.0, 0.0, 3600.0, "s")
    """Time between the end of one and the begin of the next, in s."""

    def __post_init__(self) -> None:
        """Refuse two things at once, and numbers out of range."""
        super().__post_init__()
        if self.motion and self.command:
            raise BadInput(
                f"motion {self.motion!r} and command {self.command!r}; give one of "
                "them."
            )


class Move(Repeating[MoveParameters]):
    """Plays it with the resources that it takes, and finishes.

    Revoked in the middle it begins anew when it has them again. It is ready in the
    state in which its motion begins, a command also where a way leads there: whoever
    lets it go that way gives it the `needs` of the way too.
    """

    info = SchemaInfo(
        "move",
        "Plays a motion or a command of the library.",
        period_s=0.02,
        parameters=MoveParameters,
    )
    _interrupts = False
    _between: Playing | None = None

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
        """Refuse to play nothing, or what there is not."""
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
        self._interrupts, self._between = False, None
        super().start()

    def on_modulated(self) -> None:
        """Note that it is to be interrupted."""
        self._interrupts = bool(self.parameters.interrupt)

    def iterate(self) -> None:
        """Join an interrupt on; while there is none, play."""
        if self._interrupts:
            self._interrupts = False
            self._between = self.interrupt(self.parameters.interrupt)
        if self._between is None or self._between.is_over:
            super().iterate()

    def play_once(self) -> Playing:
        """Give the command, or play the motion."""
        now = self.parameters
        if now.command:
            return self.command(now.command, now.group or None)
        return self.play(now.motion)

    @property
    def unfinished(self) -> str:
        """Name what was not played."""
        name = self.parameters.motion or self.parameters.command
        return f"{name!r} was not played to its end"


@dataclass(frozen=True, kw_only=True)
class WaveParameters(MoveParameters):
    """What is played, and how often."""

    motion: str = "wave"
    """Name of a motion of the library."""


class Wave(Move):
    """Takes the right arm, or whatever the motion moves, and waves."""

    info = SchemaInfo("wave", "Waves.", period_s=0.02, parameters=WaveParameters)


@dataclass(frozen=True, kw_only=True)
class GreetParameters:
    """What it does, with the legs and without."""

    command: str = "say hello and wave"
    """Command of the library whose resources are essential."""
    with_steps: str = "say hello, wave and shift weight"
    """Command that is given instead if what it takes more is free; empty: none."""
    group: str = ""
    """What the outputs are known by; empty takes the command's name."""


class Greet(StateMinded[GreetParameters]):
    """Gives one of its two commands, and finishes."""

    info = SchemaInfo(
        "greet",
        "Says hello, waves and lights its eyes together; with the legs if free.",
        period_s=0.02,
        parameters=GreetParameters,
        outputs=(
            Variable("takes_steps", bool, "Whether it had the legs.", initial=False),
        ),
    )

    @classmethod
    def needs_of(cls, parameters: GreetParameters, robot: Robot) -> tuple[str, ...]:
        """Return what the command without steps takes."""
        return needs_of_command(robot, parameters.command)

    @classmethod
    def optional_of(cls, parameters: GreetParameters, robot: Robot) -> tuple[str, ...]:
        """Return what the steps take more."""
        if not parameters.with_steps:
            return ()
        needs = set(leaves_under(robot, needs_of_command(robot, parameters.command)))
        more = needs_of_command(robot, parameters.with_steps)
        return tuple(
            name for name in more if not needs & set(leaves_under(robot, (name,)))
        )

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: GreetParameters, robot: Robot
    ) -> None:
        """Refuse commands that there are not."""
        del waking
        cls.needs_of(parameters, robot)
        cls.optional_of(parameters, robot)

    def ready(self) -> bool:
        """Whether the robot is where the command begins, or a way leads there."""
        return self.can_follow(self.parameters.command)

    def start(self) -> None:
        """Give the command that fits what it has obtained."""
        now = self.parameters
        takes_steps = bool(now.with_steps) and set(self.obtained) >= set(
            leaves_under(self.robot, needs_of_command(self.robot, now.with_steps))
        )
        self.write("takes_steps", takes_steps)
        self._name = now.with_steps if takes_steps else now.command
        self._playing: Playing = self.command(self._name, now.group or None)

    def iterate(self) -> None:
        """Finish when it is over.

        Raises:
            NotPlayed: it did not come to its end.
        """
        if not self._playing.is_over:
            return
        if self._playing.has_failed:
            raise NotPlayed(
                f"{self._name!r} was not played to its end: {self._playing.reason}"
            )
        self.finish()


@dataclass(frozen=True, kw_only=True)
class SayParameters(Parameters):
    """What is said, how loud and how often."""

    text: str = ""
    """What is said; without a letter or digit it is refused."""
    volume: float = bounded(1.0, 0.0, 1.0)
    """Fraction of full scale, in [0, 1]."""
    repeat: int = bounded(1, 0, 1_000_000)
    """How often; 0 for ever."""
    pause_s: float = bounded(1.0, 0.0, 3600.0, "s")
    """Time between two of them, in s."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        super().__post_init__()
        check_between("length of text", len(self.text), 0, LONGEST_TEXT, "letters")


class Say(Repeating[SayParameters]):
    """Takes the loudspeakers, speaks, and finishes."""

    info = SchemaInfo("say", "Says a text.", period_s=0.02, parameters=SayParameters)

    @classmethod
    def needs_of(cls, parameters: SayParameters, robot: Robot) -> tuple[str, ...]:
        """Return the leaf of the loudspeakers."""
        del parameters
        return speaker_of(robot)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: SayParameters, robot: Robot
    ) -> None:
        """Refuse to say nothing."""
        del robot
        if not any(letter.isalnum() for letter in parameters.text):
            raise BadInput(f"{waking.name!r} has nothing to say; give it a text.")

    def play_once(self) -> Playing:
        """Say the text."""
        return self.say(self.parameters.text, self.parameters.volume)

    @property
    def unfinished(self) -> str:
        """Name what was not said."""
        return f"{self.parameters.text!r} was not said"
