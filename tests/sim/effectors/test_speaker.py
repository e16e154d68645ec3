"""Utterances of the speaker, their times and the sound file."""

from math import sin, tau
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import wavfile

from nao_testbed.controllers import Command, SoundChunk
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim import SimulationCfg
from nao_testbed.sim.effectors import FULL_SCALE, SimulatedSpeaker, Utterance, write_wav
from tests.sim.conftest import Simulate

RATE = 16000
SLOT = 0.01


def chunk(
    label: str,
    n: int = 160,
    value: float = 0.5,
    rate: int = RATE,
    *,
    is_last: bool = False,
) -> SoundChunk:
    return SoundChunk(
        samples=np.full(n, value), sample_rate_hz=rate, label=label, is_last=is_last
    )


def play(speaker: SimulatedSpeaker, slot: int, sound: SoundChunk) -> None:
    speaker.check(sound, slot * SLOT)
    speaker.play(sound, slot * SLOT)


def heard(speaker: SimulatedSpeaker) -> list[tuple[str, float, float, bool]]:
    return [
        (x.label, round(x.start_s, 9), round(x.end_s, 9), x.is_whole)
        for x in speaker.utterances
    ]


def test_chunks_without_a_gap_are_one_utterance() -> None:
    speaker = SimulatedSpeaker()
    for slot in range(100, 199):
        play(speaker, slot, chunk("hello"))
    play(speaker, 199, chunk("hello", 80, is_last=True))
    assert heard(speaker) == [("hello", 1.0, 1.995, True)]


def test_a_pause_or_a_new_label_starts_a_new_utterance() -> None:
    speaker = SimulatedSpeaker()
    play(speaker, 0, chunk("hello"))
    play(speaker, 1, chunk("hello"))
    play(speaker, 2, chunk("alarm"))
    play(speaker, 4, chunk("alarm", is_last=True))
    assert heard(speaker) == [
        ("hello", 0.0, 0.02, False),  # cut off
        ("alarm", 0.02, 0.03, False),
        ("alarm", 0.04, 0.05, True),
    ]


def test_a_sound_repeated_after_its_end_is_a_new_one() -> None:
    speaker = SimulatedSpeaker()
    play(speaker, 0, chunk("beep", is_last=True))
    play(speaker, 1, chunk("beep", is_last=True))
    assert heard(speaker) == [("beep", 0.0, 0.01, True), ("beep", 0.01, 0.02, True)]


def test_returned_utterances_are_snapshots() -> None:
    speaker = SimulatedSpeaker()
    play(speaker, 0, chunk("hello"))
    before = speaker.utterances
    play(speaker, 1, chunk("hello"))
    whole = Utterance(label="hello", start_s=0.0, end_s=0.01, is_whole=False)
    assert before == (whole,)


def test_error_for_a_long_chunk_states_the_maximum_length() -> None:
    speaker = SimulatedSpeaker()
    play(speaker, 0, chunk("hello", 161))
    said = (
        "sound 'no' at 0.010 s, but 'hello' plays until 0.0101 s; a chunk must end "
        "before the next one: at most 160 samples here."
    )
    with pytest.raises(BadInput) as error:
        speaker.check(chunk("no"), SLOT)
    assert str(error.value) == said
    with pytest.raises(BadInput, match="0 samples here"):
        speaker.check(chunk("no"), 0.0)


def test_a_fraction_of_a_sample_is_no_overlap() -> None:
    """At 22 050 Hz a slot has 220.5 samples: 221 and 220 in turn."""
    speaker = SimulatedSpeaker()
    for slot in range(20):
        sound = chunk("song", 221 - slot % 2, rate=22050, is_last=slot == 19)
        play(speaker, slot, sound)
    assert heard(speaker) == [("song", 0.0, 0.19 + round(220 / 22050, 9), True)]


def test_a_recording_contains_utterances_and_silence() -> None:
    speaker = SimulatedSpeaker()
    play(speaker, 2, chunk("a", 160, 1.0))
    play(speaker, 3, chunk("a", 40, -1.0))
    samples = speaker.recording(0.05, RATE)
    by_hand = np.zeros(800, dtype=np.int16)
    by_hand[320:480] = FULL_SCALE
    by_hand[480:520] = -FULL_SCALE
    assert_array_equal(samples, by_hand)
    assert_array_equal(speaker.recording(0.025, RATE), by_hand[:400])


def test_resampling_keeps_duration_and_pitch() -> None:
    speaker = SimulatedSpeaker()
    wave = np.array([0.8 * sin(tau * 440 * i / 48000) for i in range(48000)])
    for slot in range(100):
        part = SoundChunk(
            samples=wave[480 * slot : 480 * (slot + 1)],
            sample_rate_hz=48000,
            label="tone",
        )
        play(speaker, slot, part)
    samples = speaker.recording(1.0, RATE) / FULL_SCALE
    by_hand = [0.8 * sin(tau * 440 * i / RATE) for i in range(RATE)]
    assert_allclose(samples, by_hand, atol=1e-4)


def test_a_written_sound_file_is_valid_wav(tmp_path: Path) -> None:
    speaker = SimulatedSpeaker()
    play(speaker, 1, chunk("a", 160, -0.25))
    samples = speaker.recording(0.03, RATE)
    path = tmp_path / "run.wav"
    for _ in range(2):  # the second replaces the first
        write_wav(path, samples, RATE)
    rate, read = wavfile.read(path)
    assert rate == RATE
    assert read.dtype == np.int16
    assert_array_equal(read, samples)


def test_a_simulated_robot_keeps_its_utterances(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(), "PoseInit")
    for _ in range(3):
        sim.write(Command(sound=chunk("hello")))
        sim.step(10)
    kept = sim.snapshot()
    sim.write(Command(sound=chunk("hello", is_last=True)))
    sim.step(20)
    assert heard(sim.speaker) == [("hello", 0.0, 0.04, True)]
    assert len(sim.speaker.recording(sim.time_s)) == 800
    sim.restore(kept)
    assert heard(sim.speaker) == [("hello", 0.0, 0.03, False)]
    assert np.count_nonzero(sim.speaker.recording(1.0)) == 480
    sim.forget(kept)


def test_a_rejected_command_plays_no_sound(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(), "PoseInit")
    sim.write(Command(sound=chunk("hello")))
    before = sim.read().stiffness
    with pytest.raises(BadInput, match=r"'hello' plays until 0\.0100 s"):
        sim.write(Command(sound=chunk("again"), stiffness=np.zeros(26)))
    assert_array_equal(sim.read().stiffness, before)
    with pytest.raises(BadInput, match="stiffness"):
        sim.write(Command(sound=chunk("again"), stiffness=np.full(26, 2.0)))
    sim.step(10)
    assert heard(sim.speaker) == [("hello", 0.0, 0.01, False)]


def test_only_the_newest_sound_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot that is served for hours does not fill the memory."""
    monkeypatch.setattr("nao_testbed.sim.effectors.KEPT_S", 0.05)
    speaker = SimulatedSpeaker()
    for slot in range(0, 40, 2):
        play(speaker, slot, chunk("beep", is_last=True))
    assert [round(one.start_s, 2) for one in speaker.utterances] == [
        *(0.3, 0.32, 0.34, 0.36, 0.38)
    ]
    loud = np.flatnonzero(speaker.recording(0.4))
    assert len(loud) == 5 * 160
    assert loud[0] == round(0.3 * RATE)
