"""Payload estimate from noisy, quantised soles of the simulated robot."""

import numpy as np
import pytest

from nao_testbed.controllers import make_controller
from nao_testbed.controllers.stiffness import Dynamics, ExternalLoad, PayloadStiffness
from nao_testbed.experiments import Loop, run_for
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.models import load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim import SimulatedRobot

NAO = load_robot()
pytestmark = [pytest.mark.scenario, pytest.mark.slow]


def carried(
    payload: str | None, mass_kg: float
) -> tuple[tuple[float, ...], FloatArray]:
    """Return the signals and angles of a robot standing with a payload."""
    loads = {payload: mass_kg} if payload else {}
    sim = SimulatedRobot(NAO, RobotSetting(payload_kg=loads).simulation(), "PoseInit")
    controller = make_controller("smart-payload")
    assert isinstance(controller, PayloadStiffness)
    run_for(Loop(sim, controller, NAO.posture("PoseInit").angles), 6.0)
    q = sim.read().q
    sim.close()
    return controller.signals, q


@pytest.mark.requirement("ST-29")
def test_two_kilograms_on_the_back_are_found() -> None:
    (mass, ahead, left), _ = carried("torso@-0.04,0.02,0.05", 2.0)
    assert mass == pytest.approx(2.0, abs=0.05)
    np.testing.assert_allclose((ahead, left), (-0.04, 0.02), atol=0.005)


@pytest.mark.requirement("ST-29")
def test_half_a_kilogram_in_a_hand_is_located_at_the_hand() -> None:
    link = next(link for link in NAO.links if link.name == "l_wrist")
    hand = ExternalLoad(name="cup", link="l_wrist", position=link.com, upward_newton=0)
    dynamics = Dynamics(NAO, [hand])
    (mass, ahead, left), q = carried("l_wrist", 0.5)
    dynamics.update(q)  # an arm with too little torque sinks
    assert mass == pytest.approx(0.5, abs=0.05)
    here = dynamics.point_positions[0, :2]
    np.testing.assert_allclose((ahead, left), here, atol=0.015)


def test_a_robot_without_payload_has_none() -> None:
    assert carried(None, 0.0)[0][0] == 0.0
