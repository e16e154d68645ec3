"""What the three converters do: motions, light patterns and sounds become streams."""

from collections.abc import Collection, Iterable

from controllers.speech import Voice, tone
from controllers.sync.orders.content import Content
from controllers.sync.orders.converter import OutputCommand
from controllers.sync.streams.effector_leaves import EffectorLeaves
from controllers.sync.streams.light_stream import LightStream
from controllers.sync.streams.motion_stream import MotionStream
from controllers.sync.streams.sound_stream import SoundStream
from controllers.sync.streams.stream import Stream
from models import BadInput, UnknownName
from models.library import LightPattern, Sound


class StreamMaker:
    """Makes the streams for the effectors of one robot."""

    def __init__(self, effectors: EffectorLeaves, voice: Voice, slot_s: float) -> None:
        """Build it from the robot's leaves, a voice and the length of a slot in s."""
        self._effectors = effectors
        self._voice = voice
        self._slot_s = slot_s

    def leaves(self, content: Content) -> tuple[str, ...]:
        """Return the leaves that something commands; none where the robot lacks it.

        Raises:
            UnknownName: a motion moves what is no motor of the robot, or a pattern
                lights what is no leaf with LEDs.
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

    def make(self, command: OutputCommand) -> Stream:
        """Return the stream of an output command.

        Raises:
            BadInput: there is nothing to say in a text, or no loudspeaker.
        """
        content = command.content
        if isinstance(content, LightPattern):
            return LightStream(content, command.token, self._effectors, self._slot_s)
        if isinstance(content, Sound):
            return self._sound(content, command)
        return MotionStream(content, command.token, self._effectors, self._slot_s)

    def _sound(self, sound: Sound, command: OutputCommand) -> SoundStream:
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
            token=command.token,
            leaf=leaf,
            slot_s=self._slot_s,
        )


def _check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName(what, name, known, "the robot")
