"""Sound samples: voice interface, tones, and speech by source and filter.

A vowel or consonant is a buzz through resonators, or a hiss.

    y(n) = a x(n) + b y(n-1) + c y(n-2)
    c = -r²,  b = 2 r cos θ,  a = 1 - b - c,  r = exp(-π B / f_s),  θ = 2 π F / f_s

is a resonator of frequency F and bandwidth B [klatt1980, eq. 1 and 2]; three of them in
series make a vowel. Their frequencies are those of men [peterson1952, table II]. It is
computed by its impulse response h(n) = a r^n sin((n + 1) θ) / sin θ.
"""

from functools import cache
from math import cos, exp, pi, sin, tau
from typing import Protocol

import numpy as np

from nao_testbed.models import BadInput
from nao_testbed.models.values import LONGEST_ENTRY_S, FloatArray

SAMPLE_RATE_HZ = 16000
"""Sample rate of all generated sounds in Hz, supported by every loudspeaker of a
NAO."""


class Voice(Protocol):
    """Deterministic text to speech: the same text always gives the same samples."""

    @property
    def sample_rate_hz(self) -> int:
        """Samples per second."""

    def render(self, text: str) -> FloatArray:
        """Convert a text to sound.

        Args:
            text: text to speak.

        Returns:
            (n,) samples in [-1, 1], one channel, of duration n / sample_rate_hz.

        Raises:
            BadInput: the text has nothing to pronounce.
        """


RAMP_S = 0.005
"""Rise and fall time of a tone in s, which avoids an audible click."""


def tone(
    frequency_hz: float, length_s: float, sample_rate_hz: int = SAMPLE_RATE_HZ
) -> FloatArray:
    """Return a sine of full scale, with raised-cosine ends.

    Args:
        frequency_hz: below half the sample rate.
        length_s: length in s, to the nearest sample.
        sample_rate_hz: samples per second.

    Returns:
        (n,) samples in [-1, 1].

    Raises:
        BadInput: the frequency is out of range, or the length is under one sample.
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
        n: total number of samples.
        ramp: samples from 0 to 1, and from 1 to 0.
    """
    place = np.arange(n)
    from_end = np.minimum(place, place[::-1]) / max(ramp, 1)
    envelope: FloatArray = 0.5 - 0.5 * np.cos(np.pi * np.minimum(from_end, 1.0))
    return envelope


VOWEL_HZ = {
    "a": (730.0, 1090.0, 2440.0),
    "e": (530.0, 1840.0, 2480.0),
    "i": (270.0, 2290.0, 3010.0),
    "o": (570.0, 840.0, 2410.0),
    "u": (300.0, 870.0, 2240.0),
    "y": (270.0, 2290.0, 3010.0),
}
"""Letter to the first three formants in Hz, those of the vowels in hod, head, heed,
hawed and who'd."""
NASAL_HZ = (270.0, 1000.0, 2200.0)
"""Formants of voiced consonants, in Hz: a vowel with its mouth closed."""
BANDWIDTH_HZ = (50.0, 70.0, 110.0)
"""Bandwidths of the three formants, in Hz: the default values of [klatt1980]."""
STOPS, BURST_HZ, SILENCE = "bcdgjkpqt", 2500.0, 0.5
"""Consonants that are silent for this share of their time, followed by a burst."""
TILT = 0.9
"""Pole of the low pass that converts an impulse to a glottal pulse."""
VOWEL_LEVEL, HUM_LEVEL, NOISE_LEVEL = 1.0, 0.4, 0.25
"""Root mean squares of vowels, voiced consonants, and hisses and bursts."""
HISS_HZ = {"s": 5500.0, "z": 5500.0, "f": 4000.0, "v": 4000.0, "h": 1500.0, "x": 3000.0}
"""Frequency of maximum noise of a fricative, in Hz."""


def buzz(pitch_hz: FloatArray, rate_hz: int) -> FloatArray:
    """Return a train of glottal pulses of variable pitch, (n,)."""
    turns = np.floor(np.cumsum(pitch_hz) / rate_hz)
    pulses = np.diff(turns, prepend=-1.0)
    response: FloatArray = (1.0 - TILT) * TILT ** np.arange(len(pulses), dtype=float)
    return _convolved(pulses, response)


def noise(n: int) -> FloatArray:
    """Return deterministic white noise of -1 and 1, (n,)."""
    return np.resize(_longest_sequence(), n)


@cache
def _longest_sequence() -> FloatArray:
    """Return one full period of a 15-bit shift register."""
    register, bits = 1, []
    for _ in range(2**15 - 1):
        bits.append(register & 1)
        register = register >> 1 | ((register ^ register >> 1) & 1) << 14
    return 2.0 * np.array(bits) - 1.0


def resonate(
    sound: FloatArray, formants_hz: tuple[float, ...], rate_hz: int
) -> FloatArray:
    """Filter a sound by resonators in series."""
    k = np.arange(len(sound))
    for frequency, bandwidth in zip(formants_hz, BANDWIDTH_HZ, strict=False):
        r, theta = exp(-pi * bandwidth / rate_hz), tau * frequency / rate_hz
        a = 1.0 - 2.0 * r * cos(theta) + r**2
        sound = _convolved(sound, a * r**k * np.sin((k + 1) * theta) / sin(theta))
    return sound


def vowel(sound: FloatArray, letters: str, rate_hz: int) -> FloatArray:
    """Convert a buzz to a vowel, or to a glide from one vowel to another."""
    first, last = (
        _at_level(resonate(sound, VOWEL_HZ[x], rate_hz), VOWEL_LEVEL)
        for x in (letters[0], letters[-1])
    )
    share = np.linspace(0.0, 1.0, len(sound))
    glide: FloatArray = ((1.0 - share) * first + share * last) * _fade(len(sound))
    return glide


def consonant(sound: FloatArray, letters: str, rate_hz: int) -> FloatArray:
    """Convert a buzz to consonants that share its duration.

    Fricatives hiss; stops are silent and then burst; the others hum. Only the first
    four letters are used.
    """
    letters = letters[:4]
    parts = np.array_split(sound, len(letters))
    return np.concatenate(
        [
            _single_consonant(part, x, rate_hz)
            for part, x in zip(parts, letters, strict=True)
        ]
    )


def _single_consonant(sound: FloatArray, letter: str, rate_hz: int) -> FloatArray:
    n = len(sound)
    if letter in HISS_HZ:
        hiss = resonate(noise(n), (HISS_HZ[letter],), rate_hz)
        return _at_level(hiss, NOISE_LEVEL) * np.hanning(n)
    if letter in STOPS:
        burst = _at_level(resonate(noise(n), (BURST_HZ,), rate_hz), NOISE_LEVEL)
        place = np.linspace(0.0, 1.0, n)
        return burst * np.where(place > SILENCE, (1.0 - place) / (1.0 - SILENCE), 0.0)
    return _at_level(resonate(sound, NASAL_HZ, rate_hz), HUM_LEVEL) * _fade(n)


def _fade(n: int) -> FloatArray:
    return raised_ends(n, n // 4)


def _convolved(sound: FloatArray, response: FloatArray) -> FloatArray:
    """Return a filtered sound, cut to the length of the sound."""
    n = len(sound)
    product = np.fft.rfft(sound, 2 * n) * np.fft.rfft(response, 2 * n)
    return np.fft.irfft(product, 2 * n)[:n]


def _at_level(sound: FloatArray, level: float) -> FloatArray:
    """Scale a sound to this root mean square."""
    present = np.sqrt(np.mean(sound**2))
    return sound * (level / present) if present > 0.0 else sound
