"""A loudspeaker that keeps what was heard, and when.

Only what sounded is kept, in 16 bits: 32 kB for a second of speech at 16 kHz, so ten
minutes of it without a pause take 20 MB, and silence none.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controllers.effectors import SoundChunk
from models import BadInput

FULL_SCALE = 32767
"""Largest sample in 16 bits."""
Samples = NDArray[np.int16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """Something that was heard without a pause."""

    label: str
    start_s: float
    """When it began, in s."""
    end_s: float
    """When its last sample was over, in s."""
    is_whole: bool
    """Whether it was heard to its end; if not, it was cut off or goes on."""


@dataclass(frozen=True, slots=True)
class _Kept:
    start_s: float
    rate_hz: int
    samples: Samples


SpeakerState = tuple[tuple[_Kept, ...], tuple[Utterance, ...]]


class Speaker:
    """What all loudspeakers of a robot play together."""

    def __init__(self) -> None:
        """Begin silent."""
        self._kept: list[_Kept] = []
        self._utterances: list[Utterance] = []

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """What was heard so far, in the order of time."""
        return tuple(self._utterances)

    def check(self, chunk: SoundChunk, time_s: float) -> None:
        """Check that what was told before is over by now.

        Raises:
            BadInput: it is not.
        """
        if not self._kept:
            return
        last = self._utterances[-1]
        kept = self._kept[-1]
        if last.end_s - time_s >= 1.0 / kept.rate_hz:
            most = round((time_s - kept.start_s) * kept.rate_hz)
            raise BadInput(
                f"sound {chunk.label!r} at {time_s:.3f} s, but {last.label!r} is heard "
                f"until {last.end_s:.4f} s; a chunk may last until the next one: "
                f"{most} samples in this case."
            )

    def play(self, chunk: SoundChunk, time_s: float) -> None:
        """Let a chunk be heard from now on; it was checked.

        One that follows another of the same label without a gap is the same utterance,
        unless that one was at its end.
        """
        samples = np.round(chunk.samples * FULL_SCALE).astype(np.int16)
        self._kept.append(_Kept(time_s, chunk.sample_rate_hz, samples))
        end_s = time_s + chunk.length_s
        utterances = self._utterances
        if utterances:
            last = utterances[-1]
            gap = abs(time_s - last.end_s) * chunk.sample_rate_hz
            if last.label == chunk.label and gap < 1.0 and not last.is_whole:
                utterances[-1] = replace(last, end_s=end_s, is_whole=chunk.is_last)
                return
        utterances.append(
            Utterance(
                label=chunk.label,
                start_s=time_s,
                end_s=end_s,
                is_whole=chunk.is_last,
            )
        )

    def recording(self, until_s: float, sample_rate_hz: int = 16000) -> Samples:
        """Return all that was heard from the start of the run on, with its silence.

        Args:
            until_s: end of the recording, in s.
            sample_rate_hz: of the recording. Sound of another rate is interpolated on
                straight lines.

        Returns:
            (n,) one channel, n = until_s times the rate.
        """
        heard = np.zeros(round(until_s * sample_rate_hz), dtype=np.int16)
        for kept in self._kept:
            place = round(kept.start_s * sample_rate_hz)
            samples = _at_rate(kept, sample_rate_hz)[: max(len(heard) - place, 0)]
            heard[place : place + len(samples)] = samples
        return heard

    def state(self) -> SpeakerState:
        """Return what `restore` returns to."""
        return tuple(self._kept), tuple(self._utterances)

    def restore(self, state: SpeakerState) -> None:
        """Forget what was heard after a kept state."""
        kept, utterances = state
        self._kept, self._utterances = list(kept), list(utterances)


def _at_rate(kept: _Kept, rate_hz: int) -> Samples:
    if kept.rate_hz == rate_hz:
        return kept.samples
    n = round(len(kept.samples) * rate_hz / kept.rate_hz)
    times = np.arange(n) / rate_hz * kept.rate_hz
    between = np.interp(times, np.arange(len(kept.samples)), kept.samples)
    return np.round(between).astype(np.int16)
