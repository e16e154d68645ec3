"""Syllables and pauses, against a manual count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.transmitter.speech.syllable_voice import (
    Syllable,
    phrases_of,
    syllables_of,
)

BY_HAND = {
    "hello": 2,
    "robot": 2,
    "wave": 1,
    "temperature": 4,
    "banana": 3,
    "queen": 1,
    "quite": 1,
    "you": 1,
    "yes": 1,
    "happy": 2,
    "table": 2,
    "the": 1,
    "we": 1,
    "moved": 1,
    "wanted": 2,
    "stairs": 1,
    "I'm": 1,
    "Aldebaran": 4,
    "über": 2,
    "LED": 1,
    "TTS": 3,
}


@pytest.mark.parametrize(("word", "count"), BY_HAND.items())
def test_number_of_syllables_of_a_word(word: str, count: int) -> None:
    assert len(syllables_of(word)) == count


def test_consonants_belong_to_the_syllable_that_they_start() -> None:
    assert syllables_of("robot") == (
        Syllable(onset="r", vowels="o", coda=""),
        Syllable(onset="b", vowels="o", coda="t"),
    )
    assert syllables_of("standing") == (
        Syllable(onset="st", vowels="a", coda="n"),
        Syllable(onset="d", vowels="i", coda="ng"),
    )
    assert syllables_of("jumped") == (Syllable(onset="j", vowels="u", coda="mpd"),)
    assert syllables_of("beam")[0].vowels == "ea"
    assert syllables_of("queen")[0] == Syllable(onset="qu", vowels="e", coda="n")


def test_punctuation_makes_pauses_except_at_the_end() -> None:
    phrases = phrases_of("Hello, I am a robot. Shall we stand up?")
    assert [len(phrase.syllables) for phrase in phrases] == [2, 5, 4]
    assert [phrase.pause_s for phrase in phrases] == [0.2, 0.4, 0.0]
    assert [phrase.is_question for phrase in phrases] == [False, False, True]


def test_digits_are_spoken_one_by_one() -> None:
    (phrase,) = phrases_of("75 degrees")
    assert len(phrase.syllables) == 2 + 1 + 2  # seven five degrees
    (phrase,) = phrases_of("3²")
    assert len(phrase.syllables) == 2
    (phrase,) = phrases_of("3.5")  # no pause inside a number
    assert len(phrase.syllables) == 2


def test_letter_of_another_alphabet_is_one_syllable() -> None:
    (phrase,) = phrases_of("日本 Ä")
    assert [syllable.vowels for syllable in phrase.syllables] == ["a", "a", "a"]


@pytest.mark.parametrize("text", ["", "  ", "...", "?!", "--", "_"])
def test_punctuation_alone_gives_no_phrase(text: str) -> None:
    assert phrases_of(text) == ()


@pytest.mark.slow(covers=True)
@given(st.text(max_size=60))
def test_any_text_gives_valid_syllables(text: str) -> None:
    for phrase in phrases_of(text):
        assert phrase.syllables
        for syllable in phrase.syllables:
            letters = syllable.onset + syllable.vowels + syllable.coda
            assert set(letters) <= set("abcdefghijklmnopqrstuvwxyz")
            assert 1 <= len(syllable.vowels) <= 2
