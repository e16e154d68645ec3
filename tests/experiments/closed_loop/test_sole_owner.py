"""The owner of a whole robot: the gate in between changes nothing, to the bit."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.interface.controller import ConstantStiffness
from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.experiments.closed_loop.loop import Loop, SoleOwner, approach
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg


@pytest.fixture
def stand(two_leg: Robot) -> Iterator[SimulatedRobot]:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    yield sim
    sim.close()


@pytest.fixture
def twin(two_leg: Robot) -> Iterator[SimulatedRobot]:
    sim = SimulatedRobot(two_leg, SimulationCfg(), "Stand")
    yield sim
    sim.close()


@pytest.mark.requirement("AR-10")
def test_the_gated_loop_moves_the_robot_as_bare_writes_do(
    stand: SimulatedRobot, twin: SimulatedRobot
) -> None:
    goal = stand.robot.posture("Straight").angles
    loop = Loop(stand, ConstantStiffness(0.7), goal)
    start = twin.read().target
    for _ in range(25):
        loop.cycle()
        way = approach(start, goal, twin.time_s + CONTROL_PERIOD)
        twin.write(Command(target=way, stiffness=np.full(len(goal), 0.7)))
        twin.step(20)
    gated, bare = stand.truth(), twin.truth()
    assert (gated.q == bare.q).all()
    assert (gated.motor_torque == bare.motor_torque).all()


def test_what_is_not_given_stays(stand: SimulatedRobot) -> None:
    owner, n = SoleOwner(stand), len(stand.robot.joints)
    before = stand.read()
    owner.command(stiffness=np.full(n, 0.4))
    assert (stand.read().target == before.target).all()
    assert (stand.read().stiffness == 0.4).all()
    goal = stand.robot.posture("Straight").angles
    owner.command(target=goal)
    assert (stand.read().target == goal).all()
    assert (stand.read().stiffness == 0.4).all()


def test_two_loops_do_not_undo_each_others_commands(stand: SimulatedRobot) -> None:
    first = Loop(stand, ConstantStiffness(0.7), None)
    with pytest.raises(BadInput, match=r"has a gate already.*Loop\.close"):
        Loop(stand, ConstantStiffness(0.4), None)
    first.cycle()
    first.close()
    Loop(stand, ConstantStiffness(0.4), None).cycle()
    assert (stand.read().stiffness == 0.4).all()
    with pytest.raises(BadInput, match="gate is closed"):
        first.cycle()


@pytest.mark.parametrize("bad", [np.nan, 1.5])
def test_a_bad_limit_is_refused_and_nothing_is_written(
    stand: SimulatedRobot, bad: float
) -> None:
    before = stand.read()
    goal = stand.robot.posture("Straight").angles
    stiffness: NDArray[np.float64] = np.full(len(goal), bad)
    with pytest.raises(BadInput, match="stiffness of left_hip is"):
        SoleOwner(stand).command(goal, stiffness)
    assert (stand.read().target == before.target).all()
    assert (stand.read().stiffness == before.stiffness).all()
