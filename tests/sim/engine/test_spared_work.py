"""Skipped work of the engine changes no bit of the result."""

import numpy as np
import pytest

from nao_testbed.models import Robot
from nao_testbed.sim.engine import loading
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

PUSH = np.array([60.0, 20.0, 0.0])  # N: tips over at once


def fall(robot: Robot, posture: str) -> tuple[np.ndarray, set[str]]:
    """Push a robot over; return all its states, and the links that touched."""
    sim = SimulatedRobot(robot, SimulationCfg(seed=1), posture)
    states, touched = [], set()
    for tick in range(1500):
        if tick < 150:
            sim.push(robot.base_link, PUSH)
        sim.step(1)
        states.append(np.concatenate([sim.truth().q, sim.joint_torque]))
        if tick % 10 == 0:
            touched |= {contact.link for contact in sim.engine.contacts()}
    assert sim.has_fallen()
    sim.close()
    return np.array(states), touched


@pytest.mark.slow
def test_ignoring_self_contacts_does_not_change_a_fall(
    nao: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared, touched = fall(nao, "Stand")
    monkeypatch.setattr(loading, "_ignore_own_links", lambda *_: None)
    all_pairs, _ = fall(nao, "Stand")
    assert len(touched) > 2, "more links than the feet must touch the ground"
    np.testing.assert_array_equal(spared, all_pairs)
