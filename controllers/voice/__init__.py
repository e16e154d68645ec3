"""What a robot says, as samples.

seam            a voice makes samples of a text
syllable_voice  the built-in one: rhythm of speech, no words
espeak_voice    words that people understand, with the extra `speech`
tone            a plain tone
"""

from controllers.voice.espeak_voice import EspeakVoice
from controllers.voice.seam import SAMPLE_RATE_HZ, Voice
from controllers.voice.syllable_voice import SyllableVoice
from controllers.voice.tone import tone
from models import UnknownName

VOICES = ("syllables", "espeak")
"""Names of the voices. What is said takes another time with each, so nothing changes
from one to the other unasked."""


def make_voice(name: str = VOICES[0]) -> Voice:
    """Return a voice by its name.

    Raises:
        UnknownName: there is no such voice.
        BadInput: it needs an extra that is not installed.
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
