"""Set-points on a recording follow the present controller's shift, not the old one's.

A controller that shifts set-points subtracts its own shift from `Observation.target`;
the rest is the external request. So a replay returns the recorded request plus the
shift of the present controller.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.replayed_robot import RecordedObservations, ReplayRobot
from tests.sim.recording.short_recordings import invented

ATOL = 1e-14  # rad: two roundings of numbers below 1

Array = NDArray[np.float64]


def shifted(
    robot: Robot, request: Array, shifts: Array, time_s: list[float]
) -> RecordedObservations:
    """A recording of a controller whose shifts apply from the next row."""
    recorded = invented(robot, time_s)
    before = np.vstack([np.zeros(len(robot.joints)), shifts[:-1]])
    target = np.clip(request + before, robot.lower, robot.upper)
    return replace(
        recorded, values={**recorded.values, "target": target}, shifts=shifts
    )


def targets(replay: ReplayRobot, own: list[Array | None]) -> Array:
    """Apply one shift per observation; return the set-points that were read."""
    read = []
    for shift in own:
        read.append(replay.read().target)
        replay.take_shift(shift)
        replay.step(20)
    return np.array(read)


@pytest.mark.requirement("JD-18")
@given(
    request_rad=st.lists(st.floats(-0.2, 0.2), min_size=4, max_size=4),
    recorded=st.lists(st.floats(-0.05, 0.05), min_size=4, max_size=4),
    own=st.lists(st.none() | st.floats(-0.05, 0.05), min_size=4, max_size=4),
)
def test_target_minus_own_shift_is_the_recorded_request(
    two_leg: Robot,
    request_rad: list[float],
    recorded: list[float],
    own: list[float | None],
) -> None:
    n = len(two_leg.joints)
    middle = 0.5 * (two_leg.lower + two_leg.upper)
    request = middle + np.outer(request_rad, np.ones(n))
    shifts = np.outer(recorded, np.ones(n))
    replay = ReplayRobot(shifted(two_leg, request, shifts, [0.0, 0.02, 0.04, 0.06]))
    read = targets(replay, [None if x is None else np.full(n, x) for x in own])
    before = np.array([0.0, *(x or 0.0 for x in own[:-1])])
    assert_allclose(read - before[:, np.newaxis], request, rtol=0, atol=ATOL)
    assert replay.is_over


@given(recorded=st.lists(st.floats(-4.0, 4.0), min_size=3, max_size=3))
def test_recorded_shifts_reproduce_recorded_set_points(
    two_leg: Robot, recorded: list[float]
) -> None:
    """Bit for bit, also where the joint range clipped them."""
    shifts = np.outer(np.clip(recorded, -3.0, 3.0), np.ones(len(two_leg.joints)))
    observations = shifted(two_leg, np.zeros_like(shifts), shifts, [0.0, 0.02, 0.04])
    read = targets(ReplayRobot(observations), list(shifts))
    assert_array_equal(read, observations.values["target"])


def test_shifted_set_points_are_clipped_to_the_joint_range(
    two_leg: Robot,
) -> None:
    n = len(two_leg.joints)
    observations = shifted(
        two_leg, np.tile(two_leg.upper, (2, 1)), np.zeros((2, n)), [0.0, 0.02]
    )
    far = np.zeros(n)
    far[0] = 0.3
    read = targets(ReplayRobot(observations), [far, None])
    assert_array_equal(read[1], two_leg.upper)


def test_a_shift_persists_over_jumps_and_unread_observations(
    two_leg: Robot,
) -> None:
    n = len(two_leg.joints)
    middle = np.tile(0.5 * (two_leg.lower + two_leg.upper), (4, 1))
    times = [0.0, 0.02, 0.04, 9.0]
    observations = shifted(two_leg, middle, np.zeros((4, n)), times)
    replay = ReplayRobot(observations)
    replay.take_shift(np.full(n, 0.01))
    assert_array_equal(replay.read().target, middle[0], "not before it is in force")
    replay.step(20)
    assert_allclose(replay.read().target, middle[0] + 0.01, atol=ATOL)
    replay.step(20)
    replay.step(20)  # over the jump
    assert replay.time_s == pytest.approx(9.0)
    assert_allclose(replay.read().target, middle[0] + 0.01, atol=ATOL)


@pytest.mark.parametrize("knows", [True, False])
def test_without_a_shift_recorded_set_points_are_returned(
    two_leg: Robot, knows: bool
) -> None:
    shifts = np.full((2, len(two_leg.joints)), 0.02)
    middle = np.tile(0.5 * (two_leg.lower + two_leg.upper), (2, 1))
    observations = shifted(two_leg, middle, shifts, [0.0, 0.02])
    if not knows:
        observations = replace(observations, shifts=None)
    replay = ReplayRobot(observations)
    if not knows:
        replay.take_shift(None)
    replay.step(20)
    assert_array_equal(replay.read().target, observations.values["target"][1])


@pytest.mark.parametrize("bad", [np.nan, 4.0])
def test_an_invalid_shift_is_rejected(two_leg: Robot, bad: float) -> None:
    replay = ReplayRobot(invented(two_leg, [0.0, 0.02]))
    with pytest.raises(BadInput, match="shift of the set-point of left_hip"):
        replay.take_shift(np.full(len(two_leg.joints), bad))
    with pytest.raises(BadInput, match="one per joint"):
        replay.take_shift(np.zeros(1))
