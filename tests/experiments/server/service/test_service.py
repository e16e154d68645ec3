"""The desk keeps its limits: no owner can fill the server."""

from collections.abc import Callable

import pytest

from controllers.arbitration.tokens import OutcomeKind
from experiments.server import service as desk_module
from experiments.server.messages import OwnerData, RequestData, ResourceData
from experiments.server.service import NameTaken, OwnerGone, Service, TooMany
from experiments.server.shared_ledger import SharedLedger
from models import BadInput, UnknownName


@pytest.fixture
def desk(front: SharedLedger) -> Service:
    return Service(front)


def register(desk: Service, name: str, **data: object) -> str:
    values = OwnerData.model_validate({"name": name, **data})
    return desk.register(values, None).key


WAIT = RequestData(resources=("ball",), timeout_s=60.0)
TRY = RequestData(resources=("ball",), timeout_s=0.0)


def test_owners_are_limited_and_those_who_leave_make_room(
    desk: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "MAX_OWNERS", 2)
    key = register(desk, "a")
    register(desk, "b")
    with pytest.raises(TooMany, match="2 owners"):
        register(desk, "c")
    desk.leave(key)
    register(desk, "c")


def test_names_do_not_pile_up_in_the_ledger(desk: Service, front: SharedLedger) -> None:
    """Each `take` of the command line has a name of its own."""
    for number in range(50):
        parent = register(desk, f"owner {number}")
        child = register(desk, f"part {number}", parent_key=parent)
        desk.ask(child, TRY)
        desk.leave(parent)
    assert front.snapshot().owners == ()
    assert not front.inboxes._boxes


def test_waiting_requests_of_an_owner_are_limited(
    desk: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "MAX_WAITING", 2)
    desk.ask(register(desk, "a"), WAIT)
    key = register(desk, "b")
    tickets = [desk.ask(key, WAIT) for _ in range(2)]
    with pytest.raises(TooMany, match="2 requests that wait"):
        desk.ask(key, WAIT)
    desk.withdraw(key, tickets[0].number)
    desk.ask(key, WAIT)


def test_old_tickets_are_forgotten_and_waiting_ones_never(
    desk: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.server.service.TICKETS_KEPT", 3)
    desk.ask(register(desk, "a"), WAIT)
    key = register(desk, "b")
    waiting = desk.ask(key, WAIT.model_copy(update={"mark": "w"}))
    tried = [desk.ask(key, TRY) for _ in range(5)]
    assert desk.ticket(key, waiting.number) is waiting
    assert desk.ticket(key, tried[-3].number).outcome is not None
    with pytest.raises(UnknownName):
        desk.ticket(key, tried[0].number)
    assert desk.ask(key, WAIT.model_copy(update={"mark": "w"})) is waiting


def test_resources_are_limited(desk: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MAX_RESOURCES", 0)
    with pytest.raises(TooMany):
        desk.add_resource(ResourceData(name="cup", parent="Objects"))


def test_a_late_call_of_an_owner_that_is_gone_brings_nothing_back(
    make_front: Callable[..., SharedLedger],
) -> None:
    """The time to live is over, and its timer has not been heard yet."""
    now = [0.0]
    front = make_front()
    front._clock = lambda: now[0]
    front._begin = 0.0
    desk = Service(front)
    key = register(desk, "a", time_to_live_s=1.0)
    outcome = desk.ask(key, TRY).outcome
    assert outcome is not None
    now[0] = 1.5
    with pytest.raises(OwnerGone):
        desk.ask(key, TRY)
    with pytest.raises(OwnerGone):
        desk.renew(key)
    other = desk.ask(register(desk, "b"), TRY).outcome
    assert other is not None
    assert other.kind is OutcomeKind.GRANTED


def test_a_key_opens_one_owner_alone(desk: Service) -> None:
    key = register(desk, "a")
    with pytest.raises(NameTaken):
        desk.register(OwnerData(name="b"), register(desk, "b") + "x")
    assert desk.owner(key) == "a"
    for wrong in (None, "", key[:-1], key + "x", "\ud800"):
        with pytest.raises(OwnerGone):
            desk.owner(wrong)


def test_a_part_needs_the_key_of_its_parent(desk: Service) -> None:
    register(desk, "parent")
    with pytest.raises(OwnerGone):
        register(desk, "child", parent_key="guess")


@pytest.mark.requirement("AR-13")
def test_who_registers_gets_no_higher_priority_than_the_server_gives(
    front: SharedLedger,
) -> None:
    desk = Service(front, max_priority=3)
    desk.register(OwnerData(name="guest", priority=3), None)
    with pytest.raises(BadInput, match="its highest is 3"):
        desk.register(OwnerData(name="bold", priority=4), None)
