"""A policy in the loop: balance, gains, and end of the run by NaN."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.interface.controller import Limits
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.controllers.interface.robot_interface import (
    Command,
    Observation,
    ServoGains,
    own_gains,
)
from nao_testbed.controllers.policies.policy import PolicyController
from nao_testbed.controllers.policies.text import policy_text
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.recording.run_folder import create_run_folder, read_run
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.servo import ServoCfg
from tests.controllers.policies.networks import balance

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
ENGINES: tuple[EngineName, ...] = ("pybullet", "mujoco")


def trial_cfg(text: str, engine: EngineName, **run: Any) -> TrialCfg:
    """Return a stand with low gains and without gear friction."""
    setting = RobotSetting(robot=TWO_LEG, engine=engine, gear_friction=0.0)
    given: dict[str, Any] = {
        "posture": "Stand",
        "duration_s": 3.0,
        "fast_forward": None,
    } | run
    return TrialCfg.of(setting, controller=policy_text(text), **given)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_linear_network_balances_a_small_robot(
    engine: EngineName, tmp_path: Path
) -> None:
    """With constant set-points the robot falls at the same gains."""
    result = run_trial(trial_cfg(balance(tmp_path), engine))
    assert result.failure is None
    assert result.drift_m is not None
    assert result.drift_m < 0.02
    still = run_trial(trial_cfg(balance(tmp_path, gain=0.0, rate=0.0), engine))
    assert still.fell
    assert still.drift_m is None
    assert still.sim_s < 1.5


class Steps:
    """Policy that lowers the set-point of a joint at a step, or returns NaN."""

    name, period_s = "steps", 0.02

    def __init__(self, value: float = 0.0, from_step: int = 0) -> None:
        self.value, self.from_step = value, from_step

    def reset(self, robot: Robot) -> ServoGains:
        self.n = 0
        self.q = robot.posture("Stand").angles.copy()
        own = own_gains(robot)
        return ServoGains(kp=0.5 * own.kp, kd=0.25 * own.kd)

    def step(self, observation: Observation) -> np.ndarray:
        target = self.q.copy()
        if self.n >= self.from_step:
            target[0] += self.value
        self.n += 1
        return target


def test_a_non_finite_action_ends_the_run_and_is_kept(
    tmp_path: Path,
) -> None:
    folder = create_run_folder(tmp_path, "run")
    cfg = trial_cfg("none.onnx", "mujoco", folder=folder, label="steps")
    result = run_trial(cfg, controller=PolicyController(Steps(np.nan, from_step=5)))
    assert result.failure is not None
    assert "returned a set-point of nan for left_hip" in result.failure
    assert result.sim_s == pytest.approx(0.1)
    run = read_run(folder)
    assert len(run.frame) == 5
    assert run.state.startswith("failed: stopped at 0.10 s")
    assert (folder / "last_second.parquet").exists()
    with pytest.raises(BadInput, match=r"none\.onnx is not a file"):
        xray(XrayCfg(source=folder), load_robot(TWO_LEG))


@pytest.mark.parametrize("engine", ENGINES)
def test_policy_sets_gains_and_set_points(engine: EngineName, two_leg: Robot) -> None:
    """They apply from the first tick; the next controller has the robot's gains."""
    cfg = SimulationCfg(
        world=WorldCfg(engine=engine),
        servo=ServoCfg(friction_scale=0.0, torque_speed=False),
    )
    sim = SimulatedRobot(two_leg, cfg, "Stand")
    own = own_gains(two_leg)
    try:
        controller = PolicyController(Steps(-0.02))
        loop = Loop(sim, controller, two_leg.posture("Stand").angles)
        run_for(loop, 0.1)
        q, v = sim.q.copy(), sim.v.copy()
        sim.step(1)
        wanted = 0.5 * own.kp * (controller.policy.step(sim.read()) - q)
        wanted -= 0.25 * own.kd * v
        np.testing.assert_allclose(sim.motor_torque, wanted, atol=2e-3)  # N·m: encoder
        loop.close()
        held = sim.snapshot()
        sim.write(Command(gains=own))
        sim.restore(held)  # gains are part of the state
        np.testing.assert_array_equal(sim._servo.kp, 0.5 * own.kp)
        loop = Loop(sim, PolicyController(Steps()), None)
        loop.cycle()
        loop.controller = Fixed()
        loop.cycle()
        np.testing.assert_array_equal(sim._servo.kp, own.kp)
    finally:
        sim.close()


class Fixed:
    """Controller of stiffness 1."""

    name = "own"

    def reset(self, robot: Robot) -> None:
        pass

    def step(self, observation: Observation) -> Limits:
        return Limits(stiffness=np.ones(len(observation.q)))


def test_gravity_points_down_in_the_frame_of_the_base(two_leg: Robot) -> None:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    try:
        sim.step(10)
        np.testing.assert_allclose(sim.read().gravity, [0.0, 0.0, -1.0], atol=0.02)
        sim.push("trunk", np.array([30.0, 0.0, 0.0]))
        for _ in range(400):
            sim.push("trunk", np.array([30.0, 0.0, 0.0]))
            sim.step(1)
        seen = sim.read()
        assert seen.gravity[0] > 0.3  # leans forward
        assert np.linalg.norm(seen.gravity) == pytest.approx(1.0)
    finally:
        sim.close()


class Times:
    """Controller that records observations and lowers stiffness at each step."""

    name = "times"

    def reset(self, robot: Robot) -> None:
        self.seen: list[Observation] = []

    def step(self, observation: Observation) -> Limits:
        self.seen.append(observation)
        n = len(self.seen)
        return Limits(stiffness=np.full(len(observation.q), 1.0 - 0.01 * n))


@pytest.mark.parametrize("delay", [0.007, 0.02, 0.033])
def test_sensor_values_are_as_old_as_the_delay(delay: float, two_leg: Robot) -> None:
    sim, other = (SimulatedRobot(two_leg, SimulationCfg(), "Stand") for _ in range(2))
    try:
        now, late = Times(), Times()
        run_for(Loop(sim, now, None), 0.1)
        loop = Loop(other, late, None, observation_delay=delay)
        run_for(loop, 0.1)
        assert [one.time_s for one in late.seen] == [one.time_s for one in now.seen]
        third = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
        seen = []
        try:
            loop = Loop(third, Times(), None)
            loop.disturb = lambda robot: seen.append(robot.read())
            run_for(loop, 0.1)
        finally:
            third.close()
        age = round(1e3 * delay)
        for k, one in enumerate(late.seen):
            was = seen[max(20 * k - age, 0)]
            np.testing.assert_array_equal(one.gyro, was.gyro)
    finally:
        sim.close()
        other.close()


@pytest.mark.parametrize("delay", [0.0, 0.007, 0.02, 0.033])
def test_a_decision_applies_after_the_delay(delay: float, two_leg: Robot) -> None:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    found = []
    try:
        loop = Loop(sim, Times(), None, action_delay=delay)
        loop.disturb = lambda robot: found.append(robot.read().stiffness[0])
        run_for(loop, 0.1)
    finally:
        sim.close()
    late = round(1e3 * delay)
    wanted = [1.0 - 0.01 * max((t - late) // 20 + 1, 0) for t in range(100)]
    np.testing.assert_allclose(found, wanted)


def test_invalid_delays_and_periods_are_rejected(two_leg: Robot) -> None:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    try:
        with pytest.raises(
            BadInput, match=r"action delay = 0.0005 s is not a multiple"
        ):
            Loop(sim, Times(), None, action_delay=0.0005)
        slow = PolicyController(Steps())
        with pytest.raises(BadInput, match=r"decides every 0.02 s, which is not a mul"):
            Loop(sim, slow, None, 0.03)
    finally:
        sim.close()


def test_engine_motors_have_fixed_gains(two_leg: Robot) -> None:
    pytest.importorskip("pybullet")
    sim = SimulatedRobot(
        two_leg,
        SimulationCfg(
            servo=ServoCfg(kind="pybullet"), world=WorldCfg(engine="pybullet")
        ),
        "Stand",
    )
    try:
        with pytest.raises(BadInput, match="fixed gains"):
            sim.write(Command(gains=own_gains(two_leg)))
    finally:
        sim.close()
