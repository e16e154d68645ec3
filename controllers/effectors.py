"""What lights and loudspeakers are told: a colour to fade to, and a slot of sound."""

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from models import BadInput
from models.real_numbers import as_number, as_numbers, short

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LedSetting:
    """A colour for one LED group, reached on a straight line from the present one."""

    colours: FloatArray
    """(channels,) for all LEDs of the group, or (count, channels) for each of them, in
    [0, 1]; kept as a read-only copy. Three channels are red, green and blue."""
    fade_s: float = 0.0
    """Time from the present colour to this one, in s; 0 is at once."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            BadInput: a brightness is outside [0, 1], the array has no channel or too
                many dimensions, or the fade is negative or endless.
        """
        colours = _frozen("colours of LEDs", self.colours)
        if colours.ndim not in {1, 2} or colours.size == 0:
            raise BadInput(
                f"colours of LEDs have shape {colours.shape}; give (channels,) for all "
                "LEDs of a group, or (count, channels)."
            )
        _check_within("colour of an LED", colours, 0.0)
        fade_s = as_number(self.fade_s)
        if fade_s is None or not 0.0 <= fade_s < inf:  # false for NaN
            given = short(self.fade_s) if fade_s is None else fade_s
            raise BadInput(
                f"fade of LEDs is {given} s; give 0 (at once) or a positive time."
            )
        object.__setattr__(self, "fade_s", fade_s)
        object.__setattr__(self, "colours", colours)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SoundChunk:
    """What is heard in one device slot: a sound goes out as a row of chunks."""

    samples: FloatArray = field(repr=False)
    """(n,) in [-1, 1], one channel; kept as a read-only copy."""
    sample_rate_hz: int
    """Samples in a second; one that the loudspeakers play."""
    label: str
    """What is being said or played, for the log."""
    is_last: bool = False
    """Whether the sound ends with it; one that stops before was cut off."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            BadInput: a sample is outside [-1, 1], there is none, the rate is not
                positive, or the label is empty.
        """
        samples = _frozen("samples of a sound", self.samples)
        if samples.ndim != 1 or samples.size == 0:
            raise BadInput(
                f"samples of a sound have shape {samples.shape}; give (n,), at least "
                "one."
            )
        _check_within("sample of a sound", samples, -1.0)
        rate = as_number(self.sample_rate_hz)
        if rate is None or not 1.0 <= rate < inf or rate % 1.0:  # true for NaN
            given = short(self.sample_rate_hz) if rate is None else f"{rate:g}"
            raise BadInput(
                f"sample rate is {given} Hz; give a positive one, a whole number "
                "such as 16000."
            )
        object.__setattr__(self, "sample_rate_hz", int(rate))
        if not isinstance(self.label, str):
            raise BadInput(f"label of a sound is {short(self.label)}; give a text.")
        if not self.label:
            raise BadInput("a sound has no label; say what is played, for the log.")
        object.__setattr__(self, "samples", samples)

    @property
    def length_s(self) -> float:
        """How long it is heard, in s."""
        return len(self.samples) / self.sample_rate_hz


def _frozen(what: str, values: FloatArray) -> FloatArray:
    """Return a read-only copy."""
    copy = as_numbers(values)
    if copy is None:
        raise BadInput(f"{what} are {short(values)}; give an array of numbers.")
    copy.setflags(write=False)
    return copy


def _check_within(what: str, values: FloatArray, lower: float) -> None:
    inside = (values >= lower) & (values <= 1.0)  # false for NaN
    if not inside.all():
        bad = values.flat[int(np.argmin(inside))]
        raise BadInput(f"{what} is {bad:g}; accepted: {lower:g} to 1.")
