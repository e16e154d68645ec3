"""Tone: one frequency, exact length, no clicks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.transmitter.speech import tone
from tests.messages import Messages, each


@pytest.mark.parametrize("frequency_hz", [110.0, 440.0, 1234.0, 7000.0])
def test_spectrum_peaks_at_the_frequency(frequency_hz: float) -> None:
    samples = tone(frequency_hz, 1.0)
    power = np.abs(np.fft.rfft(samples)) ** 2
    assert np.argmax(power) == frequency_hz  # one bin per hertz
    low = max(int(frequency_hz) - 400, 0)  # spread by the 5 ms ramps
    near = power[low : int(frequency_hz) + 401]
    assert near.sum() > 0.9999 * power.sum()


@given(
    frequency_hz=st.floats(20.0, 7900.0),
    length_s=st.floats(0.001, 2.0),
    rate_hz=st.sampled_from([16000, 22050, 44100]),
)
def test_tone_has_its_length_and_is_within_full_scale(
    frequency_hz: float, length_s: float, rate_hz: int
) -> None:
    samples = tone(frequency_hz, length_s, rate_hz)
    assert (
        abs(len(samples) / rate_hz - length_s) <= (0.5 + 1e-6) / rate_hz
    )  # and a tie rounds either way
    assert np.abs(samples).max() <= 1.0
    assert samples[0] == samples[-1] == 0.0


def test_tone_is_a_full_scale_sine_between_its_ramps() -> None:
    samples = tone(1000.0, 0.1)
    t = np.arange(80, 1520) / 16000
    assert_allclose(samples[80:1520], np.sin(2 * np.pi * 1000 * t), atol=1e-12)


def test_messages(messages: Messages) -> None:
    messages(
        invalid_tone=each(
            tone,
            (0.0, 1.0),
            (8000.0, 1.0),
            (np.nan, 1.0),
            (440.0, 0.0),
            (440.0, np.inf),
            (440.0, np.nan),
        )
    )
