"""Built-in voice: deterministic, timed by syllables, with vowels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import periodogram

from nao_testbed.controllers.transmitter.speech import SyllableVoice, Voice
from tests.messages import Messages, each

VOICE = SyllableVoice()
RATE = VOICE.sample_rate_hz


def band(samples: np.ndarray, low_hz: float, high_hz: float) -> float:
    """Return the share of the power in a band."""
    hz, power = periodogram(samples, RATE)
    return float(power[(hz >= low_hz) & (hz < high_hz)].sum() / power.sum())


def pitch_of(samples: np.ndarray) -> float:
    """Return the pitch in Hz by autocorrelation, between 80 and 200 Hz."""
    r = np.correlate(samples, samples, "full")[len(samples) - 1 :]
    low, high = RATE // 200, RATE // 80
    return RATE / (low + int(np.argmax(r[low:high])))


def test_syllable_voice_has_the_voice_interface() -> None:
    voice: Voice = VOICE
    assert voice.sample_rate_hz == 16000


@pytest.mark.parametrize(
    ("text", "length_s"),
    [
        ("Hello", 0.4),
        ("Hello.", 0.4),
        ("Hello, I am a robot", 0.4 + 0.2 + 1.0),
        ("Too hot! Please stop.", 0.4 + 0.4 + 0.4),
    ],
)
def test_duration_is_that_of_syllables_and_pauses(text: str, length_s: float) -> None:
    assert len(VOICE.render(text)) == round(length_s * RATE)


def test_same_text_gives_the_same_sound() -> None:
    text = "Hello, I stand up now. Shall I wave?"
    first = VOICE.render(text)
    VOICE.render("something else")
    assert_array_equal(SyllableVoice().render(text), first)


@pytest.mark.slow
@given(st.text(max_size=20))
@settings(max_examples=40)
def test_any_text_with_a_letter_is_within_full_scale(text: str) -> None:
    samples = VOICE.render(f"{text} A")
    assert np.isfinite(samples).all()
    assert np.isclose(np.abs(samples).max(), 0.8)
    assert len(samples) % (RATE // 5) == 0


def test_word_of_many_consonants_is_spoken() -> None:
    assert len(VOICE.render("bcdfghjklm" * 300 + "a" + "npqrstvwxz" * 300)) == RATE // 5


def test_vowels_differ_by_their_formants() -> None:
    """[peterson1952]: a has 730 and 1090 Hz, i has 270 and 2290 Hz."""
    a, i = VOICE.render("a"), VOICE.render("i")
    assert band(a, 500, 1300) > 0.7
    assert band(i, 500, 1300) < 0.1
    assert band(i, 200, 400) > 0.6
    assert band(i, 1900, 3200) > 10 * band(a, 1900, 3200)


def test_hiss_is_high_and_a_stop_starts_with_silence() -> None:
    hiss = VOICE.render("sa")[:640]
    assert band(hiss, 4000, 7000) > 0.7
    stop = VOICE.render("ta")[:640]
    assert not stop[:300].any()
    assert np.abs(stop[330:]).max() > 0.05


def test_pitch_falls_in_a_statement_and_rises_in_a_question() -> None:
    n = RATE // 5
    said = VOICE.render("aa aa aa aa.").reshape(4, n)
    asked = VOICE.render("aa aa aa aa?").reshape(4, n)
    assert pitch_of(said[0]) > pitch_of(said[3]) + 15
    assert_allclose(said[0] / said[0].max(), asked[0] / asked[0].max(), atol=1e-12)
    assert pitch_of(asked[3][n // 2 :]) > pitch_of(said[3][n // 2 :]) + 30


def test_pause_is_silent() -> None:
    samples = VOICE.render("a, a")
    n = RATE // 5
    assert samples[:n].any()
    assert not samples[n : 2 * n].any()
    assert samples[2 * n :].any()


def test_messages(messages: Messages) -> None:
    messages(nothing_to_say=each(VOICE.render, "", "...", " "))
