"""Filters and noise, against SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import freqz, lfilter, max_len_seq

from nao_testbed.controllers.transmitter.speech.sounds import (
    BANDWIDTH_HZ,
    buzz,
    noise,
    resonate,
)

RATE = 16000


@pytest.mark.parametrize("formants_hz", [(730.0,), (270.0, 2290.0, 3010.0)])
def test_resonators_follow_the_difference_equation(
    formants_hz: tuple[float, ...],
) -> None:
    sound = np.random.default_rng(1).normal(size=3000)
    expected = sound
    for f, width in zip(formants_hz, BANDWIDTH_HZ, strict=False):
        c = -np.exp(-2 * np.pi * width / RATE)
        b = 2 * np.exp(-np.pi * width / RATE) * np.cos(2 * np.pi * f / RATE)
        expected = lfilter([1 - b - c], [1, -b, -c], expected)
    assert_allclose(resonate(sound, formants_hz, RATE), expected, atol=1e-10)


def test_resonator_has_its_frequency_and_bandwidth() -> None:
    impulse = np.zeros(8000)
    impulse[0] = 1.0
    hz, gain = freqz(resonate(impulse, (1000.0,), RATE), worN=160000, fs=RATE)
    power = np.abs(gain) ** 2
    peak = int(np.argmax(power))
    assert abs(hz[peak] - 1000.0) < 1.0
    above = hz[power > power[peak] / 2]
    assert_allclose(above[-1] - above[0], BANDWIDTH_HZ[0], rtol=0.01)


def test_noise_is_white_and_deterministic() -> None:
    whole = noise(2**15 - 1)
    assert set(whole) == {-1.0, 1.0}
    assert abs(whole.sum()) == 1.0
    power = np.abs(np.fft.rfft(whole))[1:] ** 2
    assert_allclose(power, 2**15, rtol=1e-6)  # flat for a maximum length sequence
    by_scipy = np.abs(np.fft.rfft(2.0 * max_len_seq(15)[0] - 1.0))[1:] ** 2
    assert_allclose(power, by_scipy, rtol=1e-6)
    assert_array_equal(noise(40000)[2**15 - 1 :], whole[: 40000 - 2**15 + 1])


def test_buzz_has_the_pulses_of_its_pitch() -> None:
    pulses = buzz(np.full(RATE, 100.0), RATE)
    rising = np.flatnonzero(np.diff(pulses) > 0.02)
    assert len(rising) == 100  # and one at the start
    assert set(np.diff(rising)) == {160}
