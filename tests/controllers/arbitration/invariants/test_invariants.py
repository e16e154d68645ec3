"""The judges of traces: nothing to say about true stories, much about changed ones."""

from collections import Counter
from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.events import Event, event_classes
from nao_testbed.controllers.arbitration.invariants import (
    JUDGES,
    Checker,
    check,
    trace_hash,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from tests.controllers.arbitration.events.sample_traces import STORIES
from tests.controllers.arbitration.invariants.mutants import mutants_of
from tests.controllers.arbitration.ledger_setup import (
    BODY,
    GRANTED,
    LedgerSetup,
    end_of,
)

HOLDING = (
    "Requested",
    "Granted",
    "Failed",
    "Released",
    "Revoked",
    "Expired",
    "Crashed",
)
"""Events that change who holds and who waits."""
MOST_OF_HOLDING = 0.95
"""Part of their changes that is found (97 % of 697). The rest tell other stories, as
true as these: a release in the end that is left out, a leaf less that nobody misses."""
MOST = 0.85
"""The same of all events (88 % of 2216). Among the rest are notices in another order,
another answer of who is not taken from, commands left out."""

Story = Callable[[], list[Event]]


def is_found(trace: list[Event]) -> bool:
    """Whether something is wrong with a trace, which is read up to there."""
    checker = Checker()
    for event in trace:
        checker.see(event)
        if checker.violations:
            return True
    return False


def test_every_invariant_of_traces_has_a_judge() -> None:
    kept = {invariant for judge in JUDGES for invariant in judge.invariants}
    assert kept == {f"I-{n}" for n in (*range(1, 23), 27)} | {"trace"}


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.requirement("RM-14", "RM-21", "RM-23", "RM-65", "AR-5")
def test_a_true_story_breaks_no_invariant(story: Story) -> None:
    assert check(story()) == ()


@pytest.mark.requirement("RM-20", "RM-21")
def test_the_queue_of_the_head_is_over_in_the_end() -> None:
    queue = STORIES[0]()
    assert check(queue, is_over=True) == ()


def test_the_stories_make_every_kind_of_event() -> None:
    kinds = {type(event).__name__ for story in STORIES for event in story()}
    home = Event.__module__  # not those of other parts that may be known here
    assert kinds == {k for k, v in event_classes().items() if v.__module__ == home}


@pytest.mark.parametrize("story", STORIES)
def test_a_checker_that_follows_finds_what_one_that_reads_later_does(
    story: Story,
) -> None:
    wrong = [event for k, event in enumerate(story()) if k % 7 != 6]
    checker = Checker()
    for event in wrong:
        checker.see(event)
    assert checker.finish() == check(wrong) != ()


@pytest.mark.slow
def test_most_changes_of_true_stories_are_found() -> None:
    made: Counter[bool] = Counter()
    found: Counter[bool] = Counter()
    for story in STORIES:
        for mutant in mutants_of(story()):
            is_of_holding = mutant.kind in HOLDING
            made[is_of_holding] += 1
            found[is_of_holding] += is_found(mutant.trace)
    assert found[True] >= MOST_OF_HOLDING * made[True]
    assert found.total() >= MOST * made.total()


def test_equal_calls_make_equal_traces_and_secrets_leave_no_mark() -> None:
    def run(seconds: float) -> str:
        events: list[Event] = []
        ledger = Ledger(ResourceTree(BODY), listeners=[events.append])  # own secrets
        ledger.add_owner(Owner(name="a"), 0)
        ledger.add_owner(Owner(name="b", timeout_s=seconds), 0)
        held = ledger.request(Request(owner="a", resources=("Head",)), 0)
        ledger.request(Request(owner="b", resources=("Head",)), 0)
        assert held.outcome is not None
        assert held.outcome.token is not None
        ledger.release(held.outcome.token, 50)
        ledger.advance(500)
        return trace_hash(events)

    assert run(2.0) == run(2.0) != run(1.0)


def test_a_restart_begins_anew_under_the_same_checker() -> None:
    checker = Checker()
    for epoch in (1, 2):
        ledger = Ledger(ResourceTree(BODY), epoch=epoch, listeners=[checker.see])
        ledger.add_owner(Owner(name="a"), 0)
        ticket = ledger.request(Request(owner="a", resources=("Head",)), 0)
        assert end_of(ticket) == (GRANTED, 0.0)
    assert checker.finish() == ()


def test_a_violation_says_what_and_where() -> None:
    stage = LedgerSetup()
    stage.owners("a", "b")
    token = stage.take("a", "HeadYaw")
    stage.release(token)
    stage.take("b", "HeadYaw")
    kept = [event for event in stage.events if type(event).__name__ != "Released"]
    found = check(kept)
    assert str(found[0]) == (
        f"I-1 (tick 0, event {len(kept) - 2}): HeadYaw is held by a and b, no part of "
        "the former"
    )
