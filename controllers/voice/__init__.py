"""What a robot says, as samples.

seam            a voice makes samples of a text
syllable_voice  the built-in one: rhythm of speech, no words
tone            a plain tone
"""

from controllers.voice.seam import SAMPLE_RATE_HZ, Voice
from controllers.voice.syllable_voice import SyllableVoice
from controllers.voice.tone import tone

__all__ = ["SAMPLE_RATE_HZ", "SyllableVoice", "Voice", "tone"]
