"""LEDs fade linearly, in the steps of the device manager and of the LED."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers import Command, LedSetting
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.sim import SimulationCfg
from nao_testbed.sim.effectors import SimulatedLeds, colour_names
from tests.sim.conftest import Simulate

DT = 0.001
ATOL = 1e-12  # sums of ticks


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.tick = 0

    def __call__(self) -> int:
        return self.tick


def of(*colours: float, fade_s: float = 0.0) -> LedSetting:
    return LedSetting(colours=np.array(colours), fade_s=fade_s)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leds(nao: Robot, clock: Clock) -> SimulatedLeds:
    return SimulatedLeds(nao, DT, clock)


def test_all_leds_are_off_initially(nao: Robot, leds: SimulatedLeds) -> None:
    shapes = {group.name: leds.state(group.name).shape for group in leds.groups}
    assert shapes["LeftFaceLeds"] == (8, 3)
    assert shapes["BrainLeds"] == (12, 1)
    assert sum(np.prod(shape) for shape in shapes.values()) == 2 * 24 + 20 + 12 + 9
    assert not any(leds.state(group.name).any() for group in leds.groups)


def test_a_colour_without_fade_applies_at_once(leds: SimulatedLeds) -> None:
    leds.fade({"ChestLeds": of(1.0, 0.0, 0.5)})
    assert_array_equal(leds.state("ChestLeds"), [[1.0, 0.0, 127 / 254]])


def test_each_led_of_a_group_can_have_a_different_colour(leds: SimulatedLeds) -> None:
    rising = np.linspace(0.0, 1.0, 10)[:, None]
    leds.fade({"LeftEarLeds": LedSetting(colours=rising)})
    assert_allclose(leds.state("LeftEarLeds"), rising, atol=0.5 / 15)
    assert not leds.state("RightEarLeds").any()


def test_a_fade_is_a_straight_line_in_steps_of_10_ms(
    leds: SimulatedLeds, clock: Clock
) -> None:
    """By hand: 254 levels in 2.54 s are one level per cycle."""
    leds.fade({"ChestLeds": of(1.0, 0.0, 0.0, fade_s=2.54)})
    seen = []
    for clock.tick in range(2600):
        seen.append(leds.state("ChestLeds")[0, 0] * 254)
    by_hand = np.minimum(np.arange(2600) // 10, 254)
    assert_allclose(seen, by_hand, atol=254 * ATOL)


def test_brightness_has_the_levels_of_the_led(
    leds: SimulatedLeds, clock: Clock
) -> None:
    leds.fade({"BrainLeds": of(1.0, fade_s=10.0), "ChestLeds": of(1, 1, 1, fade_s=10)})
    brain, chest = set(), set()
    for clock.tick in range(0, 10010, 10):
        brain.add(leds.state("BrainLeds")[0, 0])
        chest.add(leds.state("ChestLeds")[0, 0])
    assert sorted(brain) == [k / 15 for k in range(16)]
    assert len(chest) == 255


def test_a_new_fade_starts_from_the_current_colour(
    leds: SimulatedLeds, clock: Clock
) -> None:
    leds.fade({"ChestLeds": of(1.0, 0.0, 0.0, fade_s=1.0)})
    clock.tick = 500
    leds.fade({"ChestLeds": of(0.0, 1.0, 0.0, fade_s=1.0)})
    assert_allclose(leds.state("ChestLeds"), [[0.5, 0.0, 0.0]], atol=0.5 / 254)
    clock.tick = 1000
    assert_allclose(leds.state("ChestLeds"), [[0.25, 0.5, 0.0]], atol=0.5 / 254)
    clock.tick = 1500
    assert_allclose(leds.state("ChestLeds"), [[0.0, 1.0, 0.0]], atol=ATOL)


@given(
    first=st.floats(0.0, 1.0),
    second=st.floats(0.0, 1.0),
    fade_s=st.floats(0.0, 2.0),
    ticks=st.lists(st.integers(0, 3000), min_size=2, max_size=6),
)
def test_a_fade_is_monotonic_and_within_its_end_values(
    nao: Robot, first: float, second: float, fade_s: float, ticks: list[int]
) -> None:
    clock = Clock()
    leds = SimulatedLeds(nao, DT, clock)
    leds.fade({"BrainLeds": of(first)})
    start = leds.state("BrainLeds")[0, 0]
    leds.fade({"BrainLeds": of(second, fade_s=fade_s)})
    seen = [start]
    for clock.tick in sorted(ticks):
        seen.append(leds.state("BrainLeds")[0, 0])
    steps = np.diff(seen) * (1.0 if second >= first else -1.0)
    assert (steps >= -ATOL).all()
    clock.tick = 3000
    assert abs(leds.state("BrainLeds")[0, 0] - second) <= 0.5 / 15 + ATOL


def test_an_unknown_group_is_named(leds: SimulatedLeds) -> None:
    with pytest.raises(UnknownName, match="LED group 'ChestLed' is not in robot 'nao"):
        leds.state("ChestLed")


def test_leds_of_a_simulated_robot_fade_with_its_time(
    nao: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, SimulationCfg(), "PoseInit")
    sim.write(Command(leds={"ChestLeds": of(0.0, 0.0, 1.0, fade_s=0.1)}))
    sim.step(50)
    assert_allclose(sim.leds.state("ChestLeds"), [[0.0, 0.0, 0.5]], atol=0.5 / 254)
    kept = sim.snapshot()
    sim.advance_heat(sim.mean_square, 1.0)
    assert_array_equal(sim.leds.state("ChestLeds"), [[0.0, 0.0, 1.0]])
    sim.write(Command(leds={"ChestLeds": of(1.0, 1.0, 1.0)}))
    sim.restore(kept)
    assert_allclose(sim.leds.state("ChestLeds"), [[0.0, 0.0, 0.5]], atol=0.5 / 254)
    sim.forget(kept)


def test_a_rejected_command_changes_no_led(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(), "PoseInit")
    for bad in (
        Command(leds={"ChestLeds": of(1.0, 1.0, 1.0), "BrainLeds": of(1.0, 0.0)}),
        Command(leds={"ChestLeds": of(1, 1, 1)}, stiffness=np.full(26, 2.0)),
    ):
        with pytest.raises(BadInput):
            sim.write(bad)
    assert not sim.leds.state("ChestLeds").any()


def test_a_robot_without_leds_has_no_led_groups(two_leg: Robot) -> None:
    assert SimulatedLeds(two_leg, DT, Clock()).groups == ()


def test_means_are_those_of_each_group_and_colour(nao: Robot) -> None:
    """A group whose LEDs differ, one that fades, and all others dark."""
    clock = [0]
    leds = SimulatedLeds(nao, 1e-3, lambda: clock[0])
    half = np.zeros((8, 3))
    half[:4, 1] = 1.0
    leds.fade({"LeftFaceLeds": LedSetting(colours=half)})
    leds.fade({"BrainLeds": LedSetting(colours=np.ones(1), fade_s=1.0)})
    clock[0] = 400
    means = dict(zip(colour_names(nao.leds), leds.means(), strict=True))
    assert means.pop("LeftFaceLeds.green") == 0.5
    assert means.pop("BrainLeds.white") == pytest.approx(0.4)
    assert set(means.values()) == {0.0}
    assert len(means) == 5 * 3 + 3 - 2
