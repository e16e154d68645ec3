"""Odd values at every door of the ledger: bad input, nothing else, and no change."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.naoqi import ResourceCalls
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    PauseOnDemand,
    StopOnDemand,
    make_policy,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import check_name, is_name
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import LedgerSetup

HUGE = 10**400
NO_NUMBERS: tuple[Any, ...] = (
    "5",
    b"1",
    True,
    None,
    [],
    {},
    float("nan"),
    float("inf"),
    -1,
    HUGE,
    -HUGE,
    1j,
    Decimal("NaN"),
    np.array([1.0, 2.0]),
    object(),
)
NO_NAMES: tuple[Any, ...] = (
    "",
    " \t",
    "a\x1b[2Jb",
    "a\nb",
    "\u202egnirts",
    "half \ud800",
    "zero\u200bwidth",
    "x" * 1_000_000,
    None,
    5,
    True,
    b"name",
    ["a"],
    {},
    object(),
)
NO_TUPLES: tuple[Any, ...] = (
    {"TTS"},
    frozenset({"TTS"}),
    {"TTS": 1},
    "TTS",
    b"TTS",
    5,
    object(),
)
NO_CHOICES: tuple[Any, ...] = ("", "all of it", 1, True, [], object())


def said(value: object) -> str:
    return f"{type(value).__name__}-{repr(value)[:20]!a}"


odd = pytest.mark.parametrize


@odd("value", [v for v in NO_NUMBERS if v is not None], ids=said)
@odd(
    "make",
    [
        lambda v: Owner(name="a", timeout_s=v),
        lambda v: Owner(name="a", time_to_live_s=v),
        lambda v: Owner(name="a", priority=v),
        lambda v: Owner(name="a", max_priority=v),
        lambda v: Request(owner="a", resources=("TTS",), timeout_s=v),
        lambda v: Request(owner="a", resources=("TTS",), priority=v),
        lambda v: Request(owner="a", rates={"CPU": v}),
        lambda v: LedgerCfg(tick_s=v),
        lambda v: LedgerCfg(retry_s=v),
        lambda v: LedgerCfg(overtake_s=v),
        lambda v: StopOnDemand(within_s=v),
        lambda v: PauseOnDemand(within_s=v),
        lambda v: PauseOnDemand(resume_timeout_s=v),
        lambda v: CallbackOnDemand(limit_s=v),
        lambda v: make_policy("stop", within_s=v),
        lambda v: Answer(kind=AnswerKind.YIELD, after_s=v),
        lambda v: Answer(kind=AnswerKind.PAUSE, resume_timeout_s=v),
    ],
)
def test_what_is_no_number_is_bad_input(
    make: Callable[[Any], object], value: Any
) -> None:
    with pytest.raises(BadInput):
        make(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Owner(name="a", timeout_s=None),  # type: ignore[arg-type]
        lambda: LedgerCfg(tick_s=None),  # type: ignore[arg-type]
        lambda: LedgerCfg(tick_s=1e-320),
        lambda: LedgerCfg(dead_tokens_kept=True),
        lambda: LedgerCfg(dead_tokens_kept=2.5),  # type: ignore[arg-type]
        lambda: LedgerCfg(tells_commands="no"),  # type: ignore[arg-type]
        lambda: StopOnDemand(within_s=None),  # type: ignore[arg-type]
        lambda: Answer(kind=AnswerKind.YIELD, after_s=None),  # type: ignore[arg-type]
        lambda: Request(owner="a", rates=[("CPU", 1.0)]),  # type: ignore[arg-type]
        lambda: Request(owner="a", rates={5: 1.0}),  # type: ignore[dict-item]
        lambda: Request(owner="a", resources=("TTS",), add_to="1-1-0"),  # type: ignore[arg-type]
    ],
)
def test_nothing_and_the_like_are_no_times(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput):
        make()


def test_whole_numbers_and_those_of_numpy_are_numbers() -> None:
    float32: Any = np.float32
    int64: Any = np.int64
    owner = Owner(name="a", timeout_s=5, time_to_live_s=float32(2.0))
    assert (owner.timeout_s, owner.time_to_live_s) == (5.0, 2.0)
    assert StopOnDemand(within_s=int64(1)).within_s == 1.0
    assert Request(owner="a", resources=["TTS"]).resources == ("TTS",)  # type: ignore[arg-type]


# -- names -----------------------------------------------------------------------------


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owner("a")
    return stage


@odd("name", NO_NAMES, ids=said)
def test_what_is_no_name_is_bad_input_and_changes_nothing(
    stage: LedgerSetup, name: Any
) -> None:
    ledger, tick = stage.ledger, stage.tick
    calls = ResourceCalls(LedgerFront(ledger))
    before, n_events = stage.picture(), len(stage.events)
    doors: list[Callable[[], object]] = [
        lambda: Owner(name=name),
        lambda: Request(owner=name, resources=("TTS",)),
        lambda: Request(owner="a", resources=(name,)),
        lambda: Request(owner="a", optional=(name,)),
        lambda: ledger.renew(name, tick),
        lambda: ledger.drop(name, tick),
        lambda: ledger.give_up((name,), tick),
        lambda: ledger.forget_owner(name, tick),
        lambda: ledger.freeze((name,), "hot", tick),
        lambda: ledger.freeze(("TTS",), name, tick),
        lambda: ledger.thaw(name, tick),
        lambda: ledger.thaw("hot", tick, (name,)),
        lambda: ledger.add_virtual_owner(name, tick),
        lambda: ledger.set_state(name, None, tick),
        lambda: ledger.active_state(name),
        lambda: ledger.authorise(None, name),
        lambda: ledger.effort_cap(name),
        lambda: ledger.add_resource(name, "Audio", tick),
        lambda: ledger.add_resource("ball", name, tick),
        lambda: ledger.remove_resource(name, tick),
        lambda: calls.waitForResource(name, "a", "", 1),
        lambda: calls.waitForResource("TTS", name, "", 1),
        lambda: calls.waitResources(["TTS", name], "a", "", 1),
        lambda: calls.acquireResource("TTS", name, "", 1),
        lambda: calls.releaseResource(name, "a"),
        lambda: calls.releaseResource("TTS", name),
        lambda: calls.token(name, "TTS"),
        lambda: calls.token("a", name),
        lambda: calls.isResourceFree(name),
        lambda: calls.isInGroup("Audio", name),
        lambda: calls.isInGroup(name, "TTS"),
        lambda: calls.createResource(name, "Audio"),
        lambda: calls.deleteResource(name),
        lambda: calls.enableStateResource(name, True),
    ]
    if name is not None:  # which is nobody, or no state
        doors.append(lambda: Owner(name="b", parent=name))
        doors.append(lambda: ledger.set_state("State", name, tick))
    if name:  # "" puts it at the root
        doors.append(lambda: calls.createResource("ball", name))
        doors.append(lambda: ledger.ask_state("State", "Sit", tick, name))
    for number, door in enumerate(doors):
        with pytest.raises(BadInput) as caught:
            door()
        assert len(str(caught.value)) < 2000, number
        assert str(caught.value).isprintable(), number
    assert stage.picture() == before
    tellings = {type(event).__name__ for event in stage.events[n_events:]}
    assert tellings <= {"Settled"}


@odd("names", NO_TUPLES, ids=said)
def test_what_is_no_tuple_of_names_is_bad_input(stage: LedgerSetup, names: Any) -> None:
    token = stage.take("a", "TTS")
    ledger, tick = stage.ledger, stage.tick
    calls = ResourceCalls(LedgerFront(ledger))
    for door in (
        lambda: Request(owner="a", resources=names),
        lambda: Request(owner="a", resources=("HeadYaw",), optional=names),
        lambda: ledger.release(token, tick, names),
        lambda: ledger.freeze(names, "hot", tick),
        lambda: ledger.thaw("hot", tick, names),
        lambda: ledger.give_up(names, tick),
        lambda: calls.waitResources(names, "b", "", 1),
        lambda: calls.releaseResources(names, "a"),
        lambda: calls.areResourcesFree(names),
        lambda: calls.areResourcesOwnedBy(names, "a"),
        lambda: calls.createResourcesList(names, "Audio"),
        lambda: calls.waitForOptionalResourcesTree(["HeadYaw"], "b", "", 1, names),
    ):
        with pytest.raises(BadInput):
            door()
    assert stage.held_by("a") == ("TTS",)


def test_names_that_call_the_ledger_while_they_are_read_meet_no_move(
    stage: LedgerSetup,
) -> None:
    token = stage.take("a", "TTS", "HeadYaw")

    def names() -> Iterator[str]:
        stage.release(token)
        yield "TTS"

    with pytest.raises(Exception, match="RELEASED"):
        stage.ledger.release(token, stage.tick, names())
    assert stage.held_by("a") == ()


@odd("value", NO_CHOICES, ids=said)
def test_what_is_no_choice_is_bad_input(stage: LedgerSetup, value: Any) -> None:
    for door in (
        lambda: Request(owner="a", resources=("TTS",), loss=value),
        lambda: Request(owner="a", resources=("TTS",), asker_tie=value),
        lambda: Request(owner="a", resources=("TTS",), policy=value),
        lambda: Owner(name="a", holder_tie=value),
        lambda: Owner(name="a", policy=value),
        lambda: LedgerCfg(preemption=value),
        lambda: Answer(kind=value),
        lambda: make_policy(value),
        lambda: stage.ledger.add_resource("ball", "Audio", stage.tick, value),
    ):
        with pytest.raises(BadInput):
            door()


@odd("value", ["5", None, True, 1.0, [], HUGE], ids=said)
def test_what_is_no_ticket_or_tick_is_bad_input(stage: LedgerSetup, value: Any) -> None:
    if value is not HUGE:
        for door in (
            lambda: stage.ledger.withdraw(value, 0),
            lambda: stage.ledger.notify_blockers(value, 0),
            lambda: stage.ledger.advance(value),
        ):
            with pytest.raises(BadInput):
                door()
    with pytest.raises(BadInput):
        stage.ledger.ticket(value)


@odd("value", [None, "a", {"name": "a"}, object()], ids=said)
def test_what_is_no_owner_request_or_token_is_bad_input(
    stage: LedgerSetup, value: Any
) -> None:
    doors: tuple[Callable[[], object], ...] = (
        lambda: stage.ledger.add_owner(value, 0),
        lambda: stage.ledger.request(value, 0),
        lambda: stage.ledger.release(value, 0),
        lambda: stage.ledger.follow("a", value),
        lambda: stage.ledger.granted_by(value),
    )
    for door in doors:
        with pytest.raises(BadInput):
            door()


@odd("value", ["False", "", 0, None], ids=said)
def test_what_is_neither_true_nor_false_is_bad_input(
    stage: LedgerSetup, value: Any
) -> None:
    calls = ResourceCalls(LedgerFront(stage.ledger))
    with pytest.raises(BadInput):
        stage.ledger.freeze(("TTS",), "hot", 0, is_total=value)
    with pytest.raises(BadInput):
        calls.enableStateResource("Stand", value)


# -- answers and policies --------------------------------------------------------------


def no_answer(demand: Demand) -> None:
    del demand


class TwoAsked:
    """A policy that takes one thing too many."""

    name = "two"

    def answer(self, demand: Demand, asker: str) -> Answer:
        raise AssertionError("nobody asks it")


@pytest.mark.requirement("RM-34", "RM-38")
def test_the_word_keep_keeps(stage: LedgerSetup) -> None:
    said = Answer(kind="keep")  # type: ignore[arg-type]
    assert said.kind is AnswerKind.KEEP
    stage.take("a", "TTS", policy=CallbackOnDemand(lambda _: said))
    stage.owner("b")
    assert stage.ask("b", "TTS").outcome is None
    assert stage.holders("TTS") == ("a",)


@pytest.mark.requirement("RM-35", "RM-37")
@odd("word", ["yield", "pause"])
def test_other_words_are_answers_too(stage: LedgerSetup, word: str) -> None:
    stage.take("a", "TTS", policy=CallbackOnDemand(lambda _: Answer(kind=word)))  # type: ignore[arg-type]
    stage.owner("b")
    stage.take("b", "TTS")
    assert stage.waiters("TTS") == (("a",) if word == "pause" else ())


def takes_nothing() -> None:
    """Take no demand."""


def takes_two(demand: Demand, asker: str) -> None:
    """Take something that nobody gives."""


@odd("function", ["stop", None, 5, takes_nothing, takes_two], ids=said)
def test_what_takes_no_demand_is_no_callback(function: Any) -> None:
    with pytest.raises(BadInput, match="takes one demand"):
        CallbackOnDemand(function)


def test_what_takes_no_demand_is_no_policy() -> None:
    with pytest.raises(BadInput, match="takes one demand"):
        Owner(name="a", policy=TwoAsked())  # type: ignore[arg-type]
    assert Owner(name="a", policy=CallbackOnDemand(no_answer)).policy.name == "callback"


class Text(str):
    """A text that is more than one."""

    __slots__ = ()


@pytest.mark.parametrize(
    "name",
    [
        *"a \t\u202e\ud800é",
        "",
        "TTS",
        "a b",
        "a\n",
        "a\u00a0b",
        "x" * 1000,
        "x" * 1001,
        Text("a"),
        b"a",
        None,
        1,
        ["a"],
    ],
    ids=lambda name: ascii(name)[:12],
)
def test_the_quick_look_at_a_name_is_that_of_the_check(name: object) -> None:
    try:
        passes = check_name(name, "a name") is name
    except BadInput:
        passes = False
    assert is_name(name) is passes


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=object)], ids=repr)
def test_no_optional_names_are_none_however_given(empty: Any) -> None:
    request = Request(owner="a", resources=["TTS"], optional=empty)  # type: ignore[arg-type]
    assert (request.resources, request.optional) == (("TTS",), ())
    assert Request(owner="a", resources=("TTS",)) == request
