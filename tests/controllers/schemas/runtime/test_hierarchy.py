"""Schemas in a hierarchy: activation, competition, winning, losing (JD-5 to JD-14)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from nao_testbed.controllers.schemas import Activation, State, Variable
from nao_testbed.controllers.schemas.events import (
    Modulated,
    NotWinner,
    SchemaStopped,
    Woken,
    Won,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive
from tests.messages import Messages, each


def waker(name: str, *children: str, **given: Any) -> type:
    """Return a parent that wakes children when it starts."""
    return actuation(
        name, start=lambda s: [s.wake(child) for child in children], **given
    )


@pytest.mark.requirement("JD-14")
def test_figure_1_of_the_paper(nao: Robot) -> None:
    """Schema 1 wakes perceptive 3, 4 and actuation 5, 6, 7; of these 6 wins.

    Only 6 has descendants. The paper draws them, and that 2 sleeps, without naming all
    of it: here 6 wakes a perceptive 8 and the actuation 9, and 7 would wake 10.
    """
    kinds = [
        waker("s1", "s3", "s4", "s5", "s6", "s7"),
        actuation("s2"),
        perceptive("s3"),
        perceptive("s4"),
        actuation("s5", ready=lambda s: False),
        waker("s6", "s8", "s9"),
        waker("s7", "s10"),
        perceptive("s8"),
        actuation("s9"),
        actuation("s10"),
    ]
    stage = SchemaWorld.of(nao, *kinds)
    stage.runtime.add(Activation(schema="s2"))
    stage.begin("s1").slot()
    states = {path: stage.state(path) for path in stage.runtime.paths}
    assert states == {
        "s2": State.SLEPT,
        "s1": State.WINNER,
        "s1/s3": State.WINNER,
        "s1/s4": State.WINNER,
        "s1/s5": State.CHECKING,
        "s1/s6": State.WINNER,
        "s1/s7": State.READY,
        "s1/s6/s8": State.WINNER,
        "s1/s6/s9": State.WINNER,
    }
    assert stage.runtime.winners == ("s1", "s1/s6", "s1/s6/s9")


@pytest.mark.requirement("JD-5")
def test_waking_does_not_block_the_parent(nao: Robot) -> None:
    """All children are awake at once, and the parent continues."""
    ticks: list[int] = []
    never = actuation("never", ready=lambda s: False)
    parent = actuation(
        "parent",
        start=lambda s: [s.wake(name) for name in ("never", "a", "b")],
        iterate=lambda s: ticks.append(s.tick),
    )
    stage = SchemaWorld.of(nao, never, parent, actuation("a"), actuation("b"))
    stage.begin("parent").slot(3)
    assert ticks == [0, 1, 2]
    assert [stage.state(f"parent/{name}") for name in ("never", "a", "b")] == [
        State.CHECKING,
        State.WINNER,
        State.READY,
    ]


@pytest.mark.requirement("JD-6")
def test_all_awake_schemas_keep_checking(nao: Robot) -> None:
    checks: dict[str, int] = {}

    def ready(schema: Any) -> bool:
        checks[schema.path] = checks.get(schema.path, 0) + 1
        return "c" not in schema.path

    kinds = [actuation(name, ready=ready) for name in ("wa", "rb", "cc")]
    stage = SchemaWorld.of(nao, waker("parent", "wa", "rb", "cc"), *kinds)
    stage.begin("parent").slot(10)
    assert stage.state("parent/wa") is State.WINNER
    assert stage.state("parent/rb") is State.READY
    assert stage.state("parent/cc") is State.CHECKING
    assert checks == {"parent/wa": 10, "parent/rb": 10, "parent/cc": 10}


@pytest.mark.requirement("JD-7")
@pytest.mark.parametrize(
    ("rule", "winners"),
    [
        ("keep_winner", ["low", "low", "low", "", "", "high", "high"]),
        ("highest_order", ["low", "high", "low", "", "", "high", "high"]),
    ],
)
def test_siblings_compete_in_each_iteration(
    nao: Robot, rule: str, winners: list[str]
) -> None:
    """With both rules and given preconditions; sometimes there is no winner."""
    when = {"high": (1, 5, 6), "low": (0, 1, 2, 6)}
    kinds = [
        actuation(name, ready=lambda s, at=at: s.tick in at)  # type: ignore[misc]
        for name, at in when.items()
    ]
    stage = SchemaWorld.of(nao, *kinds)
    children = (Activation(schema="low"), Activation(schema="high", order=1))
    stage.begin("choose", name="p", parameters={"arbitration": rule}, children=children)
    seen = []
    for _ in winners:
        stage.slot()
        seen.append("".join(p[2:] for p in stage.runtime.winners if p != "p"))
    assert seen == winners


@pytest.mark.requirement("JD-7")
def test_parent_may_define_its_own_arbitration(nao: Robot) -> None:
    asked: list[tuple[tuple[str, ...], str | None]] = []

    def last(ready: Sequence[str], present: str | None) -> str | None:
        asked.append((tuple(ready), present))
        return ready[-1] if len(asked) < 3 else None

    parent = actuation(
        "parent",
        start=lambda s: [s.wake("child", called=name) for name in "abc"],
        arbitrate=last,
    )
    stage = SchemaWorld.of(nao, parent, actuation("child", period_s=0.02))
    stage.begin("parent").slot()
    winners = [stage.runtime.winners]
    stage.slot(2)
    winners.append(stage.runtime.winners)
    assert winners == [("parent", "parent/c"), ("parent",)]
    assert asked[0] == (("a", "b", "c"), None)
    assert asked[1] == (("a", "b", "c"), "c")


def test_choice_of_a_child_that_is_not_ready_fails_the_parent(nao: Robot) -> None:
    parent = actuation(
        "parent",
        start=lambda s: [s.wake("child", called=name) for name in "ab"],
        arbitrate=lambda ready, present: "z",
    )
    stage = SchemaWorld.of(nao, parent, actuation("child")).begin("parent").slot()
    assert stage.runtime.is_quiet
    assert (
        "chose 'z', which is not ready; choose one of a, b"
        in stage.runtime.view("parent").error
    )


@pytest.mark.requirement("JD-8")
def test_only_a_winner_may_command_or_wake(nao: Robot) -> None:
    answers: list[bool] = []

    def tries(schema: Any) -> bool:
        answers.append(schema.wake("child"))
        answers.append(schema.submit("HeadYaw", 0.1))
        return True

    loser = actuation("loser", needs=("HeadYaw",), ready=tries)
    winner = actuation("winner", start=lambda s: answers.append(s.wake("child")))
    stage = SchemaWorld.of(
        nao, waker("parent", "winner", "loser"), winner, loser, actuation("child")
    )
    stage.begin("parent").slot(3)
    assert answers.count(True) == 1, "only the winner, once"
    assert stage.runtime.paths == (
        "parent",
        "parent/winner",
        "parent/loser",
        "parent/winner/child",
    )
    assert {event.path for event in stage.told(NotWinner)} == {"parent/loser"}
    assert not stage.executed_by()


@pytest.mark.requirement("JD-9")
def test_perception_precedes_the_competition(nao: Robot) -> None:
    """A parent wakes eye and children in one slot; the check uses its output."""
    eye = perceptive(
        "eye",
        outputs=(Variable(name="sees", type=bool, about="A ball.", initial=False),),
        perceive=lambda s: s.write("sees", True),
    )
    go = actuation("go", reads=("eye.sees",), ready=lambda s: s.read("eye.sees"))
    stage = SchemaWorld.of(nao, eye, go, waker("parent", "go", "eye")).begin("parent")
    stage.slot()
    assert stage.runtime.winners == ("parent", "parent/go")
    stage.runtime.sleep("parent", 1)
    assert stage.state("parent/eye") is State.SLEPT


@dataclass(frozen=True, kw_only=True)
class Pace:
    steps: int = 1


@pytest.mark.requirement("JD-10")
def test_parent_observes_modulates_and_changes_its_children(nao: Robot) -> None:
    def iterate(schema: Any) -> None:
        if schema.tick == 2:
            assert schema.child("walk").state is State.WINNER
            assert schema.awake == ("walk",)
            schema.modulate("walk", steps=3)
        if schema.tick == 4:
            schema.sleep("walk")
            schema.wake("rest")

    seen: list[int] = []
    parent = actuation("parent", start=lambda s: s.wake("walk"), iterate=iterate)
    walk = actuation(
        "walk", parameters=Pace, iterate=lambda s: seen.append(s.parameters.steps)
    )
    stage = SchemaWorld.of(nao, parent, walk, actuation("rest")).begin("parent").slot(6)
    assert seen == [1, 1, 3, 3]
    assert [event.parameters for event in stage.told(Modulated)] == [{"steps": "3"}]
    assert stage.runtime.winners == ("parent", "parent/rest")
    assert stage.state("parent/walk") is State.SLEPT


@pytest.mark.requirement("JD-10")
def test_failed_precondition_of_a_parent_ends_all_descendants(
    nao: Robot,
) -> None:
    stage = SchemaWorld.of(
        nao,
        waker("top", "middle", ready=lambda s: s.tick < 3),
        waker("middle", "leaf"),
        actuation("leaf"),
    )
    stage.begin("top").slot(3)
    assert stage.runtime.winners == ("top", "top/middle", "top/middle/leaf")
    stage.slot()
    assert stage.state("top") is State.CHECKING
    assert stage.state("top/middle") is State.SLEPT
    assert stage.state("top/middle/leaf") is State.SLEPT


@pytest.mark.requirement("JD-11", "JD-12")
def test_new_winner_builds_its_tree_in_one_slot(nao: Robot) -> None:
    """In the same slot three levels fall asleep and three wake."""
    old = waker("old", "old2")
    new = waker("new", "new2", ready=lambda s: s.tick >= 5)
    kinds = [
        old,
        new,
        waker("old2", "old3"),
        waker("new2", "new3"),
        actuation("old3"),
        actuation("new3"),
    ]
    stage = SchemaWorld.of(nao, *kinds)
    children = (Activation(schema="old"), Activation(schema="new", order=1))
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="p", parameters=rule, children=children).slot(5)
    assert stage.runtime.winners == ("p", "p/old", "p/old/old2", "p/old/old2/old3")
    stage.slot()
    assert stage.runtime.winners == ("p", "p/new", "p/new/new2", "p/new/new2/new3")
    asleep = [path for path in stage.runtime.paths if path.startswith("p/old/")]
    assert [stage.state(path) for path in asleep] == [State.SLEPT, State.SLEPT]
    assert {event.tick for event in stage.told(Won) if "new" in event.path} == {5}
    assert not stage.world.checker.finish()


@pytest.mark.requirement("JD-12")
@pytest.mark.parametrize("at", range(3, 9))
def test_emergency_takes_over_within_one_slot(nao: Robot, at: int) -> None:
    """For any period of the acting schema, whose last command is not written."""
    walk = actuation(
        "walk",
        needs=("HeadYaw",),
        period_s=0.05,
        iterate=lambda s: s.submit("HeadYaw", 0.1),
    )
    emergency = actuation(
        "emergency",
        needs=("HeadYaw",),
        ready=lambda s: s.tick >= at,
        start=lambda s: s.submit("HeadYaw", -0.1),
    )
    stage = SchemaWorld.of(nao, walk, emergency)
    children = (Activation(schema="emergency"), Activation(schema="walk"))
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="life", parameters=rule, children=children).slot(at + 1)
    assert stage.executed_by()[at] == {"life/emergency"}
    assert stage.world.target_of("HeadYaw") == pytest.approx(-0.1)
    assert not stage.world.checker.finish()


@pytest.mark.requirement("JD-13")
def test_instances_under_two_parents_have_separate_memories(
    nao: Robot,
) -> None:
    def count(schema: Any) -> None:
        schema.count = getattr(schema, "count", 0) + schema.parameters.steps

    step = actuation("step", parameters=Pace, iterate=count)
    fast = actuation("fast", start=lambda s: s.wake("step", steps=5))
    slow = actuation("slow", start=lambda s: [s.wake("step", steps=1), s.wake("fast")])
    top = actuation("top", start=lambda s: [s.wake("slow"), s.wake("step", steps=7)])
    stage = SchemaWorld.of(nao, step, fast, slow, top).begin("slow").begin("fast")
    stage.begin("top").slot(3)
    instances = {
        one.path: getattr(one.schema, "count", 0)
        for one in stage.runtime.instances.instances
        if one.info.name == "step"
    }
    assert instances == {
        "slow/step": 3,
        "fast/step": 15,
        "top/step": 0,
        "top/slow/step": 3,
    }
    assert stage.state("top/step") is State.READY, "at two levels at once"


@pytest.mark.requirement("JD-13")
def test_two_instances_under_one_parent_have_different_names(nao: Robot) -> None:
    parent = actuation(
        "parent",
        start=lambda s: [
            s.wake("step", called="left", steps=1),
            s.wake("step", called="right", order=1, steps=2),
        ],
    )
    stage = SchemaWorld.of(nao, parent, actuation("step", parameters=Pace))
    stage.begin("parent").slot()
    assert stage.runtime.view("parent/right").parameters == Pace(steps=2)
    assert stage.runtime.winners == ("parent", "parent/right")


@pytest.mark.requirement("JD-22")
def test_one_name_for_two_schemas_is_rejected(nao: Robot) -> None:
    errors: list[str] = []

    def start(schema: Any) -> None:
        schema.wake("a", called="child")
        try:
            schema.wake("b", called="child")
        except BadInput as error:
            errors.append(str(error))

    stage = SchemaWorld.of(
        nao, actuation("parent", start=start), actuation("a"), actuation("b")
    )
    stage.begin("parent").slot()
    (said,) = errors
    assert "'parent/child' is an instance of schema 'a'" in said
    assert "'b'" in said
    with pytest.raises(BadInput, match="behaviour 'parent' already exists"):
        stage.begin("a", name="parent")


def test_parent_that_loses_ends_its_child_in_the_same_slot(
    nao: Robot,
) -> None:
    """Grandparent, parent and child are all due: the child does not act again."""
    ticks: list[int] = []
    leaf = actuation("leaf", iterate=lambda s: ticks.append(s.tick))
    old = waker("old", "leaf")
    new = actuation("new", ready=lambda s: s.tick >= 4)
    stage = SchemaWorld.of(nao, leaf, old, new)
    children = (Activation(schema="new"), Activation(schema="old"))
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="p", parameters=rule, children=children).slot(8)
    assert ticks == [0, 1, 2, 3]
    (stopped,) = [
        event for event in stage.told(SchemaStopped) if event.path == "p/old/leaf"
    ]
    assert (stopped.tick, stopped.why) == (4, "asleep")


def test_finished_child_is_not_ready_until_woken_again(nao: Robot) -> None:
    def iterate(schema: Any) -> None:
        if schema.tick == 6:
            assert schema.child("once").is_done
            schema.wake("once")

    once = actuation("once", iterate=lambda s: s.finish() if s.tick in {2, 8} else None)
    parent = actuation("parent", start=lambda s: s.wake("once"), iterate=iterate)
    stage = SchemaWorld.of(nao, once, parent).begin("parent").slot(10)
    assert stage.states("parent/once") == [
        (0, State.CHECKING),
        (0, State.READY),
        (0, State.WINNER),
        (2, State.CHECKING),
        (6, State.READY),
        (6, State.WINNER),
        (8, State.CHECKING),
    ]


def test_child_woken_and_put_to_sleep_at_once_does_nothing(
    nao: Robot,
) -> None:
    calls: list[str] = []
    child = actuation("child", ready=lambda s: calls.append("ready"))
    eye = perceptive(
        "eye",
        start=lambda s: calls.append("start"),
        perceive=lambda s: calls.append("perceive"),
        stop=lambda s: calls.append("stop"),
    )
    parent = actuation(
        "parent",
        start=lambda s: [
            call(name) for name in ("child", "eye") for call in (s.wake, s.sleep)
        ],
    )
    stage = SchemaWorld.of(nao, child, eye, parent).begin("parent").slot(3)
    assert calls == []
    assert not stage.world.checker.finish()


def test_schema_that_wakes_itself_without_end_fails_alone(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, waker("again", "again"), actuation("other"))
    stage.begin("again").begin("other").slot()
    deepest = max(stage.runtime.paths, key=len)
    assert "at most 20" in stage.runtime.view(deepest).error
    assert "other" in stage.runtime.winners


def test_unknown_children_and_roots_are_rejected(nao: Robot) -> None:
    stage = SchemaWorld.of(nao, waker("parent", "leaf"), actuation("leaf"))
    stage.begin("parent").slot()
    with pytest.raises(UnknownName, match="Did you mean 'parent/leaf'"):
        stage.runtime.view("parent/leav")
    with pytest.raises(UnknownName, match="'parrent' is not in the roots"):
        stage.runtime.wake("parrent", 1)
    assert {event.parent for event in stage.told(Woken)} == {None, "parent"}


@pytest.mark.requirement("JD-8")
def test_calls_in_ready_have_no_effect(nao: Robot) -> None:
    """Also for the winner: nothing is woken, modulated or put to sleep."""
    answers: list[bool] = []

    def ready(schema: Any) -> bool:
        if schema.tick == 2:
            answers.append(schema.modulate("walk", steps=9))
            answers.append(schema.sleep("walk"))
            schema.finish()
        return True

    parent = actuation("parent", ready=ready, start=lambda s: s.wake("walk"))
    stage = SchemaWorld.of(nao, parent, actuation("walk", parameters=Pace))
    stage.begin("parent").slot(4)
    assert answers == [False, False]
    assert stage.runtime.winners == ("parent", "parent/walk")
    assert stage.runtime.view("parent/walk").parameters == Pace(steps=1)
    assert [event.what for event in stage.told(NotWinner)] == [
        "modulate",
        "sleep",
        "finish",
    ]


def test_parent_that_names_an_unknown_child_fails(nao: Robot) -> None:
    parent = actuation("parent", iterate=lambda s: s.sleep("walc"))
    stage = SchemaWorld.of(nao, parent).begin("parent").slot()
    assert "Child 'walc' is not in" in stage.runtime.view("parent").error


def test_perceptive_child_woken_twice_in_one_call_starts_once(
    nao: Robot,
) -> None:
    called: list[int] = []

    def start(parent: Any) -> None:
        parent.wake("eye")
        parent.sleep("eye")
        parent.wake("eye")

    eye = perceptive("eye", start=lambda s: called.append(s.tick))
    stage = SchemaWorld.of(nao, eye, actuation("parent", start=start)).begin("parent")
    stage.slot(3)
    assert called == [0]


def test_messages(messages: Messages, nao: Robot) -> None:
    messages(
        invalid_activation=each(
            lambda **wrong: Activation(schema="a", **wrong),
            name=["a/b"],
            needs=["Head"],
            priority=[12],
            timeout_s=[-1.0],
            policy=["stopp"],
            children=[(Activation(schema="b"), Activation(schema="b"))],
        ),
        unknown_arbitration=lambda: SchemaWorld.of(nao).begin(
            "choose", parameters={"arbitration": "keep_winer"}
        ),
    )
