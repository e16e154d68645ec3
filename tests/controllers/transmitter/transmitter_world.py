"""A transmitter on a real ledger and gate, and a robot that records commands.

The items of each clip are unique: the written set-points show which item of which
stream was sent in which slot.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, TypeVar

import numpy as np

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Loss, Preemption, Token
from nao_testbed.controllers.transmitter.buses.bus import Permits, TransmitterCfg, Watch
from nao_testbed.controllers.transmitter.events import (
    GroupCompleted,
    GroupStarted,
    Sent,
    StreamEnded,
    StreamPaused,
    StreamReceived,
    StreamResumed,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import Receipt, SyncTag
from nao_testbed.controllers.transmitter.streams import CannotBegin, Item, Present
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import Robot
from nao_testbed.models.library import Unit
from nao_testbed.testing import TraceChecker
from tests.controllers.arbitration.gate_setup import KeepingRobot, motor, node

E = TypeVar("E", bound=Event)
MOTION, LIGHT, SOUND = Unit
STREAM_EVENTS = (
    StreamReceived,
    GroupCompleted,
    GroupStarted,
    StreamStarted,
    Sent,
    StreamPaused,
    StreamResumed,
    StreamEnded,
)
"""All events of the transmitter except parts of a path."""
LEAVES = ("HeadPitch", "HeadYaw", "LElbowYaw", "LWristYaw", "RElbowYaw", "RWristYaw")
ROOT = node("root", *(motor(name) for name in LEAVES))
BUSES: dict[str, Mapping[str, tuple[Unit, ...]]] = {
    "one bus": {"main": (MOTION, LIGHT, SOUND)},
    "two buses": {"joints": (MOTION,), "face": (LIGHT, SOUND)},
    "three buses": {"joints": (MOTION,), "lamps": (LIGHT,), "voice": (SOUND,)},
}
STEP = 1e-4
"""Distance of the items of two clips, in rad."""


class Clip:
    """Stream of a given length; its items are at -0.5 rad plus a unique offset."""

    _codes = count(1)

    def __init__(
        self,
        token: Token,
        leaves: Sequence[str],
        length: int = 3,
        *,
        unit: Unit = MOTION,
        label: str = "clip",
        empty: Sequence[int] = (),
        leads: int = 0,
        cannot: str = "",
    ) -> None:
        self.token = token
        self.leaves = tuple(sorted(leaves))
        self.length = length
        self.unit = unit
        self.parts: dict[int, str] = {}
        self.label = label
        self.empty = set(empty)
        self.leads = leads
        self.cannot = cannot
        self.cannot_rejoin = ""
        self.code = next(self._codes)
        self.begun: list[dict[str, float]] = []
        """Set-points at each `begin`."""
        self.rejoined: list[int] = []
        """Next item at each `rejoin`."""

    def begin(self, present: Present) -> int:
        if self.cannot:
            raise CannotBegin(self.label, self.cannot)
        self.begun.append(dict(present))
        return self.length

    def item(self, k: int) -> Item:
        assert self.begun, "item requested before begin"
        assert 0 <= k < self.length
        if k in self.empty:
            return {}
        return {leaf: self.angle(k) for leaf in self.leaves}

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        self.rejoined.append(k)
        if self.cannot_rejoin:
            raise CannotBegin(self.label, self.cannot_rejoin)
        return [
            {leaf: self.angle(-1 - n) for leaf in self.leaves}
            for n in range(self.leads)
        ]

    def angle(self, k: int) -> float:
        """Return the angle of item k, in rad; k is below 0 for the way back."""
        return -0.5 + STEP * (self.code % 97) + 1e-7 * (k + 10)


class Told:
    """Base of setups that take resources and run slots; subclasses define `slot`."""

    ledger: Ledger
    events: list[Event]
    tick: int

    def take(self, owner: str, *names: str, priority: int = 0) -> Token:
        """Return the token of leaves that are granted at once."""
        self.ledger.add_owner(Owner(name=owner, priority=priority), self.tick)
        asked = Request(owner=owner, resources=names, timeout_s=0.0, loss=Loss.WHOLE)
        outcome = self.ledger.request(asked, self.tick).outcome
        assert outcome is not None
        assert outcome.token is not None, f"{owner} was not granted {names}"
        return outcome.token

    def slot(self) -> None:
        """Run one device slot."""
        raise NotImplementedError

    def slots(self, n: int) -> None:
        for _ in range(n):
            self.slot()

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class World(Told):
    """One robot with gate and transmitter."""

    robot: KeepingRobot
    ledger: Ledger
    gate: Gate
    transmitter: Transmitter
    events: list[Event]
    checker: TraceChecker
    """Checks the whole trace, of reservations and streams."""
    tick: int = 1
    """Tick of the next slot."""
    between: Callable[[], None] | None = None
    """Called once after the next `step`, before the ledger advances."""
    made: ClassVar[list["World"]] = []

    @classmethod
    def of(
        cls,
        robot: Robot,
        buses: str = "one bus",
        watch: Watch = Watch.WATCHING,
        *,
        ttl_s: float = 0.1,
        tells_commands: bool = True,
        has_listeners: bool = True,
        permits: Permits | None = None,
    ) -> "World":
        keeping = KeepingRobot(robot)
        keeping.target = np.full_like(keeping.target, -0.5)
        cfg = LedgerCfg(
            preemption=Preemption.BY_PRIORITY, tells_commands=tells_commands
        )
        events: list[Event] = []
        checker = TraceChecker()
        listeners = [events.append, checker.see] if has_listeners else []
        ledger = Ledger(ResourceTree(ROOT), cfg, listeners=listeners)
        gate = Gate(ledger, keeping, map_devices(ROOT, robot))
        how = TransmitterCfg(buses=BUSES[buses], watch=watch, ttl_s=ttl_s)
        transmitter = Transmitter(gate, ledger, how, permits)
        stage = cls(keeping, ledger, gate, transmitter, events, checker)
        cls.made.append(stage)
        return stage

    @cached_property
    def token(self) -> Token:
        """Return the token of an owner that holds all leaves."""
        return self.take("greet", *LEAVES)

    def clip(self, leaves: Sequence[str], length: int = 3, **how: Any) -> Clip:
        """Return a stream with the right of `token`."""
        return Clip(self.token, leaves, length, **how)

    def receive(
        self, clip: Clip, tag: SyncTag | None = None, after: Receipt | None = None
    ) -> Receipt:
        return self.transmitter.receive(clip, tag, self.tick, after=after)

    def slot(self) -> None:
        """Run one device slot."""
        tick = self.tick
        self.transmitter.step(tick)
        if self.between is not None:
            self.between()
            self.between = None
        self.ledger.advance(tick)
        self.gate.flush(tick)
        self.transmitter.settle(tick)
        self.tick += 1

    def target(self, leaf: str) -> float:
        """Return the set-point in force, in rad."""
        return float(self.robot.target[self.robot.robot.joint_index(leaf)])

    def sent(self, bus: str = "main") -> list[tuple[int, int]]:
        """Return stream and index of every item on a bus, in order."""
        return [(x.stream, x.k) for x in self.told(Sent) if x.bus == bus]


def tag(points: int, group: str = "hello", preset: int = 100) -> SyncTag:
    return SyncTag(group=group, points=points, preset=preset)
