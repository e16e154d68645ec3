"""Gestures and the dance: from Stand to Stand, without a fall, with stable stops."""

import numpy as np
import pytest

from nao_testbed.models import Robot
from tests.sim.motions.player import SLOT_S, Player, set_points, world

GESTURES = ("wave", "nod", "shake head", "bow")
ERROR_DEG = 3.0
TILT_DEG = 10.0
BOW_DEG = 30.0  # it leans by 26
REST_RAD_S = 1e-6
SOLES = {"l_ankle", "r_ankle"}


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.parametrize(("friction", "seed"), [(0.5, 1), (0.9, 2)])
@pytest.mark.parametrize("name", GESTURES)
def test_a_gesture_ends_as_it_begins(
    nao: Robot, name: str, friction: float, seed: int
) -> None:
    motion = nao.library.motion(name)
    assert (motion.start, motion.end) == ("Stand", "Stand")
    with Player(nao, world(friction, seed), "Stand") as player:
        player.play(motion)
        player.rest(1.0)
        outcome = player.outcome()
    assert outcome.error_deg < ERROR_DEG
    assert outcome.largest_tilt_deg < (BOW_DEG if name == "bow" else TILT_DEG)
    assert outcome.carriers == SOLES


def test_the_dance_is_at_rest_at_stops(nao: Robot) -> None:
    """All set-points are constant there: the dance can stop without a jerk."""
    dance = nao.library.motion("dance")
    rows = set_points(nao, dance, nao.posture("Stand").angles)
    assert len(dance.stops_s) >= 4
    assert dance.length_s == pytest.approx(20.0)
    for stop_s in dance.stops_s:
        k = round(stop_s / SLOT_S) - 1
        speed = np.abs(rows[k] - rows[k - 1]) / SLOT_S
        assert speed.max() < REST_RAD_S, f"{stop_s} s"


@pytest.mark.slow
@pytest.mark.scenario
def test_the_dance_is_stable_at_its_stops_and_at_the_end(nao: Robot) -> None:
    """The robot still stands one second after a stop and after the dance."""
    dance = nao.library.motion("dance")
    stops = {round(stop_s / SLOT_S) for stop_s in dance.stops_s}
    with Player(nao, world(0.5, seed=0), "Stand") as player:
        for k, target in enumerate(player.ways(dance), start=1):
            player.slot(target)
            if k in stops:
                kept = player.sim.snapshot()
                player.rest(1.0)
                stopped = player.outcome()
                assert stopped.carriers == SOLES
                assert stopped.error_deg < ERROR_DEG
                player.sim.restore(kept)
                player.sim.forget(kept)
        player.rest(1.0)
        outcome = player.outcome()
    assert outcome.error_deg < ERROR_DEG
    assert outcome.largest_tilt_deg < TILT_DEG
    assert outcome.state == "Stand"
