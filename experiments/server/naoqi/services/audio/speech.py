"""ALTextToSpeech and ALAnimatedSpeech: speech on the robot's loudspeakers."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from nao_testbed.controllers.schemas.library.common import speaker_of
from nao_testbed.controllers.transmitter.commands.order import OutputSet
from nao_testbed.controllers.transmitter.speech.syllable_voice import (
    SYLLABLE_S,
    syllables_of,
)
from nao_testbed.experiments.server.naoqi.arguments import Value, in_range, known
from nao_testbed.experiments.server.naoqi.memory.memory_keys import CONSTANTS
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.served_robot import failed
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks, SharedPart
from nao_testbed.experiments.server.naoqi.services.programs import ClientOrder
from nao_testbed.models import BadInput
from nao_testbed.models.library import LONGEST_TEXT, Sound

TAG = re.compile(r"\\[a-zA-Z]+=?[^\\]*\\")
MARK = re.compile(r"\\mrk=(\d+)\\")
GESTURE = re.compile(r"\^[a-zA-Z]+\([^)]*\)|\^(?:stop|mode|call)?")
LANGUAGES = ("English", "French")
VOICES = ("syllables",)
USUAL: Mapping[str, float] = CONSTANTS["parameters of the voice"]
"""Parameters of the voice with their defaults."""
BODY_LANGUAGE = ("disabled", "random", "contextual")
"""Modes of the gestures of a speaking robot, by number."""


@dataclass
class VoiceSettings:
    """Voice settings of programs; stored only, except the volume."""

    language: str = "English"
    volume: float = 1.0
    parameters: dict[str, float] = field(default_factory=dict)


class Speech:
    """Queue of texts for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Create an empty queue."""
        self._parts, self._served = parts, parts.served
        self.voice = VoiceSettings()
        self.body_language = 0
        """Mode of the gestures, stored only."""
        self.output = 1.0
        """Volume of the loudspeakers, in [0, 1]."""
        self._waiting: list[ClientOrder] = []
        self._numbers = itertools.count(1)
        parts.served.each_slot.append(lambda tick, _: self._step(tick))
        parts.served.on_close.append(self._end_all)

    def say(self, client: str, text: str) -> Blocks:
        """Speak a text once the loudspeakers are free; return its future."""
        said = TAG.sub(" ", text)
        said = GESTURE.sub(" ", said).strip()
        if len(said) > LONGEST_TEXT:
            raise BadInput(
                f"a text has {len(said)} letters; give at most {LONGEST_TEXT}."
            )
        volume = self.voice.volume * self.output
        sound = Sound(name=said[:40] or "silence", text=said, volume=volume)
        is_silent = not any(letter.isalnum() for letter in said)
        leaves = () if is_silent else speaker_of(self._served.robot)
        marks = [int(mark) for mark in MARK.findall(text)]
        return self._enqueue(client, sound, said, leaves, marks)

    def tone(self, client: str, hz: float, volume: float, length_s: float) -> Blocks:
        """Play a tone once the loudspeakers are free."""
        said, volume = f"{hz:g} Hz", volume * self.output
        sound = Sound(name=said, tone_hz=hz, length_s=length_s, volume=volume)
        leaves = speaker_of(self._served.robot)
        return self._enqueue(client, sound, f"({said})", leaves)

    def _enqueue(
        self,
        client: str,
        sound: Sound,
        said: str,
        leaves: Sequence[str],
        marks: Sequence[int] = (),
    ) -> Blocks:
        """Queue a sound; without leaves it is silent, and ends when it is the first."""
        with self._served.access():
            number = next(self._numbers)
            owner = f"{client}/say {number}"
            output = OutputSet(name=sound.name, sound=sound)
            one = ClientOrder(self._served, owner, output, leaves, "the voice")
            self._waiting.append(one)
            self._raise("Status", [number, "enqueued"])

            def begun(_: Blocks) -> None:
                if one.has_begun:
                    self._raise("Status", [number, "started"])
                    self._raise("TextStarted", True)
                    self._raise("CurrentSentence", said)
                    self._raise_words(one, said)
                    for mark in marks:
                        self._raise("CurrentBookMark", mark)

            def ended(done: Blocks) -> None:
                self._waiting.remove(one)
                if one.has_begun:
                    self._served.event("say", said=said, by=owner)
                is_whole = not one.is_stopped and not failed(done)
                self._raise("Status", [number, "done" if is_whole else "stopped"])
                if is_whole:
                    self._raise("TextDone", True)
                elif one.is_stopped:
                    self._raise("TextInterrupted", True)

            one.started.add_done_callback(begun)
            one.done.add_done_callback(ended)
        return one.done

    def _raise_words(self, one: ClientOrder, said: str) -> None:
        """Raise CurrentWord for each word while a text is spoken, by its syllables."""

        def word(said: str) -> None:
            if one in self._waiting:
                self._raise("CurrentWord", said)

        time_s = 0.0
        for token in said.split():
            self._served.after(time_s, partial(word, token))
            time_s += SYLLABLE_S * len(syllables_of(token))

    def stop_all(self) -> None:
        """Stop the present text, and remove the queued ones."""
        for one in list(self._waiting):
            one.stop()

    def _end_all(self) -> None:
        for one in list(self._waiting):
            one.end()

    def _step(self, tick: int) -> None:
        for one in list(self._waiting):
            if one is self._waiting[0] and one.is_silent:
                one.end()
            else:
                one.step(tick)

    def _raise(self, event: str, value: object) -> None:
        self._parts.memory.raise_event(f"ALTextToSpeech/{event}", value)


class Language(ALService):
    """Service with the language of the voice."""

    _speech = SharedPart(Speech)

    def setLanguage(self, language: str) -> None:
        """Set the language; the voice sounds the same in each."""
        known("Language", language, LANGUAGES, "ALTextToSpeech")
        self._speech.voice.language = language

    def getLanguage(self) -> str:
        """Return the language."""
        return self._speech.voice.language


class ALTextToSpeech(Language):
    """Text to speech."""

    NAME = "ALTextToSpeech"

    def say(self, stringToSay: str, language: str = "") -> Blocks:
        """Speak a text, and wait until it ends."""
        if language:
            known("Language", language, LANGUAGES, "ALTextToSpeech")
        return self._speech.say(self._client.name, stringToSay)

    def stopAll(self) -> None:
        """Stop the present text, and remove the queued ones."""
        with self._served.access():
            self._speech.stop_all()

    def setVolume(self, volume: float) -> None:
        """Set the volume, from 0 to 1."""
        self._speech.voice.volume = in_range("volume", volume, 0.0, 1.0)

    def getVolume(self) -> float:
        """Return the volume."""
        return self._speech.voice.volume

    def setParameter(self, pEffectName: str, pEffectValue: float) -> None:
        """Store a parameter of the voice; it has no effect."""
        known("Parameter", pEffectName, USUAL, "ALTextToSpeech")
        self._client.pretended["ALTextToSpeech.setParameter"] += 1
        self._speech.voice.parameters[pEffectName] = pEffectValue

    def getParameter(self, pParameterName: str) -> float:
        """Return a parameter of the voice."""
        known("Parameter", pParameterName, USUAL, "ALTextToSpeech")
        parameters = self._speech.voice.parameters
        return parameters.get(pParameterName, USUAL[pParameterName])

    def resetSpeed(self) -> None:
        """Reset the speed."""
        self._speech.voice.parameters.pop("speed", None)

    def setVoice(self, voiceID: str) -> None:
        """Check the name of the voice: there is one."""
        known("Voice", voiceID, VOICES, "ALTextToSpeech")

    def reset(self) -> None:
        """Reset language, volume and parameters of the voice."""
        self._speech.voice = VoiceSettings()

    def setLanguageDefaultVoice(self, language: str, voice: str) -> None:
        """Check the language and the name of the voice: there is one."""
        known("Language", language, LANGUAGES, "ALTextToSpeech")
        known("Voice", voice, VOICES, "ALTextToSpeech")

    def locale(self) -> str:
        """Return the language as a locale."""
        return {"English": "en_US", "French": "fr_FR"}[self._speech.voice.language]


class ALDialog(Language):
    """Language of a dialogue; dialogues are not simulated."""

    NAME = "ALDialog"


class ALAnimatedSpeech(ALService):
    """Speech with gesture marks, which are ignored."""

    NAME = "ALAnimatedSpeech"
    _speech = SharedPart(Speech)

    def say(self, text: str, configuration: Value = None) -> Blocks:
        """Speak a text without its gesture marks, and wait."""
        del configuration
        if "^" in text:
            self._client.pretended["gestures of ALAnimatedSpeech"] += 1
        return self._speech.say(self._client.name, text)

    def setBodyLanguageMode(self, mode: int) -> None:
        """Store the mode, 0 to 2; nothing moves while the robot speaks."""
        in_range("mode", mode, 0, len(BODY_LANGUAGE) - 1)
        self._client.pretended["ALAnimatedSpeech.setBodyLanguageMode"] += 1
        self._speech.body_language = mode

    def getBodyLanguageMode(self) -> int:
        """Return the stored mode."""
        return self._speech.body_language

    def setBodyLanguageModeFromStr(self, stringMode: str) -> None:
        """Store the mode by its name."""
        known("Mode", stringMode, BODY_LANGUAGE, "ALTextToSpeech")
        self.setBodyLanguageMode(BODY_LANGUAGE.index(stringMode))

    def getBodyLanguageModeToStr(self) -> str:
        """Return the name of the stored mode."""
        return BODY_LANGUAGE[self._speech.body_language]

    def setBodyLanguageEnabled(self, enable: bool) -> None:
        """Store the mode contextual, or disabled."""
        self.setBodyLanguageMode(2 if enable else 0)

    def isBodyLanguageEnabled(self) -> bool:
        """Return true unless the mode is disabled."""
        return self._speech.body_language != 0
