"""Robot commands in simulation: stand up, greet, refuse when lying."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.events import NotOrdered
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models import load_robot
from tests.experiments.shared_robot.conftest import take


def robot_in(posture: str) -> tuple[RobotWithLedger, Token]:
    robot = RobotWithLedger(load_robot(), RobotWithLedgerCfg(posture=posture))
    return robot, take(robot, "host", "All motors", "Leds", "TTS")


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-1", "SY-2", "SY-5", "SY-22")
def test_robot_stands_up_and_starts_greeting_streams_together() -> None:
    robot, token = robot_in("Sit")
    greeting = robot.commands.submit("say hello and wave", token, robot.tick)
    assert robot.run(15.0, lambda: greeting.is_over)
    assert greeting.reason is EndReason.DONE
    assert greeting.initial is not None
    assert len({r.started_tick for r in greeting.streams.values()}) == 1
    assert (greeting.dead_slots, greeting.held_slots) == (0, 9)
    (hello,) = robot.sim.speaker.utterances
    assert (hello.label, hello.is_whole) == ("Hello", True)
    assert hello.start_s == pytest.approx((greeting.started_tick or 0) * 0.01)
    assert not robot.sim.has_fallen()
    assert (robot.state, robot.commands.belief.posture) == ("Stand", "Stand")
    robot.close()


@pytest.mark.scenario
def test_greeting_is_refused_when_lying_prone() -> None:
    robot, token = robot_in("Stand")
    robot.disturb = lambda sim: sim.push_com("torso", np.array([40.0, 0.0, 0.0]))
    robot.run(0.5)
    robot.disturb = None
    robot.run(3.0)
    assert robot.sim.has_fallen()
    assert robot.commands.belief.posture is None
    refused = robot.commands.submit("say hello and wave", token, robot.tick)
    assert refused.refused is NotOrdered.POSTURE_UNKNOWN
    robot.close()
