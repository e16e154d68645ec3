"""Callbacks that hang, raise or wait for a lock, at a shared ledger."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

import pytest

from nao_testbed.controllers.arbitration.events import Granted, Notified
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.tokens import (
    NoticeKind,
    Outcome,
    OutcomeKind,
    Why,
)
from nao_testbed.experiments.server.shared_ledger import LedgerClosed, SharedLedger
from nao_testbed.models import BadInput
from tests.experiments.server.helpers import AT_MOST_S, eventually, small_tree
from tests.experiments.server.shared_ledger.test_shared_ledger import add, in_thread

YIELD = Answer(kind=AnswerKind.YIELD)


def wish(owner: str, **terms: object) -> Request:
    return Request(owner=owner, resources=("ball",), **terms)  # type: ignore[arg-type]


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """Event that hanging callbacks wait for."""
    event = threading.Event()
    yield event
    event.set()


def raising(*_: object) -> None:
    raise ValueError("a listener's own fault")


def told(front: SharedLedger, owner: str, kind: NoticeKind) -> list[Notified]:
    kept = front.notices.after(owner, 0).notices
    notices = [x.event for x in kept if isinstance(x.event, Notified)]
    return [notice for notice in notices if notice.kind is kind]


# -- callbacks that raise --------------------------------------------------------------


@pytest.mark.requirement("RM-15", "RM-20")
@pytest.mark.parametrize("how", ["when_done", "on_change", "reader", "listener"])
def test_raising_callback_does_not_stop_the_clock(
    front: SharedLedger, how: str
) -> None:
    add(front, "a", "b", "c")
    front.take(wish("a"))
    if how == "on_change":
        front.on_change.append(raising)
    elif how == "reader":
        front.notices.add_reader("b", raising)
    elif how == "listener":
        with front.step() as (ledger, _):
            ledger.listeners.append(raising)
    front.ask(wish("b", timeout_s=0.02), raising)
    late = in_thread(lambda: front.take(wish("c", timeout_s=0.1)))
    assert late().kind is OutcomeKind.TIMED_OUT


def test_raising_callback_does_not_lose_the_grant(front: SharedLedger) -> None:
    add(front, "a", "b")
    first = front.take(wish("a"))
    waiting = front.ask(wish("b"), raising)
    front.on_change.append(raising)
    assert first.token is not None
    front.release(first.token)
    assert front.authorise(waiting.token, "ball") is None


@pytest.mark.requirement("RM-33")
def test_owner_is_notified_that_its_callback_raised(front: SharedLedger) -> None:
    add(front, "a", "b")
    front.take(wish("a"))
    front.ask(wish("b", timeout_s=0.02), raising)
    eventually(lambda: bool(told(front, "b", NoticeKind.RAISED)))
    assert "own fault" in told(front, "b", NoticeKind.RAISED)[0].error


# -- callbacks that hang, or wait for a lock -------------------------------------------


class Stubborn:
    """Policy that acquires a lock of its program before it answers."""

    name: ClassVar[str] = "stubborn"

    def __init__(self, lock: threading.Lock) -> None:
        self.lock = lock

    def answer(self, demand: Demand) -> Answer:
        with self.lock:
            return YIELD


@pytest.mark.requirement("RM-15", "RM-21")
@pytest.mark.parametrize("of", ["owner", "request", "a step's request"])
def test_policy_may_need_a_lock_held_by_a_waiting_requester(
    front: SharedLedger, of: str
) -> None:
    lock = threading.Lock()
    policy = Stubborn(lock)
    add(front, "a", **({"policy": policy} if of == "owner" else {}))
    add(front, "b")
    if of == "a step's request":
        with front.step() as (ledger, tick):
            ledger.request(wish("a", policy=policy), tick)
    else:
        front.take(wish("a", policy=None if of == "owner" else policy))

    def take_with_the_lock() -> Outcome:
        with lock:
            return front.take(wish("b", timeout_s=0.1))

    assert in_thread(take_with_the_lock)().kind is OutcomeKind.TIMED_OUT
    assert front.take(wish("b", timeout_s=AT_MOST_S)).is_granted  # the lock is free


@pytest.mark.parametrize("how", ["when_done", "on_change", "reader", "listener"])
def test_hanging_callback_blocks_no_other_owner(
    front: SharedLedger, hang: threading.Event, how: str
) -> None:
    def hangs(*_: object) -> None:
        hang.wait(AT_MOST_S)

    add(front, "a", "b", "c")
    first = front.take(wish("a"))
    assert first.token is not None
    if how == "on_change":
        front.on_change.append(hangs)
    elif how == "reader":
        front.notices.add_reader("b", hangs)
    elif how == "listener":
        with front.step() as (ledger, _):
            ledger.listeners.append(hangs)
    when_done = hangs if how == "when_done" else None
    early = front.ask(wish("b", timeout_s=0.02), when_done)
    late = in_thread(lambda: front.take(wish("c", timeout_s=AT_MOST_S)))
    eventually(lambda: early.outcome is not None)
    front.release(first.token)
    assert late().is_granted


def test_callback_may_wait_for_the_ledger(
    front: SharedLedger,
) -> None:
    add(front, "a", "b")
    front.take(wish("a"))
    got: list[Outcome] = []
    done = threading.Event()

    def take_another(_: object) -> None:
        got.append(front.take(wish("b", timeout_s=0.02)))
        done.set()

    front.ask(wish("b", timeout_s=0.02), take_another)
    assert done.wait(AT_MOST_S)
    assert got[0].kind is OutcomeKind.TIMED_OUT


def test_listeners_get_all_events_in_order_before_close_returns() -> None:
    heard: list[object] = []
    ledger = Ledger(small_tree(), listeners=[heard.append])
    with SharedLedger(ledger) as front:
        add(front, "a")
        for _ in range(20):
            token = front.take(wish("a")).token
            assert token is not None
            front.release(token)
    grants = [event.request for event in heard if isinstance(event, Granted)]
    assert grants == sorted(grants)
    assert len(grants) == 20


def test_waiting_inside_a_step_is_refused(front: SharedLedger) -> None:
    add(front, "a")
    with front.step(), pytest.raises(BadInput, match="inside a step"):
        front.take(wish("a"))


# -- closing ---------------------------------------------------------------------------


@pytest.mark.requirement("RM-20")
def test_requests_end_when_the_ledger_is_closed(
    make_front: Callable[[], SharedLedger],
) -> None:
    front = make_front()
    add(front, "a", "b")
    held = front.take(wish("a"))
    asked = front.ask(wish("b"))
    other = front.ask(Request(owner="b", optional=("ball",), timeout_s=5.0))
    front.close()
    front.close()  # has no further effect
    for ticket in (asked, other):
        assert ticket.outcome is not None
        assert (ticket.outcome.kind, ticket.outcome.why) == ("cancelled", Why.CLOSED)
    with pytest.raises(LedgerClosed, match="'b' requests from a closed ledger"):
        front.take(wish("b", timeout_s=0.1))
    assert held.token is not None
    front.release(held.token)


def test_concurrent_takes_end_when_the_ledger_is_closed(
    make_front: Callable[[], SharedLedger],
) -> None:
    front = make_front()
    add(front, "a", *(f"asker {n}" for n in range(8)))
    front.take(wish("a"))
    ends: list[str] = []

    def take(owner: str) -> None:
        try:
            ends.append(str(front.take(wish(owner, timeout_s=AT_MOST_S)).why))
        except LedgerClosed:
            ends.append("closed")

    threads = [
        threading.Thread(target=take, args=(f"asker {n}",), daemon=True)
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    front.close()
    for thread in threads:
        thread.join(AT_MOST_S)
    assert ends == ["closed"] * 8


def test_callback_may_close_the_ledger(
    make_front: Callable[[], SharedLedger],
) -> None:
    front = make_front()
    closed = threading.Event()

    def close(_: Demand) -> None:
        front.close()
        closed.set()

    front.add_owner(Owner(name="a", policy=CallbackOnDemand(close)))
    add(front, "b")
    front.take(wish("a"))
    assert front.take(wish("b", timeout_s=AT_MOST_S)).why is Why.CLOSED
    assert closed.wait(AT_MOST_S)


@pytest.mark.requirement("RM-35")
def test_failing_hook_affects_only_its_owner(
    front: SharedLedger, hang: threading.Event
) -> None:
    heard: list[object] = []

    def hangs(_: object) -> None:
        hang.wait(AT_MOST_S)

    front.add_owner(Owner(name="a", policy=StopOnDemand(), on_lost=raising))
    front.add_owner(Owner(name="b", policy=StopOnDemand(), on_lost=hangs))
    front.add_owner(Owner(name="c", policy=StopOnDemand(), on_lost=heard.append))
    for owner in ("a", "b", "c", "a"):
        assert front.take(wish(owner)).is_granted
    eventually(lambda: bool(heard))
    eventually(lambda: bool(told(front, "a", NoticeKind.RAISED)))
    assert not told(front, "b", NoticeKind.RAISED)


# -- deadlocks, and errors in threads --------------------------------------------------


@pytest.mark.requirement("RM-20")
def test_listener_that_raised_before_does_not_stop_the_clock() -> None:
    with SharedLedger(Ledger(small_tree(), listeners=[raising])) as front:
        add(front, "a", "b")
        front.take(wish("a"))
        late = in_thread(lambda: front.take(wish("b", timeout_s=0.05)))
        assert late().kind is OutcomeKind.TIMED_OUT


def error_of(call: Callable[[], object]) -> str:
    """Return the exception of a call in a new thread, which must end."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001  checked by the test
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(5.0)
    assert not thread.is_alive(), "the call does not return"
    return repr(*raised)


def test_step_cannot_close_its_ledger() -> None:
    """Closing would wait for the timer, which waits for the step."""
    front = SharedLedger(Ledger(small_tree()))

    def close() -> None:
        with front.step():
            front.close()

    assert "BadInput('a step cannot close its ledger" in error_of(close)
    front.close()


def test_wait_without_a_pending_request_is_refused(front: SharedLedger) -> None:
    add(front, "a", "b")
    front.take(wish("a"))
    for ticket in (Ticket(99, wish("b")), Ticket(1, wish("b"))):
        assert "does not wait in this" in error_of(partial(front.wait, ticket))
    front.close()
    with front.step() as (ledger, tick):
        late = ledger.request(wish("b", timeout_s=1.0), tick)
    assert "LedgerClosed" in error_of(partial(front.wait, late))


class EndingError(KeyboardInterrupt):
    """Ends a thread that does not catch it, and any that prints it."""

    def __repr__(self) -> str:
        raise GeneratorExit


@pytest.mark.requirement("RM-36")
def test_failing_callback_ends_no_thread_of_the_front(
    front: SharedLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by an error, nor by a limit longer than a clock can wait."""
    ended: list[object] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)

    def end(_: object) -> None:
        raise EndingError

    add(front, "a", policy=CallbackOnDemand(end, limit_s=1e300))
    add(front, "b", on_lost=end)
    front.take(wish("a"))
    front.ask(wish("b", timeout_s=0.5), end)  # ends after `a` was asked
    eventually(lambda: bool(told(front, "a", NoticeKind.RAISED)))
    eventually(lambda: bool(told(front, "b", NoticeKind.RAISED)))
    assert not ended


class NeitherError(Exception):
    """Cannot be converted to bool, as the logging module does."""

    def __bool__(self) -> bool:
        raise RuntimeError


class EndingTruthError(NeitherError):
    """Ends the program when converted to bool."""

    def __bool__(self) -> bool:
        raise KeyboardInterrupt


@pytest.mark.parametrize("raised", [NeitherError, EndingTruthError])
@pytest.mark.requirement("RM-33")
def test_unprintable_error_ends_no_thread(
    front: SharedLedger,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    raised: type[NeitherError],
) -> None:
    ended: list[object] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    calls: list[int] = []

    def raises() -> None:
        calls.append(1)
        raise raised

    front.on_change.append(raises)
    add(front, "a")
    eventually(lambda: len(calls) == 1)
    front.take(wish("a"))
    eventually(lambda: len(calls) >= 2)
    eventually(lambda: f"{raised.__name__}()" in caplog.text)
    assert not ended
