"""Sound files: RIFF WAVE, one channel, 16 bits."""

import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.files import told_if_not_written

SOUND_FILE = "sound.wav"
"""Of a run folder: what was heard from the start of the run on."""


def write_wav(path: Path, samples: NDArray[np.int16], sample_rate_hz: int) -> None:
    """Write a sound file, in place of one that is there.

    Args:
        path: of the file.
        samples: (n,) one channel.
        sample_rate_hz: samples in a second.

    Raises:
        NotWritten: the operating system refuses.
    """
    with told_if_not_written(path), wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate_hz)
        file.writeframes(samples.astype("<i2").tobytes())
