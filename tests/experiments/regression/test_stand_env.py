"""The Gymnasium environment matches the closed loop; its reward counts heat."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.policies.policy import PolicyController
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.regression.stand_env import StandEnv
from nao_testbed.experiments.sweep.spec_file.read_spec import read_spec
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot
from nao_testbed.models.errors import ExtraMissing
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

NAME = "nao_testbed.gym:nao_testbed/Stand-v0"
SWEEP = """\
name: drawn
about: Robots of a test.
robot: g1
robots: 4
controller: fixed
minutes: 0.1
engine: mujoco
slope_deg: {uniform: [-3, 3]}
misalignment_deg:
  left_leg: {normal: [0, 1]}
"""


def hold(env: Any, action: Any, steps: int) -> Any:
    """Step until the episode ends; return the last result."""
    result = env.step(action)
    for _ in range(steps - 1):
        if result[2] or result[3]:
            break
        result = env.step(action)
    return result


def make(**given: Any) -> Any:
    return gymnasium.make(NAME, **{"robot": "g1", "engine": "mujoco"} | given)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*infinity:UserWarning")
@pytest.mark.parametrize("robot", ["nao", "g1"])
def test_gymnasium_checker_reports_no_problem(robot: str) -> None:
    check_env(make(robot=robot, render_mode="rgb_array").unwrapped)


def test_same_seed_gives_the_same_episode() -> None:
    env = make()

    def episode(seed: int | None) -> list[Any]:
        seen = [env.reset(seed=seed)[0]]
        seen += [env.step(np.full(12, 0.1, np.float32))[0] for _ in range(10)]
        return seen

    first = episode(7)
    np.testing.assert_array_equal(first, episode(7))
    assert not np.array_equal(first, episode(8))
    assert not np.array_equal(first, episode(None))


class Constant:
    """Policy with constant set-points from an action of the default layout."""

    name, period_s = "constant", 0.02

    def __init__(self, action: FloatArray) -> None:
        self.action = action

    def reset(self, robot: Robot) -> None:
        self.target = robot.posture("bent").angles.copy()
        index = [robot.joint_index(name) for name in robot.leg_joints]
        self.target[index] += 0.25 * self.action

    def step(self, _: object) -> FloatArray:
        return self.target


def test_step_equals_a_cycle_of_the_loop_under_a_policy() -> None:
    action = np.random.default_rng(0).uniform(-0.2, 0.2, 12).astype(np.float32)
    env = make().unwrapped
    env.reset(seed=0)
    robot = load_robot(find_robot_folder("g1"))
    cfg = SimulationCfg(world=WorldCfg(engine="mujoco"), seed=env._sim.cfg.seed)
    sim = SimulatedRobot(robot, cfg, "bent")
    loop = Loop(sim, PolicyController(Constant(action.astype(float))), None)
    heat_j, seen = 0.0, np.zeros(0)
    for _ in range(25):
        seen, reward, ended, _, info = env.step(action)
        loop.cycle()
        heat_j += 0.02 * info["heat_w"]
        assert reward == pytest.approx(sum(info["terms"].values()), abs=1e-12)
        assert not ended
    np.testing.assert_array_equal(env._sim.q, sim.q)
    now = sim.read()
    index = [robot.joint_index(name) for name in robot.leg_joints]
    off = now.q - robot.posture("bent").angles
    v = 0.05 * now.v[index]
    want: Any = np.concatenate((0.25 * now.gyro, now.gravity, off[index], v, action))
    np.testing.assert_allclose(seen, want, atol=1e-6)
    assert heat_j == pytest.approx(sim.heating.joule_energy.sum(), rel=1e-9)


@pytest.mark.parametrize("delay", [0.005, 0.04])
def test_observations_equal_those_of_a_policy_with_the_same_delay(delay: float) -> None:
    env = make(observation_delay=delay, action_delay=0.005).unwrapped
    seen = [env.reset(seed=0)[0][:3]]
    policy = Constant(np.full(12, 0.1))
    gyro: list[FloatArray] = []

    def step(observation: Observation) -> FloatArray:
        gyro.append(0.25 * observation.gyro)
        return policy.target

    policy.step = step  # type: ignore[assignment,method-assign]
    cfg = SimulationCfg(world=WorldCfg(engine="mujoco"), seed=env._sim.cfg.seed)
    sim = SimulatedRobot(env._sim.robot, cfg, "bent")
    loop = Loop(
        sim,
        PolicyController(policy),
        None,
        observation_delay=delay,
        action_delay=0.005,
    )
    for _ in range(12):
        seen.append(env.step(policy.action)[0][:3])
        loop.cycle()
    np.testing.assert_allclose(seen[:-1], gyro, atol=1e-6)


def test_action_0_is_the_posture_of_the_setting() -> None:
    env = make(posture="home").unwrapped
    env.reset(seed=0)
    hold(env, np.zeros(12), 20)
    home = env._sim.robot.posture("home").angles
    assert np.abs(env._sim.q - home).max() < 0.05


def test_hips_pressing_outwards_produce_useless_heat() -> None:
    env = make()
    env.reset(seed=0)
    action = np.zeros(12, np.float32)
    *_, still = hold(env, action, 30)
    action[[1, 7]] = 0.3, -0.3  # both hips press outwards
    *_, pressed = hold(env, action, 30)
    assert still["useless_w"] < 2.5
    assert pressed["useless_w"] > 10.0
    assert pressed["terms"]["useless"] == -0.01 * pressed["useless_w"]
    assert pressed["useless_w"] < pressed["heat_w"]


def test_episode_ends_at_a_fall_at_the_limit_and_at_its_duration() -> None:
    env = make()
    env.reset(seed=0)
    lean = np.zeros(12, np.float32)
    lean[[0, 6]] = 1.0
    _, _, fell, cut, info = hold(env, lean, 150)
    assert fell
    assert not cut
    assert info["terms"]["upright"] < 0.8
    hot = make(other_start_degc=79.999)
    _, info = hot.reset(seed=0)
    *_, reached, _, info = hold(hot, lean, 50)
    assert reached
    assert info["terms"]["barrier"] < -1.0
    short = make(max_episode_steps=2)
    short.reset(seed=0)
    assert [short.step(0.0 * lean)[2:4] for _ in range(2)] == [
        (False, False),
        (False, True),
    ]


def test_robots_are_those_of_the_sweep(tmp_path: Path) -> None:
    path = tmp_path / "drawn.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    env = gymnasium.make(NAME, sweep=str(path)).unwrapped
    assert isinstance(env, StandEnv)
    numbers = set()
    for seed in range(8):
        _, info = env.reset(seed=seed)
        numbers.add(info["robot"])
        (trial,) = read_spec(path).trials([info["robot"]])
        assert env._sim is not None
        assert env._sim.cfg == trial.trial_cfg().simulation
    assert len(numbers) > 1
    assert env.reset(options={"robot": 3})[1]["robot"] == 3
    with pytest.raises(BadInput, match="has the robots 0 to 3"):
        env.reset(options={"robot": 4})


def test_picture_shows_hot_joints() -> None:
    env = make(render_mode="rgb_array", start_degc={"left_knee": 75.0})
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 480, 3)
    assert picture.dtype == np.uint8
    red, green, blue = picture.reshape(-1, 3).T.astype(int)
    assert ((red > 150) & (blue < 80) & (green > 60)).sum() > 30, "no hot drum is drawn"
    assert ((blue > red + 20) & (red < 90)).sum() > 1000, "no cold drums are drawn"


@pytest.mark.slow
def test_environments_run_in_processes() -> None:
    envs: Any = gymnasium.make_vec(
        NAME, 2, vectorization_mode="async", robot="g1", engine="mujoco"
    )
    try:
        seen, _ = envs.reset(seed=[0, 1])
        assert seen.shape == (2, 42)
        seen, reward, _, _, info = envs.step(np.zeros((2, 12), np.float32))
        assert reward.shape == info["heat_w"].shape == (2,)
        assert np.isfinite(seen).all()
    finally:
        envs.close()


CASES: dict[str, Callable[[], object]] = {
    "sweep 'x.yaml' has robot and settings of its own; omit engine": lambda: StandEnv(
        sweep="x.yaml", engine="mujoco"
    ),
    "Robot 'g2' is neither": lambda: StandEnv("g2"),
    "Setting 'engin' is not in": lambda: StandEnv(engin="mujoco"),
    "a seed is no setting": lambda: StandEnv(seed=1),
    "Weight 'cold' is not in": lambda: StandEnv(weights={"cold": 1.0}),
    "render_mode is 'human'": lambda: StandEnv(render_mode="human"),
    "lack the terms of its observation": lambda: StandEnv(layout={"joints": ["x"]}),
    "call reset": lambda: StandEnv().step(np.zeros(12, np.float32)),
}


@pytest.mark.parametrize("message", CASES)
def test_bad_input_is_refused_in_one_sentence(message: str) -> None:
    with pytest.raises((BadInput, UnknownName), match=message):
        CASES[message]()


@pytest.mark.parametrize("action", [np.full(12, np.nan), np.zeros(11), "up"])
def test_invalid_action_is_refused(action: Any) -> None:
    env = StandEnv("g1", engine="mujoco")
    env.reset(seed=0)
    with pytest.raises(BadInput, match="give 12 finite numbers"):
        env.step(action)


def test_missing_gymnasium_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "nao_testbed.gym", raising=False)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ExtraMissing, match=r"\[gym\]"):
        import_module("nao_testbed.gym")
