"""Converters: from an output command to a stream, after the time that it takes.

One for each unit: motion (102), light (103) and sound (104) [CN1396856, fig. 10]. How
long a conversion takes is expected beforehand; what it takes in truth may differ.
"""

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Mapping

from controllers.speech import Voice, tone
from controllers.transmitter.commands.order import OutputCommand
from controllers.transmitter.receipt import Receipt
from controllers.transmitter.streams import Content, EffectorLeaves, Stream
from controllers.transmitter.streams.light_and_sound_streams import (
    LightStream,
    SoundStream,
)
from controllers.transmitter.streams.motion_stream import MotionStream
from controllers.transmitter.transmitter import Transmitter
from models import BadInput, UnknownName
from models.library import LightPattern, Sound, Unit

CONVERSION_S: Mapping[Unit, float] = {
    Unit.MOTION: 0.02,
    Unit.LIGHT: 0.01,
    Unit.SOUND: 0.10,
}
"""Expected times in s; a waveform takes longest [CN1396856, description of fig. 22]."""


def slots_of(time_s: float, slot_s: float) -> int:
    """Return the slots that a time takes; part of one counts as one."""
    return math.ceil(time_s / slot_s - 1e-9)


class Converter:
    """Makes streams of the output commands for one unit.

    The command controller calls `take` when it issues a command and `step` once a slot;
    commands that take equally long leave in the order in which they came.
    """

    def __init__(
        self,
        unit: Unit,
        make: Callable[[OutputCommand], Stream],
        transmitter: Transmitter,
        conversion_s: float,
        slot_s: float,
        on_converted: Callable[[OutputCommand, Receipt | BadInput, int], None],
    ) -> None:
        """Build the converter of a unit.

        Args:
            unit: motion, light or sound.
            make: turns a command into a stream.
            transmitter: gets the streams.
            conversion_s: what a conversion takes in truth, in s.
            slot_s: length of a slot, in s.
            on_converted: called with the command, its stream's receipt, or the error
                that says why there is no stream, and the tick.
        """
        self.unit = unit
        self._make = make
        self._transmitter = transmitter
        self._slots = slots_of(conversion_s, slot_s)
        self._on_converted = on_converted
        self._at_work: list[tuple[int, int, OutputCommand]] = []
        self._count = 0

    def take(self, command: OutputCommand, tick: int) -> None:
        """Begin to convert a command."""
        self._count += 1
        heapq.heappush(self._at_work, (tick + self._slots, self._count, command))

    def step(self, tick: int) -> None:
        """Hand the streams that are ready to the transmitter."""
        while self._at_work and self._at_work[0][0] <= tick:
            command = heapq.heappop(self._at_work)[2]
            if command.is_cancelled:
                continue
            self._on_converted(command, self._hand_over(command, tick), tick)

    def _hand_over(self, command: OutputCommand, tick: int) -> Receipt | BadInput:
        try:
            stream = self._make(command)
        except BadInput as error:
            return error
        if command.order.is_interrupt:
            return self._transmitter.interrupt(stream, tick, why_not=command.why_not)
        return self._transmitter.receive(
            stream,
            command.tag,
            tick,
            after=command.after,
            signal_at=command.signal_at,
            on_signal=command.on_signal,
            why_not=command.why_not,
        )


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
