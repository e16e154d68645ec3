"""A client, and what services of all clients act on.

Parts: the motion engine, the memory, and further parts made when first used
Counted: a number for which threads may wait
Client: a program, an owner of the ledger from its connection to its end
"""

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.experiments.server.naoqi.memory.memory_keys import add_device_keys
from nao_testbed.experiments.server.naoqi.memory.store import Memory
from nao_testbed.experiments.server.naoqi.motion.body import BodyNames
from nao_testbed.experiments.server.naoqi.motion.engine import (
    CLIENT,
    CLIENT_PRIORITY,
    MotionEngine,
)
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot

PartT = TypeVar("PartT")


class Parts:
    """What is shared by the services of all clients of a robot."""

    def __init__(self, served: ServedRobot) -> None:
        """Build the motion engine and the memory on a robot."""
        self.served = served
        self.body = BodyNames(served.robot)
        self.motion = MotionEngine(served, self.body)
        self.memory = Memory(served)
        add_device_keys(self.memory, served)
        self._made: dict[object, Any] = {}

    def get(self, kind: Callable[["Parts"], PartT]) -> PartT:
        """Return the part of a kind, made at its first use."""
        with self.served.access():
            if kind not in self._made:
                self._made[kind] = kind(self)
            found: PartT = self._made[kind]
            return found


class Counted:
    """A number of things that only grows, for which threads may wait."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.n = 0
        self._changed = threading.Condition()

    def add(self) -> None:
        """Count one more."""
        with self._changed:
            self.n += 1
            self._changed.notify_all()

    def wait(self, n: int, timeout_s: float) -> bool:
        """Wait until there are so many; return whether there are."""
        with self._changed:
            return self._changed.wait_for(lambda: self.n >= n, timeout_s)


class NaoqiClient:
    """One program; what it holds ends with `leave`."""

    def __init__(self, parts: Parts, number: int, address: str) -> None:
        """Become known to the ledger.

        Args:
            parts: what services act on.
            number: of the client, from 1.
            address: from which it came.
        """
        self.parts = parts
        self.name = f"{CLIENT} {number}"
        self.address = address
        self.find_service: Callable[[str], Any] | None = None
        """Returns a service by name, those that the client registered too; raises
        RuntimeError."""
        self.sent = Counted()
        """Events that were sent to its connection."""
        self.pretended: Counter[str] = Counter()
        """Calls of methods that only store, or do nothing."""
        self.on_leave: list[Callable[[], None]] = []
        self.has_left = False
        """Whether its connection has ended; calls that were sent before that may still
        arrive."""
        self._numbers = itertools.count(1)
        served = parts.served
        with served.access():
            ledger = served.body.ledger
            owner = Owner(name=self.name, priority=CLIENT_PRIORITY)
            ledger.add_owner(owner, ledger.tick)
            served.event("client", said=f"{self.name} from {address}")

    def next_number(self) -> int:
        """Return a number that no call of this client has had."""
        return next(self._numbers)

    def leave(self, *, is_clean: bool = False) -> None:
        """End all that it commands, holds and waits for.

        Args:
            is_clean: it ended by itself: what it moves goes on.
        """
        served = self.parts.served
        with served.access():
            self.has_left = True
            if is_clean:
                self.parts.motion.inherit(self.name)
            self.parts.motion.drop_client(self.name)
            for call in self.on_leave:
                call()
            self.parts.memory.drop(self.name)
            ledger = served.body.ledger
            ledger.drop(self.name, ledger.tick)
            family = [self.name]
            for row in take_snapshot(ledger).owners:  # parents come before their parts
                if row.parent in family:
                    family.append(row.name)
            for name in reversed(family):
                ledger.forget_owner(name, ledger.tick)
            pretended = dict(self.pretended)
            served.event("client", said=f"{self.name} left", pretended=pretended)
