"""Converters from the content of an output to a stream.

There is one converter per unit: motion (102), light (103) and sound (104) [CN1396856,
fig. 10]. Each conversion has an expected duration; the true one may differ.
"""

from collections.abc import Collection, Iterable

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.speech import Voice, tone
from nao_testbed.controllers.transmitter.streams import Content, EffectorLeaves, Stream
from nao_testbed.controllers.transmitter.streams.light_and_sound_streams import (
    LightStream,
    SoundStream,
)
from nao_testbed.controllers.transmitter.streams.motion_stream import MotionStream
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.library import LightPattern, Sound


class Converters:
    """Converters for the effectors of one robot."""

    def __init__(self, effectors: EffectorLeaves, voice: Voice, slot_s: float) -> None:
        """Create converters for leaves, a voice and the length of a slot in s."""
        self._effectors = effectors
        self._voice = voice
        self._slot_s = slot_s

    def leaves(self, content: Content) -> tuple[str, ...]:
        """Return the leaves that a content commands; empty if the robot lacks them.

        Raises:
            UnknownName: a motion moves an unknown motor, or a pattern lights a leaf
                without LEDs.
        """
        effectors = self._effectors
        if isinstance(content, LightPattern):
            _check_known("LED", content.leds, effectors.led_channels)
            return content.leds
        if isinstance(content, Sound):
            return () if effectors.speaker is None else (effectors.speaker,)
        joints = dict.fromkeys(joint for motion in content for joint in motion.joints)
        _check_known("Motor", joints, effectors.motors)
        return tuple(effectors.motors[joint] for joint in joints)

    def make(self, content: Content, token: Token) -> Stream:
        """Return the stream of a content, commanded with a token.

        Raises:
            BadInput: a text is empty, or the robot has no loudspeaker.
        """
        if isinstance(content, LightPattern):
            return LightStream(content, token, self._effectors, self._slot_s)
        if isinstance(content, Sound):
            return self._sound(content, token)
        return MotionStream(content, token, self._effectors, self._slot_s)

    def _sound(self, sound: Sound, token: Token) -> SoundStream:
        leaf, voice = self._effectors.speaker, self._voice
        if leaf is None:
            raise BadInput(f"the robot has no loudspeaker to play {sound.name!r} on.")
        rate = voice.sample_rate_hz
        if sound.text is not None:
            samples = voice.render(sound.text)
        elif sound.tone_hz is not None and sound.length_s is not None:
            samples = tone(sound.tone_hz, sound.length_s, rate)
        else:
            raise BadInput(f"sound {sound.name!r} is neither a text nor a tone.")
        return SoundStream(
            label=sound.text or sound.name,
            samples=sound.volume * samples,
            sample_rate_hz=rate,
            token=token,
            leaf=leaf,
            slot_s=self._slot_s,
        )


def _check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName(what, name, known, "the robot")
