"""Every history of a small scope: 3 owners, 3 leaves, 2 priorities, 6 calls.

Breadth first over all sequences of calls. Two states go on alike if they differ only in
the names of leaves, in the names of owners of one kind, in the numbers of tokens and
requests, and in the time that has passed; one of them is followed. At each transition
ledger and model agree, and no invariant is broken.

A normal run goes through all of it for three owners that keep what they have, with one
token or waiting request each at a time, and through parts of it for two at a time, for
other policies, and for a parent with a child. All of these with two things at a time
and both priorities, six calls deep, take hours:

    TESTBED_SCOPE=all pytest -s -k small_scope tests/controllers/arbitration
"""

import itertools
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from controllers.arbitration.tokens import Preemption
from models.resources import ResourceNode
from tests.controllers.arbitration.manager.model.comparison import World
from tests.controllers.arbitration.manager.model.lockstep import Twins
from tests.controllers.arbitration.manager.model.random_histories import History
from tests.controllers.arbitration.manager.model.sequential.model import SequentialModel
from tests.controllers.arbitration.manager.model.steps import (
    Advance,
    Ask,
    Call,
    Release,
    Step,
)

LEAVES = ("a", "b", "c")
ROOT = ResourceNode(
    name="all", children=tuple(ResourceNode(name=leaf) for leaf in LEAVES)
)
TIMEOUT_S = 2.0

Key = tuple[object, ...]
Names = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Member:
    """An owner of the scope."""

    policy: str
    priorities: tuple[int, ...] = (0, 1)
    parent: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What a search goes through."""

    members: Mapping[str, Member]
    preemption: Preemption
    depth: int = 6
    most: int = 1
    """Tokens and waiting requests that an owner has when it stops asking for more."""

    def world(self) -> World:
        return World(
            preemption=self.preemption,
            policies=tuple(member.policy for member in self.members.values()),
            root=ROOT,
            owners={name: member.parent for name, member in self.members.items()},
        )

    def steps(self) -> Iterator[Step]:
        """Yield every call."""
        for owner, member in self.members.items():
            for leaf, priority in itertools.product(
                (*LEAVES, "all"), member.priorities
            ):
                yield Ask(
                    owner=owner,
                    resources=(leaf,),
                    priority=priority,
                    timeout_s=TIMEOUT_S,
                    policy="",
                )
            yield Call(call="drop", said={"owner": owner})
        for which in range(self.most * len(self.members)):
            yield Release(kind="live", which=which)
        yield Advance(ticks=1)

    def renamings(self) -> list[tuple[Names, Names]]:
        """Return the exchanges of leaves and of owners that change nothing."""
        names = tuple(self.members)
        alike = [
            dict(zip(names, others, strict=True))
            for others in itertools.permutations(names)
            if all(
                self.members[name] == self.members[other]
                for name, other in zip(names, others, strict=True)
            )
        ]
        leaves = [
            dict(zip(LEAVES, others, strict=True))
            for others in itertools.permutations(LEAVES)
        ]
        return list(itertools.product(leaves, alike))

    def is_new(self, step: Step, model: SequentialModel) -> bool:
        """Whether a call is within the scope, and no repetition of another one."""
        if isinstance(step, Release):
            return step.which < sum(held.ended is None for held in model.tokens)
        if isinstance(step, Ask):
            return _load(model, step.owner) < self.most
        if isinstance(step, Call):  # a drop
            return _load(model, str(step.said["owner"])) > 0
        return True


def _load(model: SequentialModel, owner: str) -> int:
    held = [h for h in model.tokens if h.owner == owner and h.ended is None]
    return len(held) + sum(wait.owner == owner for wait in model.waits)


@dataclass
class Search:
    """Goes through a scope, breadth first."""

    scope: Scope
    transitions: int = 0
    keys: set[Key] = field(default_factory=set)
    met: set[Key] = field(default_factory=set)
    """States by their own names, so that few are renamed."""

    def run(self) -> None:
        """Visit every state that can be reached.

        Raises:
            AssertionError: ledger and model differ, or an invariant is broken.
        """
        steps, world = tuple(self.scope.steps()), self.scope.world()
        renamings = self.scope.renamings()
        frontier: list[tuple[tuple[Step, ...], bytes]] = [
            ((), pickle.dumps(Twins(world)))
        ]
        for depth in range(1, self.scope.depth + 1):
            found: list[tuple[tuple[Step, ...], bytes]] = []
            for path, state in frontier:
                first: Twins = pickle.loads(state)
                ahead = [s for s in steps if self.scope.is_new(s, first.model)]
                for step in ahead:
                    twins = first if step is ahead[0] else pickle.loads(state)
                    try:
                        twins.run(step)
                    except AssertionError as failure:
                        history = History(world=world, steps=(*path, step))
                        raise AssertionError(f"{history}\n{failure}") from failure
                    self.transitions += 1
                    as_named = _renamed(twins.model, *renamings[0])
                    if as_named in self.met:
                        continue
                    self.met.add(as_named)
                    key = canonical(twins.model, renamings)
                    if key not in self.keys:
                        self.keys.add(key)
                        if depth == self.scope.depth:
                            continue
                        twins.forget_the_past()
                        found.append(((*path, step), pickle.dumps(twins)))
            frontier = found


def canonical(model: SequentialModel, renamings: list[tuple[Names, Names]]) -> Key:
    """Return what tells a state from those that do not go on alike."""
    return min(_renamed(model, *names) for names in renamings)


def _renamed(model: SequentialModel, leaves: Names, owners: Names) -> Key:
    alive = [held for held in model.tokens if held.ended is None]
    place = {held.token: place for place, held in enumerate(alive)}
    dues = sorted(
        due
        for wait in model.waits
        for due in (wait.timeout_due, wait.retry_due, wait.promise_due)
        if due is not None
    )

    came = sorted(
        {*(held.arrival for held in alive), *(w.arrival for w in model.waits)}
    )

    def when(due: tuple[int, int] | None) -> tuple[int, int]:
        return (-1, -1) if due is None else (due[0] - model.now, dues.index(due))

    return (
        tuple(
            (owners[held.owner], held.priority, came.index(held.arrival))
            for held in alive
        ),
        tuple(
            sorted(
                (leaves[leaf], *(place[seat.held.token] for seat in model.on(leaf)))
                for leaf in LEAVES
            )
        ),
        tuple(
            (
                owners[wait.owner],
                tuple(sorted(leaves[leaf] for leaf in wait.shares)),
                wait.priority,
                came.index(wait.arrival),
                wait.resumes is not None,
                when(wait.timeout_due),
                when(wait.retry_due),
                when(wait.promise_due),
                tuple(
                    (place[held.token], str(wait.answers[held.token.sequence]))
                    for held in alive
                    if held.token.sequence in wait.answers
                ),
            )
            for wait in model.queue()
        ),
        tuple(
            sorted(
                (owners[regret.owner], *sorted(leaves[leaf] for leaf in regret.shares))
                for regret in model.regrets
            )
        ),
    )


LOW, HIGH = (0,), (1,)
SCOPES = {
    "three strangers, both priorities": Scope(
        members=dict.fromkeys("xyz", Member(policy="lock")),
        preemption=Preemption.BY_PRIORITY,
    ),
    "two things at a time": Scope(
        members={
            "x": Member(policy="lock", priorities=LOW),
            "y": Member(policy="lock", priorities=HIGH),
            "z": Member(policy="lock", priorities=LOW),
        },
        preemption=Preemption.OFF,
        depth=4,
        most=2,
    ),
    "those who give way": Scope(
        members={
            "x": Member(policy="stop", priorities=LOW),
            "y": Member(policy="pause", priorities=HIGH),
            "z": Member(policy="stop within 2", priorities=LOW),
        },
        preemption=Preemption.OFF,
    ),
    "parent, child and stranger": Scope(
        members={
            "x": Member(policy="lock", priorities=LOW),
            "y": Member(policy="pause", priorities=LOW, parent="x"),
            "z": Member(policy="stop", priorities=HIGH),
        },
        preemption=Preemption.BY_PRIORITY,
        depth=4,
        most=2,
    ),
}
"""Smallest part of the scope in which each kind of rule has something to do."""


def _whole(scope: Scope) -> Scope:
    """Return all of a scope."""
    members = {
        name: replace(member, priorities=(0, 1))
        for name, member in scope.members.items()
    }
    return replace(scope, members=members, depth=6, most=2)


@pytest.mark.slow
@pytest.mark.requirement(
    "RM-14",
    "RM-16",
    "RM-17",
    "RM-21",
    "RM-22",
    "RM-23",
    "RM-24",
    "RM-28",
    "RM-29",
    "RM-30",
    "AR-5",
    "AR-14",
)
@pytest.mark.parametrize("name", SCOPES)
def test_no_history_of_the_small_scope_breaks_the_ledger(name: str) -> None:
    scope = SCOPES[name]
    if os.environ.get("TESTBED_SCOPE") == "all":
        scope = _whole(scope)
    search = Search(scope)
    search.run()
    print(f"{name}: {len(search.keys)} states, {search.transitions} transitions")
    assert search.transitions > 1_000
