"""A sole owner writes directly, with the same result as through the gate."""

from collections.abc import Iterator

import numpy as np
import pytest

from nao_testbed.controllers.arbitration import Ledger, Owner, Request, ResourceTree
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.interface.controller import ConstantStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Command, Observation
from nao_testbed.controllers.interface.sole_writer import SoleWriter
from nao_testbed.experiments.closed_loop.loop import APPROACH_TIME, Loop, approach
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

POSTURES = {"two_leg": "Straight", "nao": "PoseInit"}


@pytest.fixture
def stand(two_leg: Robot) -> Iterator[SimulatedRobot]:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    yield sim
    sim.close()


class Sequence:
    """Limits that change each cycle: limp joints and a current limit."""

    name = "sequence"

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def reset(self, robot: Robot) -> None:
        self.robot = robot
        self.decided: list[Limits] = []

    def step(self, observation: Observation) -> Limits:
        n, late = len(self.robot.joints), observation.time_s > APPROACH_TIME + 0.1
        stiffness = self._random.uniform(0.5, 1.0, n)
        if late and len(self.decided) % 7 < 3:
            stiffness[self._random.integers(n, size=3)] = 0.0
        current = np.full(n, 0.8) if len(self.decided) % 5 == 0 else None
        shift = np.full(n, 0.01) if late and len(self.decided) % 11 == 0 else None
        self.decided.append(
            Limits(stiffness=stiffness, shift=shift, current_limit=current)
        )
        return self.decided[-1]


class GatedOwner:
    """Owner that holds all joints by one token and commands through the gate."""

    def __init__(self, sim: SimulatedRobot) -> None:
        ledger = Ledger(ResourceTree(sim.robot.resources))
        ledger.add_owner(Owner(name="all"), 0)
        devices = map_devices(sim.robot.resources, sim.robot)
        leaves = tuple(leaf.name for leaf in devices.joint_leaves)
        outcome = ledger.request(Request(owner="all", resources=leaves), 0).outcome
        assert outcome
        self._token, self._ledger, self._tick = outcome.token, ledger, 0
        self._gate = Gate(ledger, sim)

    def command(self, target: FloatArray | None, limits: Limits) -> None:
        self._gate.submit_stiffness(self._token, limits.stiffness, limits.current_limit)
        if target is not None:
            self._gate.submit_set_points(self._token, target)
        self._tick += 1
        self._ledger.advance(self._tick)
        assert self._gate.flush(self._tick) == ()


@pytest.mark.slow
@pytest.mark.requirement("AR-10")
@pytest.mark.parametrize("which", POSTURES)
def test_loop_moves_the_robot_like_a_sole_owners_gate(
    which: str, nao: Robot, two_leg: Robot
) -> None:
    """Bit for bit, including limp joints whose set-points follow them."""
    robot = {"two_leg": two_leg, "nao": nao}[which]
    alone = SimulatedRobot(robot, SimulationCfg(), "Stand")
    twin = SimulatedRobot(robot, SimulationCfg(), "Stand")
    goal = robot.posture(POSTURES[which]).angles
    controller = Sequence()
    loop = Loop(alone, controller, goal)
    owner, start, posture = GatedOwner(twin), twin.read().target, None
    was_limp = shifted = False
    for _ in range(160):
        loop.cycle()
        decided = controller.decided[-1]
        target = None
        if posture is None or decided.shift is not None or shifted:
            way = approach(start, goal, twin.time_s + CONTROL_PERIOD)
            posture_now = np.clip(way, robot.lower, robot.upper)
            if twin.time_s + CONTROL_PERIOD >= APPROACH_TIME:
                posture = posture_now
            shift = 0.0 if decided.shift is None else decided.shift
            target = np.clip(posture_now + shift, robot.lower, robot.upper)
        shifted = decided.shift is not None
        owner.command(target, decided)
        twin.step(20)
        was_limp |= target is None and (decided.stiffness == 0.0).any()
        assert (alone.read().target == twin.read().target).all()
    assert was_limp
    one, other = alone.truth(), twin.truth()
    assert (one.q == other.q).all()
    assert (one.motor_torque == other.motor_torque).all()


def test_second_loop_is_refused_until_the_first_is_closed(
    stand: SimulatedRobot,
) -> None:
    first = Loop(stand, ConstantStiffness(0.7), None)
    with pytest.raises(BadInput, match=r"already has a writer.*Loop\.close"):
        Loop(stand, ConstantStiffness(0.4), None)
    first.cycle()
    first.close()
    Loop(stand, ConstantStiffness(0.4), None).cycle()
    assert (stand.read().stiffness == 0.4).all()
    with pytest.raises(BadInput, match="is closed"):
        first.cycle()


def test_gate_and_loop_exclude_each_other(
    stand: SimulatedRobot,
) -> None:
    loop = Loop(stand, ConstantStiffness(0.7), None)
    ledger = Ledger(ResourceTree(stand.robot.resources))
    with pytest.raises(BadInput, match="already has a writer"):
        Gate(ledger, stand)
    loop.close()
    gate = Gate(ledger, stand)
    with pytest.raises(BadInput, match="already has a writer"):
        Loop(stand, ConstantStiffness(0.4), None)
    with pytest.raises(BadInput, match="already has a writer"):
        SoleWriter(stand)
    gate.close()
    SoleWriter(stand).write(Command(stiffness=np.full(len(stand.robot.joints), 0.4)))
    assert (stand.read().stiffness == 0.4).all()


class Bad(ConstantStiffness):
    """Returns an invalid stiffness in its second step."""

    def __init__(self, value: float) -> None:
        super().__init__(0.7)
        self._bad, self._n = value, 0

    def step(self, observation: Observation) -> Limits:
        self._n += 1
        limits = super().step(observation)
        if self._n == 1:
            return limits
        return Limits(stiffness=np.full(len(limits.stiffness), self._bad))


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_invalid_limit_is_refused_and_not_written(
    stand: SimulatedRobot, bad: float
) -> None:
    loop = Loop(stand, Bad(bad), stand.robot.posture("Straight").angles)
    loop.cycle()
    before = stand.read()
    with pytest.raises(BadInput, match="stiffness of left_hip is"):
        loop.cycle()
    assert (stand.read().target == before.target).all()
    assert (stand.read().stiffness == before.stiffness).all()
