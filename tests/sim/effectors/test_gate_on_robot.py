"""Motion of the simulated robot when the gate loses its owner."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.outputs import holding_lags
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.models import Robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.sim.conftest import Simulate

SLOT_TICKS = 10
"""Steps of 1 ms in a device slot."""


class Gated:
    """A simulated robot with one owner of all motors."""

    def __init__(self, sim: SimulatedRobot) -> None:
        self.sim = sim
        self.ledger = Ledger(ResourceTree(sim.robot.resources))
        self.ledger.add_owner(Owner(name="move"), 0)
        self.gate = Gate(self.ledger, sim)
        request = Request(owner="move", resources=("All motors",))
        outcome = self.ledger.request(request, 0).outcome
        assert outcome is not None
        assert outcome.token is not None
        self.token: Token = outcome.token

    def slots(self, seconds: float) -> None:
        """Send slots and step the physics."""
        for _ in range(round(seconds * 1000 / SLOT_TICKS)):
            tick = self.ledger.tick + 1
            self.ledger.advance(tick)
            self.gate.flush(tick)
            self.sim.step(SLOT_TICKS)


@pytest.fixture
def gated(simulate: Simulate, nao: Robot) -> Gated:
    return Gated(simulate(nao, SimulationCfg(), "PoseInit"))


@pytest.mark.scenario
def test_a_moving_head_stops_when_its_owner_is_revoked(gated: Gated) -> None:
    sim, yaw = gated.sim, gated.sim.robot.joint_index("HeadYaw")
    gated.gate.submit(gated.token, "HeadYaw", 1.5)
    gated.slots(0.1)
    begin = sim.truth()
    assert 0.1 < begin.q[yaw] < 1.0
    assert begin.v[yaw] > 1.0, "the head is moving"
    gated.ledger.drop("move", gated.ledger.tick)
    gated.slots(1.0)
    end = sim.truth()
    assert abs(sim.read().target[yaw] - begin.q[yaw]) < 0.03
    # A fast head overshoots a little, then returns to its set-point.
    assert abs(end.q[yaw] - begin.q[yaw]) < 0.03
    assert abs(end.v[yaw]) < 0.01


@pytest.mark.scenario
def test_standing_legs_do_not_sag_when_owner_is_revoked(gated: Gated) -> None:
    sim = gated.sim
    gated.gate.submit_set_points(gated.token, sim.robot.posture("PoseInit").angles)
    gated.slots(1.0)
    begin, target = sim.truth(), sim.read().target
    gated.ledger.drop("move", gated.ledger.tick)
    gated.slots(1.0)
    end = sim.truth()
    assert (
        np.abs(sim.read().target - begin.q) <= holding_lags(sim.robot) + 0.002
    ).all()
    assert (sim.read().target == target).all(), "the load-carrying lag must stay"
    assert np.rad2deg(np.abs(end.q - begin.q).max()) < 0.1
    assert abs(end.base_position[2] - begin.base_position[2]) < 1e-4
    assert not end.has_fallen
