"""A limit of current: a stalled joint gives K I, and heats by R I²."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.sim.body.stiffness import current_limits_of
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.sensors import SensorCfg
from tests.sim.conftest import Simulate

JOINT = "HeadYaw"
LIMIT = 0.2
QUIET = SensorCfg(noise=False, resolution=False)


def stalled(
    nao: Robot, simulate: Simulate, board: Mapping[str, float] | None = None
) -> SimulatedRobot:
    """Return a robot whose neck pushes against its stop at its limit.

    Its encoder reads 10 degrees too low, so its set-point is beyond the stop.
    """
    cfg = SimulationCfg(
        sensors=QUIET, misalignment_deg={JOINT: 10.0}, current_limit_a=board or {}
    )
    sim = simulate(nao, cfg, "Stand")
    joint = nao.joint_index(JOINT)
    target = nao.posture("Stand").angles.copy()
    target[joint] = nao.upper[joint]
    sim.write(Command(target=target))
    return sim


def limits(nao: Robot, current: float) -> np.ndarray:
    """Return a limit of current for the neck alone."""
    found = np.full(len(nao.joints), np.inf)
    found[nao.joint_index(JOINT)] = current
    return found


@pytest.mark.requirement("ST-29")
@pytest.mark.parametrize("is_commanded", [True, False])
def test_a_stalled_joint_gives_k_times_i_and_heats_by_r_i_squared(
    nao: Robot, simulate: Simulate, is_commanded: bool
) -> None:
    sim = stalled(nao, simulate, None if is_commanded else {JOINT: LIMIT})
    joint, motor = nao.joint_index(JOINT), nao.motor_index(JOINT)
    if is_commanded:
        sim.write(Command(current_limit=limits(nao, LIMIT)))
    data = nao.motors[motor].one_node
    sim.step(1500)
    assert abs(sim.truth().v[joint]) < 1e-3, "it has to be stalled"
    assert sim.motor_torque[motor] == data.torque_constant * LIMIT
    friction = nao.joints[joint].friction
    assert abs(sim.joint_torque[joint] - data.torque_constant * LIMIT) <= friction
    assert_allclose(sim.read().current[motor], LIMIT, rtol=1e-14)
    before = sim.heating.joule_energy[motor]
    sim.step(1000)
    heat = sim.heating.joule_energy[motor] - before
    assert_allclose(heat, data.resistance * LIMIT**2 * 1.0, rtol=1e-9)  # 1 s
    assert_allclose(sim.current_limit[joint], LIMIT, rtol=0)


def course(sim: SimulatedRobot, change: Callable[[], None]) -> list[np.ndarray]:
    """Return half a second of the robot's states after a change."""
    change()
    rows = []
    for _ in range(25):
        sim.step(20)
        truth = sim.truth()
        rows.append(
            np.concatenate([truth.q, truth.motor_torque, truth.temperature, truth.v])
        )
    return rows


@pytest.mark.requirement("ST-29")
def test_the_torque_limit_of_equal_torque_gives_the_same_run_bit_for_bit(
    nao: Robot, simulate: Simulate
) -> None:
    motor = nao.motor_index(JOINT)
    torque = nao.motors[motor].one_node.torque_constant * LIMIT
    weak = nao.with_effort_limits({JOINT: torque})
    by_torque = course(stalled(weak, simulate), lambda: None)
    sim = stalled(nao, simulate)
    current = limits(nao, LIMIT)
    by_current = course(sim, lambda: sim.write(Command(current_limit=current)))
    assert np.array_equal(by_torque, by_current)
    free = course(stalled(nao, simulate), lambda: None)
    assert not np.array_equal(free, by_current)


@pytest.mark.requirement("ST-29")
def test_the_lower_of_stiffness_and_current_applies(
    nao: Robot, simulate: Simulate
) -> None:
    sim = stalled(nao, simulate, {JOINT: LIMIT})
    joint, motor = nao.joint_index(JOINT), nao.motor_index(JOINT)
    sim.write(Command(current_limit=limits(nao, 2.0 * LIMIT)))  # the board's is less
    sim.step(1500)
    assert_allclose(sim.motor_torque[motor] / sim.heating.torque_constant[motor], LIMIT)
    stiffness = np.ones(len(nao.joints))
    stiffness[joint] = 0.05
    sim.write(Command(stiffness=stiffness))
    sim.step(1)
    assert sim.motor_torque[motor] == 0.05 * nao.effort_limit[joint]
    sim.write(Command(stiffness=np.ones(len(nao.joints))))
    sim.write(Command(current_limit=limits(nao, 0.0)))
    sim.step(1)
    assert sim.motor_torque[motor] == 0.0


@pytest.mark.requirement("ST-29")
def test_a_limit_above_motor_range_has_no_effect(
    nao: Robot, simulate: Simulate
) -> None:
    sim = stalled(nao, simulate)
    joint, motor = nao.joint_index(JOINT), nao.motor_index(JOINT)
    most = nao.effort_limit[joint] / sim.heating.torque_constant[motor]
    sim.write(Command(current_limit=limits(nao, 1e6)))
    assert not sim.limits_current
    assert sim.current_limit[joint] == most
    sim.step(1500)
    assert sim.motor_torque[motor] == nao.effort_limit[joint]
    sim.write(Command(current_limit=limits(nao, LIMIT)))
    assert sim.current_limit[joint] == LIMIT
    kept = sim.snapshot()
    sim.write(Command(current_limit=limits(nao, np.inf)))
    assert not sim.limits_current
    sim.restore(kept)
    assert sim.current_limit[joint] == LIMIT
    sim.forget(kept)


@pytest.mark.requirement("ST-29")
def test_joints_on_one_motor_have_one_limit(nao: Robot) -> None:
    found = current_limits_of(nao, {"LHipYawPitch": 0.5, "RHipYawPitch": 0.3})
    pair = [nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")]
    assert found[pair].tolist() == [0.3, 0.3]
    assert np.isinf(np.delete(found, pair)).all()


@pytest.mark.requirement("ST-29")
@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
def test_an_invalid_limit_is_rejected(
    nao: Robot, simulate: Simulate, value: float
) -> None:
    with pytest.raises(BadInput, match=r"current limit of HeadYaw is .* from 0 up"):
        current_limits_of(nao, {JOINT: value})
    with pytest.raises(UnknownName):
        current_limits_of(nao, {"Neck": 0.1})
    if not np.isposinf(value):
        sim = stalled(nao, simulate)
        with pytest.raises(BadInput, match="current limit of HeadYaw"):
            sim.write(Command(current_limit=limits(nao, value)))
        assert not sim.limits_current
