"""The stream of a sound: its samples, cut into slots."""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from controllers.arbitration.tokens import Token
from controllers.interface.robot_interface import SoundChunk
from controllers.sync.streams.stream import NO_PARTS, Item, Present
from models.library import Unit

FloatArray = NDArray[np.float64]

_NOTHING: Item = MappingProxyType({})


class SoundStream:
    """Samples of a sound, as many in each slot as are heard in it."""

    unit = Unit.SOUND
    parts = NO_PARTS

    def __init__(
        self,
        label: str,
        samples: FloatArray,
        sample_rate_hz: int,
        token: Token,
        leaf: str,
        slot_s: float,
    ) -> None:
        """Prepare to play samples.

        Args:
            label: what is said, or the name of a tone.
            samples: (n,) in [-1, 1]; may be empty.
            sample_rate_hz: samples in a second.
            token: proof of a reservation of the loudspeakers.
            leaf: that of the loudspeakers.
            slot_s: length of a slot, in s.
        """
        self.label = label
        self.token = token
        self.leaves = (leaf,)
        count = max(1, int(np.ceil(len(samples) / (sample_rate_hz * slot_s) - 1e-9)))
        cuts = np.rint(np.arange(count + 1) * sample_rate_hz * slot_s).astype(int)
        cuts[-1] = len(samples)
        self._items: list[Item] = [
            MappingProxyType(
                {
                    leaf: SoundChunk(
                        samples=samples[cuts[k] : cuts[k + 1]],
                        sample_rate_hz=sample_rate_hz,
                        label=label,
                        is_last=k == count - 1,
                    )
                }
            )
            for k in range(count)
            if len(samples)
        ] or [_NOTHING]
        self.length = count
        """Number of its items."""

    def begin(self, present: Present) -> int:
        """Return the number of items."""
        del present
        return self.length

    def item(self, k: int) -> Item:
        """Return the leaf's samples at instant `k`."""
        return self._items[k]

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        """Return nothing: sound goes on where it stopped."""
        del k, present
        return ()
