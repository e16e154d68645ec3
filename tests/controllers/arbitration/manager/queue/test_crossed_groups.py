"""Two owners that request the same two resources in opposite order."""

import random
from collections.abc import Iterator

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Why
from tests.controllers.arbitration.ledger_setup import (
    GRANTED,
    TICKS_PER_S,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    node,
    outcome_of,
)

A, B = "TTS", "LShoulderPitch"
CROSSED = {"owner 1": (A, B), "owner 2": (B, A)}
TWO = ResourceTree(node("root", node(A), node(B)))
SEEDS = 10_000


def crossed(timeout_s: float) -> tuple[LedgerSetup, Ticket, Ticket]:
    stage = LedgerSetup()
    stage.owners(*CROSSED, timeout_s=timeout_s)
    first, second = (stage.ask(owner, *names) for owner, names in CROSSED.items())
    return stage, first, second


@pytest.mark.requirement("RM-22", "RM-23", "RM-24")
def test_crossed_groups_with_long_timeout_are_both_granted() -> None:
    stage, first, second = crossed(timeout_s=5.0)
    assert end_of(first) == (GRANTED, 0.0)
    for tick in range(200):
        stage.until(tick / TICKS_PER_S)
        assert [len(stage.held_by(owner)) for owner in CROSSED] == [2, 0]
    stage.at(2.0)
    stage.release(first.token)
    assert end_of(second) == (GRANTED, 2.0)
    assert stage.held_by("owner 2") == (B, A)


@pytest.mark.requirement("RM-20", "RM-23", "RM-24")
def test_second_of_crossed_groups_times_out() -> None:
    stage, first, second = crossed(timeout_s=1.0)
    stage.until(1.99)
    assert end_of(second) == (TIMED_OUT, 1.0)
    assert stage.held_by("owner 2") == ()
    stage.at(2.0)
    stage.release(first.token)
    assert stage.holders(A) == stage.holders(B) == ()


class Robot:
    """A ledger, a clock, and the holdings of two owners."""

    def __init__(self) -> None:
        self.ledger = Ledger(TWO)
        self.tick = 0
        for owner in CROSSED:
            self.ledger.add_owner(Owner(name=owner, timeout_s=5.0), 0)
        self.tickets: list[Ticket] = []
        self.held = dict.fromkeys(CROSSED, 0)

    def ask(self, owner: str, *names: str) -> Iterator[None]:
        """Request resources and yield until there is an outcome."""
        ticket = self.ledger.request(Request(owner=owner, resources=names), self.tick)
        self.tickets.append(ticket)
        while ticket.outcome is None:
            yield
        self.held[owner] += len(ticket.outcome.obtained)

    def give_back(self, owner: str) -> None:
        for ticket in self.tickets:
            if ticket.request.owner == owner and outcome_of(ticket).is_granted:
                self.ledger.release(ticket.token, self.tick)
        self.held[owner] = 0

    def pass_time(self) -> None:
        self.tick += 1
        self.ledger.advance(self.tick)


class Locks:
    """The same interface with one lock per resource, without a ledger."""

    def __init__(self) -> None:
        self.owner_of: dict[str, str] = {}
        self.held = dict.fromkeys(CROSSED, 0)

    def ask(self, owner: str, name: str) -> Iterator[None]:
        while name in self.owner_of:
            yield
        self.owner_of[name] = owner
        self.held[owner] += 1

    def give_back(self, owner: str) -> None:
        self.owner_of = {n: o for n, o in self.owner_of.items() if o != owner}
        self.held[owner] = 0

    def pass_time(self) -> None:
        """Do nothing: locks have no timers."""


def as_a_group(robot: Robot, owner: str) -> Iterator[None]:
    """Request the set in one request and use it for two steps."""
    yield
    yield from robot.ask(owner, *CROSSED[owner])
    yield
    yield
    robot.give_back(owner)


def one_by_one(robot: Robot | Locks, owner: str) -> Iterator[None]:
    """Request the resources one after the other (deadlock-prone)."""
    for name in CROSSED[owner]:
        yield
        yield from robot.ask(owner, name)
    yield
    yield
    robot.give_back(owner)


def is_one_each(robot: Robot | Locks) -> bool:
    return list(robot.held.values()) == [1, 1]


def interleave(
    robot: Robot | Locks, steps: dict[str, Iterator[None]], seed: int
) -> int:
    """Run the steps of the owners in random order until all are done.

    Returns:
        Number of steps at which each owner held one resource; with locks, 1 at the
        first of them, since they would be deadlocked.
    """
    rng = random.Random(seed)
    alive = dict(steps)
    times = 0
    while alive:
        owner = rng.choice(list(alive))
        if next(alive[owner], "done") == "done":
            del alive[owner]
        robot.pass_time()
        times += is_one_each(robot)
        if times and isinstance(robot, Locks):
            return times
    return times


@pytest.mark.slow
@pytest.mark.requirement("RM-21", "RM-23", "RM-24")
def test_no_interleaving_of_crossed_groups_deadlocks() -> None:
    outcomes = 0
    for seed in range(SEEDS):
        robot = Robot()
        steps = {owner: as_a_group(robot, owner) for owner in CROSSED}
        assert interleave(robot, steps, seed) == 0
        outcomes += [end_of(ticket)[0] for ticket in robot.tickets].count(GRANTED)
    assert outcomes == 2 * SEEDS


def deadlocked_locks(seeds: int) -> int:
    """Return the number of seeds that deadlock with one lock per resource."""
    stuck = 0
    for seed in range(seeds):
        locks = Locks()
        steps = {owner: one_by_one(locks, owner) for owner in CROSSED}
        stuck += interleave(locks, steps, seed)
    return stuck


@pytest.mark.requirement("RM-21", "RM-23")
def test_locks_deadlock_on_the_same_seeds() -> None:
    assert deadlocked_locks(SEEDS) == 3739


@pytest.mark.requirement("RM-21")
def test_single_requests_with_a_ledger_do_not_deadlock() -> None:
    """The request that would close the cycle is denied; all others end."""
    seeds = 2000
    whys: list[Why | None] = []
    for seed in range(seeds):
        robot = Robot()
        steps = {owner: one_by_one(robot, owner) for owner in CROSSED}
        interleave(robot, steps, seed)
        whys += [outcome_of(ticket).why for ticket in robot.tickets]
    assert len(whys) == 4 * seeds
    assert set(whys) == {None, Why.DEADLOCK}
    assert whys.count(Why.DEADLOCK) == deadlocked_locks(seeds)
