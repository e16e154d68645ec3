"""Limits of the service: no owner can exhaust the server."""

from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.tokens import OutcomeKind
from nao_testbed.experiments.server.messages import OwnerData, RequestData, ResourceData
from nao_testbed.experiments.server.service import owner_service as service_module
from nao_testbed.experiments.server.service.owner_service import (
    NameTaken,
    OwnerGone,
    Service,
    TooMany,
)
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput, UnknownName


@pytest.fixture
def service(front: SharedLedger) -> Service:
    return Service(front)


def register(service: Service, name: str, **data: object) -> str:
    values = OwnerData.model_validate({"name": name, **data})
    return service.register(values, None).key


WAIT = RequestData(resources=("ball",), timeout_s=60.0)
TRY = RequestData(resources=("ball",), timeout_s=0.0)


def test_number_of_owners_is_limited(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "MAX_OWNERS", 2)
    key = register(service, "a")
    register(service, "b")
    with pytest.raises(TooMany, match="2 owners"):
        register(service, "c")
    service.leave(key)
    register(service, "c")


def test_names_do_not_accumulate_in_the_ledger(
    service: Service, front: SharedLedger
) -> None:
    """Each `take` of the command line uses a new name."""
    for number in range(50):
        parent = register(service, f"owner {number}")
        child = register(service, f"part {number}", parent_key=parent)
        service.ask(child, TRY)
        service.leave(parent)
    assert front.snapshot().owners == ()
    assert not front.notices._queues


def test_waiting_requests_of_an_owner_are_limited(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "MAX_WAITING", 2)
    service.ask(register(service, "a"), WAIT)
    key = register(service, "b")
    tickets = [service.ask(key, WAIT) for _ in range(2)]
    with pytest.raises(TooMany, match="2 waiting requests"):
        service.ask(key, WAIT)
    service.withdraw(key, tickets[0].number)
    service.ask(key, WAIT)


def test_old_tickets_are_forgotten_but_waiting_ones_are_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "TICKETS_KEPT", 3)
    service.ask(register(service, "a"), WAIT)
    key = register(service, "b")
    waiting = service.ask(key, WAIT.model_copy(update={"mark": "w"}))
    tried = [service.ask(key, TRY) for _ in range(5)]
    assert service.ticket(key, waiting.number) is waiting
    assert service.ticket(key, tried[-3].number).outcome is not None
    with pytest.raises(UnknownName):
        service.ticket(key, tried[0].number)
    assert service.ask(key, WAIT.model_copy(update={"mark": "w"})) is waiting


def test_resources_are_limited(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "MAX_RESOURCES", 0)
    with pytest.raises(TooMany):
        service.add_resource(ResourceData(name="cup", parent="Objects"))


def test_late_call_of_an_expired_owner_does_not_revive_it(
    make_front: Callable[..., SharedLedger],
) -> None:
    """The time to live has passed, but its timer has not fired yet."""
    now = [0.0]
    front = make_front()
    front._clock = lambda: now[0]
    front._begin = 0.0
    service = Service(front)
    key = register(service, "a", time_to_live_s=1.0)
    outcome = service.ask(key, TRY).outcome
    assert outcome is not None
    now[0] = 1.5
    with pytest.raises(OwnerGone):
        service.ask(key, TRY)
    with pytest.raises(OwnerGone):
        service.renew(key)
    other = service.ask(register(service, "b"), TRY).outcome
    assert other is not None
    assert other.kind is OutcomeKind.GRANTED


def test_key_is_valid_for_one_owner_only(service: Service) -> None:
    key = register(service, "a")
    with pytest.raises(NameTaken):
        service.register(OwnerData(name="b"), register(service, "b") + "x")
    assert service.owner(key) == "a"
    for wrong in (None, "", key[:-1], key + "x", "\ud800"):
        with pytest.raises(OwnerGone):
            service.owner(wrong)


def test_child_needs_the_key_of_its_parent(service: Service) -> None:
    register(service, "parent")
    with pytest.raises(OwnerGone):
        register(service, "child", parent_key="guess")


@pytest.mark.requirement("AR-13")
def test_registered_priority_is_limited_by_the_server(
    front: SharedLedger,
) -> None:
    service = Service(front, max_priority=3)
    service.register(OwnerData(name="guest", priority=3), None)
    with pytest.raises(BadInput, match="its highest is 3"):
        service.register(OwnerData(name="bold", priority=4), None)
