"""Calls of the document by threads of one owner, and by paused owners."""

import threading
from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.naoqi import ES2535273Calls
from nao_testbed.controllers.arbitration.policies import PauseOnDemand
from nao_testbed.controllers.arbitration.requests import NotGranted, Owner, Request
from nao_testbed.controllers.arbitration.tokens import Why
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput
from tests.experiments.server.helpers import AT_MOST_S, eventually
from tests.experiments.server.shared_ledger.test_shared_ledger import wait_for_waiter


def ends_of(*calls: Callable[[], object]) -> list[BaseException | None]:
    """Return the exception of each call, all made at once in threads."""
    ends: dict[int, BaseException | None] = {}
    barrier = threading.Barrier(len(calls))

    def run(number: int) -> None:
        barrier.wait(AT_MOST_S)
        try:
            calls[number]()
            ends[number] = None
        except Exception as end:  # noqa: BLE001  returned to the test
            ends[number] = end

    threads = [
        threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(calls))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(AT_MOST_S)
    return [ends[n] for n in range(len(calls))]


@pytest.mark.requirement("RM-9", "RM-15", "RM-21")
@pytest.mark.parametrize("timeout_s", [0, 5])
def test_two_threads_of_one_owner_both_take(
    front: SharedLedger, timeout_s: int
) -> None:
    """Taking a held resource again succeeds, in any order of the threads."""
    calls = ES2535273Calls(front)
    for n in range(60):
        owner = f"dance {n}"

        def take(owner: str = owner) -> None:
            calls.waitForResource("Head", owner, "", timeout_s)
            assert front.authorise(calls.token(owner, "HeadYaw"), "HeadYaw") is None

        assert ends_of(take, take, take) == [None, None, None]
        calls.releaseResource("Head", owner)


@pytest.mark.requirement("RM-21")
def test_two_threads_of_one_owner_wait_for_a_third_party(front: SharedLedger) -> None:
    calls = ES2535273Calls(front)
    calls.waitForResource("HeadYaw", "walk", "", 0)

    def give_back() -> None:
        wait_for_waiter(front, "HeadYaw")
        calls.releaseResource("HeadYaw", "walk")

    def take_all() -> None:
        calls.waitResources(["Head", "ball"], "dance", "", AT_MOST_S)

    def take_one() -> None:
        calls.waitForResource("HeadYaw", "dance", "", AT_MOST_S)

    assert ends_of(take_all, take_one, take_one, give_back) == [None] * 4
    calls.releaseResource("HeadYaw", "dance")


def test_real_deadlock_is_still_reported(front: SharedLedger) -> None:
    calls = ES2535273Calls(front)
    calls.waitForResource("HeadYaw", "dance", "", 0)
    calls.waitForResource("ball", "walk", "", 0)
    ends = ends_of(
        lambda: calls.waitForResource("ball", "dance", "", 0.5),
        lambda: calls.waitForResource("HeadYaw", "walk", "", 0.5),
    )
    whys = {end.outcome.why for end in ends if isinstance(end, NotGranted)}
    assert Why.DEADLOCK in whys


# -- paused owners ---------------------------------------------------------------------


def paused(front: SharedLedger) -> ES2535273Calls:
    """Return calls of `dance`, which took the head and is paused by `walk`."""
    front.add_owner(Owner(name="dance", policy=PauseOnDemand()))
    calls = ES2535273Calls(front)
    calls.waitForResource("Head", "dance", "", 0)
    calls.waitForResource("HeadYaw", "walk", "", 0)
    assert [w.owner for w in waits(front, "HeadYaw")] == ["dance"]
    return calls


def waits(front: SharedLedger, name: str) -> tuple:  # type: ignore[type-arg]
    with front.step() as (ledger, _):
        rows = {row.name: row for row in take_snapshot(ledger).resources}
    return rows[name].waiters


@pytest.mark.requirement("RM-11", "RM-37")
@pytest.mark.parametrize("given", ["Head", "HeadYaw", "HeadPitch"])
def test_paused_owner_can_release_and_is_not_resumed(
    front: SharedLedger, given: str
) -> None:
    """A pause resumes the complete set, so releasing a part ends it."""
    calls = paused(front)
    calls.releaseResource(given, "dance")
    assert waits(front, "HeadYaw") == waits(front, "HeadPitch") == ()
    calls.releaseResource("HeadYaw", "walk")
    with front.step() as (ledger, _):
        assert not any(row.holders for row in take_snapshot(ledger).resources)
    with pytest.raises(BadInput, match="'dance' holds no part of"):
        calls.releaseResource(given, "dance")


@pytest.mark.requirement("RM-37")
def test_release_of_an_unheld_resource_keeps_the_pause(front: SharedLedger) -> None:
    calls = paused(front)
    with pytest.raises(BadInput):
        calls.releaseResource("ball", "dance")
    assert [w.owner for w in waits(front, "HeadYaw")] == ["dance"]
    calls.releaseResource("HeadYaw", "walk")
    eventually(
        lambda: front.authorise(calls.token("dance", "HeadYaw"), "HeadYaw") is None
    )


@pytest.mark.requirement("RM-37")
def test_release_does_not_cancel_a_wait_in_another_thread(
    front: SharedLedger,
) -> None:
    calls = ES2535273Calls(front)
    front.add_owner(Owner(name="walk"))
    held = front.take(Request(owner="walk", resources=("ball",)))
    assert held.token is not None

    def give_up_then_free() -> None:
        wait_for_waiter(front, "ball")
        with pytest.raises(BadInput, match="holds no part"):
            calls.releaseResource("ball", "dance")
        assert held.token is not None
        front.release(held.token)

    wait = AT_MOST_S
    ends = ends_of(
        lambda: calls.waitForResource("ball", "dance", "", wait), give_up_then_free
    )
    assert ends == [None, None]
