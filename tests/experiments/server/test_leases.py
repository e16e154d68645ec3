"""One test suite for leases of a loop, of threads and of a server.

Each harness has the same tree; an owner leases through `of(name)`.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from nao_testbed.controllers.arbitration.leases import LeaseLost, Leasing
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.policies import PauseOnDemand
from nao_testbed.controllers.arbitration.requests import NotGranted, Owner
from nao_testbed.controllers.arbitration.tokens import LossCause, Preemption, Refusal
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.service.address import ServerCfg
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput
from tests.experiments.server.helpers import eventually, small_tree

LIVE_S = 1.0
"""Time to live of an owner that stops its signs of life."""


class Harness(Protocol):
    """Interface that a test needs to lease resources."""

    def of(self, name: str, **habits: Any) -> Leasing:
        """Register an owner with these settings; return its leasing interface."""

    def holders(self, leaf: str) -> list[str]:
        """Return the holders of a leaf."""

    def step(self) -> Any:
        """Return the ledger and the present tick, as a front does."""

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        """Call a function after a delay."""

    def fall_silent(self, name: str) -> None:
        """Stop an owner's signs of life for longer than its time to live."""


class LoopHarness:
    """A ledger in one thread; waiting advances its ticks."""

    def __init__(self, cfg: LedgerCfg) -> None:
        self.ledger = Ledger(small_tree(), cfg)
        self.front = LedgerFront(self.ledger, self._resume)
        self.later: list[tuple[int, Callable[[], object]]] = []

    def of(self, name: str, **habits: Any) -> Leasing:
        if habits:
            self.front.add_owner(Owner(name=name, **habits))
        return self.front

    def holders(self, leaf: str) -> list[str]:
        rows = {row.name: row for row in take_snapshot(self.ledger).resources}
        return [holding.owner for holding in rows[leaf].holders]

    def step(self) -> Any:
        return self.front.step()

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        due = self.ledger.tick + self.ledger.cfg.ticks(seconds)
        self.later.append((due, call))

    def fall_silent(self, name: str) -> None:
        self.ledger.advance(self.ledger.tick + self.ledger.cfg.ticks(2 * LIVE_S))

    def _resume(self) -> None:
        now = self.ledger.tick + 1
        self.ledger.advance(now)
        due = [call for tick, call in self.later if tick <= now]
        self.later = [one for one in self.later if one[0] > now]
        for call in due:
            call()

    def close(self) -> None:
        pass


class ThreadHarness:
    """A shared ledger on a real clock."""

    def __init__(self, cfg: LedgerCfg) -> None:
        self.front = SharedLedger(Ledger(small_tree(), cfg))
        self.timers: list[threading.Timer] = []

    def of(self, name: str, **habits: Any) -> Leasing:
        if habits:
            self.front.add_owner(Owner(name=name, **habits))
        return self.front

    def holders(self, leaf: str) -> list[str]:
        rows = {row.name: row for row in self.front.snapshot().resources}
        return [holding.owner for holding in rows[leaf].holders]

    def step(self) -> Any:
        return self.front.step()

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        self.timers.append(threading.Timer(seconds, call))
        self.timers[-1].start()

    def fall_silent(self, name: str) -> None:
        eventually(lambda: not self.holders("HeadYaw"))

    def close(self) -> None:
        for timer in self.timers:
            timer.join()
        self.front.close()


class ServerHarness(ThreadHarness):
    """Clients of a server of a shared ledger."""

    def __init__(self, cfg: LedgerCfg) -> None:
        super().__init__(cfg)
        self.stack = ExitStack()
        server = ReservationServer(self.front, ServerCfg(port=0))
        self.url = self.stack.enter_context(server).url
        self.clients: dict[str, Client] = {}

    def of(self, name: str, **habits: Any) -> Leasing:
        if name not in self.clients:
            client = Client(self.url, name, **habits)
            self.clients[name] = self.stack.enter_context(client)
        return self.clients[name]

    def fall_silent(self, name: str) -> None:
        self.clients[name]._closing.set()  # its thread stops sending signs of life
        super().fall_silent(name)

    def close(self) -> None:
        for timer in self.timers:
            timer.join()
        self.stack.close()
        super().close()


@pytest.fixture(params=[LoopHarness, ThreadHarness, ServerHarness])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Harness]]:
    made: list[Any] = []

    def bring(**rules: Any) -> Harness:
        made.append(request.param(LedgerCfg(**rules)))
        harness: Harness = made[-1]
        return harness

    yield bring
    for harness in made:
        harness.close()


@pytest.fixture
def harness(make: Callable[..., Harness]) -> Harness:
    return make()


def test_lease_is_held_in_its_block_and_released(harness: Harness) -> None:
    with harness.of("one").lease("Head", owner="one") as lease:
        assert lease.is_held
        assert lease.token == lease.check()
        assert lease.outcome is not None
        assert lease.outcome.obtained == ("HeadPitch", "HeadYaw")
        assert harness.holders("HeadYaw") == ["one"]
        assert lease.lost is None
    assert harness.holders("HeadYaw") == []
    assert [lease.is_held, lease.lost] == [False, None]
    with lease:  # the lease can be reused
        assert harness.holders("HeadYaw") == ["one"]


def test_lease_waits_until_it_is_granted(harness: Harness) -> None:
    first = harness.of("one").lease("ball", owner="one")
    first.begin()
    assert first.is_held
    harness.after(0.1, first.close)
    with harness.of("two").lease("ball", owner="two", wait_s=60.0) as lease:
        assert lease.is_held
        assert harness.holders("ball") == ["two"]


def test_denied_lease_holds_nothing_and_names_the_blocker(
    harness: Harness,
) -> None:
    with harness.of("one").lease("HeadYaw", owner="one"):
        two = harness.of("two").lease("Head", owner="two", wait_s=0.1)
        with pytest.raises(NotGranted, match="HeadYaw: one"), two:
            pass
        assert harness.holders("HeadPitch") == []
        assert not two.is_waiting


def test_error_in_the_block_releases_and_propagates(harness: Harness) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        harness.of("one").lease("ball", owner="one"),
    ):
        raise ZeroDivisionError
    assert harness.holders("ball") == []


def test_lease_follows_pauses_and_releases_its_current_token(harness: Harness) -> None:
    one = harness.of("one").lease("ball", owner="one", policy="pause")
    tokens = set()
    with one:
        for _ in range(3):
            tokens.add(one.check())
            with harness.of("two").lease("ball", owner="two") as two:
                eventually(lambda: not one.is_held)
                assert one.is_waiting
                assert one.lost is None
                with pytest.raises(LeaseLost, match="waits"):
                    one.check()
                assert two.is_held
            assert one.wait()
        tokens.add(one.check())
        assert harness.holders("ball") == ["one"]
    assert len(tokens) == 4
    assert harness.holders("ball") == []


def test_unchecked_lease_follows_several_pauses(
    harness: Harness,
) -> None:
    with harness.of("one").lease("ball", owner="one", policy="pause") as one:
        for _ in range(3):
            with harness.of("two").lease("ball", owner="two"):
                pass
        assert one.wait()
        assert harness.holders("ball") == ["one"]
    assert harness.holders("ball") == []


def test_lease_closed_while_paused_is_not_resumed(
    harness: Harness,
) -> None:
    with harness.of("one").lease("ball", owner="one", policy="pause"):
        two = harness.of("two").lease("ball", owner="two")
        two.begin()
        assert two.is_held
    two.close()
    assert harness.holders("ball") == []


def test_pause_that_does_not_end_in_time_is_a_loss(harness: Harness) -> None:
    policy = PauseOnDemand(resume_timeout_s=0.1)
    with harness.of("one").lease("ball", owner="one", policy=policy) as one:
        with harness.of("two").lease("ball", owner="two"):
            eventually(lambda: not one.is_held)
            assert not one.wait()
        assert one.lost is not None
        assert (one.lost.why, one.lost.by) == (LossCause.PAUSED, "two")
        assert str(one.lost) == "paused for 'two', and not returned in time"


def test_overridden_lease_names_the_new_owner(make: Callable[..., Harness]) -> None:
    harness = make(preemption=Preemption.BY_PRIORITY)
    with harness.of("one").lease("ball", owner="one") as one:
        with harness.of("two").lease("ball", owner="two", priority=3):
            eventually(lambda: not one.is_held)
            assert one.lost is not None
            assert one.lost.why is LossCause.OVERRIDDEN
            assert str(one.lost) == "overridden by 'two'"
            with pytest.raises(LeaseLost, match="overridden by 'two'"):
                one.check()
        assert not one.is_held  # the loss is final
    assert not one.wait()


def test_overheated_part_ends_a_lease(harness: Harness) -> None:
    with harness.of("one").lease("Head", owner="one") as one:
        with harness.step() as (ledger, tick):
            ledger.freeze(["HeadYaw"], "hotEngine", tick)
        eventually(lambda: not one.is_held)
        assert str(one.lost) == "frozen by 'hotEngine'"
        assert harness.holders("HeadPitch") == []


def test_leases_nest_but_not_for_the_same_resource(
    harness: Harness,
) -> None:
    one = harness.of("one", policy="stop")
    with one.lease("HeadYaw", owner="one") as outer:
        token = outer.token
        with one.lease("ball", owner="one") as inner:
            assert inner.is_held
        with pytest.raises(NotGranted, match="HeadYaw: one"):
            one.lease("HeadYaw", owner="one").__enter__()
        assert outer.token == token
        assert harness.holders("ball") == []


def test_silent_owner_loses_its_lease(harness: Harness) -> None:
    one = harness.of("one", time_to_live_s=LIVE_S).lease("HeadYaw", owner="one")
    one.begin()
    assert one.is_held
    harness.fall_silent("one")
    assert harness.holders("HeadYaw") == []
    eventually(lambda: one.lost is not None)
    assert one.lost is not None
    assert one.lost.refusal in {Refusal.EXPIRED, Refusal.UNKNOWN}
    one.close()


def test_waiting_owner_is_alive(harness: Harness) -> None:
    first = harness.of("one").lease("ball", owner="one")
    first.begin()
    assert first.is_held
    two = harness.of("two", time_to_live_s=LIVE_S)
    harness.after(3.0 * LIVE_S, first.close)
    with two.lease("ball", owner="two", wait_s=60.0) as lease:
        assert lease.is_held


def test_lease_can_begin_only_once_at_a_time(harness: Harness) -> None:
    lease = harness.of("one").lease("ball", owner="one")
    assert not lease.wait()
    with lease, pytest.raises(BadInput, match="has already begun; close it first"):
        lease.begin()
    lease.close()
    lease.close()


def test_invalid_lease_is_refused(harness: Harness) -> None:
    one = harness.of("one")
    with pytest.raises(BadInput, match=r"'bal' is not in .*Did you mean 'ball'"):
        one.lease("bal", owner="one").begin()
    with pytest.raises(BadInput, match="requests nothing"):
        one.lease(owner="one")
    with pytest.raises(BadInput, match="Conflict policy 'paus'"):
        one.lease("ball", owner="one", policy="paus")


def test_lease_needs_an_owner_if_there_are_several() -> None:
    front = LedgerFront(Ledger(small_tree()))
    with pytest.raises(BadInput, match="say who commands, such as owner="):
        front.lease("ball")


def test_client_is_one_owner() -> None:
    client = Client("http://127.0.0.1:1", "one")
    with pytest.raises(BadInput, match="is the owner 'one', not 'two'"):
        client.lease("ball", owner="two")
    client.close()


def test_lease_follows_pauses_without_remembered_dead_tokens(
    make: Callable[..., Harness],
) -> None:
    """It uses its first token, which is remembered as long as its successors."""
    harness = make(dead_tokens_kept=0)

    def interrupt() -> None:
        with harness.of("two").lease("ball", owner="two"):
            pass

    with harness.of("one").lease("ball", owner="one", policy="pause") as one:
        first = one.check()
        interrupt()
        eventually(lambda: one.token not in {None, first})
        for _ in range(3):
            interrupt()
        assert one.wait()
        assert one.lost is None
    assert harness.holders("ball") == []
