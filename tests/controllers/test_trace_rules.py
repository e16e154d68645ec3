"""The eight rules of traces: valid traces pass, each kind of error is found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Failed,
    Granted,
    MadeSafe,
    Notified,
    Rejected,
    Released,
    Requested,
    ResourceAdded,
    Revoked,
    StateChanged,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import LossCause, NoticeKind, Refusal
from nao_testbed.controllers.schemas import Activation
from nao_testbed.controllers.schemas.events import (
    SchemaStarted,
    SchemaStopped,
    Woken,
)
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    Sent,
    StreamEnded,
    StreamReceived,
    StreamStarted,
)
from nao_testbed.models import BadInput, load_robot
from nao_testbed.testing import TraceChecker, check_trace
from tests.controllers.arbitration.events import sample_traces
from tests.controllers.arbitration.ledger_setup import BODY
from tests.controllers.schemas.schema_world import SchemaWorld, actuation
from tests.controllers.transmitter.transmitter_world import LEAVES, World, tag

Trace = list[Event]


def streams() -> Trace:
    """Return a trace of a group of two streams and an independent one."""
    stage = World.of(load_robot())
    stage.receive(stage.clip(LEAVES[:1], 4), tag(40))
    stage.slot()
    stage.receive(stage.clip(LEAVES[1:2], 4), tag(60))
    stage.receive(stage.clip(LEAVES[2:3], 2))
    for _ in range(7):
        stage.slot()
    World.made.clear()
    return stage.events


def schemas() -> Trace:
    """Return a trace of a schema that acts until a better one is ready."""

    def turn(schema: Any) -> None:
        schema.submit("HeadYaw", 0.1)

    first = actuation("first", needs=("HeadYaw",), iterate=turn)
    second = actuation("second", needs=("HeadYaw",), ready=lambda s: s.tick >= 3)
    stage = SchemaWorld.of(load_robot(), first, second)
    children = (Activation(schema="second"), Activation(schema="first"))
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="p", parameters=rule, children=children).slot(8)
    return [*stage.world.beginning, *stage.events]


VALID = (*sample_traces.STORIES, streams, schemas)
Mutation = Callable[[Trace], Trace]


def without(kind: type[Event], which: int = 0, /, **said: object) -> Mutation:
    """Return a mutation that drops an event."""

    def mutate(trace: Trace) -> Trace:
        found = [event for event in trace if matches(event, kind, said)]
        return [event for event in trace if event is not found[which]]

    return mutate


def altered(kind: type[Event], which: int = 0, /, **said: Any) -> Mutation:
    """Return a mutation that changes fields of an event."""

    def mutate(trace: Trace) -> Trace:
        told = [event for event in trace if isinstance(event, kind)][which]
        other = replace(told, **said)
        return [other if event is told else event for event in trace]

    return mutate


def duplicated(kind: type[Event]) -> Mutation:
    """Return a mutation that repeats an event."""

    def mutate(trace: Trace) -> Trace:
        k = next(k for k, event in enumerate(trace) if isinstance(event, kind))
        return [*trace[: k + 1], *trace[k:]]

    return mutate


def matches(event: Event, kind: type[Event], said: dict[str, object]) -> bool:
    fits = all(getattr(event, name, None) == value for name, value in said.items())
    return isinstance(event, kind) and fits


MUTATIONS: tuple[tuple[str, Callable[[], Trace], Mutation], ...] = (
    ("owner", sample_traces.queue, without(Released)),
    ("owner", sample_traces.families, altered(Granted, 2, inside={})),
    ("owner", sample_traces.bodies, without(StateChanged)),
    ("outcome", sample_traces.queue, duplicated(Granted)),
    ("outcome", sample_traces.queue, without(Failed)),
    ("outcome", sample_traces.queue, altered(Granted, shares={"HeadYaw": 10_000})),
    ("queue", sample_traces.queue, without(Granted, 1)),
    ("queue", sample_traces.queue, altered(Requested, 2, priority=9)),
    ("loss", sample_traces.priorities, without(Notified, kind=NoticeKind.LOST)),
    ("loss", sample_traces.queue, altered(Released, is_whole=False)),
    ("loss", sample_traces.queue, altered(Released, leaves=("LHand",))),
    ("gate", sample_traces.commands, duplicated(Executed)),
    ("gate", sample_traces.commands, altered(Rejected, reason=Refusal.EXPIRED)),
    ("gate", sample_traces.commands, altered(Executed, command=99)),
    ("frozen", sample_traces.bodies, without(Revoked, why=LossCause.FROZEN)),
    ("frozen", sample_traces.commands, without(MadeSafe)),
    ("together", streams, altered(GroupStarted, tick=1)),
    ("together", streams, without(StreamStarted)),
    ("together", streams, without(Sent, 3)),
    ("together", streams, without(StreamEnded, 1)),
    ("winner", schemas, without(SchemaStopped)),
    ("winner", schemas, without(Released)),
    ("winner", schemas, without(SchemaStarted, 1)),
)


@pytest.mark.parametrize("make_trace", VALID)
@pytest.mark.requirement("RM-14", "RM-21", "RM-23", "RM-65", "AR-5", "I-23", "I-25")
def test_valid_trace_passes_all_rules(make_trace: Callable[[], Trace]) -> None:
    trace = make_trace()
    assert len(trace) > 20
    assert check_trace(trace) == ()


@pytest.mark.parametrize("k", range(len(MUTATIONS)))
@pytest.mark.requirement("RM-36", "I-14", "I-22", "I-23", "I-25")
def test_mutated_trace_breaks_its_rule(k: int) -> None:
    rule, make_trace, mutate = MUTATIONS[k]
    found = check_trace(mutate(make_trace()))
    assert rule in {violation.rule for violation in found}, found


def test_violation_names_rule_tick_and_details() -> None:
    found = check_trace(without(Released)(sample_traces.queue()))
    assert str(found[0]) == "owner (tick 300): 2 is granted HeadPitch, held by 1"


def test_trace_without_its_beginning_is_rejected() -> None:
    with pytest.raises(BadInput, match="begins with ResourceAdded, not Opened"):
        check_trace(sample_traces.queue()[1:])


@pytest.mark.parametrize(
    ("make_trace", "kind"),
    [
        (sample_traces.queue, ResourceAdded),
        (sample_traces.loans, Granted),
        (streams, StreamReceived),
        (schemas, Woken),
    ],
)
def test_missing_kind_of_event_is_a_violation(
    make_trace: Callable[[], Trace], kind: type[Event]
) -> None:
    trace = [event for event in make_trace() if not isinstance(event, kind)]
    assert "trace" in {violation.rule for violation in check_trace(trace)}


def test_restart_resets_the_checker() -> None:
    checker = TraceChecker()
    for epoch in (1, 2):
        ledger = Ledger(ResourceTree(BODY), epoch=epoch, listeners=[checker.see])
        ledger.add_owner(Owner(name="a"), 0)
        ledger.request(Request(owner="a", resources=("Head",)), 0)
    assert checker.finish() == ()
