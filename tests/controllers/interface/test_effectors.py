"""Commands for lights and loudspeakers."""

from math import inf, nan

import numpy as np
import pytest

from nao_testbed.controllers import Command, LedSetting, SoundChunk
from nao_testbed.controllers.interface.robot_interface import check_command
from nao_testbed.models import Robot
from tests.messages import Messages, each


def led(*colours: float, fade_s: float = 0.0) -> LedSetting:
    return LedSetting(colours=np.array(colours), fade_s=fade_s)


def chunk(n: int = 160, rate_hz: int = 16000) -> SoundChunk:
    return SoundChunk(samples=np.zeros(n), sample_rate_hz=rate_hz, label="hello")


def test_settings_copy_their_arrays() -> None:
    colours, samples = np.zeros(3), np.zeros(160)
    setting = LedSetting(colours=colours)
    sound = SoundChunk(samples=samples, sample_rate_hz=16000, label="hello")
    colours[0] = samples[0] = 1.0
    assert setting.colours[0] == sound.samples[0] == 0.0
    for kept in (setting.colours, sound.samples):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 1.0


def test_chunk_length_is_samples_over_rate() -> None:
    assert chunk(160).length_s == 0.010
    assert chunk(441, 44100).length_s == 0.010


def test_supported_colours_and_rates_are_accepted(nao: Robot) -> None:
    leds = {"LeftFaceLeds": led(0.0, 1.0, 0.0), "BrainLeds": led(0.5, fade_s=1.0)}
    leds["LeftEarLeds"] = LedSetting(colours=np.linspace(0.0, 1.0, 10)[:, None])
    check_command(Command(leds=leds, sound=chunk()), nao)
    check_command(Command(sound=chunk(441, 44100)), nao)


def test_messages(messages: Messages, nao: Robot, two_leg: Robot) -> None:
    messages(
        invalid_colours_or_fade=each(
            lambda colours, fade_s=0.0: LedSetting(colours=colours, fade_s=fade_s),
            np.array([0.0, 1.5, 0.0]),
            np.array([0.0, nan, 0.0]),
            np.array([[0.0], [-0.1]]),
            np.zeros((2, 3, 4)),
            np.zeros(0),
            np.array(1.0),
            np.array(["red"]),
            (np.zeros(3), -0.1),
            (np.zeros(3), nan),
            (np.zeros(3), inf),
        ),
        invalid_sound=each(
            lambda samples, rate_hz, label: SoundChunk(
                samples=samples, sample_rate_hz=rate_hz, label=label
            ),
            (np.array([0.0, 1.01]), 16000, "a"),
            (np.array([0.0, nan]), 16000, "a"),
            (np.zeros(0), 16000, "a"),
            (np.zeros((2, 80)), 16000, "a"),
            (np.zeros(4), 0, "a"),
            (np.zeros(4), 16000, ""),
        ),
        colours_not_supported=each(
            lambda **leds: check_command(Command(leds=leds), nao),
            BrainLeds=[led(0.0, 1.0, 0.0)],
            ChestLeds=[led(1.0), LedSetting(colours=np.zeros((2, 3)))],
        ),
        lights_and_rates_not_supported=[
            lambda: check_command(Command(leds={"ChestLed": led(0.0, 0.0, 0.0)}), nao),
            lambda: check_command(Command(sound=chunk(80, 8000)), nao),
            lambda: check_command(Command(sound=chunk()), two_leg),
        ],
    )
