"""I-14 on a simulated body with behaviours, faults, modes and another model."""

from contextlib import suppress

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers import Command, Observation
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    ENERGY_SAVING,
    energy_saving,
)
from nao_testbed.experiments.shared_robot.behaviours import SlotsFailed
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models import BadInput, UnknownName, load_robot
from nao_testbed.testing import TraceChecker
from tests.controllers.transmitter.attacks import OWNERS, WAYS, Attack

pytestmark = pytest.mark.scenario
SLOTS = 40
FAILS = "somebody's code does"


class SimulatedBody:
    """Robot with reservations that records every write."""

    def __init__(self, checker: TraceChecker) -> None:
        self.coupled = RobotWithLedger(
            load_robot(), RobotWithLedgerCfg(), listeners=(checker.see,)
        )
        self.robot = self.coupled.sim.robot
        self.ledger = self.coupled.ledger
        self.gate = self.coupled.gate
        self.transmitter = self.coupled.transmitter
        self.commands = self.coupled.commands
        self.writes: list[Command] = []
        self._write = self.coupled.sim.write
        self.coupled.sim.write = self._see  # type: ignore[method-assign]

    def _see(self, command: Command) -> None:
        self.writes.append(command)
        self._write(command)

    def slot(self) -> None:
        self.writes.clear()
        try:
            self.coupled.slot()
        except SlotsFailed as failed:
            for one in failed.failures:
                assert str(one.error) == FAILS, str(one)

    def in_force(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        seen = self.coupled.sim.read()
        return seen.target, seen.stiffness


class BodyAttack(Attack):
    """Attempts from inside behaviours, and faults through the body's own methods."""

    def __init__(self, body: SimulatedBody, seed: int) -> None:
        super().__init__(body, seed)
        self.coupled = body.coupled
        for owner in OWNERS:
            self.coupled.behaviours.add(owner, self.behave)

    def behave(self, tick: int, observation: Observation) -> None:
        del tick, observation
        if self.rng.random() < 0.3:
            self.attempt()
        if self.rng.random() < 0.003:
            raise RuntimeError(FAILS)

    def disturb(self) -> None:
        coupled, rng, tick = self.coupled, self.rng, self.coupled.tick
        if rng.random() < 0.6:
            super().disturb()
            return
        part = rng.choice([*WAYS, "HeadYaw", "Right arm"])
        calls = (
            lambda: coupled.break_parts([part]),
            lambda: coupled.repair_parts(coupled.broken.faults),
            lambda: coupled.modes.enter(energy_saving(self.body.robot), tick),
            lambda: coupled.modes.leave(ENERGY_SAVING, tick),
            lambda: coupled.change_body(rng.choice(["H21", "H25"])),
            lambda: coupled.hot_engine.step(
                np.full(len(self.body.robot.motors), rng.choice([30.0, 95.0])), tick
            ),
        )
        with suppress(BadInput, UnknownName):
            rng.choice(calls)()


def attacked(seed: int, slots: int = SLOTS) -> tuple[BodyAttack, TraceChecker]:
    checker = TraceChecker()
    body = SimulatedBody(checker)
    attack = BodyAttack(body, seed)
    try:
        for _ in range(slots):
            attack.slot()
    finally:
        body.coupled.close()
    return attack, checker


@pytest.mark.requirement("I-14", "RM-65")
def test_only_the_holder_changes_a_device_of_the_body() -> None:
    attack, checker = attacked(1)
    assert not checker.finish()
    assert {"Frozen", "Thawed", "Revoked", "Granted"} <= set(attack.told)
    assert {"motor", "light", "sound"} <= set(attack.changed)
