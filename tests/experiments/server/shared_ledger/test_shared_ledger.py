"""The thread-safe front of the ledger."""

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.events import Answered, Event, Notified
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import (
    NoticeKind,
    Outcome,
    OutcomeKind,
    Refusal,
    Why,
)
from nao_testbed.experiments.scenarios.reading.behaviours import RequestedResources
from nao_testbed.experiments.server.service.station_behaviours import (
    Started,
    StationBehaviour,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput
from tests.experiments.server.helpers import eventually

AT_MOST_S = 60.0
MakeFront = Callable[..., SharedLedger]


def in_thread(act: Callable[[], Outcome]) -> Callable[[], Outcome]:
    """Start a thread; return a function that waits for its result."""
    results: list[Outcome] = []
    thread = threading.Thread(target=lambda: results.append(act()), daemon=True)
    thread.start()

    def result() -> Outcome:
        thread.join(AT_MOST_S)
        assert results, "the thread is still waiting"
        return results[0]

    return result


def add(front: SharedLedger, *names: str, **habits: object) -> None:
    for name in names:
        front.add_owner(Owner(name=name, **habits))  # type: ignore[arg-type]


def wait_for_waiter(front: SharedLedger, name: str) -> None:
    """Return when a resource has a waiter."""
    waits = threading.Event()

    def look() -> None:
        with front.step():
            rows = {row.name: row for row in front.snapshot().resources}
            if rows[name].waiters:
                waits.set()

    front.on_change.append(look)
    look()
    assert waits.wait(AT_MOST_S)
    front.on_change.remove(look)


@pytest.mark.requirement("RM-15", "RM-17")
def test_thread_waits_until_another_one_releases(front: SharedLedger) -> None:
    add(front, "a", "b")
    first = front.take(Request(owner="a", resources=("ball",)))
    second = in_thread(lambda: front.take(Request(owner="b", resources=("ball",))))
    wait_for_waiter(front, "ball")
    assert first.token is not None
    front.release(first.token)
    assert second().is_granted


@pytest.mark.requirement("RM-20")
def test_wait_ends_at_its_timeout_without_a_call(front: SharedLedger) -> None:
    add(front, "a", "b")
    front.take(Request(owner="a", resources=("ball",)))
    begin = time.monotonic()
    outcome = front.take(Request(owner="b", resources=("ball",), timeout_s=0.1))
    assert outcome.kind is OutcomeKind.TIMED_OUT
    assert 0.085 < time.monotonic() - begin < AT_MOST_S  # partly elapsed tick


def test_silent_owner_expires_without_a_call(
    front: SharedLedger,
) -> None:
    add(front, "a", time_to_live_s=0.1)
    add(front, "b")
    first = front.take(Request(owner="a", resources=("ball",)))
    assert front.take(Request(owner="b", resources=("ball",))).is_granted
    assert front.authorise(first.token, "ball") is Refusal.EXPIRED


def test_closing_wakes_every_waiting_thread(make_front: MakeFront) -> None:
    front = make_front()
    add(front, "a", "b")
    front.take(Request(owner="a", resources=("ball",)))
    waiting = in_thread(lambda: front.take(Request(owner="b", resources=("ball",))))
    wait_for_waiter(front, "ball")
    front.close()
    assert waiting().why is Why.CLOSED


def test_ctrl_c_in_a_waiting_thread_withdraws_its_request(front: SharedLedger) -> None:
    add(front, "a", "b")
    front.take(Request(owner="a", resources=("ball",)))

    def interrupt() -> None:
        front.on_change.remove(interrupt)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    front.on_change.append(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            front.take(Request(owner="b", resources=("ball",), timeout_s=AT_MOST_S))
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not any(row.waiters for row in front.snapshot().resources)


def test_failing_call_still_completes_expired_requests(
    make_front: MakeFront,
) -> None:
    """Time advances in a call even if the call itself is refused."""
    now = [0.0]
    front = make_front()
    front._clock = lambda: now[0]
    front._begin = 0.0
    add(front, "a", "b")
    front.take(Request(owner="a", resources=("ball",)))
    told = threading.Event()
    front.ask(
        Request(owner="b", resources=("ball",), timeout_s=1.0), lambda _: told.set()
    )
    now[0] = 2.0
    with pytest.raises(Exception, match="nobody"):
        front.renew("nobody")
    assert told.wait(AT_MOST_S)


def until(event: threading.Event) -> Callable[[Demand], None]:
    """Return a callback that hangs until an event."""

    def hang(_: Demand) -> None:
        event.wait(60.0)

    return hang


# -- callbacks -------------------------------------------------------------------------


@pytest.mark.requirement("RM-33", "RM-36")
def test_callback_runs_outside_the_lock_and_its_answer_counts(
    front: SharedLedger,
) -> None:
    seen: list[str] = []

    def function(demand: Demand) -> Answer:
        other = threading.Thread(target=front.renew, args=("c",))
        other.start()
        other.join(AT_MOST_S)
        assert not other.is_alive(), "another thread cannot use the front"
        seen.append(demand.asker)
        return Answer(kind=AnswerKind.YIELD)

    add(front, "a", policy=CallbackOnDemand(function))
    add(front, "b", "c")
    front.take(Request(owner="a", resources=("ball",)))
    assert front.take(Request(owner="b", resources=("ball",))).is_granted
    assert seen == ["b"]


@pytest.mark.requirement("RM-36", "RM-39")
def test_hanging_callback_blocks_no_other_owner(make_front: MakeFront) -> None:
    front = make_front(LedgerCfg(retry_s=60.0))
    hang = threading.Event()
    add(front, "a", policy=CallbackOnDemand(until(hang)))
    add(front, "b", "c")
    front.take(Request(owner="a", resources=("ball",)))
    result = in_thread(lambda: front.take(Request(owner="b", resources=("ball",))))
    wait_for_waiter(front, "ball")
    assert front.take(Request(owner="c", resources=("Head",))).is_granted
    front.close()
    assert result().why is Why.CLOSED, "the callback was not hanging"
    hang.set()


@pytest.mark.requirement("RM-36", "RM-39")
def test_hanging_callback_is_ended_by_its_limit(make_front: MakeFront) -> None:
    front = make_front(LedgerCfg(retry_s=60.0))
    hang = threading.Event()
    add(front, "a", policy=CallbackOnDemand(until(hang), limit_s=0.2))
    add(front, "b")
    front.take(Request(owner="a", resources=("ball",)))
    begin = time.monotonic()
    assert front.take(Request(owner="b", resources=("ball",))).is_granted
    assert time.monotonic() - begin >= 0.2 - 0.02  # in ticks
    hang.set()


@pytest.mark.requirement("RM-53")
def test_callback_answers_the_next_request_to_leave_a_state(
    front: SharedLedger,
) -> None:
    """The first request starts the callback without waiting; a later one succeeds."""
    said = threading.Event()

    def function(_: Demand) -> Answer:
        said.set()
        return Answer(kind=AnswerKind.YIELD)

    add(front, "a", policy=CallbackOnDemand(function))
    with front.step() as (ledger, tick):
        ledger.set_state("State", "Stand", tick)
    front.take(Request(owner="a", resources=("Stand",)))

    def wish() -> bool:
        with front.step() as (ledger, tick):
            return ledger.ask_state("State", "Sit", tick)

    assert not wish()
    assert said.wait(AT_MOST_S)
    eventually(wish)


@pytest.mark.requirement("RM-36")
def test_callback_may_release_by_itself(front: SharedLedger) -> None:
    def function(_: Demand) -> None:
        assert mine.token is not None
        front.release(mine.token)

    add(front, "a", policy=CallbackOnDemand(function))
    add(front, "b")
    mine = front.take(Request(owner="a", resources=("ball",)))
    assert front.take(Request(owner="b", resources=("ball",))).is_granted


@pytest.mark.parametrize("fault", [ValueError("no idea"), SystemExit("no idea")])
def test_raising_callback_denies_and_is_traced(
    front: SharedLedger, fault: BaseException
) -> None:
    events: list[Event] = []
    with front.step() as (ledger, _):
        ledger.add_direct_listener(events.append)

    def function(_: Demand) -> Answer:
        raise fault

    add(front, "a", policy=CallbackOnDemand(function))
    add(front, "b")
    front.take(Request(owner="a", resources=("ball",)))
    request = Request(owner="b", resources=("ball",), timeout_s=0.2)
    assert front.take(request).kind is OutcomeKind.TIMED_OUT
    said = [str(event) for event in events if isinstance(event, Answered)]
    assert any("no idea" in text for text in said)


@pytest.mark.requirement("RM-19", "RM-33")
def test_callback_is_called_again_after_each_retry_period(
    make_front: MakeFront,
) -> None:
    front = make_front(LedgerCfg(retry_s=0.05))
    asked = threading.Semaphore(0)
    add(front, "a", policy=CallbackOnDemand(lambda _: asked.release()))
    add(front, "b")
    front.take(Request(owner="a", resources=("ball",)))
    ticket = front.ask(Request(owner="b", resources=("ball",), timeout_s=AT_MOST_S))
    for _ in range(3):
        assert asked.acquire(timeout=AT_MOST_S)
    front.withdraw(ticket.number)


# -- queues ---------------------------------------------------------------------------


@pytest.mark.requirement("RM-33", "AR-18")
def test_notices_wait_in_the_inbox_of_their_owner(front: SharedLedger) -> None:
    add(front, "a", "b")
    front.take(Request(owner="a", resources=("ball",)))
    front.take(Request(owner="b", resources=("ball",), timeout_s=0.0))
    batch = front.notices.after("a", 0)
    kinds = [x.event.kind for x in batch.notices if isinstance(x.event, Notified)]
    assert kinds == [NoticeKind.DEMANDED]
    assert front.notices.after("a", batch.notices[-1].number).notices == ()
    assert front.notices.after("b", 0).notices == ()


def test_full_inbox_reports_the_number_of_missed_notices(
    make_front: MakeFront, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nao_testbed.experiments.server.shared_ledger.KEPT", 3)
    front = make_front()
    add(front, "a", "b")
    front.take(Request(owner="a", resources=("ball",)))
    for _ in range(5):
        front.take(Request(owner="b", resources=("ball",), timeout_s=0.0))
    batch = front.notices.after("a", 1)
    assert [letter.number for letter in batch.notices] == [3, 4, 5]
    assert batch.n_missed == 1


@pytest.mark.requirement("RM-35")
def test_on_lost_is_called_outside_the_lock(front: SharedLedger) -> None:
    """The hook may wait for a thread that calls the ledger, and call it itself."""
    done = threading.Event()
    said: list[object] = []

    def on_lost(lost: object) -> None:
        other = threading.Thread(target=lambda: said.append(front.snapshot()))
        other.start()
        other.join(AT_MOST_S)
        said.append(front.take(Request(owner="a", resources=("HeadYaw",))).kind)
        done.set()

    front.add_owner(Owner(name="a", policy=StopOnDemand(), on_lost=on_lost))
    add(front, "b")
    assert front.take(Request(owner="a", resources=("Head",))).is_granted
    taken = front.take(Request(owner="b", resources=("HeadPitch",)))
    assert taken.is_granted
    assert done.wait(AT_MOST_S)
    assert said[1:] == [OutcomeKind.GRANTED]


def start_together(
    front: SharedLedger, *needs: str
) -> tuple[list[Started], list[BadInput]]:
    """Start behaviours of the same name at the same moment, one for each need."""
    barrier = threading.Barrier(len(needs))
    running: list[Started] = []
    refused: list[BadInput] = []

    def start(need: str) -> None:
        barrier.wait(AT_MOST_S)
        try:
            wave = StationBehaviour(
                owner=Owner(name="wave"), requested=RequestedResources(needs=(need,))
            )
            running.append(start_behaviour(wave, front))
        except BadInput as error:
            refused.append(error)

    threads = [threading.Thread(target=start, args=[need]) for need in needs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(AT_MOST_S)
    return running, refused


@pytest.mark.requirement("RM-8", "RM-16")
def test_only_one_of_simultaneous_starts_of_a_name_runs(
    front: SharedLedger,
) -> None:
    needs = ("HeadYaw", "HeadPitch", "ball")
    for _ in range(30):
        running, refused = start_together(front, *needs)
        assert (len(running), len(refused)) == (1, 2)
        rows = front.snapshot().resources
        held = [row.name for row in rows if row.holders and row.name in needs]
        assert held == list(running[0].has)
        stop_behaviour(running[0], front)
