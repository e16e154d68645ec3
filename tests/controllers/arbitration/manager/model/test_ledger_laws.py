"""Laws of the ledger that take more than one run."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from controllers.arbitration.invariants import trace_hash
from controllers.arbitration.manager.front import take_snapshot
from controllers.arbitration.requests import Request, StaleToken
from tests.controllers.arbitration.manager.model.lockstep import Twins
from tests.controllers.arbitration.manager.model.random_histories import (
    History,
    history_of,
)
from tests.controllers.arbitration.manager.model.small_setup import EXCLUSIVE
from tests.controllers.arbitration.manager.model.steps import (
    Ask,
    Call,
    Release,
    Step,
)

SEEDS = range(1_000_000, 1_000_150)
"""None of those that `test_random_histories.py` goes through."""
LENGTH = 20


def lead(history: History) -> Twins:
    twins = Twins(history.world)
    for step in history.steps:
        twins.take(step)
    return twins


def turned(step: Step) -> Step:
    """Return a step that names its resources in the opposite order."""
    if isinstance(step, Ask):
        return replace(
            step, resources=step.resources[::-1], optional=step.optional[::-1]
        )
    if isinstance(step, Release) and step.names is not None:
        return replace(step, names=step.names[::-1])
    if isinstance(step, Call) and isinstance(names := step.said.get("names"), tuple):
        return replace(step, said={**step.said, "names": names[::-1]})
    return step


@pytest.mark.slow
@pytest.mark.requirement("RM-24")
def test_the_order_of_names_leaves_no_mark() -> None:
    many = 0
    for seed in SEEDS:
        history = history_of(seed, LENGTH)
        other = replace(history, steps=tuple(turned(step) for step in history.steps))
        many += other != history
        assert trace_hash(lead(history).trace) == trace_hash(lead(other).trace), seed
    assert many > len(SEEDS) // 2  # the law was put to the test


_HASH_OF_MANY = """
from tests.controllers.arbitration.manager.model.test_ledger_laws import *
from controllers.arbitration.invariants import trace_hash

for seed in SEEDS[:40]:
    print(trace_hash(lead(history_of(seed, LENGTH)).trace))
"""


@pytest.mark.slow
@pytest.mark.requirement("AR-28")
def test_the_same_calls_leave_the_same_trace_in_every_process() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", _HASH_OF_MANY],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert len(set(said[0].split())) > 30


@pytest.mark.slow
@pytest.mark.requirement("AR-17", "AR-24", "AR-26")
def test_a_dead_token_changes_nothing() -> None:
    tried = 0
    for seed in SEEDS:
        twins = lead(history_of(seed, LENGTH))
        ledger, tick = twins.ledger, twins.ledger.tick
        twins.both(lambda a: a.advance(tick))  # noqa: B023  (called at once)
        before, said = take_snapshot(ledger), _said(twins)
        for held in twins.model.tokens:
            if held.ended is None or held.owner not in twins.model.owners:
                continue
            tried += 1
            ask = Request(owner=held.owner, resources=("Arm",), add_to=held.token)
            with pytest.raises(StaleToken):
                ledger.request(ask, tick)
            with pytest.raises(StaleToken):
                ledger.release(held.token, tick)
            with pytest.raises(StaleToken):
                ledger.release(held.token, tick, ("Arm",))
            assert all(ledger.authorise(held.token, leaf) for leaf in EXCLUSIVE[:2])
        assert take_snapshot(ledger) == before
        assert _said(twins) == said
        for wait in range(1, 20):  # nor later: its owner did not become alive by it
            twins.both(lambda a: a.advance(tick + wait))  # noqa: B023  (called at once)
    assert tried > len(SEEDS)


def _said(twins: Twins) -> list[str]:
    return [str(event) for event in twins.trace if type(event).__name__ != "Settled"]
