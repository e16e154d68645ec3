"""A schema acts when it is the winner and holds its needs (JD-8, JD-11)."""

from dataclasses import dataclass
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Failed, Granted, MadeSafe
from nao_testbed.controllers.arbitration.policies import (
    CallbackOnDemand,
    Demand,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import OutcomeKind
from nao_testbed.controllers.schemas import (
    Activation,
    ActuationSchema,
    SchemaInfo,
    State,
)
from nao_testbed.controllers.schemas.events import (
    Finished,
    SchemaFailed,
    SchemaStarted,
    SchemaStopped,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive


def turner(name: str, *needs: str, log: list[str] | None = None, **given: Any) -> type:
    """Return a schema that turns the head while it can, and logs its calls."""
    said = [] if log is None else log
    needs = needs or ("HeadYaw",)
    return actuation(
        name,
        needs=needs,
        start=lambda s: said.append(f"{s.tick} start"),
        iterate=lambda s: [s.submit(leaf, 0.1) for leaf in needs],
        stop=lambda s: said.append(f"{s.tick} stop"),
        on_lost=lambda s: said.append(f"{s.tick} lost"),
        **given,
    )


@pytest.mark.requirement("JD-8", "RM-37")
@pytest.mark.parametrize("n_pauses", [1, 2, 3])
def test_schema_paused_and_resumed_within_a_slot_continues(
    nao: Robot, n_pauses: int
) -> None:
    """The schema stops and restarts with the newest token."""
    log: list[str] = []
    stage = SchemaWorld.of(nao, turner("turn", log=log))
    stage.begin("turn", policy=PauseOnDemand()).slot(2)
    for _ in range(n_pauses):
        stage.release(stage.hold("taker", "HeadYaw"))
    stage.slot(3)
    assert log == ["0 start", "2 lost", "2 start"]
    assert stage.executed_by() == {tick: {"turn"} for tick in range(5)}


@pytest.mark.requirement("JD-8")
def test_schema_that_fails_in_on_lost_holds_nothing(nao: Robot) -> None:
    def raise_error(_: Any) -> None:
        raise RuntimeError("oh")

    turn = actuation("turn", needs=("HeadYaw",), on_lost=raise_error)
    stage = SchemaWorld.of(nao, turn)
    stage.begin("turn", policy=PauseOnDemand()).slot(2)
    stage.release(stage.hold("taker", "HeadYaw"))
    stage.slot(2)
    assert stage.told(SchemaFailed)
    assert not stage.runtime.winners
    stage.release(stage.hold("another", "HeadYaw"))  # HeadYaw is free


@pytest.mark.requirement("JD-8")
def test_winner_waits_for_its_token_before_it_acts(nao: Robot) -> None:
    log: list[str] = []
    stage = SchemaWorld.of(nao, turner("turn", log=log))
    token = stage.hold("somebody", "Head")
    stage.begin("turn").slot(4)
    assert stage.runtime.winners == ("turn",)
    assert stage.runtime.view("turn").is_waiting
    assert not stage.runtime.may_act("turn")
    assert not stage.executed_by()
    stage.release(token)
    stage.slot(2)
    assert log == ["4 start"]
    assert stage.executed_by() == {4: {"turn"}, 5: {"turn"}}


def test_slow_schema_starts_in_the_slot_of_its_grant(nao: Robot) -> None:
    log: list[str] = []
    stage = SchemaWorld.of(nao, turner("turn", log=log, period_s=0.1))
    token = stage.hold("somebody", "Head")
    stage.begin("turn").slot(4)
    stage.release(token)
    stage.slot(10)
    assert log == ["4 start"]
    assert stage.executed_by() == {10: {"turn"}}, "iterations keep their grid"


@pytest.mark.requirement("I-25")
def test_loser_has_no_token_when_the_new_winner_requests(nao: Robot) -> None:
    """Both need the head: the second is granted in the slot of the change."""
    first = turner("first", ready=lambda s: s.tick < 3)
    second = turner("second", ready=lambda s: s.tick >= 2)
    stage = SchemaWorld.of(nao, first, second)
    children = (Activation(schema="first"), Activation(schema="second"))
    stage.begin("choose", name="p", children=children).slot(5)
    assert stage.executed_by() == {
        0: {"p/first"},
        1: {"p/first"},
        2: {"p/first"},
        3: {"p/second"},
        4: {"p/second"},
    }
    assert not stage.told(MadeSafe), "the joint is commanded all the time"


def test_orders_of_a_loser_end_and_its_joints_are_made_safe(nao: Robot) -> None:
    walk = actuation(
        "walk",
        needs=("HeadYaw",),
        ready=lambda s: s.tick < 3,
        start=lambda s: s.play("wave"),
        iterate=lambda s: s.submit("HeadYaw", 0.1),
    )
    stage = SchemaWorld.of(nao, actuation("p", start=lambda s: s.wake("walk")), walk)
    stage.begin("p").slot(3)
    (order,) = stage.acts.orders
    over = [order.is_over]
    stage.slot()
    over.append(order.is_over)
    assert over == [False, True]
    assert [event.leaves for event in stage.told(MadeSafe)] == [("HeadYaw",)]


def test_finished_orders_are_removed(nao: Robot) -> None:
    def iterate(schema: Any) -> None:
        schema.play("nod").end()

    stage = SchemaWorld.of(nao, actuation("nods", needs=("HeadYaw",), iterate=iterate))
    stage.begin("nods").slot(100)
    (instance,) = stage.runtime.instances.instances
    assert len(stage.acts.orders) == 100
    assert len(instance._orders) <= 16


@pytest.mark.requirement("JD-8", "JD-11")
def test_schema_that_loses_its_token_restarts_with_its_tree(nao: Robot) -> None:
    """An owner of higher priority takes the head for three slots."""
    log: list[str] = []
    parent = turner("parent", log=log)
    stage = SchemaWorld.of(nao, parent, actuation("leaf"))
    original = parent.start  # type: ignore[attr-defined]
    parent.start = lambda s: (original(s), s.wake("leaf"))  # type: ignore[attr-defined]
    stage.begin("parent").slot(3)
    token = stage.hold("boss", "HeadYaw", priority=5)
    stage.slot(3)
    assert stage.runtime.winners == ("parent",)
    assert stage.state("parent/leaf") is State.SLEPT
    stage.release(token)
    stage.slot(2)
    assert stage.state("parent/leaf") is State.WINNER
    assert log == ["0 start", "3 lost", "6 start"]
    whys = [event.why for event in stage.told(SchemaStopped)]
    assert whys == ["asleep", "no token"]
    assert sorted(stage.executed_by()) == [0, 1, 2, 6, 7]


def test_paused_schema_resumes_with_its_resources(nao: Robot) -> None:
    log: list[str] = []
    stage = SchemaWorld.of(nao, turner("turn", log=log))
    stage.begin("turn", policy=PauseOnDemand()).slot(2)
    token = stage.hold("guest", "HeadYaw")
    stage.slot(2)
    stage.release(token)
    stage.slot(2)
    assert log == ["0 start", "2 lost", "4 start"]
    requests = [event for event in stage.told(Granted) if event.owner == "turn"]
    assert len(requests) == 2
    assert not stage.told(Failed), "resumed without a new request"


@pytest.mark.requirement("JD-8")
def test_winner_preempts_another_tree_by_its_priority(nao: Robot) -> None:
    """The emergency of one tree ends the walk of another in the same slot."""
    log: list[str] = []
    walk = turner("walk", log=log)
    flee = turner("flee", ready=lambda s: s.tick >= 3)
    stage = SchemaWorld.of(nao, walk, flee).begin("walk")
    children = (Activation(schema="flee"),)
    stage.begin("choose", name="reflexes", priority=7, children=children).slot(6)
    assert stage.executed_by() == {
        0: {"walk"},
        1: {"walk"},
        2: {"walk"},
        3: {"reflexes/flee"},
        4: {"reflexes/flee"},
        5: {"reflexes/flee"},
    }
    assert log == ["0 start", "3 lost"]


@pytest.mark.requirement("JD-8", "I-25")
def test_grant_revoked_in_the_same_slot_starts_no_schema(nao: Robot) -> None:
    """The waiter is granted, and the stronger schema preempts it in the same slot."""
    log: list[str] = []
    weak, strong = turner("weak", log=log), turner("strong")
    stage = SchemaWorld.of(nao, weak, strong).begin("weak", timeout_s=50.0)
    stage.begin("strong", priority=5).slot(3)
    log.clear()
    stage.ledger.drop("strong", 3)
    stage.slot(3)
    assert log == []
    assert not stage.runtime.may_act("weak")
    assert [event.owner for event in stage.told(Granted) if event.tick == 3] == [
        "weak",
        "strong",
    ]
    assert {*stage.executed_by()[3], *stage.executed_by()[5]} == {"strong"}
    stage.runtime.sleep("strong", 6)
    stage.slot()
    assert log == ["6 start"]


@pytest.mark.requirement("RM-35")
def test_schema_that_yields_finishes_and_does_not_ask_again(nao: Robot) -> None:
    """Two schemas that stop on demand do not alternate without end."""
    log: list[str] = []
    stage = SchemaWorld.of(nao, turner("first", log=log), turner("second"))
    stage.begin("first", policy=StopOnDemand()).slot(3)
    stage.begin("second", policy=StopOnDemand()).slot(10)
    assert log == ["0 start", "3 stop"]
    assert stage.runtime.winners == ("second",)
    assert [event.why for event in stage.told(SchemaStopped)] == ["yielded"]
    assert sorted(stage.executed_by()) == list(range(13))
    assert stage.executed_by()[3] == {"second"}


@pytest.mark.requirement("RM-35")
def test_withdrawn_demand_does_not_end_the_schema(nao: Robot) -> None:
    """The requester withdraws before the time to stop; later a fault takes all."""
    log: list[str] = []
    stage = SchemaWorld.of(nao, turner("turn", log=log))
    stage.begin("turn", policy=StopOnDemand(within_s=0.05)).slot(2)
    stage.ledger.add_owner(Owner(name="guest"), 1)
    wish = Request(owner="guest", resources=("HeadYaw",), timeout_s=1.0)
    ticket = stage.ledger.request(wish, 1)
    stage.slot()
    stage.ledger.withdraw(ticket.number, 2)
    stage.slot(10)
    stage.ledger.freeze(("HeadYaw",), "hotEngine", stage.tick)
    stage.slot(2)
    assert log == ["0 start", "13 lost"]
    assert stage.runtime.view("turn").is_waiting


@pytest.mark.requirement("RM-35")
def test_refused_state_change_does_not_count_as_yielding(
    nao: Robot,
) -> None:
    """Another owner keeps the state; later a fault freezes the joint for a while."""
    needs = ("HeadYaw", "Stand")
    stage = SchemaWorld.of(nao, actuation("turn", needs=needs))
    stage.ledger.set_state("State", "Stand", 0)
    stage.hold("keeper", "Stand", policy="lock")
    stage.begin("turn", policy="stop").slot(3)
    assert not stage.ledger.ask_state("State", "Sit", stage.tick)
    stage.ledger.freeze(("HeadYaw",), "hotEngine", stage.tick)
    stage.slot(2)
    assert stage.runtime.view("turn").is_waiting
    stage.ledger.thaw("hotEngine", stage.tick)
    stage.slot(2)
    assert stage.runtime.may_act("turn")


@pytest.mark.requirement("RM-35")
def test_schema_yields_to_the_requester_that_is_granted(nao: Robot) -> None:
    """The second requester lacks another resource when the first is granted."""
    stage = SchemaWorld.of(nao, turner("turn", "HeadYaw", "HeadPitch"))
    stage.begin("turn", policy=StopOnDemand(within_s=0.05)).slot(3)
    stage.hold("keeper", "Speech")
    for name, leaves in (("first", ("HeadYaw",)), ("other", ("HeadPitch", "Speech"))):
        stage.ledger.add_owner(Owner(name=name), stage.tick)
        stage.ledger.request(Request(owner=name, resources=leaves), stage.tick)
    stage.slot(12)
    assert [event.why for event in stage.told(SchemaStopped)] == ["yielded"]
    assert stage.state("turn") is State.SLEPT


@pytest.mark.requirement("RM-36")
def test_schema_may_finish_its_task_before_it_yields(nao: Robot) -> None:
    """Asked in slot 3, it continues to the slot in which it is stable."""

    def on_demand(schema: Any, demand: Demand) -> None:
        schema.asker = demand.asker

    def iterate(schema: Any) -> None:
        schema.submit("HeadYaw", 0.1)
        if getattr(schema, "asker", "") and schema.tick == 7:
            schema.finish()

    dance = actuation("dances", needs=("HeadYaw",), iterate=iterate)
    dance.on_demand = on_demand  # type: ignore[assignment, method-assign]
    stage = SchemaWorld.of(nao, dance, turner("second"))
    stage.begin("dances", policy=CallbackOnDemand()).slot(3).begin("second").slot(7)
    by = stage.executed_by()
    assert [by[tick] for tick in (6, 8, 9)] == [{"dances"}, {"second"}, {"second"}]
    whys = [event.why for event in stage.told(SchemaStopped)]
    assert whys == ["finished"]


def test_children_use_the_resources_of_their_parent(nao: Robot) -> None:
    parent = actuation(
        "parent",
        needs=("Head",),
        start=lambda s: s.wake("turn"),
    )
    stage = SchemaWorld.of(nao, parent, turner("turn"))
    stage.begin("parent", policy=StopOnDemand()).slot(2)
    assert stage.executed_by()[1] == {"parent/turn"}
    stage.hold("guest", "HeadPitch")
    stage.slot()
    assert stage.state("parent/turn") is State.SLEPT
    assert stage.runtime.is_quiet, "the parent has yielded"


def test_schema_whose_request_times_out_is_finished(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, turner("turn"))
    stage.take("somebody", "HeadYaw")
    stage.begin("turn", timeout_s=0.05).slot(10)
    (failed,) = stage.told(Failed)
    assert (failed.kind, failed.tick) == (OutcomeKind.TIMED_OUT, 5)
    assert [event.path for event in stage.told(Finished)] == ["turn"]
    assert stage.state("turn") is State.SLEPT
    assert not stage.told(SchemaStarted)


def test_schema_that_lost_its_resource_requests_it_again(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, turner("turn")).begin("turn", timeout_s=0.05).slot(2)
    stage.ledger.freeze(("HeadYaw",), "hotEngine", stage.tick)
    stage.slot(20)
    assert len(stage.told(Failed)) == 3
    assert stage.runtime.view("turn").is_waiting
    stage.ledger.thaw("hotEngine", stage.tick)
    stage.slot()
    assert stage.runtime.may_act("turn")


def test_obtained_optional_resources_are_reported(nao: Robot) -> None:
    seen: list[tuple[str, ...]] = []
    greet = actuation(
        "says hello",
        needs=("HeadYaw",),
        optional=("HeadPitch", "LElbowYaw"),
        start=lambda s: seen.append(s.obtained),
    )
    stage = SchemaWorld.of(nao, greet)
    stage.take("somebody", "HeadPitch")
    stage.begin("says hello").slot()
    assert seen == [("HeadYaw", "LElbowYaw")]


def test_behaviour_may_be_a_child_of_another_owner(nao: Robot) -> None:
    """By RM-6 a child can use what its parent holds."""
    keeper = actuation("keeper", needs=("Head",))
    stage = SchemaWorld.of(nao, keeper, turner("turn")).begin("keeper")
    stage.runtime.add(Activation(schema="turn"), part_of="keeper")
    stage.runtime.wake("turn", 0)
    stage.slot(2)
    assert stage.executed_by()[1] == {"turn"}
    with pytest.raises(UnknownName, match="nobody"):
        stage.runtime.add(Activation(schema="turn", name="turn2"), part_of="nobody")


def test_invalid_needs_are_rejected_when_added(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, turner("turn", "HeadYow"), perceptive("eye"))
    with pytest.raises(UnknownName, match="Did you mean 'HeadYaw'"):
        stage.runtime.add(Activation(schema="turn"))
    with pytest.raises(BadInput, match="'eye' is perceptive"):
        stage.runtime.add(Activation(schema="eye", needs=("HeadYaw",)))
    stage.take("somebody", "HeadYaw")
    with pytest.raises(BadInput, match="'somebody' is already the name"):
        stage.runtime.add(Activation(schema="eye", name="somebody"))
    assert stage.runtime.paths == ()


@dataclass(frozen=True, kw_only=True)
class Which:
    joint: str = "HeadYaw"


class TurnsOne(ActuationSchema[Which]):
    """Needs the joint named by its parameters."""

    info = SchemaInfo(
        name="turns one", about="Of a test.", parameters=Which, period_s=0.01
    )

    @classmethod
    def needs_of(cls, parameters: Which, robot: Robot) -> tuple[str, ...]:
        return (parameters.joint,)

    def iterate(self) -> None:
        assert self.submit(self.parameters.joint, 0.1)


def test_needs_follow_the_parameters_of_each_activation(nao: Robot) -> None:
    """Also those given while awake, and of a child of another owner."""
    stage = SchemaWorld.of(nao, TurnsOne, actuation("whole")).begin("whole")
    stage.runtime.add(Activation(schema="turns one"), part_of="whole")
    obtained = []
    for joint, again in (("HeadPitch", None), ("HeadYaw", "HeadPitch")):
        stage.runtime.wake("turns one", stage.tick + 1, {"joint": joint})
        stage.slot(2)
        obtained.append(stage.told(Granted)[-1].shares)
        if again is not None:
            parameters = {"joint": again}
            activation = Activation(schema="turns one", parameters=parameters)
            stage.runtime.activate(activation, None)
        stage.runtime.sleep("turns one", stage.tick)
    stage.runtime.wake("turns one", stage.tick + 1, {"joint": "HeadPitch"})
    stage.slot()
    obtained.append(stage.told(Granted)[-1].shares)
    assert [tuple(shares) for shares in obtained] == [
        ("HeadPitch",),
        ("HeadYaw",),
        ("HeadPitch",),
    ]
    assert not stage.told(SchemaFailed)


def test_posture_monitor_is_asked_before_a_state_is_left(nao: Robot) -> None:
    asked: list[tuple[str, int, float]] = []

    class Keeper:
        def ask_to_leave(self, by: str, tick: int, within_s: float) -> bool:
            asked.append((by, tick, within_s))
            return False

    answers: list[bool] = []

    def ready(schema: Any) -> bool:
        answers.append(schema.ask_to_leave(1.0))
        return True

    goes = actuation(
        "goes",
        ready=ready,
        start=lambda s: answers.append(s.ask_to_leave(2.0)),
    )
    stage = SchemaWorld.of(nao, goes)
    stage.runtime.posture = Keeper()
    stage.begin("goes").slot()
    assert answers == [False, False]
    assert asked == [("goes", 0, 2.0)], "only a winner may ask"
    stage.runtime.posture = None
    stage.runtime.sleep("goes", 0)
    stage.runtime.wake("goes", 1)
    stage.slot()
    assert answers[-1] is True, "no posture monitor"


@pytest.mark.requirement("RM-35")
def test_earlier_yield_does_not_end_a_new_activation(nao: Robot) -> None:
    """The schema yielded once; woken again it waits when a fault freezes its joint."""
    stage = SchemaWorld.of(nao, turner("turn"))
    stage.begin("turn", policy="stop", timeout_s=50.0).slot(2)
    stage.ledger.add_owner(Owner(name="asker"), 2)
    ticket = stage.ledger.request(Request(owner="asker", resources=("HeadYaw",)), 2)
    stage.slot(2)
    assert ticket.outcome is not None
    assert stage.told(SchemaStopped)[-1].why == "yielded"
    stage.ledger.give_up(("asker",), 4)
    stage.runtime.wake("turn", 4)
    stage.slot(2)
    stage.ledger.freeze(["HeadYaw"], "fault", 6)
    stage.slot(2)
    assert stage.told(SchemaStopped)[-1].why == "no token"
    stage.ledger.thaw("fault", 8)
    stage.slot()
    assert stage.runtime.may_act("turn")
