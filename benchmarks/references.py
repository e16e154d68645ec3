"""Measurement of rates in blocks, and references for the ledger and its gate.

A rate is the number of calls per second of processor time, which depends less on the
load of the machine. There are two references: a minimum, and a known library.
`BareMutex` is the solution without a manager: a dict, a mutex and random bytes. It has
no queue, groups, tree, priorities or reasons. `spot_leases` is the client library of a
commercial robot, if installed: at each command, a lease is advanced and tested against
a tree of five resources, in Python too.
"""

import secrets
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from time import process_time

Run = Callable[[int], int]
"""Function that repeats an action at least a number of times; returns the actual
number."""
RESOURCE = "Speech"


class BareMutex:
    """Table of names and owners with random tokens, under a mutex."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[str, bytes] = {}

    def take(self, name: str) -> bytes | None:
        """Take a name; return a token, or None if the name is taken."""
        with self._lock:
            if name in self._tokens:
                return None
            token = self._tokens[name] = secrets.token_bytes(8)
            return token

    def release(self, name: str, token: bytes) -> bool:
        """Release a name; return True if the token is valid."""
        with self._lock:
            if self._tokens.get(name) != token:
                return False
            del self._tokens[name]
            return True

    def is_valid(self, name: str, token: bytes | None) -> bool:
        """Return True if a command with this token may act on the name."""
        with self._lock:
            return token is not None and self._tokens.get(name) == token


def bare_pairs() -> Run:
    """Return a run that takes and releases a name."""
    bare = BareMutex()

    def run(count: int) -> int:
        for _ in range(count):
            token = bare.take(RESOURCE)
            assert token is not None
            bare.release(RESOURCE, token)
        return count

    return run


def bare_tests() -> Run:
    """Return a run that tests the token of a command."""
    bare = BareMutex()
    token = bare.take(RESOURCE)

    def run(count: int) -> int:
        for _ in range(count):
            bare.is_valid(RESOURCE, token)
        return count

    return run


def spot_leases() -> Run | None:
    """Return a run that advances and tests a lease; None without `bosdyn-client`."""
    if find_spec("bosdyn") is None or find_spec("bosdyn.client") is None:
        return None
    pb2 = import_module("bosdyn.api.lease_pb2")
    lease = import_module("bosdyn.client.lease")
    tree = import_module("bosdyn.client.lease_resource_hierarchy")
    validators = import_module("bosdyn.client.lease_validator")
    hands = [pb2.ResourceTree(resource=name) for name in ("arm", "gripper")]
    limbs = [
        pb2.ResourceTree(resource="full-arm", sub_resources=hands),
        pb2.ResourceTree(resource="mobility"),
    ]
    body = pb2.ResourceTree(resource="body", sub_resources=limbs)
    validator = validators.LeaseValidator(None)
    validator.hierarchy = tree.ResourceHierarchy(body)
    wallet = lease.LeaseWallet()
    wallet.add(lease.Lease(pb2.Lease(resource="body", epoch="bench", sequence=[1])))
    accepted = pb2.LeaseUseResult.STATUS_OK

    def run(count: int) -> int:
        for _ in range(count):
            newer = wallet.advance("body")
            result = validator.test_and_set_active_lease(newer, False)
            assert result.status == accepted
        return count

    return run


def rates_of(
    runs: Mapping[str, Run], blocks: int, block_s: float
) -> dict[str, list[float]]:
    """Return each subject's rates in thousands per second, in alternating blocks."""
    counts = {name: _count(run, block_s) for name, run in runs.items()}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(blocks):
        for name, run in runs.items():
            begin = process_time()
            done = run(counts[name])
            rates[name].append(1e-3 * done / (process_time() - begin))
    return rates


def _count(run: Run, block_s: float) -> int:
    """Return the number of repetitions that fill about one block; also warms up."""
    begin, done = process_time(), 0
    while done == 0 or process_time() - begin < 0.2 * block_s:
        done += run(100)
    return max(1, round(done * block_s / (process_time() - begin)))
