"""Forged answers, unusual exceptions, and callbacks that change the ledger."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import (
    Answered,
    Event,
    Granted,
    Settled,
    Ticked,
)
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    Lock,
)
from nao_testbed.controllers.arbitration.requests import (
    Owner,
    Request,
    StaleToken,
    Ticket,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import NoticeKind, OutcomeKind
from nao_testbed.models import BadInput, TestbedError, UnknownName
from nao_testbed.models.resources import Device, DeviceKind, ResourceKind, ResourceNode
from nao_testbed.testing import trace_hash
from tests.controllers.arbitration.ledger_setup import (
    BODY,
    TICKS_PER_S,
    LedgerSetup,
    node,
    outcome_of,
)


def forged(**parts: object) -> Answer:
    """Return an answer that bypasses validation, like one from a copy or a wire."""
    answer = Answer(kind=AnswerKind.YIELD)
    for name, value in parts.items():
        object.__setattr__(answer, name, value)
    return answer


FORGED = {
    "empty": object.__new__(Answer),
    "a word": forged(kind="give"),
    "no word": forged(kind=[]),
    "nan": forged(after_s=float("nan")),
    "text": forged(after_s="1"),
    "none": forged(after_s=None),
    "negative": forged(after_s=-1.0),
    "endless": forged(kind=AnswerKind.PAUSE, resume_timeout_s=float("inf")),
}


@pytest.mark.requirement("RM-32", "RM-36")
@pytest.mark.parametrize("answer", FORGED.values(), ids=FORGED)
def test_forged_answer_counts_as_keep_and_its_owner_is_notified(answer: Answer) -> None:
    """The requester gets no error; it made no mistake."""
    stage = LedgerSetup()
    stage.owner("holder", policy=CallbackOnDemand(lambda demand: answer))
    stage.owner("asker")
    stage.take("holder", "TTS")
    ticket = stage.ask("asker", "TTS", timeout_s=1.0)
    assert stage.holders("TTS") == ("holder",)
    assert stage.told("holder", NoticeKind.RAISED)
    stage.until(1.0)
    assert outcome_of(ticket).kind is OutcomeKind.TIMED_OUT


def test_unchecked_answer_keep_keeps() -> None:
    stage = LedgerSetup()
    answer = forged(kind="keep")
    stage.owner("holder", policy=CallbackOnDemand(lambda demand: answer))
    stage.owner("asker")
    stage.take("holder", "TTS")
    stage.ask("asker", "TTS", timeout_s=1.0)
    assert stage.holders("TTS") == ("holder",)
    assert not stage.told("holder", NoticeKind.RAISED)


def test_demand_is_answered_in_the_trace_on_keyboard_interrupt() -> None:
    """After the exception is caught, the demand is repeated as usual."""
    stage = LedgerSetup()

    def end(demand: Demand) -> Answer:
        if demand.tick == round(0.5 * TICKS_PER_S):
            raise KeyboardInterrupt("now")
        return Answer(kind=AnswerKind.KEEP)

    stage.owner("holder", policy=CallbackOnDemand(end))
    stage.owner("asker")
    stage.take("holder", "TTS")
    stage.ask("asker", "TTS", timeout_s=10.0)
    with pytest.raises(KeyboardInterrupt):
        stage.until(0.5)
    answered = [one for one in stage.events if isinstance(one, Answered)]
    assert "now" in answered[-1].error
    stage.until(1.2)
    assert [when for _, when in stage.demands_on("holder")] == [0.0, 0.5, 1.0]


class NeitherError(Exception):
    """Exception whose truth value raises an error."""

    def __bool__(self) -> bool:
        raise RuntimeError("neither")


def test_exception_without_truth_value_reaches_all_listeners() -> None:
    stage = LedgerSetup()
    stage.owner("a")
    heard: list[Event] = []

    def raising(event: Event) -> None:
        raise NeitherError

    stage.ledger.listeners[:0] = [raising]
    stage.ledger.listeners.append(heard.append)
    with contextlib.suppress(RuntimeError):  # as raised to the caller
        stage.take("a", "TTS")
    with contextlib.suppress(NeitherError, BadInput):
        stage.until(0.1)
    assert [type(event) for event in heard[-3:]] == [Granted, Settled, Ticked]


class HalfError(Exception):
    """Exception whose repr contains a lone surrogate."""

    def __repr__(self) -> str:
        return "half \ud800"


class EndingError(Exception):
    """Exception whose repr raises GeneratorExit."""

    def __repr__(self) -> str:
        raise GeneratorExit


@pytest.mark.parametrize("fault", [HalfError(), EndingError()])
def test_exception_text_can_be_encoded(fault: Exception) -> None:
    stage = LedgerSetup()

    def raising(demand: Demand) -> None:
        raise fault

    stage.owner("holder", policy=CallbackOnDemand(raising))
    stage.owner("asker")
    stage.take("holder", "TTS")
    stage.ask("asker", "TTS", timeout_s=1.0)
    assert trace_hash(stage.events)
    assert stage.told("holder", NoticeKind.RAISED)[0].error


# -- invalid values --------------------------------------------------------------------


@pytest.mark.parametrize("name", [[], {}, None, 5, "half \ud800"])
def test_invalid_owner_name_is_rejected(name: Any) -> None:
    stage = LedgerSetup()
    with pytest.raises(BadInput, match="name of an owner"):
        stage.ledger.knows(name)
    with pytest.raises(BadInput, match="name of an owner"):
        stage.ledger.check_free(name)


@pytest.mark.parametrize("names", [None, 5, "TTS", {"TTS"}, [[]], ()])
def test_invalid_names_cannot_be_lent_or_released(names: Any) -> None:
    stage = LedgerSetup()
    stage.owner("a")
    token = stage.take("a", "TTS", "RArm")
    before = stage.picture()
    with pytest.raises(BadInput):
        stage.ledger.lend(token, stage.tick, names)
    if names is not None:
        with pytest.raises(BadInput):
            stage.ledger.release(token, stage.tick, names)
    assert stage.picture() == before
    stage.ledger.lend(token, stage.tick, ["TTS"])
    if names:
        with pytest.raises(BadInput):
            stage.ledger.recall(token, stage.tick, names)


# -- signs of life, and lending --------------------------------------------------------


def test_rejected_permission_does_not_count_as_sign_of_life() -> None:
    stage = LedgerSetup()
    stage.owner("a", time_to_live_s=1.0)
    stage.owner("b")
    token = stage.take("a", "TTS")
    stage.at(0.5)
    with pytest.raises(BadInput, match="covers no motor"):
        stage.ledger.allow_shift(token, "b", stage.tick)
    stage.until(1.0)
    assert stage.holders("TTS") == ()


def test_granted_permission_is_a_sign_of_life() -> None:
    device = Device(kind=DeviceKind.MOTOR, names=("HeadYaw",))
    stage = LedgerSetup(
        node("root", ResourceNode(name="Yaw", device=device), node("TTS"))
    )
    stage.owner("a", time_to_live_s=1.0)
    stage.owner("b")
    token = stage.take("a", "Yaw")
    stage.at(0.5)
    stage.ledger.allow_shift(token, "b", stage.tick)
    stage.until(1.2)
    assert stage.holders("Yaw") == ("a",)
    assert not stage.checker.finish()


@pytest.mark.requirement("SY-27")
def test_lent_resource_cannot_be_removed() -> None:
    """Although it is free, it has been promised."""
    stage = LedgerSetup()
    stage.owner("a")
    token = stage.take("a", "TTS", "RArm")
    stage.ledger.lend(token, stage.tick, ["TTS"])
    with pytest.raises(BadInput, match="'TTS' is held, lent"):
        stage.ledger.remove_resource("TTS", stage.tick)
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert stage.may(ticket.token, "TTS") is None


@pytest.mark.requirement("SY-27")
def test_recall_ignores_a_lowered_priority_limit() -> None:
    stage = LedgerSetup()
    stage.owner("a", priority=5)
    token = stage.take("a", "TTS", "RArm")
    stage.ledger.lend(token, stage.tick, ["TTS"])
    stage.owner("a", priority=1, max_priority=2)
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert ticket.token == token


@pytest.mark.requirement("SY-27")
def test_expired_owner_cannot_recall() -> None:
    stage = LedgerSetup()
    stage.owner("a", time_to_live_s=1.0)
    token = stage.take("a", "TTS", "RArm")
    stage.ledger.lend(token, stage.tick, ["TTS"])
    stage.at(2.0)
    with pytest.raises(StaleToken):
        stage.ledger.recall(token, stage.tick)
    assert stage.ledger.waiting == ()


# -- a front that runs a loop ----------------------------------------------------------


def test_owner_interrupted_at_its_grant_holds_nothing() -> None:
    """Another listener raises an exception during the grant."""
    stage = LedgerSetup()
    stage.owners("holder", "asker")
    held = stage.take("holder", "TTS")
    mine = stage.take("asker", "HeadYaw")

    def go_on() -> None:
        stage.release(held)
        raise ValueError("other listener")

    front = LedgerFront(stage.ledger, go_on)
    with pytest.raises(ValueError, match="other listener"):
        front.take(Request(owner="asker", resources=("TTS",), add_to=mine))
    assert stage.holders("TTS") == ()
    assert stage.holders("HeadYaw") == ("asker",)


def test_waiting_for_a_foreign_ticket_is_rejected() -> None:
    stage = LedgerSetup()
    stage.owners("holder", "asker")
    stage.take("holder", "TTS")
    wish = Request(owner="asker", resources=("TTS",), timeout_s=1.0)
    real = stage.ledger.request(wish, stage.tick)
    front = LedgerFront(stage.ledger)
    odd: Any = "ticket"
    for ticket in (Ticket(99, wish), Ticket(real.number, wish), odd):
        with pytest.raises(BadInput, match="ticket"):
            front.wait(ticket)
    assert front.wait(real).kind is OutcomeKind.TIMED_OUT


def test_ledger_reports_an_earlier_exception_when_it_is_shared() -> None:
    def raising(event: Event) -> None:
        raise TestbedError("early")

    ledger = Ledger(ResourceTree(node("root", node("TTS"))), listeners=[raising])
    fault = ledger.set_executor(lambda policy, demand: None, lambda hook, event: None)
    assert str(fault) == "early"
    ledger.advance(1)


class EqualToAll:
    """Listener that equals every object."""

    def __init__(self) -> None:
        self.heard: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.heard.append(event)

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.requirement("RM-33")
def test_listener_equal_to_all_does_not_suppress_a_hook() -> None:
    stage, lost = LedgerSetup(), list[object]()
    stage.ledger.listeners[:0] = [EqualToAll()]
    stage.owner("a", on_lost=lost.append)
    stage.take("a", "TTS")
    stage.ledger.freeze(["TTS"], "broken", 0)
    assert len(lost) == 1


@pytest.mark.requirement("RM-33")
def test_listener_equal_to_all_is_posted_to_the_executor() -> None:
    """Only direct listeners are called under the lock of a shared ledger."""
    ledger, equal, posted = Ledger(ResourceTree(BODY)), EqualToAll(), list[object]()
    ledger.listeners.append(equal)
    ledger.add_direct_listener(lambda event: None)
    ledger.set_executor(lambda *_: None, lambda one, event: posted.append(one))
    ledger.advance(1)
    assert [one is equal for one in posted] == [True]
    assert not equal.heard
    ledger.add_owner(Owner(name="a", on_lost=lambda lost: None), 1)
    assert not ledger.is_hook(equal, "a")


Change = Callable[[Ledger], object]


def removes(*names: str) -> list[Change]:
    return [partial(Ledger.remove_resource, name=x, tick=0) for x in names]


def adds(name: str) -> list[Change]:
    return [lambda ledger: ledger.add_resource(name, "State", 0, ResourceKind.STATE)]


def falls(*names: str | None) -> list[Change]:
    return [partial(Ledger.set_state, group="State", active=x, tick=0) for x in names]


CHANGES: dict[str, list[Change]] = {
    "removes the wanted": removes("Sit"),
    "removes and adds it": removes("Sit") + adds("Sit"),
    "removes the active": removes("Stand"),
    "adds a state": adds("Kneel"),
    "falls": falls("Back"),
    "falls and sits": falls("Back", "Sit"),
    "leaves all": falls(None),
    "removes all others": removes("Sit", "Back"),
    "leaves and removes all": falls(None) + removes("Sit", "Back", "Stand"),
    "asks in turn": [lambda ledger: ledger.ask_state("State", "Back", 0)],
}


@pytest.mark.requirement("RM-53")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("yields", [True, False])
def test_policy_may_change_the_states_during_a_demand(
    change: str, yields: bool
) -> None:
    """The ledger stays consistent, and no other state is lost without a demand."""
    stage = LedgerSetup()
    ledger = stage.ledger
    for name in ("Sit", "Back"):
        if name not in ledger.tree:
            ledger.add_resource(name, "State", 0, ResourceKind.STATE)
    ledger.set_state("State", "Stand", 0)
    is_new = False

    def answer(demand: Demand) -> Answer:
        nonlocal is_new
        if is_new:
            is_new = False
            for call in CHANGES[change]:
                with contextlib.suppress(TestbedError):
                    call(ledger)
            return Answer(kind=AnswerKind.YIELD if yields else AnswerKind.KEEP)
        return Answer(kind=AnswerKind.KEEP)

    stage.owner("holder", policy=CallbackOnDemand(answer))
    stage.owner("lying", policy=Lock())
    stage.take("holder", "Stand")
    lying = stage.ask("lying", "Back", timeout_s=1.0)
    is_new = True
    result: object = "raised"
    with contextlib.suppress(UnknownName):
        result = ledger.ask_state("State", "Sit", 0, "asker")
    stage.until(0.02)
    in_tree = set(ledger.tree.children("State")) if "State" in ledger.tree else set()
    active = ledger.active_state("State") if in_tree else None
    assert active is None or active in in_tree
    if result is True:
        assert active == "Sit"
    if change == "falls":
        assert outcome_of(lying).is_granted
        assert result is False
        assert stage.holders("Back") == ("lying",), "kept without a demand"
    assert not stage.checker.finish()
