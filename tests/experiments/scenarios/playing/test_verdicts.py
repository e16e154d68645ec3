"""Verdicts: whether an expectation holds, and what was seen instead."""

from collections.abc import Container
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from ruamel.yaml import YAML

from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Granted,
    Rejected,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Refusal, TokenId
from nao_testbed.controllers.transmitter.events import (
    Converted,
    GroupStarted,
    PrepSent,
    StreamEnded,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.scenarios.vocabulary.expectations import EXPECTATIONS
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts
from nao_testbed.experiments.scenarios.vocabulary.judge import Judge, Window
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models import load_robot
from nao_testbed.models.library import Unit

TICK_S = 0.01
ALL = Window(0, 20)


def judge_of(text: str, window: Window = ALL) -> Judge[Any]:
    """Return the judge of an expectation whose names are paths and leaves."""
    given = YAML(typ="safe").load(f"{{{text}}}")
    kind = next(kind for key, kind in EXPECTATIONS.items() if key in given)
    return kind.judge_type(kind.model_validate(given), window, TICK_S)


def setup_with(**parts: object) -> Setup:
    return cast(Setup, SimpleNamespace(**parts))


def watch(
    judge: Judge[Any], fallen_at: Container[int], last: int = 20
) -> tuple[bool, str]:
    """Show a judge slots 0 to `last`; the robot is fallen in the given ones."""
    facts = Facts()
    for tick in range(last + 1):
        facts.clear(tick)
        facts.has_fallen = tick in fallen_at
        judge.observe(facts, setup_with())
    return judge.verdict()


FALLEN = {
    None: "happens: {fallen: true}",
    0: "never: {fallen: true}",
    1: "happens: {fallen: true}, times: 1",
    2: "happens: {fallen: true}, times: 2",
}
"""Expectation by the number of times; None: at least once."""


@pytest.mark.parametrize(
    ("window", "times", "holds", "seen"),
    [
        ((5, 5), None, True, "at 0.05 s"),
        ((6, 11), None, False, "not then, only at 0.05 s, 0.12 s"),
        ((0, 4), 0, True, "not then, only at 0.05 s, 0.12 s"),
        ((0, 20), 0, False, "at 0.05 s, 0.12 s"),
        ((0, 20), 1, False, "at 0.05 s, 0.12 s"),
        ((0, 20), 2, True, "at 0.05 s, 0.12 s"),
        ((4, 11), 1, True, "at 0.05 s"),
    ],
)
def test_events_are_counted_in_the_window(
    window: tuple[int, int], times: int | None, holds: bool, seen: str
) -> None:
    judge = judge_of(FALLEN[times], Window(*window))
    assert watch(judge, {5, 12}) == (holds, seen)


@pytest.mark.parametrize("times", [None, 0])
def test_expectation_is_broken_if_after_never_occurs(times: int | None) -> None:
    judge = judge_of(FALLEN[times] + ", after: {event: push}")
    assert watch(judge, {5}) == (False, "the condition of after was never true")


@pytest.mark.parametrize(
    ("window", "times", "holds", "seen"),
    [
        ((8, 12), 0, False, "already true before, at 0.05 s"),
        ((8, 12), None, True, "already true before, at 0.05 s"),
        ((8, 12), 1, False, "already true before, at 0.05 s"),
        ((0, 5), 0, False, "at 0.05 s"),
        ((15, 20), 0, True, "not then, only at 0.05 s"),
        ((0, 4), 0, True, "not then, only at 0.05 s"),
    ],
)
def test_lasting_condition_counts_in_each_slot_it_holds(
    window: tuple[int, int], times: int | None, holds: bool, seen: str
) -> None:
    judge = judge_of(FALLEN[times], Window(*window))
    assert watch(judge, range(5, 15)) == (holds, seen)


@pytest.mark.parametrize(("within", "holds"), [(2, False), (3, True), (None, True)])
def test_window_after_a_condition_includes_both_ends(
    within: int | None, holds: bool
) -> None:
    slots = "" if within is None else f", within_slots: {within}"
    judge = judge_of(FALLEN[None] + ", after: {event: push}" + slots)
    facts = Facts()
    for tick in range(10):
        facts.clear(tick)
        if tick == 4:
            facts.note_event("push")
        facts.has_fallen = tick >= 7
        judge.observe(facts, setup_with())
    there = "at 0.07 s, 3 slots after 0.04 s"
    assert judge.verdict() == (holds, there if holds else "not then, only at 0.07 s")


def test_order_reports_the_first_condition_that_failed() -> None:
    judge = judge_of("order: [fallen: true, event: push, fallen: true]")
    facts = Facts()
    for tick in range(8):
        facts.clear(tick)
        if tick == 3:
            facts.note_event("push")
        facts.has_fallen = tick in {2, 6}
        judge.observe(facts, setup_with())
        if tick == 4:
            holds, seen = judge.verdict()
            assert not holds
            assert seen.endswith("condition 3 of 3 was not true after that")
    assert judge.verdict() == (True, "0.02 s, 0.03 s, 0.06 s")


def test_temperatures_count_only_in_the_window() -> None:
    below = "joint: HeadYaw, degc_below: 50.0, degc_above: 40.0"
    degc = [99.0, 99.0, 45.0, 49.9, 10.0]
    for change, holds in (({}, True), ({3: 50.0}, False), ({2: 40.0}, False)):
        judge, facts = judge_of(below, Window(2, 3)), Facts()
        for tick, value in enumerate(degc):
            facts.clear(tick)
            true_degc = np.array([change.get(tick, value)])
            setup = setup_with(
                true_degc=lambda t=true_degc: t, motors_of={"HeadYaw": [0]}
            )
            judge.observe(facts, setup)
        assert judge.verdict()[0] is holds
    assert not judge_of(below).verdict()[0], "a run that ends earlier must fail"


def granted(owner: str, number: int) -> Granted:
    return Granted(
        tick=0,
        request=number,
        owner=owner,
        token=TokenId(1, number),
        shares={},
        missing=(),
        inside={},
    )


def test_commands_count_for_the_owner_of_their_token() -> None:
    events: list[Event] = [granted("me", 1), granted("you", 2)]
    for command, sequence in enumerate((1, 1, 2, 1)):
        token = TokenId(1, sequence)
        events.append(
            Executed(tick=1, command=command, token=token, resource="HeadYaw")
        )
    events.append(
        Rejected(
            tick=2,
            command=9,
            token=TokenId(1, 1),
            resource="HeadYaw",
            reason=Refusal.REVOKED,
        )
    )
    for lowest, highest, holds in ((3, 3, True), (4, 9, False), (0, 2, False)):
        judge = judge_of(f"owner: me, executed: [{lowest}, {highest}], refused: 1")
        assert judge.handles_events
        for event in events:
            judge.on_event(event)
        assert judge.verdict() == (holds, "3 executed, 1 refused")


def started(stream: int, tick: int, group: str | None) -> StreamStarted:
    return StreamStarted(
        tick=tick,
        stream=stream,
        unit=Unit.MOTION,
        label="it",
        leaves=(),
        group=group,
        preset=None if group is None else 100,
        items=5,
    )


def ended(stream: int, tick: int) -> StreamEnded:
    return StreamEnded(
        tick=tick,
        stream=stream,
        unit=Unit.MOTION,
        label="it",
        group=None,
        preset=None,
        reason=EndReason.DONE,
        sent=5,
        detail="",
    )


def group_started(tick: int, streams: tuple[int, ...]) -> GroupStarted:
    return GroupStarted(tick=tick, group="hello", preset=100, streams=streams)


PREPARED: tuple[Event, ...] = (
    PrepSent(
        tick=0,
        order=1,
        group="hello",
        preset=100,
        start="Sit",
        end="Stand",
        motions=("Sit to Stand",),
        signal_at=11,
    ),
    Converted(tick=2, order=1, unit=Unit.MOTION, name="it", stream=1, is_initial=True),
    started(1, 2, None),
    ended(1, 9),
)


@pytest.mark.requirement("SY-1")
@pytest.mark.parametrize(
    ("starts", "holds", "seen"),
    [
        ((10, 10), True, "skew 0 slots, 0 empty slots after initial motion"),
        ((11, 11), False, "skew 0 slots, 1 empty slots after initial motion"),
        ((10, 11), False, "skew 1 slots, 0 empty slots after initial motion"),
    ],
)
def test_gap_and_skew_of_a_group_are_detected(
    starts: tuple[int, int], holds: bool, seen: str
) -> None:
    judge = judge_of("group: hello, starts_after: initial motion, empty_slots: 0")
    for event in PREPARED:
        judge.on_event(event)
    judge.on_event(group_started(min(starts), (2, 3)))
    for stream, tick in zip((2, 3), starts, strict=True):
        judge.on_event(started(stream, tick, "hello"))
    assert judge.verdict()[0] is holds
    assert judge.verdict()[1].endswith(seen)


def test_group_that_never_starts_is_broken() -> None:
    judge = judge_of("group: hello")
    assert judge.verdict() == (False, "group hello never started")


def test_all_differences_at_a_time_are_reported() -> None:
    nao = load_robot()
    ledger = Ledger(ResourceTree(nao.resources))
    for name in ("a", "b", "c"):
        ledger.add_owner(Owner(name=name), 0)
        ledger.request(Request(owner=name, resources=("HeadYaw",)), 0)
    ledger.set_state("State", "Sit", 0)
    sim = SimpleNamespace(
        truth=lambda: SimpleNamespace(q=nao.posture("StandInit").angles)
    )
    setup = setup_with(
        ledger=ledger,
        robot=nao,
        schemas=SimpleNamespace(may_act=lambda path: path == "life/dance"),
        body=SimpleNamespace(sim=sim),
    )
    right = """at_s: 0.03, holds: {HeadYaw: a, HeadPitch: null},
        waiters: {HeadYaw: [b, c]}, state: Sit, running: [life/dance],
        not_running: [life], posture: StandInit"""
    wrong = """at_s: 0.03, holds: {HeadYaw: b, HeadPitch: a},
        waiters: {HeadYaw: [c, b]}, state: Stand, running: [life],
        not_running: [life/dance], posture: StandZero"""
    judges = [judge_of(text, Window(3, 3)) for text in (right, wrong)]
    for judge in judges:
        assert not judge.verdict()[0], "must not hold before its slot"
        judge.observe(Facts(tick=3), setup)
    assert [judge.verdict()[0] for judge in judges] == [True, False]
    said = judges[1].verdict()[1]
    for part in (
        "HeadYaw is held by a",
        "HeadPitch is held by no owner",
        "waiting for HeadYaw: b, c",
        "state is Sit, not Stand",
        "life is not running",
        "life/dance is running",
        "from posture StandZero",
    ):
        assert part in said


@pytest.mark.requirement("SY-1")
def test_every_start_of_a_group_is_checked() -> None:
    judge = judge_of("group: hello")
    for start, slots in ((10, (10, 10)), (20, (20, 22)), (30, (30, 30))):
        streams = (start, start + 1)
        judge.on_event(group_started(start, streams))
        for stream, tick in zip(streams, slots, strict=True):
            judge.on_event(started(stream, tick, "hello"))
    assert judge.verdict() == (
        False,
        "2 of 3 starts were as expected; "
        "2 of 2 streams started at 0.20 s, skew 2 slots",
    )


@pytest.mark.parametrize(
    ("true_in", "happens", "never"),
    [
        (range(2, 20), False, False),  # already true before
        (range(2, 6), False, False),
        (range(5, 8), True, False),  # true in the same slot
        (range(9, 12), True, False),
        (range(2, 4), False, True),  # no longer true
        (range(0), False, True),
    ],
)
def test_lasting_condition_must_become_true_after_the_event(
    true_in: range, happens: bool, never: bool
) -> None:
    after = ", after: {event: push}"
    judges = [judge_of(FALLEN[times] + after) for times in (None, 0)]
    facts = Facts()
    for tick in range(20):
        facts.clear(tick)
        if tick == 5:
            facts.note_event("push")
        facts.has_fallen = tick in true_in
        for judge in judges:
            judge.observe(facts, setup_with())
    assert [judge.verdict()[0] for judge in judges] == [happens, never]
