"""Client, and objects shared by the services of all clients.

Parts: the motion engine, the memory, and further parts created at first use
Counted: a counter with a blocking wait
Client: a program, an owner of the ledger from its connection to its end
"""

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.experiments.server.naoqi.memory.memory_keys import add_device_keys
from nao_testbed.experiments.server.naoqi.memory.store import Memory
from nao_testbed.experiments.server.naoqi.motion.body import BodyNames
from nao_testbed.experiments.server.naoqi.motion.engine import CLIENT, MotionEngine
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot

PartT = TypeVar("PartT")


class Parts:
    """Objects shared by the services of all clients of a robot."""

    def __init__(self, served: ServedRobot) -> None:
        """Create the motion engine and the memory of a robot."""
        self.served = served
        self.body = BodyNames(served.robot)
        self.motion = MotionEngine(served, self.body)
        self.memory = Memory(served)
        add_device_keys(self.memory, served)
        self._made: dict[object, Any] = {}

    def get(self, kind: Callable[["Parts"], PartT]) -> PartT:
        """Return the part of a kind, created at its first use."""
        with self.served.access():
            if kind not in self._made:
                self._made[kind] = kind(self)
            found: PartT = self._made[kind]
            return found


class Counted:
    """Monotonic counter with a blocking wait."""

    def __init__(self) -> None:
        """Start at 0."""
        self.n = 0
        self._changed = threading.Condition()

    def add(self) -> None:
        """Increment the counter."""
        with self._changed:
            self.n += 1
            self._changed.notify_all()

    def wait(self, n: int, timeout_s: float) -> bool:
        """Wait until the counter reaches `n`; return False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self.n >= n, timeout_s)


class NaoqiClient:
    """One program; `leave` ends its commands, requests and reservations."""

    def __init__(self, parts: Parts, number: int, address: str) -> None:
        """Register the client with the ledger.

        Args:
            parts: shared objects of the services.
            number: number of the client, from 1.
            address: remote address.
        """
        self.parts = parts
        self.name = f"{CLIENT} {number}"
        self.address = address
        self.find_service: Callable[[str], Any] | None = None
        """Function that returns a service by name, including the client's own services;
        raises RuntimeError."""
        self.sent = Counted()
        """Number of events sent to its connection."""
        self.pretended: Counter[str] = Counter()
        """Number of calls to methods that only store or do nothing."""
        self.on_leave: list[Callable[[], None]] = []
        self.has_left = False
        """True if its connection has ended; calls sent before that may still arrive."""
        self._numbers = itertools.count(1)
        served = parts.served
        with served.access():
            served.add_owner(self.name, None)
            served.event("client", said=f"{self.name} from {address}")

    def next_number(self) -> int:
        """Return an unused call number of this client."""
        return next(self._numbers)

    def leave(self, *, is_clean: bool = False) -> None:
        """End all its commands, reservations and requests.

        Args:
            is_clean: True if the client closed the connection; then its motions
                continue.
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
            for row in take_snapshot(ledger).owners:  # parents precede their parts
                if row.parent in family:
                    family.append(row.name)
            for name in reversed(family):
                served.forget_owner(name)
            pretended = dict(self.pretended)
            served.event("client", said=f"{self.name} left", pretended=pretended)
