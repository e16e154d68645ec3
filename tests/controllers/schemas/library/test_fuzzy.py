"""Fuzzy controller against scikit-fuzzy, by hand calculation, and by laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.schemas.library.fuzzy import (
    FuzzyController,
    FuzzySet,
    FuzzyVariable,
    Rule,
    triangle,
)
from nao_testbed.models import BadInput, UnknownName

ATOL_TIP = 1e-3  # percent; the output is sampled at 501 and at 100 001 points


def quality_of_three(name: str) -> FuzzyVariable:
    words = {
        "poor": triangle(0.0, 0.0, 5.0),
        "average": triangle(0.0, 5.0, 10.0),
        "good": triangle(5.0, 10.0, 10.0),
    }
    return FuzzyVariable(name=name, low=0.0, high=10.0, words=words)


def tipping() -> FuzzyController:
    """Return the tipping problem of fuzzy toolbox manuals."""
    tip = FuzzyVariable(
        name="tip",
        low=0.0,
        high=25.0,
        words={
            "low": triangle(0.0, 0.0, 13.0),
            "medium": triangle(0.0, 13.0, 25.0),
            "high": triangle(13.0, 25.0, 25.0),
        },
    )
    rules = (
        Rule(when={"food": "poor"}, then="low"),
        Rule(when={"service": "poor"}, then="low"),
        Rule(when={"service": "average"}, then="medium"),
        Rule(when={"service": "good"}, then="high"),
        Rule(when={"food": "good"}, then="high"),
    )
    inputs = (quality_of_three("food"), quality_of_three("service"))
    return FuzzyController(inputs, tip, rules, otherwise=0.0)


def test_triangle_corners_may_coincide_at_an_end() -> None:
    assert triangle(0.0, 0.0, 5.0).membership(0.0) == 1.0
    assert triangle(5.0, 10.0, 10.0).membership(10.0) == 1.0


@pytest.mark.requirement("JD-15")
@pytest.mark.parametrize(
    ("food", "service", "tip"),
    [
        # scikit-fuzzy 0.5.0, trimf, interp_membership, fmin, fmax, defuzz "centroid",
        # the tip at np.linspace(0, 25, 100001).
        (6.5, 9.8, 19.857759206913467),
        (2.0, 3.0, 10.844925255702066),
        (5.0, 5.0, 12.666666666666819),
        (0.5, 9.5, 12.342666666668384),
        (7.3, 1.1, 11.025153732811713),
    ],
)
def test_tip_agrees_with_scikit_fuzzy(food: float, service: float, tip: float) -> None:
    found = tipping().decide({"food": food, "service": service})
    assert_allclose(found, tip, atol=ATOL_TIP)


def test_centroid_of_a_clipped_triangle() -> None:
    # μ = min(x, 1/2) over a ramp on [0, 1]: area 3/8, moment 1/24 + 3/16 = 11/48.
    ramp = FuzzyVariable(
        name="y", low=0.0, high=1.0, words={"up": triangle(0.0, 1.0, 1.0)}
    )
    level = FuzzyVariable(
        name="x", low=0.0, high=1.0, words={"much": triangle(0.0, 1.0, 1.0)}
    )
    rule = Rule(when={"x": "much"}, then="up")
    found = FuzzyController([level], ramp, [rule], otherwise=0.0).decide({"x": 0.5})
    assert_allclose(found, (11 / 48) / (3 / 8), atol=1e-6)


@given(st.floats(-5.0, 15.0), st.floats(-5.0, 15.0))
def test_output_lies_in_its_range(food: float, service: float) -> None:
    assert 0.0 <= tipping().decide({"food": food, "service": service}) <= 25.0


@given(st.floats(-100.0, 100.0), st.lists(st.floats(-50, 50), min_size=4, max_size=4))
def test_membership_is_a_fraction_and_1_on_the_plateau(
    x: float, corners: list[float]
) -> None:
    foot, rise, fall, end = sorted(corners)
    fuzzy = FuzzySet(foot=foot, rise=rise, fall=fall, end=end)
    assert 0.0 <= fuzzy.membership(x) <= 1.0
    assert fuzzy.membership(rise) == fuzzy.membership(fall) == 1.0
    if x < foot or x > end:
        assert fuzzy.membership(x) == 0.0


def test_default_output_is_used_when_no_rule_applies() -> None:
    level = FuzzyVariable(
        name="x", low=0.0, high=1.0, words={"much": triangle(0.5, 1.0, 1.0)}
    )
    only = FuzzyController(
        [level], level, [Rule(when={"x": "much"}, then="much")], otherwise=-1.0
    )
    assert only.decide({"x": 0.4}) == -1.0
    assert only.decide({"x": 0.6}) > 0.5


def test_rule_of_small_weight_has_less_influence() -> None:
    level = FuzzyVariable(
        name="x",
        low=0.0,
        high=1.0,
        words={"low": triangle(0.0, 0.0, 1.0), "high": triangle(0.0, 1.0, 1.0)},
    )

    def answer(weight: float) -> float:
        rules = [
            Rule(when={"x": "low"}, then="low"),
            Rule(when={"x": "high"}, then="high", weight=weight),
        ]
        return FuzzyController([level], level, rules, otherwise=0.0).decide({"x": 0.5})

    assert_allclose(answer(1.0), 0.5, atol=1e-9)
    assert answer(0.2) < 0.45


def test_unknown_names_are_reported() -> None:
    food = quality_of_three("food")
    with pytest.raises(UnknownName, match=r"'foot'.*food"):
        FuzzyController(
            [food], food, [Rule(when={"foot": "poor"}, then="poor")], otherwise=0.0
        )
    with pytest.raises(UnknownName, match=r"'avarage'.*average"):
        FuzzyController(
            [food], food, [Rule(when={"food": "avarage"}, then="poor")], otherwise=0.0
        )
    with pytest.raises(UnknownName, match="service"):
        tipping().decide({"food": 1.0})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: triangle(1.0, 0.0, 2.0), "rising order"),
        (lambda: triangle(0.0, float("nan"), 2.0), "four numbers"),
        (lambda: FuzzyVariable(name="x", low=1.0, high=0.0, words={}), "range of 'x'"),
        (lambda: FuzzyVariable(name="x", low=0.0, high=1.0, words={}), "no words"),
        (lambda: Rule(when={}, then="low"), "no condition"),
        (lambda: Rule(when={"x": "y"}, then="low", weight=0.0), "weight"),
        (
            lambda: FuzzyController(
                [], quality_of_three("x"), [], otherwise=0.0, samples=1
            ),
            "at least one rule",
        ),
    ],
)
def test_invalid_values_are_rejected(make: object, says: str) -> None:
    assert callable(make)
    with pytest.raises(BadInput, match=says):
        make()
