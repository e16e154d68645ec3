"""Protections: statuses, latches, and the remaining stiffness."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.protection import (
    PROTECTIONS,
    Protection,
    ProtectionCfg,
    StatusChange,
    make_protection,
)
from tests.messages import Messages, each

NAO, ES2659053 = PROTECTIONS["nao"], PROTECTIONS["document"]


@pytest.fixture(scope="module", name="robot")
def _robot(nao: Robot) -> Robot:
    return nao


laws = settings(deadline=None, max_examples=60, derandomize=True)


def _temperatures(robot: Robot, **hot: float) -> FloatArray:
    temperature = np.full(len(robot.motors), 40.0)
    for name, value in hot.items():
        temperature[robot.motor_names.index(name)] = value
    return temperature


def _statuses(
    protection: Protection, robot: Robot, motor: str, course: Sequence[float]
) -> list[int]:
    stiffness = np.ones(len(robot.joints))
    seen = []
    for value in course:
        protection.apply(stiffness, _temperatures(robot, **{motor: value}))
        seen.append(int(protection.status[robot.motor_names.index(motor)]))
    return seen


@pytest.mark.requirement("ST-4")
def test_one_joint_at_80_degrees_makes_the_whole_robot_limp_for_good(
    robot: Robot,
) -> None:
    protection = make_protection("document", robot)
    stiffness = np.linspace(0.0, 1.0, len(robot.joints))
    below = protection.apply(stiffness, _temperatures(robot, LAnklePitch=79.9))
    assert np.array_equal(below, stiffness)
    at = protection.apply(stiffness, _temperatures(robot, LAnklePitch=80.0))
    assert np.array_equal(at, np.zeros_like(stiffness))
    cold = protection.apply(stiffness, _temperatures(robot))
    assert np.array_equal(cold, np.zeros_like(stiffness))
    assert protection.take_events() == (
        StatusChange(motor="LAnklePitch", before=0, status=3, temperature_degc=80.0),
    )
    assert protection.take_events() == ()
    protection.reset()
    again = protection.apply(stiffness, _temperatures(robot))
    assert np.array_equal(again, stiffness)


@pytest.mark.requirement("ST-4")
def test_scope_joint_limits_only_the_hot_joint(robot: Robot) -> None:
    protection = Protection(robot, replace(ES2659053, scope="joint"))
    ones = np.ones(len(robot.joints))
    left = protection.apply(ones, _temperatures(robot, LHipYawPitch=81.0))
    limp = {robot.joint_names[i] for i in np.flatnonzero(left == 0.0)}
    assert limp == {"LHipYawPitch", "RHipYawPitch"}
    assert not protection.is_shut_down
    both = protection.apply(ones, _temperatures(robot, RKneePitch=80.0))
    assert np.count_nonzero(both == 0.0) == 3


@pytest.mark.requirement("ST-4")
def test_a_hot_total_shuts_the_robot_down(robot: Robot) -> None:
    protection = Protection(robot, replace(ES2659053, mean_degc=55.0))
    ones = np.ones(len(robot.joints))
    uneven = np.linspace(-20.0, 20.0, len(robot.motors))
    assert protection.apply(ones, 54.9 + uneven).all()
    assert not protection.apply(ones, 55.1 + uneven).any()
    assert [event.motor for event in protection.take_events()] == ["Body"]


@pytest.mark.requirement("ST-4")
@pytest.mark.parametrize(
    ("course", "statuses"),
    [
        ((75.9, 76.0, 75.0, 70.0, 69.9, 75.9), [0, 1, 1, 1, 0, 0]),
        ((76.0, 80.0, 90.0, 84.0, 83.9, 74.0, 73.9, 69.9), [1, 2, 3, 3, 2, 2, 1, 0]),
        ((95.0, 40.0), [3, 0]),
        ((89.0, 73.0), [2, 1]),
    ],
)
def test_statuses_rise_at_their_onset_and_fall_below_their_release(
    robot: Robot, course: tuple[float, ...], statuses: list[int]
) -> None:
    """76 °C on and 70 °C off are published, the rest estimated [hulk]."""
    protection = make_protection("nao", robot)
    assert _statuses(protection, robot, "RKneePitch", course) == statuses
    changes = [(event.before, event.status) for event in protection.take_events()]
    pairs = zip([0, *statuses[:-1]], statuses, strict=True)
    assert changes == [(a, b) for a, b in pairs if a != b]


@pytest.mark.requirement("ST-4")
def test_only_the_hot_joint_loses_stiffness_progressively(robot: Robot) -> None:
    protection = make_protection("nao", robot)
    knee = robot.joint_index("LKneePitch")
    others = np.arange(len(robot.joints)) != knee
    stiffness = np.full(len(robot.joints), 0.8)
    shares = []
    for value in (60.0, 77.0, 81.0, 91.0):
        left = protection.apply(stiffness, _temperatures(robot, LKneePitch=value))
        assert np.array_equal(left[others], stiffness[others])
        shares.append(left[knee] / stiffness[knee])
    assert shares[0] == 1.0
    assert 0.7 < shares[1] < 1.0  # "starts to be reduced"
    assert 0.0 < shares[2] < 0.7  # "reduced by more than 30 %"
    assert shares[3] == 0.0


def test_no_protection_keeps_stiffness(robot: Robot) -> None:
    protection = make_protection("none", robot)
    stiffness = np.linspace(0.0, 1.0, len(robot.joints))
    left = protection.apply(stiffness, np.full(len(robot.motors), 300.0))
    assert np.array_equal(left, stiffness)
    assert left is not stiffness
    assert not protection.status.any()
    assert protection.take_events() == ()


@pytest.mark.parametrize("name", ["none", "nao", "document"])
@laws
@given(
    courses=st.lists(st.floats(20.0, 100.0), min_size=1, max_size=6),
    stiffness=st.floats(0.0, 1.0),
)
def test_a_protection_never_adds_stiffness_and_holds_at_a_temperature(
    robot: Robot, name: str, courses: list[float], stiffness: float
) -> None:
    protection = make_protection(name, robot)
    commanded = np.full(len(robot.joints), stiffness)
    for value in courses:
        hot = _temperatures(robot, LAnklePitch=value)
        left = protection.apply(commanded, hot)
        assert ((left >= 0.0) & (left <= commanded)).all()
        assert np.array_equal(protection.apply(commanded, hot), left)


def test_restore_continues_from_the_same_status(robot: Robot) -> None:
    ones = np.ones(len(robot.joints))
    nao = make_protection("nao", robot)
    nao.apply(ones, _temperatures(robot, RHipPitch=77.0))
    at_status_1 = nao.state.copy()
    between = _temperatures(robot, RHipPitch=75.0)
    first = nao.apply(ones, between)
    nao.apply(ones, _temperatures(robot, RHipPitch=82.0))
    assert not np.array_equal(nao.apply(ones, between), first)
    nao.state[:] = at_status_1
    assert np.array_equal(nao.apply(ones, between), first)

    document = make_protection("document", robot)
    upright = document.state.copy()
    document.apply(ones, _temperatures(robot, RHipPitch=82.0))
    shut_down = document.state.copy()
    document.state[:] = upright
    assert document.apply(ones, between).all()
    document.state[:] = shut_down
    assert not document.apply(ones, between).any()


def test_factors_of_a_configuration_are_used(robot: Robot) -> None:
    cfg = ProtectionCfg(onset_degc=(50.0, 60.0, 65.0), factor=(0.9, 0.5, 0.1))
    ones = np.ones(len(robot.joints))
    left = Protection(robot, cfg).apply(ones, np.full(len(robot.motors), 66.0))
    assert_allclose(left, 0.1)


def test_messages(messages: Messages, robot: Robot) -> None:
    messages(
        an_unknown_protection=lambda: make_protection("fuse", robot),
        numbers_without_sense=each(
            lambda **change: replace(NAO, **change),
            onset_degc=[(76.0, 75.0, 90.0), (76.0, math.nan, 90.0)],
            release_degc=[(70.0, 81.0, 84.0)],
            factor=[(0.5, 0.6, 0.0)],
            mean_degc=[math.nan],
            scope=["leg"],
        ),
    )
