"""Two owners who want the same two things, named in opposite order."""

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
def test_crossed_groups_with_time_to_wait() -> None:
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
def test_crossed_groups_without_time_to_wait() -> None:
    stage, first, second = crossed(timeout_s=1.0)
    stage.until(1.99)
    assert end_of(second) == (TIMED_OUT, 1.0)
    assert stage.held_by("owner 2") == ()
    stage.at(2.0)
    stage.release(first.token)
    assert stage.holders(A) == stage.holders(B) == ()


class Robot:
    """A ledger, a clock, and what the steps of two owners have led to."""

    def __init__(self) -> None:
        self.ledger = Ledger(TWO)
        self.tick = 0
        for owner in CROSSED:
            self.ledger.add_owner(Owner(name=owner, timeout_s=5.0), 0)
        self.tickets: list[Ticket] = []
        self.held = dict.fromkeys(CROSSED, 0)

    def ask(self, owner: str, *names: str) -> Iterator[None]:
        """Ask and let others go on until there is an outcome."""
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
    """The same with a lock on each resource, without a ledger."""

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
        """Without a ledger nothing happens by itself."""


def as_a_group(robot: Robot, owner: str) -> Iterator[None]:
    """Ask for the set in one request, use it for two steps."""
    yield
    yield from robot.ask(owner, *CROSSED[owner])
    yield
    yield
    robot.give_back(owner)


def one_by_one(robot: Robot | Locks, owner: str) -> Iterator[None]:
    """For each resource: request and take. The wrong way."""
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
    """Let one owner at a time, drawn at random, make a step, until all are done.

    Returns:
        At how many steps each owner held one resource; without a ledger the first of
        them is the last, since nobody would go on ever after.
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
def test_no_interleaving_of_crossed_groups_gets_stuck() -> None:
    outcomes = 0
    for seed in range(SEEDS):
        robot = Robot()
        steps = {owner: as_a_group(robot, owner) for owner in CROSSED}
        assert interleave(robot, steps, seed) == 0
        outcomes += [end_of(ticket)[0] for ticket in robot.tickets].count(GRANTED)
    assert outcomes == 2 * SEEDS


def stuck_naive_ones(seeds: int) -> int:
    """Return with how many seeds naive locks leave each owner with one resource."""
    stuck = 0
    for seed in range(seeds):
        locks = Locks()
        steps = {owner: one_by_one(locks, owner) for owner in CROSSED}
        stuck += interleave(locks, steps, seed)
    return stuck


@pytest.mark.requirement("RM-21", "RM-23")
def test_naive_locking_gets_stuck_on_the_same_seeds() -> None:
    assert stuck_naive_ones(SEEDS) == 3739


@pytest.mark.requirement("RM-21")
def test_even_naive_owners_do_not_get_stuck_with_a_ledger() -> None:
    """The request that would close the circle is denied; all others end."""
    seeds = 2000
    whys: list[Why | None] = []
    for seed in range(seeds):
        robot = Robot()
        steps = {owner: one_by_one(robot, owner) for owner in CROSSED}
        interleave(robot, steps, seed)
        whys += [outcome_of(ticket).why for ticket in robot.tickets]
    assert len(whys) == 4 * seeds
    assert set(whys) == {None, Why.DEADLOCK}
    assert whys.count(Why.DEADLOCK) == stuck_naive_ones(seeds)
