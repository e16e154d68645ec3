"""Schemas for motions, frames, commands and speech: move, frames, wave, greet, say.

`move` plays a stored motion, or a command of several outputs. `frames` is the timeline
of [ES2535273T3, F1]: joint angles at a fixed rate, which a pause interrupts.

`greet` is the example of [ES2535273T3, F7]: speech, lights and the right arm at the
same time, and two steps if possible. Speech and the arm are essential, the legs are
not. With the legs the robot shifts its weight from foot to foot, which replaces the two
steps of a walking robot; without them it keeps its stance.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.actuators import Playing
from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
    check_between,
)
from nao_testbed.controllers.schemas.library.common import (
    PostureStateSchema,
    is_due,
    leaves_under,
    needs_of_command,
    resources_of_joints,
    speaker_of,
)
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.library import LONGEST_TEXT


class NotPlayed(TestbedError):
    """Motion, light or sound that did not reach its end."""


P = TypeVar("P", bound=Parameters)


class Repeating(PostureStateSchema[P]):
    """Base of a schema that plays an output once or several times.

    Its parameters have `repeat` and `pause_s`. After a stop it counts from zero.
    """

    _count = 0

    def play_once(self) -> Playing:
        """Start playing."""
        raise NotImplementedError

    @property
    def failure_text(self) -> str:
        """Return the error text for an incomplete output."""
        raise NotImplementedError

    def start(self) -> None:
        """Start playing."""
        self._playing: Playing | None = None
        self._next_s = self.time_s
        self.iterate()

    def iterate(self) -> None:
        """Check whether the output has ended; play it again, or finish.

        Raises:
            NotPlayed: it did not reach its end.
        """
        now: Any = self.parameters
        if self._playing is not None:
            if not self._playing.is_over:
                return
            if self._playing.has_failed:
                raise NotPlayed(f"{self.failure_text}: {self._playing.reason}")
            self._playing = None
            self._count += 1
            self._next_s = self.time_s + now.pause_s
            if 0 < now.repeat <= self._count:
                self.finish()
                return
        if is_due(self.time_s, self._next_s):
            self._playing = self.play_once()

    def stop(self) -> None:
        """Reset the count."""
        self._count = 0


@dataclass(frozen=True, kw_only=True)
class MoveParameters(Parameters):
    """Motion or command, and repetitions."""

    motion: str = ""
    """Name of a motion of the library; mutually exclusive with `command`."""
    command: str = ""
    """Name of a command of the library."""
    group: str = ""
    """Group name of a command's outputs, which start together; empty: the command's
    name."""
    repeat: int = bounded(1, 0, 1_000_000)
    """Number of repetitions; 0: unlimited."""
    interrupt: str = ""
    """Name of a command with one output: set by a modulation during the motion, it
    is inserted at once, and the interrupted output continues after it."""
    pause_s: float = bounded(0.0, 0.0, 3600.0, "s")
    """Time between the end of one and the start of the next, in s."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.motion and self.command:
            raise BadInput(
                f"motion {self.motion!r} and command {self.command!r}; give one of "
                "them."
            )


class Move(Repeating[MoveParameters]):
    """Player of a motion or command with its resources; finishes at the end.

    After a revocation it restarts when it has the resources again. It is ready in the
    start state of its motion. A command is also ready if transitions lead to that
    state; then its `needs` must include the joints of the way.
    """

    info = SchemaInfo(
        "move",
        "Play a motion or a command of the library.",
        period_s=0.02,
        parameters=MoveParameters,
    )
    _interrupts = False
    _between: Playing | None = None

    @classmethod
    def needs_of(cls, parameters: MoveParameters, robot: Robot) -> tuple[str, ...]:
        """Return the resources of the motion or the command."""
        if parameters.command:
            return needs_of_command(robot, parameters.command)
        motion = robot.library.motion(parameters.motion) if parameters.motion else None
        return () if motion is None else resources_of_joints(robot, motion.joints)

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: MoveParameters, robot: Robot
    ) -> None:
        """Raise without an output, or for an unknown one."""
        if not (parameters.motion or parameters.command):
            raise BadInput(
                f"{activation.name!r} has nothing to play; set a motion or a command."
            )
        cls.needs_of(parameters, robot)
        if parameters.interrupt:
            robot.library.order(parameters.interrupt)

    def ready(self) -> bool:
        """Return True if the robot is in the start state."""
        now = self.parameters
        if now.command:
            return self.can_follow(now.command)
        return self.is_in_state_of(self.robot.library.motion(now.motion).start)

    def start(self) -> None:
        """Start playing."""
        self._interrupts, self._between = False, None
        super().start()

    def on_modulated(self) -> None:
        """Record an interrupt."""
        self._interrupts = bool(self.parameters.interrupt)

    def iterate(self) -> None:
        """Start a recorded interrupt; otherwise continue playing."""
        if self._interrupts:
            self._interrupts = False
            self._between = self.interrupt(self.parameters.interrupt)
        if self._between is None or self._between.is_over:
            super().iterate()

    def play_once(self) -> Playing:
        """Submit the command, or play the motion."""
        now = self.parameters
        if now.command:
            return self.command(now.command, now.group or None)
        return self.play(now.motion)

    @property
    def failure_text(self) -> str:
        """Return the error text with the name of the output."""
        name = self.parameters.motion or self.parameters.command
        return f"{name!r} was not completed"


@dataclass(frozen=True, kw_only=True)
class WaveParameters(MoveParameters):
    """Motion and repetitions."""

    motion: str = "wave"
    """Name of a motion of the library."""


class Wave(Move):
    """Schema that waves with the right arm."""

    info = SchemaInfo("wave", "Wave.", period_s=0.02, parameters=WaveParameters)


@dataclass(frozen=True, kw_only=True)
class FramesParameters(Parameters):
    """Joint angles of each frame, and the frame rate."""

    angles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Joint to its angle at each frame, in rad; the same number for each joint."""
    frames_per_second: float = bounded(15.0, 0.01, 1000.0, "1/s")
    """Frame rate, in 1/s."""

    def __post_init__(self) -> None:
        """Validate the numbers of frames, and the rate."""
        super().__post_init__()
        for joint, angles in self.angles.items():
            if not len(angles) == self.count > 0:
                raise BadInput(
                    f"{joint!r} has {len(angles)} angles where the longest joint has "
                    f"{self.count}; give one for each frame."
                )

    @property
    def count(self) -> int:
        """Number of frames."""
        return max(map(len, self.angles.values()), default=0)


class Frames(ActuationSchema[FramesParameters]):
    """Player of a timeline: a set-point for each joint at each frame.

    It holds its resources from the first frame to the last. After a pause it continues
    with the interrupted frame. Joints that are `optional` in its activation data, and
    were not free, are not commanded.
    """

    info = SchemaInfo(
        "frames",
        "Play joint angles frame by frame, and continue after a pause.",
        period_s=0.01,
        parameters=FramesParameters,
        outputs=(Variable("frame", int, "Index of the present frame.", initial=0),),
    )
    _played_s = 0.0
    """Playing time in s, without pauses."""

    @classmethod
    def needs_of(cls, parameters: FramesParameters, robot: Robot) -> tuple[str, ...]:
        """Return the resources of the joints."""
        return resources_of_joints(robot, tuple(parameters.angles))

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: FramesParameters, robot: Robot
    ) -> None:
        """Raise without frames, or for an unknown joint."""
        if not parameters.count:
            raise BadInput(f"{activation.name!r} has no frames; set joint angles.")
        for joint in parameters.angles:
            robot.joint_index(joint)

    def start(self) -> None:
        """Show the first frame, or the interrupted one."""
        self._shown, self._last_s = -1, self.time_s
        self.iterate()

    def iterate(self) -> None:
        """Show the frame of this slot; finish after the last."""
        self._played_s += self.time_s - self._last_s
        self._last_s, now = self.time_s, self.parameters
        frame = int(self._played_s * now.frames_per_second + 1e-6)
        if frame >= now.count:
            self.finish()
        elif frame != self._shown:
            has = self.obtained
            values = {j: angles[frame] for j, angles in now.angles.items() if j in has}
            self.submit_all(values)
            self.write("frame", frame)
            self._shown = frame

    def stop(self) -> None:
        """Restart with the first frame next time."""
        self._played_s = 0.0


@dataclass(frozen=True, kw_only=True)
class GreetParameters:
    """Commands with and without the legs."""

    command: str = "say hello and wave"
    """Command of the library whose resources are essential."""
    with_steps: str = "say hello, wave and shift weight"
    """Command used instead if its additional resources are free; empty: none."""
    group: str = ""
    """Group name of the outputs; empty: the command's name."""


class Greet(PostureStateSchema[GreetParameters]):
    """Schema that submits one of its two commands, and finishes."""

    info = SchemaInfo(
        "greet",
        "Say hello, wave and light the eyes together; use the legs if free.",
        period_s=0.02,
        parameters=GreetParameters,
        outputs=(
            Variable("takes_steps", bool, "True if it had the legs.", initial=False),
        ),
    )

    @classmethod
    def needs_of(cls, parameters: GreetParameters, robot: Robot) -> tuple[str, ...]:
        """Return the resources of the command without steps."""
        return needs_of_command(robot, parameters.command)

    @classmethod
    def optional_of(cls, parameters: GreetParameters, robot: Robot) -> tuple[str, ...]:
        """Return the additional resources of the steps."""
        if not parameters.with_steps:
            return ()
        needs = set(leaves_under(robot, needs_of_command(robot, parameters.command)))
        step_needs = needs_of_command(robot, parameters.with_steps)
        return tuple(
            name for name in step_needs if not needs & set(leaves_under(robot, (name,)))
        )

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: GreetParameters, robot: Robot
    ) -> None:
        """Raise for an unknown command."""
        del activation
        cls.needs_of(parameters, robot)
        cls.optional_of(parameters, robot)

    def ready(self) -> bool:
        """Return True if the robot is in the start state, or transitions lead there."""
        return self.can_follow(self.parameters.command)

    def start(self) -> None:
        """Submit the command that matches the obtained resources."""
        now = self.parameters
        takes_steps = bool(now.with_steps) and set(self.obtained) >= set(
            leaves_under(self.robot, needs_of_command(self.robot, now.with_steps))
        )
        self.write("takes_steps", takes_steps)
        self._name = now.with_steps if takes_steps else now.command
        self._playing: Playing = self.command(self._name, now.group or None)

    def iterate(self) -> None:
        """Finish at the end of the command.

        Raises:
            NotPlayed: it did not reach its end.
        """
        if not self._playing.is_over:
            return
        if self._playing.has_failed:
            raise NotPlayed(f"{self._name!r} was not completed: {self._playing.reason}")
        self.finish()


@dataclass(frozen=True, kw_only=True)
class SayParameters(Parameters):
    """Text, volume and repetitions."""

    text: str = ""
    """Text to speak, with at least one letter or digit."""
    volume: float = bounded(1.0, 0.0, 1.0)
    """Share of full scale, in [0, 1]."""
    repeat: int = bounded(1, 0, 1_000_000)
    """Number of repetitions; 0: unlimited."""
    pause_s: float = bounded(1.0, 0.0, 3600.0, "s")
    """Time between repetitions, in s."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("length of text", len(self.text), 0, LONGEST_TEXT, "letters")


class Say(Repeating[SayParameters]):
    """Schema that speaks a text with the loudspeakers, and finishes."""

    info = SchemaInfo("say", "Speak a text.", period_s=0.02, parameters=SayParameters)

    @classmethod
    def needs_of(cls, parameters: SayParameters, robot: Robot) -> tuple[str, ...]:
        """Return the leaf of the loudspeakers."""
        del parameters
        return speaker_of(robot)

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: SayParameters, robot: Robot
    ) -> None:
        """Raise BadInput for a text without letters and digits."""
        del robot
        if not any(letter.isalnum() for letter in parameters.text):
            raise BadInput(f"{activation.name!r} has nothing to say; set a text.")

    def play_once(self) -> Playing:
        """Start the text."""
        return self.say(self.parameters.text, self.parameters.volume)

    @property
    def failure_text(self) -> str:
        """Return the error text."""
        return f"{self.parameters.text!r} was not spoken completely"
