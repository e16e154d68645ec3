"""Properties of every voice, and of eSpeak NG."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nao_testbed.controllers.transmitter.speech import (
    VOICES,
    EspeakVoice,
    Voice,
    make_voice,
)
from nao_testbed.controllers.transmitter.speech.espeak_voice import SPEAKERS, _load
from nao_testbed.models import BadInput, UnknownName

ROOT = Path(__file__).resolve().parents[3]
SENTENCE = "Hello, I am a robot and my left ankle is hot."


@pytest.fixture(params=VOICES)
def voice(request: pytest.FixtureRequest) -> Voice:
    return make_voice(request.param)


def test_same_text_gives_the_same_sound(voice: Voice) -> None:
    first = voice.render(SENTENCE)
    for text in ("something else", "Shh! 1 2 3", SENTENCE, "Oh?"):
        voice.render(text)
    assert_array_equal(voice.render(SENTENCE), first)


@pytest.mark.slow
@pytest.mark.parametrize("name", VOICES)
def test_sound_is_the_same_in_another_process(name: str) -> None:
    code = (
        "from hashlib import sha256; "
        "from nao_testbed.controllers.transmitter.speech import make_voice; "
        f"print(sha256(make_voice({name!r}).render({SENTENCE!r})).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1


def test_voice_speaks_4_to_6_syllables_per_second(voice: Voice) -> None:
    """Manual count: hel-lo I am a ro-bot and my left an-kle is hot, 14."""
    samples = voice.render(SENTENCE)
    sounding = np.flatnonzero(np.abs(samples) > 0.01)
    length_s = (sounding[-1] - sounding[0]) / voice.sample_rate_hz
    assert 14 / 6.5 < length_s < 14 / 4


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=15))
@settings(max_examples=25)
@pytest.mark.parametrize("name", VOICES)
def test_any_text_is_within_full_scale(name: str, text: str) -> None:
    samples = make_voice(name).render(f"{text} A")
    assert samples.ndim == 1
    assert 0.001 < np.abs(samples).max() <= 1.0


def test_spectrum_and_pauses_are_those_of_speech(voice: Voice) -> None:
    """Most power is between 80 and 4000 Hz, and there are pauses."""
    samples = voice.render("Stop! Stop now.")
    power = np.abs(np.fft.rfft(samples)) ** 2
    hz = np.fft.rfftfreq(len(samples), 1 / voice.sample_rate_hz)
    assert power[(hz > 80) & (hz < 4000)].sum() > 0.8 * power.sum()
    quiet = np.abs(samples).reshape(-1)[: len(samples) // 160 * 160]
    assert (quiet.reshape(-1, 160).max(axis=1) < 0.01).sum() >= 10  # 0.1 s


@pytest.mark.parametrize("text", ["", "...", " \0 "])
def test_text_without_letters_is_rejected(voice: Voice, text: str) -> None:
    with pytest.raises(BadInput, match=r"nothing to say in .*; give a letter"):
        voice.render(text)


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_sound_does_not_depend_on_previous_texts(speaker: str) -> None:
    voice = EspeakVoice(speaker)
    texts = ("Hello", "Stand up", SENTENCE, "a b c", "Oh, ah, eh")
    first = [voice.render(text) for text in texts]
    for text, sound in zip(reversed(texts), reversed(first), strict=True):
        assert_array_equal(voice.render(text), sound)


def test_two_voices_are_independent() -> None:
    one, two = EspeakVoice(), EspeakVoice("Hugo", "de")
    first = one.render("Guten Tag")
    assert not np.array_equal(two.render("Guten Tag")[:1000], first[:1000])
    assert_array_equal(one.render("Guten Tag"), first)


def test_unknown_names_are_reported() -> None:
    with pytest.raises(UnknownName, match=r"Voice 'espaek'.*Did you mean 'espeak'"):
        make_voice("espaek")
    with pytest.raises(UnknownName, match="Speaker 'Marvin' is not in the voices"):
        EspeakVoice("Marvin")
    with pytest.raises(BadInput, match="no language 'xx'"):
        EspeakVoice(language="xx")


def test_missing_library_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    _load.cache_clear()
    with pytest.raises(BadInput, match=r"'\.\[speech\]'. in the checkout, or choose"):
        make_voice("espeak")
