"""The example of the training page runs in mjlab if it is installed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "training.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_useless_power_is_a_reward_term_of_mjlab() -> None:
    mjlab, torch = pytest.importorskip("mjlab.envs"), pytest.importorskip("torch")
    blocks = re.findall("```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if "mjlab" in block]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    cfg = names["cfg"]
    cfg.scene.num_envs = 3
    env = mjlab.ManagerBasedRlEnv(cfg, device="cpu")
    env.reset()
    for _ in range(25):  # it is at rest by then
        env.step(torch.zeros(3, 29))
    term = env.reward_manager.get_term_cfg("useless_power").func
    power = term.heat.power(term.robot.data.qfrc_actuator).sum(-1).numpy()
    got = term(env).numpy()
    ground = env.scene["ground"].data
    weight = -ground.force[..., 2].sum(-1).numpy()
    np.testing.assert_allclose(weight, 33.34 * 9.81, rtol=0.1)
    assert (got >= 0.0).all()
    assert (got < power).all()
    # A twisted hip presses the feet sideways against each other.
    action = torch.zeros(3, 29)
    for name, angle in (("left_hip_roll_joint", 0.15), ("right_hip_roll_joint", -0.15)):
        action[:, term.robot.joint_names.index(name)] = angle
    for _ in range(15):
        env.step(action)
    assert (term(env).numpy() > 3.0 * got).any()
