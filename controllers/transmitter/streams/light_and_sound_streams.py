"""Streams of a light pattern and of a sound.

A light pattern has a command only where a step begins, since the devices fade by
themselves. A sound is its samples, divided into slots. After an interrupt neither needs
a return motion.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import LedSetting, SoundChunk
from nao_testbed.controllers.transmitter.streams import (
    NO_PARTS,
    EffectorLeaves,
    Item,
    Present,
)
from nao_testbed.controllers.transmitter.streams.motion_stream import item_count
from nao_testbed.models.library import LightPattern, Unit
from nao_testbed.models.values import FloatArray

Colour = tuple[float, float, float]

_NOTHING: Item = MappingProxyType({})


class FixedStream:
    """Stream of items that do not depend on the present set-points."""

    parts = NO_PARTS

    def __init__(
        self,
        label: str,
        token: Token,
        leaves: Iterable[str],
        items: Mapping[int, Item],
        length: int,
    ) -> None:
        """Prepare to play items, given by their slots; other slots have no command."""
        self.label = label
        self.token = token
        self.leaves = tuple(sorted(leaves))
        self._items = {k: MappingProxyType(dict(item)) for k, item in items.items()}
        self.length = length
        """Number of items."""

    def begin(self, present: Present) -> int:
        """Return the number of items; they do not depend on the set-points."""
        del present
        return self.length

    def item(self, k: int) -> Item:
        """Return the command of slot `k`."""
        return self._items.get(k, _NOTHING)

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        """Return no items: lights and sounds need no return motion."""
        del k, present
        return ()


class LightStream(FixedStream):
    """Stream of LED colours; the devices compute the fades."""

    unit = Unit.LIGHT

    def __init__(
        self,
        pattern: LightPattern,
        token: Token,
        effectors: EffectorLeaves,
        slot_s: float,
    ) -> None:
        """Prepare to play a pattern.

        Args:
            pattern: light pattern; each step goes into the slot nearest to its time.
            token: token of a reservation of all its LEDs.
            effectors: channels of the LEDs.
            slot_s: length of a slot, in s.
        """
        items: dict[int, dict[str, Value]] = {}
        for step in pattern.steps:
            item = items.setdefault(round(step.at_s / slot_s), {})
            for leaf in step.leds:
                colours = led_colours(step.colour, effectors.led_channels[leaf])
                item[leaf] = LedSetting(colours=colours, fade_s=step.fade_s)
        length = max(item_count(pattern.length_s, slot_s), max(items) + 1)
        super().__init__(pattern.name, token, pattern.leds, items, length)


def led_colours(colour: Colour, channels: int) -> FloatArray:
    """Return a colour for LEDs with the given channels, (channels,) in [0, 1].

    LEDs of one colour get the maximum of red, green and blue.
    """
    return np.array(colour if channels == len(colour) else [max(colour)])


class SoundStream(FixedStream):
    """Stream of sound samples; each slot has the samples that are heard during it."""

    unit = Unit.SOUND

    def __init__(
        self,
        label: str,
        samples: FloatArray,
        sample_rate_hz: int,
        token: Token,
        leaf: str,
        slot_s: float,
    ) -> None:
        """Create a stream of samples.

        Args:
            label: spoken text, or the name of a tone.
            samples: (n,) in [-1, 1]; may be empty.
            sample_rate_hz: samples per second.
            token: token of a reservation of the loudspeakers.
            leaf: leaf of the loudspeakers.
            slot_s: length of a slot, in s.
        """
        count = max(1, int(np.ceil(len(samples) / (sample_rate_hz * slot_s) - 1e-9)))
        cuts = np.rint(np.arange(count + 1) * sample_rate_hz * slot_s).astype(int)
        cuts[-1] = len(samples)
        items: dict[int, Item] = {
            k: {
                leaf: SoundChunk(
                    samples=samples[cuts[k] : cuts[k + 1]],
                    sample_rate_hz=sample_rate_hz,
                    label=label,
                    is_last=k == count - 1,
                )
            }
            for k in range(count)
            if len(samples)
        }
        super().__init__(label, token, (leaf,), items, count)
