"""A plain tone."""

from math import tau

import numpy as np
from numpy.typing import NDArray

from controllers.voice.seam import SAMPLE_RATE_HZ
from models import BadInput
from models.rows import LONGEST_ENTRY_S

FloatArray = NDArray[np.float64]

RAMP_S = 0.005
"""Time in which a tone rises and falls, in s: without it one hears a click."""


def tone(
    frequency_hz: float, length_s: float, sample_rate_hz: int = SAMPLE_RATE_HZ
) -> FloatArray:
    """Return a sine of full scale, with raised-cosine ends.

    Args:
        frequency_hz: below half the sample rate.
        length_s: in s, to the nearest sample.
        sample_rate_hz: samples in a second.

    Returns:
        (n,) samples in [-1, 1].

    Raises:
        BadInput: the frequency cannot be heard so, or there is no whole sample.
    """
    if not 0.0 < frequency_hz < sample_rate_hz / 2:
        raise BadInput(
            f"tone of {frequency_hz:g} Hz; at {sample_rate_hz} samples a second give "
            f"more than 0 and less than {sample_rate_hz / 2:g} Hz."
        )
    if not 1.0 / sample_rate_hz <= length_s <= LONGEST_ENTRY_S:
        raise BadInput(
            f"tone of {length_s} s; give a positive time up to {LONGEST_ENTRY_S:g} s."
        )
    n = round(length_s * sample_rate_hz)
    t = np.arange(n) / sample_rate_hz
    ends = raised_ends(n, round(RAMP_S * sample_rate_hz))
    return ends * np.sin(tau * frequency_hz * t)


def raised_ends(n: int, ramp: int) -> FloatArray:
    """Return an envelope that rises and falls as a raised cosine.

    Args:
        n: samples of the whole.
        ramp: samples from 0 to 1, and from 1 to 0.
    """
    place = np.arange(n)
    from_end = np.minimum(place, place[::-1]) / max(ramp, 1)
    envelope: FloatArray = 0.5 - 0.5 * np.cos(np.pi * np.minimum(from_end, 1.0))
    return envelope
