"""Forms of the files of a robot's library: DB1 to DB5.

A scenario file has the same sections. `models.load.library_files` checks the values and
converts them to data.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from nao_testbed.models.files.documented import Documented
from nao_testbed.models.library import LONGEST_TEXT, PRESET, Interpolation, Unit
from nao_testbed.models.values import LONGEST_ENTRY_S, Real, ResourceName

HIGHEST_TONE_HZ = 8000.0
"""Half the sample rate of speech."""
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
"""Name of a motion, light, sound or command; may contain spaces inside."""
Colour = Annotated[str, AfterValidator(_colour)]
Part = Annotated[int, Field(strict=True, ge=1)]


class MotionForm(Documented):
    """Keyframes of joints in time (DB3)."""

    start: Annotated[EntryName | None, Field(alias="from")] = None
    """Posture at the start; absent: any posture."""
    end: Annotated[EntryName | None, Field(alias="to")] = None
    """Posture at the end; absent: not a stored one."""
    interpolation: Interpolation = Interpolation.CUBIC
    """`cubic` (zero speed at both ends and at reversals) or `linear`."""
    postures: tuple[tuple[Span, EntryName], ...] = ()
    """Whole postures: [time in s, posture]."""
    joints: tuple[EntryName, ...] = ()
    """Joints or joint groups that `postures` move; absent: all."""
    angles_deg: dict[
        EntryName, Annotated[tuple[tuple[Span, Real], ...], Field(min_length=1)]
    ] = Field(default={})
    """Joint to [time in s, angle in degrees]; such a joint ignores `postures`."""
    stops_s: tuple[Span, ...] = ()
    """Times in s at which the robot is stable and may pause."""


class LightStepForm(Documented):
    """Fade of some LEDs to a colour."""

    at_s: Moment
    """Time since the start of the pattern, in s."""
    leds: Annotated[tuple[EntryName, ...], Field(min_length=1)]
    """LEDs of the resource tree, leaves or composites."""
    colour: Colour
    """`"#rrggbb"`."""
    fade_s: Moment = 0.0
    """Duration of the fade, in s; 0: at once."""


class LightForm(Documented):
    """Colours of LEDs in time (DB4)."""

    steps: Annotated[tuple[LightStepForm, ...], Field(min_length=1)]
    """Fades, each with its start time."""
    length_s: Span | None = None
    """Duration in s; absent: until the end of the last fade."""


class SoundForm(Documented):
    """Spoken text or tone (DB5)."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)] | None = None
    """Text to say."""
    tone_hz: Annotated[float, Field(gt=0.0, lt=HIGHEST_TONE_HZ)] | None = None
    """Frequency of a tone in Hz."""
    length_s: Span | None = None
    """Length of a tone, in s."""
    volume: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """Fraction of full scale."""


class CommandForm(Documented):
    """Outputs of a command to the units (DB1)."""

    motion: EntryName | None = None
    """Name of a motion."""
    to: EntryName | None = None
    """Target posture instead of a motion, reached by transitions from any posture."""
    light: EntryName | None = None
    """Name of a light pattern."""
    sound: EntryName | None = None
    """Name of a sound."""
    points: dict[Unit, Part] | None = None
    """Points of each output: all outputs start together. Absent: each output starts
    independently."""
    preset: Part = PRESET
    """Sum of the points."""

    @property
    def outputs(self) -> dict[Unit, str]:
        """Unit to the name of its output, for the units in use."""
        named = {
            Unit.MOTION: self.motion,
            Unit.LIGHT: self.light,
            Unit.SOUND: self.sound,
        }
        return {unit: name for unit, name in named.items() if name is not None}

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units in use."""
        moves = () if self.to is None else (Unit.MOTION,)
        return tuple(unit for unit in Unit if unit in {*moves, *self.outputs})


class TransitionForm(Documented):
    """Motion from one posture to another (DB2)."""

    start: Annotated[EntryName, Field(alias="from")]
    """Start posture."""
    end: Annotated[EntryName, Field(alias="to")]
    """End posture."""
    motion: EntryName
    """Name of the motion."""


class LibraryForm(Documented):
    """Part of a library; each section may be absent."""

    motions: dict[EntryName, MotionForm] = Field(default={})
    """Name to motion."""
    lights: dict[EntryName, LightForm] = Field(default={})
    """Name to light pattern."""
    sounds: dict[EntryName, SoundForm] = Field(default={})
    """Name to sound."""
    commands: dict[EntryName, CommandForm] = Field(default={})
    """Name to command."""
    transitions: tuple[TransitionForm, ...] = ()
    """Transitions between postures, at most one per pair."""
