"""The locomotion policies of holosoma-inference, if that package is installed.

pip install --no-deps holosoma-inference==0.1.3
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.policies.onnx_policy import OnnxPolicy
from nao_testbed.controllers.policies.policy import PolicyController
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.models import load_robot
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

reference = pytest.importorskip("onnx.reference", reason="needs onnx")
pytest.importorskip("onnxruntime", reason="needs the extra policies")
FOUND = find_spec("holosoma_inference")
pytestmark = pytest.mark.skipif(FOUND is None, reason="needs holosoma-inference")
FILES = [(robot, kind) for robot in ("g1", "t1") for kind in ("ppo", "fastsac")]
SCALES = {"g1": (0.25, 0.05), "t1": (1.0, 0.1)}


def file_of(robot: str, kind: str) -> Path:
    assert FOUND is not None
    assert FOUND.submodule_search_locations is not None
    folder = Path(FOUND.submodule_search_locations[0])
    return folder / "models" / "loco" / f"{robot}_29dof" / f"{kind}_{robot}_29dof.onnx"


def vector(
    name: str, seen: Observation, action: NDArray[np.float64], order: list[int]
) -> NDArray[np.float64]:
    """Return the input while the robot stands, written out from `locomotion.py`."""
    default = load_robot(find_robot_folder(name)).posture("bent").angles
    w, v = SCALES[name]
    parts = [
        action,
        w * seen.gyro,
        np.zeros(3),  # commands
        np.cos([np.pi, np.pi]),
        (seen.q - default)[order],
        v * seen.v[order],
        seen.gravity,
        np.sin([np.pi, np.pi]),
    ]
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
@pytest.mark.parametrize(("name", "kind"), FILES)
def test_it_stands_and_matches_a_reference_evaluation(
    name: str, kind: str, engine: str
) -> None:
    robot = load_robot(find_robot_folder(name))
    policy = OnnxPolicy(file_of(name, kind))
    network = reference.ReferenceEvaluator(str(file_of(name, kind)))
    cfg = SimulationCfg(world=WorldCfg(engine=engine))  # type: ignore[arg-type]
    sim = SimulatedRobot(robot, cfg, "bent")
    try:
        loop = Loop(sim, PolicyController(policy), None)
        order = policy.fitted.index.tolist()
        action = np.zeros(29)
        for _ in range(25):
            seen = loop.cycle()
            x = vector(name, seen, action, order)
            np.testing.assert_allclose(policy.observation[0], x, atol=1e-6)
            (found,) = network.run(None, {"actor_obs": policy.observation})
            wanted = policy.fitted.default.copy()
            wanted[order] += 0.25 * found[0].astype(np.float64)
            assert loop.decided.target is not None
            np.testing.assert_allclose(loop.decided.target, wanted, atol=1e-6)  # rad
            action = (loop.decided.target - policy.fitted.default)[order] / 0.25
        run_for(loop, 4.5)
        assert not sim.has_fallen()
        assert np.abs(sim.truth().base_position[:2]).max() < 0.1
    finally:
        sim.close()
