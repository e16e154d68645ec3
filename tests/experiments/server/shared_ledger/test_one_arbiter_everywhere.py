"""The same calls have the same outcome in one thread, in threads and over HTTP."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import (
    Outcome,
    OutcomeKind,
    Preemption,
    Refusal,
    Token,
    Why,
)
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from tests.experiments.server.helpers import small_tree

RULES = LedgerCfg(preemption=Preemption.BY_PRIORITY)


class Way(Protocol):
    """One interface to the arbiter."""

    def take(self, owner: str, *names: str, priority: int) -> Outcome: ...
    def release(self, token: Token) -> None: ...
    def authorise(self, token: Token | None, leaf: str) -> Refusal | None: ...


class InOneThread:
    """Program that owns its ledger and its clock."""

    def __init__(self) -> None:
        self.ledger = Ledger(small_tree(), RULES)
        self.tick = 0
        for name in ("A", "B"):
            self.ledger.add_owner(Owner(name=name, timeout_s=0.0), 0)

    def take(self, owner: str, *names: str, priority: int) -> Outcome:
        self.tick += 1
        request = Request(owner=owner, resources=names, priority=priority)
        outcome = self.ledger.request(request, self.tick).outcome
        assert outcome is not None
        return outcome

    def release(self, token: Token) -> None:
        self.ledger.release(token, self.tick)

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        return self.ledger.authorise(token, leaf)


class AmongThreads:
    """Programs that share a ledger in real time."""

    def __init__(self, front: SharedLedger) -> None:
        self.front = front
        self.release, self.authorise = front.release, front.authorise
        for name in ("A", "B"):
            front.add_owner(Owner(name=name, timeout_s=0.0))

    def take(self, owner: str, *names: str, priority: int) -> Outcome:
        return self.front.take(Request(owner=owner, resources=names, priority=priority))


class BetweenComputers:
    """Robots, each with its own connection."""

    def __init__(self, clients: dict[str, Client]) -> None:
        self.clients = clients
        self.release = clients["A"].release
        self.authorise = clients["A"].authorise

    def take(self, owner: str, *names: str, priority: int) -> Outcome:
        return self.clients[owner].take(*names, priority=priority, timeout_s=0.0)


@pytest.fixture(params=["in one thread", "among threads", "between computers"])
def way(
    request: pytest.FixtureRequest,
    make_front: Callable[..., SharedLedger],
    make_server: Callable[..., ReservationServer],
) -> Iterator[Way]:
    if request.param == "in one thread":
        yield InOneThread()
    elif request.param == "among threads":
        yield AmongThreads(make_front(RULES))
    else:
        url = make_server(make_front(RULES)).url
        with contextlib.ExitStack() as stack:
            yield BetweenComputers(
                {name: stack.enter_context(Client(url, name)) for name in ("A", "B")}
            )


@pytest.mark.requirement("AR-28", "RM-13", "RM-59")
def test_same_calls_have_the_same_outcome_everywhere(way: Way) -> None:
    first = way.take("A", "ball", "HeadYaw", priority=2)
    assert (first.kind, first.obtained) == (OutcomeKind.GRANTED, ("HeadYaw", "ball"))
    denied = way.take("B", "ball", priority=2)
    assert (denied.kind, denied.why) == (OutcomeKind.DENIED, Why.BUSY)
    assert [blocker.owners for blocker in denied.blockers] == [("A",)]

    assert way.authorise(first.token, "ball") is None
    assert way.authorise(first.token, "HeadPitch") is Refusal.NOT_COVERED
    assert way.authorise(None, "ball") is Refusal.NO_TOKEN

    second = way.take("B", "ball", priority=3)
    assert second.token is not None
    assert first.token is not None
    assert second.token.sequence == first.token.sequence + 1
    assert way.authorise(first.token, "HeadYaw") is Refusal.REVOKED
    assert way.authorise(second.token, "ball") is None

    way.release(second.token)
    assert way.authorise(second.token, "ball") is Refusal.RELEASED
    assert way.take("A", "ball", priority=0).kind is OutcomeKind.GRANTED
