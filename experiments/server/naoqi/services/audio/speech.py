"""ALTextToSpeech and ALAnimatedSpeech: speech on the robot's loudspeakers."""

import re
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.manager.snapshot import users_of
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.controllers.schemas.library.common import speaker_of
from nao_testbed.controllers.transmitter.commands.order import OutputSet, PlacedOrder
from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.served_robot import fail, finish, on_cancel
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.library import LONGEST_TEXT, Sound

SPEECH = "ALTextToSpeech"
TAG = re.compile(r"\\[a-zA-Z]+=?[^\\]*\\")
MARK = re.compile(r"\\mrk=(\d+)\\")
GESTURE = re.compile(r"\^[a-zA-Z]+\([^)]*\)|\^(?:stop|mode|call)?")
LANGUAGES = ("English", "French")
VOICES = ("syllables",)
USUAL = {
    "pitchShift": 0.0,
    "doubleVoice": 0.0,
    "doubleVoiceLevel": 0.0,
    "doubleVoiceTimeShift": 0.0,
    "speed": 100.0,
    "defaultVoiceSpeed": 100.0,
    "pitch": 100.0,
    "volume": 100.0,
}
"""Parameters of the voice with their defaults."""
BODY_LANGUAGE = ("disabled", "random", "contextual")
"""Modes of the gestures of a speaking robot, by number."""


@dataclass
class _Utterance:
    """Text, until it has been spoken."""

    number: int
    owner: str
    said: str
    sound: Sound
    marks: list[int]
    ticket: Ticket | None
    future: Blocks
    order: PlacedOrder | None = None
    is_stopped: bool = False


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
        self._waiting: list[_Utterance] = []
        self._number = 0
        parts.served.each_slot.append(lambda tick, _: self._step(tick))
        parts.served.on_close.append(self.stop_all)

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
        marks = [int(mark) for mark in MARK.findall(text)]
        return self._enqueue(client, said, sound, marks, is_silent=is_silent)

    def tone(self, client: str, hz: float, volume: float, length_s: float) -> Blocks:
        """Play a tone once the loudspeakers are free."""
        sound = Sound(
            name=f"{hz:g} Hz",
            tone_hz=hz,
            length_s=length_s,
            volume=volume * self.output,
        )
        return self._enqueue(client, f"({hz:g} Hz)", sound, [], is_silent=False)

    def _enqueue(
        self,
        client: str,
        said: str,
        sound: Sound,
        marks: list[int],
        *,
        is_silent: bool,
    ) -> Blocks:
        future: Blocks = Future()
        with self._served.access():
            self._number += 1
            owner = f"{client}/say {self._number}"
            leaves = speaker_of(self._served.robot)
            is_silent = is_silent or not leaves
            ticket = None
            if not is_silent:
                self._served.add_owner(owner, client)
                ticket = self._served.request(owner, leaves, LONGEST_S)
            one = _Utterance(
                number=self._number,
                owner=owner,
                said=said,
                sound=sound,
                marks=marks,
                ticket=ticket,
                future=future,
            )
            self._waiting.append(one)
            self._status(one, "enqueued")
            on_cancel(future, lambda: self._stop(one))
        return future

    def stop_all(self) -> None:
        """Stop the present text, and remove the queued ones."""
        for one in list(self._waiting):
            self._stop(one)

    def _stop(self, one: _Utterance) -> None:
        """Stop a present or queued text."""
        with self._served.access():
            if one in self._waiting:
                one.is_stopped = True
                self._end(one, "stopped")
                memory = self._parts.memory
                memory.raise_event("ALTextToSpeech/TextInterrupted", value=True)

    def _step(self, tick: int) -> None:
        for one in list(self._waiting):
            if one.ticket is None:
                if one is self._waiting[0]:
                    self._end(one, "done")
                continue
            if one.order is None:
                self._begin(one, tick)
            elif one.order.has_failed:
                self._end(one, "stopped", self._cut_off(one.order))
            elif one.order.is_over:
                self._end(one, "done")

    def _cut_off(self, order: PlacedOrder) -> TestbedError:
        """Return the reason why a text was aborted."""
        ledger = self._served.body.ledger
        users = {
            who
            for leaf in speaker_of(self._served.robot)
            for who in users_of(ledger, leaf)
        }
        by = f" by {', '.join(sorted(users))}" if users else ""
        return TestbedError(f"the voice was taken away{by} ({order.reason}).")

    def _begin(self, one: _Utterance, tick: int) -> None:
        outcome = one.ticket.outcome if one.ticket is not None else None
        if outcome is None:
            return
        if outcome.token is None:
            self._end(one, "stopped", TestbedError(f"the voice was refused: {outcome}"))
            return
        try:
            one.order = self._served.body.commands.submit(
                OutputSet(name=one.sound.name, sound=one.sound), outcome.token, tick
            )
        except TestbedError as error:
            self._end(one, "stopped", error)
            return
        memory = self._parts.memory
        self._status(one, "started")
        memory.raise_event("ALTextToSpeech/TextStarted", value=True)
        memory.raise_event("ALTextToSpeech/CurrentSentence", one.said)
        for mark in one.marks:
            memory.raise_event("ALTextToSpeech/CurrentBookMark", mark)

    def _end(
        self, one: _Utterance, outcome: str, error: Exception | None = None
    ) -> None:
        self._waiting.remove(one)
        body = self._served.body
        if one.order is not None:
            if not one.order.is_over:
                body.commands.withdraw(one.order, self._served.tick)
            self._served.event("say", said=one.said, by=one.owner)
        if body.ledger.knows(one.owner):
            body.ledger.forget_owner(one.owner, body.ledger.tick)
        self._status(one, outcome)
        if outcome == "done":
            self._parts.memory.raise_event("ALTextToSpeech/TextDone", value=True)
        if error is None:
            finish(one.future)
        else:
            fail(one.future, error)

    def _status(self, one: _Utterance, outcome: str) -> None:
        self._parts.memory.raise_event("ALTextToSpeech/Status", [one.number, outcome])


class ALTextToSpeech(ALService):
    """Text to speech."""

    NAME = "ALTextToSpeech"

    def say(self, stringToSay: str, language: str = "") -> Blocks:
        """Speak a text, and wait until it ends."""
        if language:
            _check_language(language)
        return self._speech.say(self._client.name, stringToSay)

    def stopAll(self) -> None:
        """Stop the present text, and remove the queued ones."""
        with self._served.access():
            self._speech.stop_all()

    def setLanguage(self, language: str) -> None:
        """Set the language; the voice sounds the same in each."""
        _check_language(language)
        self._speech.voice.language = language

    def getLanguage(self) -> str:
        """Return the language."""
        return self._speech.voice.language

    def getAvailableLanguages(self) -> list[str]:
        """Return the languages that can be set."""
        return list(LANGUAGES)

    def setVolume(self, volume: float) -> None:
        """Set the volume, from 0 to 1."""
        if not 0.0 <= volume <= 1.0:
            raise BadInput(f"volume is {volume:g}; give 0 to 1.")
        self._speech.voice.volume = volume

    def getVolume(self) -> float:
        """Return the volume."""
        return self._speech.voice.volume

    def setParameter(self, pEffectName: str, pEffectValue: float) -> None:
        """Store a parameter of the voice; it has no effect."""
        _check_known("parameter", pEffectName, USUAL)
        self._client.pretended["ALTextToSpeech.setParameter"] += 1
        self._speech.voice.parameters[pEffectName] = pEffectValue

    def getParameter(self, pParameterName: str) -> float:
        """Return a parameter of the voice."""
        _check_known("parameter", pParameterName, USUAL)
        parameters = self._speech.voice.parameters
        return parameters.get(pParameterName, USUAL[pParameterName])

    def resetSpeed(self) -> None:
        """Reset the speed."""
        self._speech.voice.parameters.pop("speed", None)

    def setVoice(self, voiceID: str) -> None:
        """Check the name of the voice: there is one."""
        _check_known("voice", voiceID, VOICES)

    def reset(self) -> None:
        """Reset language, volume and parameters of the voice."""
        self._speech.voice = VoiceSettings()

    def getVoice(self) -> str:
        """Return the name of the voice."""
        return VOICES[0]

    def getAvailableVoices(self) -> list[str]:
        """Return the voices."""
        return list(VOICES)

    def setLanguageDefaultVoice(self, language: str, voice: str) -> None:
        """Check the language and the name of the voice: there is one."""
        _check_language(language)
        _check_known("voice", voice, VOICES)

    def locale(self) -> str:
        """Return the language as a locale."""
        return {"English": "en_US", "French": "fr_FR"}[self._speech.voice.language]

    @property
    def _speech(self) -> Speech:
        return self._parts.get(Speech)


class ALDialog(ALService):
    """Language of a dialogue; dialogues are not simulated."""

    NAME = "ALDialog"

    def getLanguage(self) -> str:
        """Return the language, which is that of ALTextToSpeech."""
        return self._parts.get(Speech).voice.language

    def setLanguage(self, language: str) -> None:
        """Set the language, also of ALTextToSpeech."""
        _check_language(language)
        self._parts.get(Speech).voice.language = language


class ALAnimatedSpeech(ALService):
    """Speech with gesture marks, which are ignored."""

    NAME = "ALAnimatedSpeech"

    def say(self, text: str, configuration: Value = None) -> Blocks:
        """Speak a text without its gesture marks, and wait."""
        del configuration
        if "^" in text:
            self._client.pretended["gestures of ALAnimatedSpeech"] += 1
        return self._speech.say(self._client.name, text)

    def setBodyLanguageMode(self, mode: int) -> None:
        """Store the mode, 0 to 2; nothing moves while the robot speaks."""
        if mode not in range(len(BODY_LANGUAGE)):
            raise BadInput(f"mode is {mode}; give 0 to {len(BODY_LANGUAGE) - 1}.")
        self._client.pretended["ALAnimatedSpeech.setBodyLanguageMode"] += 1
        self._speech.body_language = mode

    def getBodyLanguageMode(self) -> int:
        """Return the stored mode."""
        return self._speech.body_language

    def setBodyLanguageModeFromStr(self, stringMode: str) -> None:
        """Store the mode by its name."""
        _check_known("mode", stringMode, BODY_LANGUAGE)
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

    @property
    def _speech(self) -> Speech:
        return self._parts.get(Speech)


def _check_language(language: str) -> None:
    _check_known("language", language, LANGUAGES)


def _check_known(what: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise BadInput(f"{what} {name!r} is unknown; give {', '.join(known)}.")
