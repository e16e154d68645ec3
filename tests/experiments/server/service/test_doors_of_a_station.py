"""I-14 for behaviours uploaded by a station: running, stopped, replaced."""

from contextlib import suppress
from typing import Any

import pytest

from nao_testbed.experiments.server.service.station import Busy, Station
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot
from nao_testbed.testing import TraceChecker
from tests.controllers.transmitter.attacks import OWNERS, Attack
from tests.controllers.transmitter.commands.command_world import Line
from tests.controllers.transmitter.test_attacks_on_devices import LineBody

SLOTS = 40
FILES = (
    """\
behaviours:
  - {name: look, needs: [HeadYaw, HeadPitch, Left eye], priority: 2, timeout_s: 0}
  - {name: speak, needs: [TTS, Chest], timeout_s: 0}
""",
    """\
behaviours:
  - {name: look, needs: [HeadYaw, Left ear], timeout_s: 0}
  - name: both
    timeout_s: 0
    children:
      - {name: left, needs: [LElbowYaw, LWristYaw], timeout_s: 0}
      - {name: right, needs: [RElbowYaw], timeout_s: 0}
""",
    "behaviours: [{name: rest, needs: [Arms-stiffness], timeout_s: 0}]\n",
    "behaviours: [{name: look, needs: [Hed]}]\n",
)


class StationAttack(Attack):
    """Station that keeps uploading, starting, stopping and revoking."""

    def __init__(self, body: LineBody, seed: int, station: Station) -> None:
        super().__init__(body, seed)
        self.station = station
        station.install(FILES[0], "sent.yaml", dict)

    def disturb(self) -> None:
        rng, station = self.rng, self.station
        if rng.random() < 0.4:
            super().disturb()
            return
        part = rng.choice(["Head", "HeadYaw", "Leds", "TTS", "LElbowYaw"])
        calls = (
            lambda: station.install(rng.choice(FILES), "sent.yaml", dict),
            self.start,
            self.start,
            self.start,
            lambda: station.stop(rng.choice(["look", "speak", "both", "rest"])),
            lambda: station.take_away((part,), rng.choice([None, 1, 3])),
            lambda: station.give_back(None),
        )
        for _ in range(3):
            with suppress(BadInput, UnknownName, Busy):
                rng.choice(calls)()

    def start(self) -> None:
        if self.rng.random() < 0.5:
            self.body.ledger.drop(self.rng.choice(OWNERS), self.body.ledger.tick)
        name = self.rng.choice(["look", "speak", "both", "rest"])
        started = self.station.start(name)
        self.tried["station start", "runs" if started.runs else "lacks"] += 1
        pending = [started]
        while pending:
            one = pending.pop()
            pending += one.parts
            if one.token is not None:
                self.tokens.append(one.token)


def attacked(robot: Robot, seed: int, slots: int = SLOTS) -> tuple[Any, TraceChecker]:
    line = Line.of(robot, posture="Stand")
    checker = TraceChecker()
    for event in line.events:
        checker.see(event)
    line.ledger.add_direct_listener(checker.see)
    with SharedLedger(line.ledger, clock=lambda: line.ledger.tick * 0.01) as front:
        attack = StationAttack(LineBody(line), seed, Station(front, max_priority=9))
        for _ in range(slots):
            attack.slot()
    return attack, checker


@pytest.mark.requirement("I-14", "RM-64")
def test_station_behaviour_moves_only_what_it_holds() -> None:
    attack, checker = attacked(load_robot(), 1)
    assert not checker.finish()
    assert {"motor", "light"} <= set(attack.changed)
    assert attack.tried["station start", "runs"]
