"""Draws: bounds, distributions, and reproducibility."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nao_testbed.experiments.sweep.spec import (
    Choice,
    Distribution,
    Normal,
    Uniform,
    draw,
)
from nao_testbed.models import BadInput
from tests.experiments.sweep.files import ANKLES, spec_of

N = 1000
P_VALUE = 1e-3
"""Significance level of distribution tests; seeds are fixed, so they are stable."""
numbers = st.floats(-1e3, 1e3)
names = st.text("abcdefgh._", min_size=1, max_size=12)


def drawn(values: Distribution, name: str = "friction") -> list[float]:
    return [float(draw(values, 7, robot, name)) for robot in range(N)]


def test_uniform_and_normal_follow_their_distributions() -> None:
    uniform = stats.kstest(drawn(Uniform(-2.0, 3.0)), stats.uniform(-2.0, 5.0).cdf)
    assert uniform.pvalue > P_VALUE
    normal = stats.kstest(drawn(Normal(1.0, 0.7)), stats.norm(1.0, 0.7).cdf)
    assert normal.pvalue > P_VALUE
    cut = stats.truncnorm(-1.0, 2.0, loc=1.0, scale=0.7)
    clipped = stats.kstest(drawn(Normal(1.0, 0.7, (0.3, 2.4))), cut.cdf)
    assert clipped.pvalue > P_VALUE


def test_every_option_has_its_stated_frequency() -> None:
    values = [draw(Choice(("a", "b", "b")), 7, robot, "posture") for robot in range(N)]
    counts = [values.count("a"), values.count("b")]
    assert stats.chisquare(counts, [N / 3, 2 * N / 3]).pvalue > P_VALUE


def test_two_parameters_of_a_robot_are_independent() -> None:
    left = drawn(Normal(0.0, 1.0), "misalignment_deg.LAnklePitch")
    right = drawn(Normal(0.0, 1.0), "misalignment_deg.RAnklePitch")
    assert stats.pearsonr(left, right).pvalue > P_VALUE
    assert stats.pearsonr(left[1:], left[:-1]).pvalue > P_VALUE


@given(numbers, st.floats(1e-3, 1e3), st.integers(0, 2**32), st.integers(0, 10**9))
def test_a_draw_lies_within_its_bounds(
    low: float, width: float, seed: int, robot: int
) -> None:
    uniform = draw(Uniform(low, low + width), seed, robot, "x")
    assert low <= float(uniform) <= low + width
    clipped = Normal(low + 0.2 * width, width, (low, low + width))
    assert low <= float(draw(clipped, seed, robot, "x")) <= low + width


@given(st.integers(0, 2**63), st.integers(0, 2**31), names)
def test_draws_are_repeatable(seed: int, robot: int, name: str) -> None:
    values = Normal(0.0, 1.0)
    assert draw(values, seed, robot, name) == draw(values, seed, robot, name)
    assert draw(values, seed, robot, name) != draw(values, seed + 1, robot, name)
    assert draw(values, seed, robot, name) != draw(values, seed, robot + 1, name)


def test_a_robot_does_not_depend_on_the_rest_of_the_sweep(tmp_path: Path) -> None:
    """Grid, number of robots and other draws do not affect it."""
    spec = spec_of(tmp_path, ANKLES)
    other = ANKLES.replace("robots: 4", "robots: 4000").replace(
        "[0.5, 0.7, 0.9]", "0.6"
    )
    assert spec_of(tmp_path, other).drawn_for(3) == spec.drawn_for(3)
    less = "\n".join(line for line in ANKLES.splitlines() if "slope" not in line)
    without_slope = dict(spec.drawn_for(3))
    del without_slope["slope_deg"]
    assert spec_of(tmp_path, less).drawn_for(3) == without_slope


def test_a_robot_is_stable_over_versions(tmp_path: Path) -> None:
    """Published sweeps can be run again: numpy keeps these streams (NEP 19)."""
    robot = spec_of(tmp_path, ANKLES).drawn_for(1)
    known = {
        "slope_deg": -1.5487861411782724,
        "misalignment_deg.LKneePitch": 0.6189769156414516,
    }
    assert {name: robot[name] for name in known} == pytest.approx(known)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Uniform(2.0, -2.0), "the smaller one first"),
        (lambda: Uniform(1.0, 1.0), "the smaller one first"),
        (lambda: Uniform(0.0, np.inf), "finite"),
        (lambda: Normal(0.0, 0.0), "above 0"),
        (lambda: Normal(0.0, 1.0, (2.0, 3.0)), "around the mean"),
        (lambda: Normal(0.0, 1.0, (-0.01, 0.01)), "a tenth of the deviation"),
    ],
)
def test_invalid_draws_are_rejected(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(BadInput, match=words):
        make()
