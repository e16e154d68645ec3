"""Invalid values at every entry point of the ledger: BadInput and no change."""

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


def id_of(value: object) -> str:
    return f"{type(value).__name__}-{repr(value)[:20]!a}"


odd = pytest.mark.parametrize


@odd("value", [v for v in NO_NUMBERS if v is not None], ids=id_of)
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
def test_invalid_number_is_rejected(make: Callable[[Any], object], value: Any) -> None:
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
def test_none_and_wrong_types_are_rejected(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput):
        make()


def test_ints_and_numpy_numbers_are_accepted() -> None:
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


@odd("name", NO_NAMES, ids=id_of)
def test_invalid_name_is_rejected_and_changes_nothing(
    stage: LedgerSetup, name: Any
) -> None:
    ledger, tick = stage.ledger, stage.tick
    calls = ResourceCalls(LedgerFront(ledger))
    before, n_events = stage.picture(), len(stage.events)
    entry_points: list[Callable[[], object]] = [
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
    if name is not None:  # None is no parent or no state
        entry_points.append(lambda: Owner(name="b", parent=name))
        entry_points.append(lambda: ledger.set_state("State", name, tick))
    if name:  # "" is the root
        entry_points.append(lambda: calls.createResource("ball", name))
        entry_points.append(lambda: ledger.ask_state("State", "Sit", tick, name))
    for number, entry_point in enumerate(entry_points):
        with pytest.raises(BadInput) as caught:
            entry_point()
        assert len(str(caught.value)) < 2000, number
        assert str(caught.value).isprintable(), number
    assert stage.picture() == before
    kinds = {type(event).__name__ for event in stage.events[n_events:]}
    assert kinds <= {"Settled"}


@odd("names", NO_TUPLES, ids=id_of)
def test_invalid_tuple_of_names_is_rejected(stage: LedgerSetup, names: Any) -> None:
    token = stage.take("a", "TTS")
    ledger, tick = stage.ledger, stage.tick
    calls = ResourceCalls(LedgerFront(ledger))
    for entry_point in (
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
            entry_point()
    assert stage.held_by("a") == ("TTS",)


def test_names_iterator_may_call_the_ledger(
    stage: LedgerSetup,
) -> None:
    token = stage.take("a", "TTS", "HeadYaw")

    def names() -> Iterator[str]:
        stage.release(token)
        yield "TTS"

    with pytest.raises(Exception, match="RELEASED"):
        stage.ledger.release(token, stage.tick, names())
    assert stage.held_by("a") == ()


@odd("value", NO_CHOICES, ids=id_of)
def test_invalid_choice_is_rejected(stage: LedgerSetup, value: Any) -> None:
    for entry_point in (
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
            entry_point()


@odd("value", ["5", None, True, 1.0, [], HUGE], ids=id_of)
def test_invalid_ticket_or_tick_is_rejected(stage: LedgerSetup, value: Any) -> None:
    if value is not HUGE:
        for entry_point in (
            lambda: stage.ledger.withdraw(value, 0),
            lambda: stage.ledger.notify_blockers(value, 0),
            lambda: stage.ledger.advance(value),
        ):
            with pytest.raises(BadInput):
                entry_point()
    with pytest.raises(BadInput):
        stage.ledger.ticket(value)


@odd("value", [None, "a", {"name": "a"}, object()], ids=id_of)
def test_invalid_owner_request_or_token_is_rejected(
    stage: LedgerSetup, value: Any
) -> None:
    entry_points: tuple[Callable[[], object], ...] = (
        lambda: stage.ledger.add_owner(value, 0),
        lambda: stage.ledger.request(value, 0),
        lambda: stage.ledger.release(value, 0),
        lambda: stage.ledger.follow("a", value),
        lambda: stage.ledger.granted_by(value),
    )
    for entry_point in entry_points:
        with pytest.raises(BadInput):
            entry_point()


@odd("value", ["False", "", 0, None], ids=id_of)
def test_invalid_boolean_is_rejected(stage: LedgerSetup, value: Any) -> None:
    calls = ResourceCalls(LedgerFront(stage.ledger))
    with pytest.raises(BadInput):
        stage.ledger.freeze(("TTS",), "hot", 0, is_total=value)
    with pytest.raises(BadInput):
        calls.enableStateResource("Stand", value)


# -- answers and policies --------------------------------------------------------------


def no_answer(demand: Demand) -> None:
    del demand


class TwoArguments:
    """Policy whose method takes too many arguments."""

    name = "two"

    def answer(self, demand: Demand, asker: str) -> Answer:
        raise AssertionError("not called")


@pytest.mark.requirement("RM-34", "RM-38")
def test_answer_keep_keeps_the_resource(stage: LedgerSetup) -> None:
    keep = Answer(kind="keep")  # type: ignore[arg-type]
    assert keep.kind is AnswerKind.KEEP
    stage.take("a", "TTS", policy=CallbackOnDemand(lambda _: keep))
    stage.owner("b")
    assert stage.ask("b", "TTS").outcome is None
    assert stage.holders("TTS") == ("a",)


@pytest.mark.requirement("RM-35", "RM-37")
@odd("word", ["yield", "pause"])
def test_answers_yield_and_pause_can_be_strings(stage: LedgerSetup, word: str) -> None:
    stage.take("a", "TTS", policy=CallbackOnDemand(lambda _: Answer(kind=word)))  # type: ignore[arg-type]
    stage.owner("b")
    stage.take("b", "TTS")
    assert stage.waiters("TTS") == (("a",) if word == "pause" else ())


def takes_nothing() -> None:
    """Callback without a parameter."""


def takes_two(demand: Demand, asker: str) -> None:
    """Callback with two parameters."""


@odd("function", ["stop", None, 5, takes_nothing, takes_two], ids=id_of)
def test_callback_must_have_one_parameter(function: Any) -> None:
    with pytest.raises(BadInput, match="takes one demand"):
        CallbackOnDemand(function)


def test_policy_with_a_wrong_signature_is_rejected() -> None:
    with pytest.raises(BadInput, match="takes one demand"):
        Owner(name="a", policy=TwoArguments())  # type: ignore[arg-type]
    assert Owner(name="a", policy=CallbackOnDemand(no_answer)).policy.name == "callback"


class Text(str):
    """Subclass of str."""

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
def test_is_name_agrees_with_check_name(name: object) -> None:
    try:
        passes = check_name(name, "a name") is name
    except BadInput:
        passes = False
    assert is_name(name) is passes


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=object)], ids=repr)
def test_empty_optional_names_of_any_type_are_accepted(empty: Any) -> None:
    request = Request(owner="a", resources=["TTS"], optional=empty)  # type: ignore[arg-type]
    assert (request.resources, request.optional) == (("TTS",), ())
    assert Request(owner="a", resources=("TTS",)) == request
