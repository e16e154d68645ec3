"""What lights and loudspeakers may be told."""

from math import inf, nan

import numpy as np
import pytest

from nao_testbed.controllers import Command, LedSetting, SoundChunk
from nao_testbed.controllers.interface.robot_interface import check_command
from nao_testbed.models import BadInput, Robot, UnknownName


def led(*colours: float, fade_s: float = 0.0) -> LedSetting:
    return LedSetting(colours=np.array(colours), fade_s=fade_s)


def chunk(n: int = 160, rate_hz: int = 16000) -> SoundChunk:
    return SoundChunk(samples=np.zeros(n), sample_rate_hz=rate_hz, label="hello")


def test_what_was_given_may_be_changed_afterwards() -> None:
    colours, samples = np.zeros(3), np.zeros(160)
    setting = LedSetting(colours=colours)
    sound = SoundChunk(samples=samples, sample_rate_hz=16000, label="hello")
    colours[0] = samples[0] = 1.0
    assert setting.colours[0] == sound.samples[0] == 0.0
    for kept in (setting.colours, sound.samples):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 1.0


def test_a_chunk_lasts_as_long_as_its_samples() -> None:
    assert chunk(160).length_s == 0.010
    assert chunk(441, 44100).length_s == 0.010


@pytest.mark.parametrize(
    ("colours", "fade_s", "said"),
    [
        (np.array([0.0, 1.5, 0.0]), 0.0, "colour of an LED is 1.5; accepted: 0 to 1."),
        (np.array([0.0, nan, 0.0]), 0.0, "colour of an LED is nan; accepted: 0 to 1."),
        (np.array([[0.0], [-0.1]]), 0.0, "colour of an LED is -0.1; accepted: 0 to 1."),
        (np.zeros((2, 3, 4)), 0.0, r"shape \(2, 3, 4\); give \(channels,\)"),
        (np.zeros(0), 0.0, r"shape \(0,\); give \(channels,\)"),
        (np.array(1.0), 0.0, r"shape \(\); give \(channels,\)"),
        (np.array(["red"]), 0.0, "colours of LEDs are .*'red'.*; give an array"),
        (np.zeros(3), -0.1, r"fade of LEDs is -0.1 s; give 0 \(at once\)"),
        (np.zeros(3), nan, "fade of LEDs is nan s"),
        (np.zeros(3), inf, "fade of LEDs is inf s"),
    ],
)
def test_colours_are_fractions_and_a_fade_ends(
    colours: np.ndarray, fade_s: float, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        LedSetting(colours=colours, fade_s=fade_s)


@pytest.mark.parametrize(
    ("samples", "rate_hz", "label", "said"),
    [
        (np.array([0.0, 1.01]), 16000, "a", "sample of a sound is 1.01; accepted: -1"),
        (np.array([0.0, nan]), 16000, "a", "sample of a sound is nan"),
        (np.zeros(0), 16000, "a", r"shape \(0,\); give \(n,\), at least one"),
        (np.zeros((2, 80)), 16000, "a", r"shape \(2, 80\); give \(n,\)"),
        (np.zeros(4), 0, "a", "sample rate is 0 Hz; give a positive one"),
        (np.zeros(4), 16000, "", "a sound has no label"),
    ],
)
def test_sound_is_within_full_scale_and_has_a_name(
    samples: np.ndarray, rate_hz: int, label: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        SoundChunk(samples=samples, sample_rate_hz=rate_hz, label=label)


def test_a_robot_takes_the_colours_and_rates_that_it_has(nao: Robot) -> None:
    leds = {"LeftFaceLeds": led(0.0, 1.0, 0.0), "BrainLeds": led(0.5, fade_s=1.0)}
    leds["LeftEarLeds"] = LedSetting(colours=np.linspace(0.0, 1.0, 10)[:, None])
    check_command(Command(leds=leds, sound=chunk()), nao)
    check_command(Command(sound=chunk(441, 44100)), nao)


@pytest.mark.parametrize(
    ("leds", "said"),
    [
        (
            {"BrainLeds": led(0.0, 1.0, 0.0)},
            r"colours for BrainLeds have shape \(3,\); give \(1,\) or \(12, 1\): it is "
            "12 LEDs, white.",
        ),
        (
            {"ChestLeds": led(1.0)},
            r"colours for ChestLeds have shape \(1,\); give \(3,\) or \(1, 3\)",
        ),
        ({"ChestLeds": LedSetting(colours=np.zeros((2, 3)))}, r"shape \(2, 3\)"),
    ],
)
def test_other_colours_are_refused(
    nao: Robot, leds: dict[str, LedSetting], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        check_command(Command(leds=leds), nao)


def test_lights_and_rates_that_a_robot_has_not_are_named(
    nao: Robot, two_leg: Robot
) -> None:
    with pytest.raises(UnknownName, match=r"LED group 'ChestLed'.*'ChestLeds'"):
        check_command(Command(leds={"ChestLed": led(0.0, 0.0, 0.0)}), nao)
    with pytest.raises(
        BadInput, match=r"8000 samples a second; .* 16000, 22050, 44100"
    ):
        check_command(Command(sound=chunk(80, 8000)), nao)
    with pytest.raises(BadInput, match="'hello' on a robot without a loudspeaker"):
        check_command(Command(sound=chunk()), two_leg)
