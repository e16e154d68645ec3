"""Built-in voice: syllables with the sound and duration of speech.

It needs no library and is not intelligible: an `e` sounds like an `e`, but words are
not pronounced. Rhythm, length and melody are those of speech: five syllables per
second, pauses at punctuation marks, and a falling pitch that rises before a question
mark.

Letters are read roughly as in English: a group of vowels is one syllable, `e` at the
end of a word and in `-ed` is silent, `u` after `q` too. Digits are spoken one by one, a
word without a vowel letter by letter. A letter of another alphabet is a syllable.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nao_testbed.controllers.transmitter.speech.sounds import (
    SAMPLE_RATE_HZ,
    buzz,
    consonant,
    vowel,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray

VOWELS = "aeiouy"
PAUSES_S = {",": 0.2, ";": 0.2, ":": 0.2, ".": 0.4, "!": 0.4, "?": 0.4}
"""Silence after a punctuation mark, in s."""
_DIGITS = (
    *("zero", "one", "two", "three", "four"),
    *("five", "six", "seven", "eight", "nine"),
)
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d|[,;:.!?]+(?=\s|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Syllable:
    """Vowel with the consonants around it, in letters a to z."""

    onset: str
    vowels: str
    """One letter, or two between which the voice glides."""
    coda: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrase:
    """Syllables of one breath, and the silence after them."""

    syllables: tuple[Syllable, ...]
    pause_s: float
    is_question: bool


def phrases_of(text: str) -> tuple[Phrase, ...]:
    """Split a text into phrases; none if it has nothing to pronounce.

    The last phrase has no pause: it depends on the next text.
    """
    phrases = list(_phrases(text))
    if phrases:
        phrases[-1] = replace(phrases[-1], pause_s=0.0)
    return tuple(phrases)


def syllables_of(word: str) -> tuple[Syllable, ...]:
    """Return the syllables of a word in any alphabet; at least one."""
    letters = re.sub("['’]", "", _without_marks(word).lower())
    plain = re.sub("[^a-z]", " a ", letters)
    return tuple(x for part in plain.split() for x in _syllables(part))


def _phrases(text: str) -> Iterator[Phrase]:
    syllables: list[Syllable] = []
    for token in (*_TOKEN.findall(_without_marks(text)), "."):
        if token[0] not in PAUSES_S:
            word = _DIGITS[int(token)] if token.isdecimal() else token
            syllables.extend(syllables_of(word))
        elif syllables:
            yield Phrase(
                syllables=tuple(syllables),
                pause_s=max(PAUSES_S[mark] for mark in token),
                is_question="?" in token,
            )
            syllables.clear()


def _without_marks(text: str) -> str:
    """Remove accents and other marks, and normalise the characters."""
    letters = unicodedata.normalize("NFKD", text)
    return "".join(x for x in letters if not unicodedata.combining(x))


def _syllables(letters: str) -> Iterator[Syllable]:
    nuclei = _nuclei(letters)
    if not nuclei:  # TTS: tee, tee, ess
        yield from (Syllable(onset=x, vowels="e", coda="") for x in letters)
        return
    begin = 0
    for i, (start, end) in enumerate(nuclei):
        stop = len(letters)
        if i + 1 < len(nuclei):  # the next gets the larger half of the consonants
            stop = end + (nuclei[i + 1][0] - end) // 2
        first, last = letters[start], letters[end - 1]
        yield Syllable(
            onset=letters[begin:start],
            vowels=first if first == last else first + last,
            coda="".join(x for x in letters[end:stop] if x not in VOWELS),
        )
        begin = stop


def _nuclei(letters: str) -> list[tuple[int, int]]:
    """Return start and end of the vowels of each syllable."""
    spoken = re.sub(r"^y(?=[aeiou])", "j", letters.replace("qu", "qw"))
    nuclei = [match.span() for match in re.finditer(f"[{VOWELS}]+", spoken)]
    is_silent = re.search(r"[^aeiouy]ed?$", spoken) and not re.search(
        r"[td]ed$|[^aeiouy]le$", spoken
    )
    if is_silent and len(nuclei) > 1:
        nuclei.pop()
    return nuclei


SYLLABLE_S = 0.2
"""Length of a syllable in s: speech has four to six per second."""
CONSONANT_S = 0.04
"""Length of a consonant in s, for the first two on each side of the vowel."""
PITCH_HZ = (130.0, 95.0)
"""Pitch at the start and the end of a phrase, in Hz."""
QUESTION_HZ = 180.0
"""Pitch at the end of a question, in Hz."""
PEAK = 0.8
"""Loudest sample of a text."""


class SyllableVoice:
    """Voice that speaks a text in syllables; implements `Voice`."""

    sample_rate_hz = SAMPLE_RATE_HZ

    def render(self, text: str) -> FloatArray:
        """Convert a text to sound: 0.2 s per syllable, and pauses of 0.2 or 0.4 s.

        Raises:
            BadInput: the text has no letter and no digit.
        """
        phrases = phrases_of(text)
        if not phrases:
            raise BadInput(f"nothing to say in {text!r}; give a letter or a digit.")
        parts = [part for phrase in phrases for part in _say_phrase(phrase)]
        sound: FloatArray = np.concatenate(parts)
        return sound * (PEAK / float(np.abs(sound).max()))


def _say_phrase(phrase: Phrase) -> list[FloatArray]:
    n, count = round(SYLLABLE_S * SAMPLE_RATE_HZ), len(phrase.syllables)
    pitch = np.linspace(*PITCH_HZ, n * count)
    if phrase.is_question:
        pitch[-n:] = np.linspace(pitch[-n], QUESTION_HZ, n)
    pulses = buzz(pitch, SAMPLE_RATE_HZ).reshape(count, n)
    said = [
        _say_syllable(syllable, source)
        for syllable, source in zip(phrase.syllables, pulses, strict=True)
    ]
    return [*said, np.zeros(round(phrase.pause_s * SAMPLE_RATE_HZ))]


def _say_syllable(syllable: Syllable, source: FloatArray) -> FloatArray:
    """Return the sound of a syllable with the length of its source."""
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
