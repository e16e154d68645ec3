"""A body without legs is mounted: it has no foot sensors and cannot fall."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import Robot
from nao_testbed.sim.engine.world import Camera
from nao_testbed.sim.robot import SimulationCfg
from tests.sim.conftest import Simulate

ATOL_BASE = 1e-9  # m; a fixed base is placed once and never integrated


@pytest.mark.requirement("RM-41")
def test_a_mounted_torso_does_not_move(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao.with_body("T14"), SimulationCfg(), "Stand")
    before = sim.truth().base_position
    for _ in range(200):
        sim.push("torso", np.array([-60.0, 0.0, 0.0]))
        sim.step(1)
    truth = sim.truth()
    assert_allclose(truth.base_position, before, atol=ATOL_BASE)
    assert not truth.has_fallen
    assert truth.contacts == ()


@pytest.mark.requirement("RM-41")
def test_absent_legs_have_no_force_and_no_heat(nao: Robot, simulate: Simulate) -> None:
    torso = nao.with_body("T14")
    sim = simulate(torso, SimulationCfg(), "Stand")
    sim.step(500)
    assert sim.read().fsr.max() < 1.0  # noise alone
    legs = [i for i, name in enumerate(nao.motor_names) if name in torso.absent_joints]
    assert len(legs) == 11
    assert_array_equal(sim.mean_square[legs], 0.0)
    assert sim.failed_motors == ()


@pytest.mark.requirement("RM-42")
def test_its_arms_move_as_on_a_complete_robot(nao: Robot, simulate: Simulate) -> None:
    joint = nao.joint_index("LShoulderPitch")
    target = nao.posture("Stand").angles.copy()
    target[joint] -= 0.5
    angles = []
    for body in ("H25", "T14"):
        sim = simulate(nao.with_body(body), SimulationCfg(), "Stand")
        sim.write(Command(target=target))
        sim.step(1000)
        angles.append(sim.read().q[joint])
    assert_allclose(angles, target[joint], atol=0.03)  # rad; the lag of the servo


@pytest.mark.requirement("RM-41")
def test_absent_legs_are_not_rendered(nao: Robot, simulate: Simulate) -> None:
    counts = []
    for body in ("H25", "T14"):
        sim = simulate(nao.with_body(body), SimulationCfg(), "Stand")
        camera = Camera(
            eye=(1.6, 0.0, 0.3), target=(0.0, 0.0, 0.3), width=80, height=80
        )
        picture = sim.engine.render(camera)
        counts.append(int((picture.link >= 0).sum()))
    assert counts[1] < 0.8 * counts[0]


def test_repair_does_not_add_absent_legs(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao.with_body("T14"), SimulationCfg(), "Stand")
    sim.fail_motors(["HeadYaw", "LKneePitch"])
    assert sim.failed_motors == ("HeadYaw",)
    sim.repair_motors(["HeadYaw", "LKneePitch"])
    sim.step(100)
    assert sim.motor_torque[nao.motor_names.index("LKneePitch")] == 0.0
