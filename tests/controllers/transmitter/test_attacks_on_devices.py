"""I-14 on the doors of streams: transmitter, orders, schemas, LEDs and sound."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers import Command
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.transmitter.commands.pipeline import (
    CommandController,
)
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import Robot
from nao_testbed.testing import TraceChecker
from tests.controllers.transmitter.attacks import RIGHTS, Attack
from tests.controllers.transmitter.commands.command_world import Line

SLOTS = 60
HISTORIES = 8


@dataclass
class LineBody:
    """The pipeline on a robot that only keeps what it is told."""

    line: Line

    def __post_init__(self) -> None:
        line = self.line
        self.robot: Robot = line.robot.robot
        self.ledger: Ledger = line.ledger
        self.gate: Gate = line.gate
        self.transmitter: Transmitter = line.transmitter
        self.commands: CommandController = line.controller
        self.writes: list[Command] = []

    def slot(self) -> None:
        told = len(self.line.robot.commands)
        self.line.slot()
        self.writes = self.line.robot.commands[told:]

    def in_force(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.line.robot.target, self.line.robot.stiffness


def attacked(nao: Robot, seed: int) -> tuple[Attack, TraceChecker]:
    line = Line.of(nao, posture="Crouch")
    checker = TraceChecker()
    for event in line.events:
        checker.see(event)
    line.ledger.listeners.append(checker.see)
    named = ("rise", "greet", "kneel and beep", "bow and beep", "shine")
    attack = Attack(LineBody(line), seed, named)
    for _ in range(SLOTS):
        attack.slot()
    return attack, checker


@pytest.fixture(scope="module")
def attacks(nao: Robot) -> list[tuple[Attack, TraceChecker]]:
    return [attacked(nao, seed) for seed in range(HISTORIES)]


@pytest.mark.requirement("I-14", "I-22", "I-23", "I-24")
def test_no_device_changes_but_by_who_holds_it(
    attacks: list[tuple[Attack, TraceChecker]],
) -> None:
    for attack, checker in attacks:
        assert not checker.finish()
        assert sum(attack.tried.values()) > 60


@pytest.mark.requirement("I-14")
def test_every_door_is_tried_by_every_right_and_every_device_changes(
    attacks: list[tuple[Attack, TraceChecker]],
) -> None:
    """Else it would prove nothing."""
    tried = {one for attack, _ in attacks for one in attack.tried}
    changed = {kind for attack, _ in attacks for kind in attack.changed}
    told = {event for attack, _ in attacks for event in attack.told}
    assert changed == {"motor", "stiffness", "light", "sound"}
    assert {"Lent", "Frozen", "Thawed", "Revoked", "Released", "Expired"} <= told
    for door in ("gate", "schema", "command group"):
        assert {kind for one, kind in tried if one == door} == set(RIGHTS)


@pytest.mark.requirement("I-14")
def test_a_gate_that_takes_any_token_is_found(
    nao: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "authorise", lambda self, token, leaf: None)
    with pytest.raises(AssertionError, match=r"changes; it is held by|is frozen, and"):
        attacked(nao, 0)
