"""Speech synthesis: text to samples.

sounds          voice interface, a plain tone, and sounds by source and filter
syllable_voice  the built-in voice: rhythm of speech, no words
espeak_voice    intelligible words, with the extra `speech`
"""

from nao_testbed.controllers.transmitter.speech.espeak_voice import EspeakVoice
from nao_testbed.controllers.transmitter.speech.sounds import (
    SAMPLE_RATE_HZ,
    Voice,
    tone,
)
from nao_testbed.controllers.transmitter.speech.syllable_voice import SyllableVoice
from nao_testbed.models import UnknownName

VOICES = ("syllables", "espeak")
"""Names of the voices. The duration of a text depends on the voice, so the voice is
never changed implicitly."""


def make_voice(name: str = VOICES[0]) -> Voice:
    """Return the voice with a name.

    Raises:
        UnknownName: the voice does not exist.
        BadInput: the voice needs an extra that is not installed.
    """
    if name not in VOICES:
        raise UnknownName("Voice", name, VOICES, "this installation")
    return EspeakVoice() if name == "espeak" else SyllableVoice()


__all__ = [
    "SAMPLE_RATE_HZ",
    "VOICES",
    "EspeakVoice",
    "SyllableVoice",
    "Voice",
    "make_voice",
    "tone",
]
