"""What the files of a robot's library may say: the forms of DB1 to DB5.

A scenario file holds the same sections. `models.load.library_files` checks what the
values mean, `models.load.library_files` makes data of them.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from nao_testbed.models.library import LONGEST_TEXT, PRESET, Interpolation, Unit
from nao_testbed.models.values import LONGEST_ENTRY_S, Real, ResourceName

HIGHEST_TONE_HZ = 8000.0
"""Half the sample rate of what is spoken."""
Moment = Annotated[float, Field(ge=0.0, le=LONGEST_ENTRY_S, allow_inf_nan=False)]
Span = Annotated[float, Field(gt=0.0, le=LONGEST_ENTRY_S, allow_inf_nan=False)]
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


def _colour(text: str) -> str:
    if not _COLOUR.fullmatch(text):
        raise ValueError(
            'give red, green and blue as six hexadecimal digits in quotes, "#rrggbb", '
            'such as "#00ff00"'
        )
    return text


EntryName = ResourceName
"""Name of a motion, light, sound or command; may hold blanks inside."""
Colour = Annotated[str, AfterValidator(_colour)]
Part = Annotated[int, Field(strict=True, ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True
    )


class MotionForm(_Part):
    """Keyframes of joints in time (DB3)."""

    start: Annotated[EntryName | None, Field(alias="from")] = None
    """Posture in which it begins; absent: any."""
    end: Annotated[EntryName | None, Field(alias="to")] = None
    """Posture in which it ends; absent: none that is stored."""
    interpolation: Interpolation = Interpolation.CUBIC
    """`cubic` (at rest at both ends and where it turns) or `linear`."""
    postures: tuple[tuple[Span, EntryName], ...] = ()
    """Whole postures: [time in s, posture]."""
    joints: tuple[EntryName, ...] = ()
    """Joints or joint groups that `postures` move; absent: all."""
    angles_deg: dict[
        EntryName, Annotated[tuple[tuple[Span, Real], ...], Field(min_length=1)]
    ] = {}
    """Joint to [time in s, angle in degrees]; such a joint ignores `postures`."""
    stops_s: tuple[Span, ...] = ()
    """Times in s at which it may rest stably."""


class LightStepForm(_Part):
    """Some LEDs fade to a colour."""

    at_s: Moment
    """Since the start of the pattern, in s."""
    leds: Annotated[tuple[EntryName, ...], Field(min_length=1)]
    """LEDs of the resource tree, leaves or composites."""
    colour: Colour
    """`"#rrggbb"`."""
    fade_s: Moment = 0.0
    """Time that the fade takes, in s; 0: at once."""


class LightForm(_Part):
    """Colours of LEDs in time (DB4)."""

    steps: Annotated[tuple[LightStepForm, ...], Field(min_length=1)]
    """Colours, each from its time on."""
    length_s: Span | None = None
    """Time that it takes, in s; absent: until the last fade is over."""


class SoundForm(_Part):
    """Something that is said, or a tone (DB5)."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)] | None = None
    """What is said."""
    tone_hz: Annotated[float, Field(gt=0.0, lt=HIGHEST_TONE_HZ)] | None = None
    """Frequency of a tone in Hz."""
    length_s: Span | None = None
    """Of a tone, in s."""
    volume: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """Fraction of full scale."""


class CommandForm(_Part):
    """What a command makes the units do (DB1)."""

    motion: EntryName | None = None
    """Name of a motion."""
    to: EntryName | None = None
    """In the place of a motion: the posture to which transitions lead from wherever."""
    light: EntryName | None = None
    """Name of a light pattern."""
    sound: EntryName | None = None
    """Name of a sound."""
    points: dict[Unit, Part] | None = None
    """Points of each output: all start in one instant. Absent: each by itself."""
    preset: Part = PRESET
    """What the points sum to."""

    @property
    def outputs(self) -> dict[Unit, str]:
        """Unit to the name of what it does, for the units that are named."""
        named = {
            Unit.MOTION: self.motion,
            Unit.LIGHT: self.light,
            Unit.SOUND: self.sound,
        }
        return {unit: name for unit, name in named.items() if name is not None}

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that do something."""
        moves = () if self.to is None else (Unit.MOTION,)
        return tuple(unit for unit in Unit if unit in {*moves, *self.outputs})


class TransitionForm(_Part):
    """A motion that leads from one posture to another (DB2)."""

    start: Annotated[EntryName, Field(alias="from")]
    """Posture."""
    end: Annotated[EntryName, Field(alias="to")]
    """Posture."""
    motion: EntryName
    """Name of the motion."""


class LibraryForm(_Part):
    """Any part of a library; each section may be absent."""

    motions: dict[EntryName, MotionForm] = {}
    """Motions by name."""
    lights: dict[EntryName, LightForm] = {}
    """Light patterns by name."""
    sounds: dict[EntryName, SoundForm] = {}
    """Sounds by name."""
    commands: dict[EntryName, CommandForm] = {}
    """Commands by name."""
    transitions: tuple[TransitionForm, ...] = ()
    """Ways between postures; at most one from one posture to another."""
