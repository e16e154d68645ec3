"""Greets: speech, lights and the right arm in one instant, and two steps if it can.

The example of [ES2535273T3, F7]: speech and the arm are essential (RM-47), the legs are
not (RM-48, RM-49). With the legs it shifts its weight from foot to foot, which stands
for the two steps of a robot that does not walk here; without them it stays as it is.
"""

from dataclasses import dataclass

from controllers.schemas.actuators import Playing
from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.move import NotPlayed, needs_of_command
from controllers.schemas.library.needs import leaves_under
from controllers.schemas.library.state_minded import StateMinded
from controllers.schemas.variables import Variable
from controllers.schemas.waking import Waking
from models import Robot


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
        name="greet",
        about="Says hello, waves and lights its eyes together; with the legs if free.",
        period_s=0.02,
        parameters=GreetParameters,
        outputs=(
            Variable(
                name="takes_steps",
                type=bool,
                about="Whether it had the legs.",
                initial=False,
            ),
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
        """Refuse commands that there are not.

        Raises:
            UnknownName: the library has none of such a name.
        """
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
