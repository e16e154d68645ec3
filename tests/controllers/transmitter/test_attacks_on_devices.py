"""I-14 at the entry points of streams: transmitter, orders, schemas, LEDs, sound."""

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
    """The command pipeline with a robot that records its commands."""

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
def test_device_changes_only_by_its_holder(
    attacks: list[tuple[Attack, TraceChecker]],
) -> None:
    for attack, checker in attacks:
        assert not checker.finish()
        assert sum(attack.tried.values()) > 60


@pytest.mark.requirement("I-14")
def test_every_entry_point_is_tried_with_every_kind_of_token(
    attacks: list[tuple[Attack, TraceChecker]],
) -> None:
    """Coverage check of the attempts above; every kind of device changes."""
    tried = {one for attack, _ in attacks for one in attack.tried}
    changed = {kind for attack, _ in attacks for kind in attack.changed}
    told = {event for attack, _ in attacks for event in attack.told}
    assert changed == {"motor", "stiffness", "light", "sound"}
    assert {"Lent", "Frozen", "Thawed", "Revoked", "Released", "Expired"} <= told
    for entry_point in ("gate", "schema", "command group"):
        assert {kind for one, kind in tried if one == entry_point} == set(RIGHTS)


@pytest.mark.requirement("I-14")
def test_gate_that_accepts_any_token_is_detected(
    nao: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "authorise", lambda self, token, leaf: None)
    with pytest.raises(AssertionError, match=r"changes; it is held by|is frozen, and"):
        attacked(nao, 0)
