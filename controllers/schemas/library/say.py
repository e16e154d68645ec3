"""Says something."""

from dataclasses import dataclass

from controllers.schemas.actuators import Playing
from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.move import NotPlayed, speaker_of
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.task import TaskSchema
from controllers.schemas.library.times import is_due
from controllers.schemas.waking import Waking
from models import BadInput, Robot
from models.library import LONGEST_TEXT


@dataclass(frozen=True, kw_only=True)
class SayParameters:
    """What is said, how loud and how often."""

    text: str = ""
    """What is said; without a letter or digit it is refused."""
    volume: float = 1.0
    """Fraction of full scale, in [0, 1]."""
    repeat: int = 1
    """How often; 0 for ever."""
    pause_s: float = 1.0
    """Time between two of them, in s."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("length of text", len(self.text), 0, LONGEST_TEXT, "letters")
        check_between("volume", self.volume, 0.0, 1.0)
        check_between("repeat", self.repeat, 0, 1_000_000)
        check_between("pause_s", self.pause_s, 0.0, 3600.0, "s")


class Say(TaskSchema[SayParameters]):
    """Takes the loudspeakers, speaks, and finishes."""

    info = SchemaInfo(
        name="say",
        about="Says a text.",
        period_s=0.02,
        parameters=SayParameters,
    )
    _count = 0

    @classmethod
    def needs_of(cls, parameters: SayParameters, robot: Robot) -> tuple[str, ...]:
        """Return the leaf of the loudspeakers."""
        del parameters
        return speaker_of(robot)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: SayParameters, robot: Robot
    ) -> None:
        """Refuse to say nothing.

        Raises:
            BadInput: no letter or digit is in the text.
        """
        del robot
        if not any(letter.isalnum() for letter in parameters.text):
            raise BadInput(f"{waking.name!r} has nothing to say; give it a text.")

    def start(self) -> None:
        """Begin to speak."""
        self._speech: Playing | None = None
        self._next_s = self.time_s
        self.iterate()

    def iterate(self) -> None:
        """Look whether it was said; say it again, or finish.

        Raises:
            NotPlayed: it was cut off, or never began.
        """
        now = self.parameters
        if self._speech is not None:
            if not self._speech.is_over:
                return
            if self._speech.has_failed:
                raise NotPlayed(f"{now.text!r} was not said: {self._speech.reason}")
            self._speech = None
            self._count += 1
            self._next_s = self.time_s + now.pause_s
            if 0 < now.repeat <= self._count:
                self.finish()
                return
        if is_due(self.time_s, self._next_s):
            self._speech = self.say(now.text, now.volume)

    def stop(self) -> None:
        """Count anew the next time."""
        self._count = 0
