"""Unknown payload estimated from the foot sensors."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from nao_testbed.controllers import flag_names, make_controller
from nao_testbed.controllers.stiffness import (
    GRAVITY,
    DisturbanceCfg,
    Dynamics,
    ExternalLoad,
    PayloadStiffness,
    SmartStiffnessCfg,
)
from nao_testbed.controllers.stiffness.dynamics.disturbance import DisturbanceEstimator
from nao_testbed.models import Robot
from tests.controllers.helpers import FloatArray, Observe, report_of, smart

DT = 0.1
SETTLED_S = 20.0
"""Twenty time constants."""


def sensor_forces(
    robot: Robot, mass_kg: float, place: tuple[float, float], share: float = 1.0
) -> FloatArray:
    """Return sensor forces under an upright robot that carries a mass.

    By hand: Σ f = (m_0 + m) g, Σ f p = g (m_0 p_0 + m p), none negative.

    Args:
        robot: in PoseInit, its base upright.
        mass_kg: m.
        place: p, ahead and to the left of the base's origin, in m.
        share: fraction of the total load on the soles.
    """
    dynamics = Dynamics(robot, robot.force_sensors)
    dynamics.update(robot.posture("PoseInit").angles)
    p_0, m_0 = dynamics.com[:2], robot.total_mass
    moment = GRAVITY * (m_0 * p_0 + mass_kg * np.array(place))
    rows = np.vstack((np.ones(8), dynamics.point_positions[:, :2].T))
    f, left_over = nnls(rows, share * np.array((GRAVITY * (m_0 + mass_kg), *moment)))
    assert left_over < 1e-9, "out of the sensors' reach"
    return np.asarray(f)


def settle(
    controller: Any, observe: Observe, robot: Robot, fsr: FloatArray, begin: float = 0.0
) -> Any:
    """Return the controller after `SETTLED_S` of these forces."""
    for time_s in np.arange(begin, begin + SETTLED_S, DT):
        controller.step(observe(robot, time_s=float(time_s), fsr=fsr))
    return controller


def ready(robot: Robot, **cfg: float) -> PayloadStiffness:
    controller = PayloadStiffness(
        SmartStiffnessCfg(disturbance=DisturbanceCfg(**cfg)) if cfg else None
    )
    controller.reset(robot)
    return controller


@pytest.mark.requirement("ST-16", "ST-29")
@pytest.mark.parametrize("place", [(-0.03, 0.04), (0.06, -0.02)])
def test_mass_and_position_of_payload_are_estimated(
    nao: Robot, observe: Observe, place: tuple[float, float]
) -> None:
    controller = settle(ready(nao), observe, nao, sensor_forces(nao, 2.0, place))
    np.testing.assert_allclose(controller.signals, (2.0, *place), atol=1e-6)
    assert "CARRYING" in flag_names(report_of(controller).flags)


@pytest.mark.requirement("ST-16", "ST-29")
def test_estimated_payload_acts_as_a_stated_load(nao: Robot, observe: Observe) -> None:
    """Leg torques depend on the line of a force: 0.3 m higher gives the same."""
    place, weight = (-0.03, 0.04), 2.0 * GRAVITY
    fsr = sensor_forces(nao, 2.0, place)
    knowing = smart(nao)
    knowing.set_loads(
        ExternalLoad(
            name="pack", link="torso", position=(*place, 0.3), upward_newton=-weight
        )
    )
    knowing.step(observe(nao, fsr=fsr))
    feeling = settle(ready(nao), observe, nao, fsr)
    told, sensed = report_of(knowing), report_of(feeling)
    assert told.contact_names == sensed.contact_names
    np.testing.assert_allclose(sensed.contact_forces, told.contact_forces, atol=1e-5)
    np.testing.assert_allclose(sensed.torques.tau, told.torques.tau, atol=1e-6)
    np.testing.assert_allclose(sensed.stiffness, told.stiffness, atol=1e-6)
    bare = smart(nao)
    bare.step(observe(nao, fsr=fsr))
    assert np.abs(report_of(bare).torques.tau - told.torques.tau).max() > 0.3


@pytest.mark.requirement("ST-16")
def test_stated_load_is_not_estimated_again(nao: Robot, observe: Observe) -> None:
    place = (-0.03, 0.04)
    controller = ready(nao)
    controller.set_loads(
        ExternalLoad(
            name="pack",
            link="torso",
            position=(*place, 0.0),
            upward_newton=-2.0 * GRAVITY,
        )
    )
    settle(controller, observe, nao, sensor_forces(nao, 2.0, place))
    disturbance = report_of(controller).disturbance
    assert disturbance is not None
    np.testing.assert_allclose(disturbance, 0.0, atol=1e-9)
    assert controller.signals[0] == 0.0


def test_forces_below_the_threshold_change_nothing(
    nao: Robot, observe: Observe
) -> None:
    """Hysteresis: above it, a payload counts until it falls to half."""
    controller, plain = ready(nao), smart(nao)
    least = DisturbanceEstimator(nao, DisturbanceCfg()).threshold_newton
    begin = 0.0
    for newton, counts in (
        (0.98 * least, False),
        (1.02 * least, True),
        (0.52 * least, True),
        (0.48 * least, False),
        (0.98 * least, False),
    ):
        fsr = sensor_forces(nao, newton / GRAVITY, (0.05, 0.0))
        settle(controller, observe, nao, fsr, begin)
        begin += SETTLED_S
        assert ("CARRYING" in flag_names(report_of(controller).flags)) is counts
        plain.step(observe(nao, fsr=fsr))
        same = report_of(controller).stiffness == report_of(plain).stiffness
        assert same.all() != counts
        assert (controller.signals[0] == 0.0) is not counts


def test_threshold_follows_encoder_steps_and_sensor_noise(nao: Robot) -> None:
    """By hand: 8 · 0.3924 / 2 N and 7 · √(0.02 / 2) · √8 · 0.1 N."""
    of = [
        DisturbanceEstimator(nao, DisturbanceCfg(least_newton=least)).threshold_newton
        for least in (0.0, 5.0)
    ]
    assert of == pytest.approx([1.5696 + 0.19799, 5.0], abs=1e-5)


@pytest.mark.requirement("ST-29")
def test_supported_robot_has_no_payload(nao: Robot, observe: Observe) -> None:
    """Hands on a table: the soles cannot locate the rest of the weight."""
    controller = ready(nao)
    fsr = sensor_forces(nao, 0.0, (0.0, 0.0), share=0.8)
    settle(controller, observe, nao, fsr)
    report = report_of(controller)
    assert report.disturbance is not None
    assert report.disturbance[0] == pytest.approx(-0.2 * nao.total_mass * GRAVITY)
    assert report.flags == 0
    plain = smart(nao)
    plain.step(observe(nao, fsr=fsr))
    np.testing.assert_array_equal(report.stiffness, report_of(plain).stiffness)


def test_payload_estimate_follows_its_time_constant(
    nao: Robot, observe: Observe
) -> None:
    controller = ready(nao, mean_s=0.5)
    fsr = sensor_forces(nao, 2.0, (0.0, 0.0))
    for k in range(6):  # the first cycle has no elapsed time
        controller.step(observe(nao, time_s=k * DT, fsr=fsr))
    assert controller.signals[0] == pytest.approx(2.0 * (1.0 - np.exp(-1.0)))
    controller.reset(nao)
    assert np.isnan(controller.signals).all()
    controller.step(observe(nao, fsr=fsr))
    assert controller.signals[0] == 0.0, "reset clears the estimate"


def test_only_smart_payload_estimates_a_payload(nao: Robot, observe: Observe) -> None:
    named = make_controller("smart-payload:Crouch=0.1")
    assert isinstance(named, PayloadStiffness)
    assert named.name == "smart-payload:Crouch=0.1"
    assert named.cfg.guard is not None
    for name in ("smart", "smart-document"):
        plain = make_controller(name)
        assert not hasattr(plain, "signals")
    bare = smart(nao)
    bare.step(observe(nao))
    assert report_of(bare).disturbance is None
    assert dataclasses.replace(bare.cfg, name="x").disturbance is None
