"""The built-in voice: syllables that sound and last like speech.

It needs no library and is not meant to be understood: an `e` is an `e`, but there is no
pronunciation of words. Rhythm, length and melody are those of speech: five syllables a
second, pauses at the marks, a pitch that falls, and rises before a question mark.
"""

import numpy as np
from numpy.typing import NDArray

from controllers.voice.formants import buzz, consonant, vowel
from controllers.voice.seam import SAMPLE_RATE_HZ
from controllers.voice.syllables import Phrase, Syllable, phrases_of
from models import BadInput

FloatArray = NDArray[np.float64]

SYLLABLE_S = 0.2
"""Length of a syllable in s: people say four to six of them in a second."""
CONSONANT_S = 0.04
"""What a consonant takes of it, in s, the first two on each side of the vowel."""
PITCH_HZ = (130.0, 95.0)
"""Pitch at the beginning and the end of a phrase, in Hz."""
QUESTION_HZ = 180.0
"""Pitch at the end of a question, in Hz."""
PEAK = 0.8
"""Loudest sample of a text."""


class SyllableVoice:
    """Says a text in syllables; implements `Voice`."""

    sample_rate_hz = SAMPLE_RATE_HZ

    def render(self, text: str) -> FloatArray:
        """Return a text as sound, 0.2 s a syllable and 0.2 or 0.4 s a pause.

        Raises:
            BadInput: there is no letter and no digit in it.
        """
        phrases = phrases_of(text)
        if not phrases:
            raise BadInput(f"nothing to say in {text!r}; give a letter or a digit.")
        parts = [part for phrase in phrases for part in _said(phrase)]
        sound: FloatArray = np.concatenate(parts)
        return sound * (PEAK / float(np.abs(sound).max()))


def _said(phrase: Phrase) -> list[FloatArray]:
    n, count = round(SYLLABLE_S * SAMPLE_RATE_HZ), len(phrase.syllables)
    pitch = np.linspace(*PITCH_HZ, n * count)
    if phrase.is_question:
        pitch[-n:] = np.linspace(pitch[-n], QUESTION_HZ, n)
    pulses = buzz(pitch, SAMPLE_RATE_HZ).reshape(count, n)
    said = [
        _syllable(syllable, source)
        for syllable, source in zip(phrase.syllables, pulses, strict=True)
    ]
    return [*said, np.zeros(round(phrase.pause_s * SAMPLE_RATE_HZ))]


def _syllable(syllable: Syllable, source: FloatArray) -> FloatArray:
    """Return a syllable as long as its source."""
    n = round(CONSONANT_S * SAMPLE_RATE_HZ)
    begin = n * min(len(syllable.onset), 2)
    end = len(source) - n * min(len(syllable.coda), 2)
    parts = []
    if syllable.onset:
        parts.append(consonant(source[:begin], syllable.onset, SAMPLE_RATE_HZ))
    parts.append(vowel(source[begin:end], syllable.vowels, SAMPLE_RATE_HZ))
    if syllable.coda:
        parts.append(consonant(source[end:], syllable.coda, SAMPLE_RATE_HZ))
    return np.concatenate(parts)
