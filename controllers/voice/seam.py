"""The seam between what is to be said and its samples."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SAMPLE_RATE_HZ = 16000
"""Of all sound that is made here; every loudspeaker of a NAO plays it."""


class Voice(Protocol):
    """Says a text: the same text always gives the same samples, of a known length."""

    @property
    def sample_rate_hz(self) -> int:
        """Samples in a second."""

    def render(self, text: str) -> FloatArray:
        """Return a text as sound.

        Args:
            text: what is said.

        Returns:
            (n,) samples in [-1, 1], one channel; it takes n / sample_rate_hz seconds.

        Raises:
            BadInput: there is nothing to say in it.
        """
