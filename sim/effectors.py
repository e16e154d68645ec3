"""LEDs that fade in steps, a loudspeaker with a record of its sound, and sound files.

    u(t) = u_0 + (u_1 - u_0) min(k T / fade, 1),   k = floor((t - t_0) / T)
    shown: the level nearest to u(t), of `levels` between 0 and 1

The device manager interpolates linearly, once in each of its cycles T = 10 ms
[naoqi-dcm]. Brightness is computed only when it is read.

The speaker keeps played samples only, in 16 bits: a second of speech at 16 kHz takes
32 kB, ten minutes without a pause take 20 MB, silence takes none. Files are RIFF WAVE,
one channel, 16 bits.
"""

import wave
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import (
    DEVICE_SLOT_S,
    LedSetting,
    SoundChunk,
)
from nao_testbed.models import BadInput, LedGroup, Robot, UnknownName
from nao_testbed.models.files import convert_write_errors
from nao_testbed.models.values import FloatArray

RGB = ("red", "green", "blue")
_ROUNDING = 1e-9
"""Tolerance in cycles: times in ticks are not exact binary fractions."""


class SimulatedLeds:
    """LEDs of one robot; dark at the start."""

    def __init__(self, robot: Robot, dt: float, clock: Callable[[], int]) -> None:
        """Switch all LEDs off.

        Args:
            robot: robot with these LED groups.
            dt: length of a tick in s.
            clock: function that returns the present tick.
        """
        self._robot = robot.name
        self._dt = dt
        self._clock = clock
        self._groups = {group.name: group for group in robot.leds}
        self._places: dict[str, slice] = {}
        n = 0
        for group in robot.leds:
            size = group.count * group.n_channels
            self._places[group.name] = slice(n, n + size)
            n += size
        self.table = np.zeros((4, n))
        """(4, n_brightnesses) u_0, u_1, t_0 in ticks, fade in s: the whole state."""
        self._steps = np.concatenate(
            [
                np.full(g.count * g.n_channels, max(g.levels - 1.0, 1.0))
                for g in robot.leds
            ]
            or [np.zeros(0)]
        )
        self._average = _averages(robot.leds)

    @property
    def groups(self) -> tuple[LedGroup, ...]:
        """All groups, in the order of the robot's data."""
        return tuple(self._groups.values())

    def fade(self, settings: Mapping[str, LedSetting]) -> None:
        """Fade groups from their present brightness; `settings` must fit them."""
        now = self._clock()
        for name, setting in settings.items():
            group, place = self._groups[name], self._places[name]
            shape = (group.count, group.n_channels)
            part = self.table[:, place]
            part[0] = self._brightness(place, now)
            part[1] = np.broadcast_to(setting.colours, shape).ravel()
            part[2] = now
            part[3] = setting.fade_s

    def state(self, group: str) -> FloatArray:
        """Return the present brightness of a group.

        Args:
            group: name of an LED group.

        Returns:
            (count, channels) in [0, 1].

        Raises:
            UnknownName: the robot has no such group.
        """
        if group not in self._groups:
            raise UnknownName(
                "LED group", group, self._groups, f"robot {self._robot!r}"
            )
        leds = self._groups[group]
        steps = max(leds.levels - 1, 1)
        u = self._brightness(self._places[group], self._clock())
        return (np.round(u * steps) / steps).reshape(leds.count, leds.n_channels)

    def means(self) -> FloatArray:
        """Return the present mean brightness of each group, for a recording.

        Returns:
            (n,) mean over the LEDs of a group, one value per channel, in [0, 1]; in the
            order of `colour_names`.
        """
        u = self._brightness(slice(None), self._clock())
        means: FloatArray = self._average @ (np.round(u * self._steps) / self._steps)
        return means

    def _brightness(self, place: slice, now: int) -> FloatArray:
        u_0, u_1, t_0, fade = self.table[:, place]
        cycles = np.floor((now - t_0) * self._dt / DEVICE_SLOT_S + _ROUNDING)
        over = np.maximum(fade, DEVICE_SLOT_S)  # a shorter fade ends within one cycle
        fraction = np.minimum(cycles * DEVICE_SLOT_S / over, 1.0)
        fraction[fade == 0.0] = 1.0
        u: FloatArray = u_0 + (u_1 - u_0) * fraction
        return u


def colour_names(groups: Iterable[LedGroup]) -> tuple[str, ...]:
    """Return names such as `ChestLeds.red`, in the order of groups and channels."""
    return tuple(
        f"{group.name}.{colour}"
        for group in groups
        for colour in (RGB if group.n_channels == len(RGB) else (group.channels,))
    )


def _averages(groups: Sequence[LedGroup]) -> FloatArray:
    """Return the matrix (n_colours, n_brightnesses) that averages each colour."""
    blocks = [
        np.tile(np.eye(group.n_channels), group.count) / group.count for group in groups
    ]
    n = sum(block.shape[1] for block in blocks)
    matrix = np.zeros((sum(len(block) for block in blocks), n))
    row = column = 0
    for block in blocks:
        matrix[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return matrix


FULL_SCALE = 32767
"""Largest sample in 16 bits."""
KEPT_S = 300.0
"""Duration of the sound that a speaker keeps, in s, without pauses."""
Samples = NDArray[np.int16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """Sound played without a pause."""

    label: str
    start_s: float
    """Time of the first sample, in s."""
    end_s: float
    """End of the last sample, in s."""
    is_whole: bool
    """True if it was played to its end; False if it was cut off or continues."""


@dataclass(frozen=True, slots=True)
class _Kept:
    start_s: float
    rate_hz: int
    samples: Samples


SpeakerState = tuple[tuple[_Kept, ...], tuple[Utterance, ...]]


class SimulatedSpeaker:
    """Common output of all loudspeakers of a robot."""

    def __init__(self) -> None:
        """Start silent."""
        self._kept: deque[_Kept] = deque()
        self._kept_s = 0.0
        self._utterances: deque[Utterance] = deque()

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """Utterances whose sound is kept, in the order of time."""
        return tuple(self._utterances)

    def says(self, time_s: float) -> str:
        """Return the label of the sound at a time not before the last chunk, or ""."""
        last = self._utterances[-1] if self._utterances else None
        return last.label if last is not None and time_s < last.end_s else ""

    def check(self, chunk: SoundChunk, time_s: float) -> None:
        """Check that the previous chunk has ended.

        Raises:
            BadInput: the previous chunk is still playing.
        """
        if not self._kept:
            return
        last = self._utterances[-1]
        kept = self._kept[-1]
        if last.end_s - time_s >= 1.0 / kept.rate_hz:
            most = round((time_s - kept.start_s) * kept.rate_hz)
            raise BadInput(
                f"sound {chunk.label!r} at {time_s:.3f} s, but {last.label!r} plays "
                f"until {last.end_s:.4f} s; a chunk must end before the next one: "
                f"at most {most} samples here."
            )

    def play(self, chunk: SoundChunk, time_s: float) -> None:
        """Play a checked chunk from now on.

        A chunk with the same label that follows without a gap extends an utterance that
        is not complete. Sound before the last `KEPT_S` is dropped.
        """
        samples = np.round(chunk.samples * FULL_SCALE).astype(np.int16)
        self._kept.append(_Kept(time_s, chunk.sample_rate_hz, samples))
        self._kept_s += chunk.length_s
        end_s = time_s + chunk.length_s
        utterances = self._utterances
        while self._kept_s > KEPT_S and len(self._kept) > 1:
            oldest = self._kept.popleft()
            self._kept_s -= len(oldest.samples) / oldest.rate_hz
            while utterances and utterances[0].end_s <= self._kept[0].start_s:
                utterances.popleft()
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
        """Return the kept sound from the start of the run, including silence.

        Args:
            until_s: end of the recording, in s.
            sample_rate_hz: sample rate of the recording. Other rates are interpolated
                linearly.

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
        """Return the state for `restore`."""
        return tuple(self._kept), tuple(self._utterances)

    def restore(self, state: SpeakerState) -> None:
        """Return to a saved state; drop later sound."""
        kept, utterances = state
        self._kept, self._utterances = deque(kept), deque(utterances)
        self._kept_s = sum(len(one.samples) / one.rate_hz for one in kept)


def _at_rate(kept: _Kept, rate_hz: int) -> Samples:
    if kept.rate_hz == rate_hz:
        return kept.samples
    n = round(len(kept.samples) * rate_hz / kept.rate_hz)
    times = np.arange(n) / rate_hz * kept.rate_hz
    between = np.interp(times, np.arange(len(kept.samples)), kept.samples)
    return np.round(between).astype(np.int16)


SOUND_FILE = "sound.wav"
"""File of a run folder with the sound from the start of the run on."""
RATE_HZ = 16_000
"""Sample rate of that file, in Hz."""


def save_sound(speaker: SimulatedSpeaker, folder: Path, end_s: float) -> None:
    """Write `sound.wav` into a run folder if the robot played any sound.

    Args:
        speaker: speaker of the robot.
        folder: folder of the run.
        end_s: end of the run, in s.

    Raises:
        WriteError: the operating system refuses.
    """
    if speaker.utterances:
        write_wav(folder / SOUND_FILE, speaker.recording(end_s, RATE_HZ), RATE_HZ)


def write_wav(path: Path, samples: NDArray[np.int16], sample_rate_hz: int) -> None:
    """Write a sound file; replace an existing one.

    Args:
        path: path of the file.
        samples: (n,) one channel.
        sample_rate_hz: samples per second.

    Raises:
        WriteError: the operating system refuses.
    """
    with convert_write_errors(path), wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate_hz)
        file.writeframes(samples.astype("<i2").tobytes())
