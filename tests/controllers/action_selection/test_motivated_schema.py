"""Motivation as data, and a parent schema that selects its children by it."""

from typing import Any

import pytest

from nao_testbed.controllers.action_selection import read_models
from nao_testbed.controllers.action_selection.automaton import Lesson
from nao_testbed.controllers.action_selection.motivated import MotivatedParameters
from nao_testbed.controllers.schemas import Activation
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation
from tests.messages import Messages, each

ONCE: dict[str, Any] = {"idle": [100, "kicks"]}
MODELS: dict[str, Any] = {
    "play": {
        "priority": 1,
        "nodes": {
            "idle": [{"event": "ball", "quantity": "size", "high": 9, "to": ONCE}]
        },
    },
    "exercise": {
        "priority": 0,
        "start": "fresh",
        "nodes": {
            "fresh": [
                {"quantity": "exercise", "low": 50, "to": {"fresh": [100, "jogs"]}}
            ]
        },
    },
}
CHILDREN = (Activation(schema="kicks"), Activation(schema="jogs"))


def stage_of(nao: Robot, **parameters: Any) -> SchemaWorld:
    """Return a stage with a child that kicks for 2 slots and one that jogs for 5."""
    stage = SchemaWorld.of(
        nao, *(lasting(name, n) for name, n in (("kicks", 2), ("jogs", 5)))
    )
    stage.begin(
        "motivated",
        name="life",
        parameters={"models": MODELS, **parameters},
        children=CHILDREN,
    )
    return stage


def lasting(name: str, slots: int) -> type:
    def start(schema: Any) -> None:
        schema.left = slots

    def iterate(schema: Any) -> None:
        schema.left -= 1
        if schema.left < 0:
            schema.finish()

    return actuation(name, start=start, iterate=iterate)


def winner(stage: SchemaWorld) -> str:
    return stage.runtime.winners[-1].rpartition("/")[2]


@pytest.mark.requirement("SY-26")
def test_growing_drive_triggers_an_action_that_reduces_it(nao: Robot) -> None:
    """From 40 at 20 per second: 50 after 0.5 s; completion reduces it by 30.

    The parent decides every 0.1 s; jogging takes 0.06 s.
    """
    stage = stage_of(
        nao,
        start={"exercise": 40.0},
        per_s={"exercise": 20.0},
        effects={"jogs": {"exercise": -30.0, "joy": 5.0}},
    )
    seen, strengths = [], []
    for _ in range(100):
        stage.slot()
        seen.append(winner(stage))
        strengths.append(stage.runtime.value("life", "strengths")["exercise"])
    assert strengths[0] == pytest.approx(42.0)
    first = seen.index("jogs")
    assert first == 40, "50 is reached at the fifth decision"
    assert strengths[first] == pytest.approx(50.0)
    assert strengths[first + 10] == pytest.approx(50.0 + 2.0 - 30.0)
    assert stage.runtime.value("life", "strengths")["joy"] == pytest.approx(5.0)
    assert set(seen) == {"life", "jogs"}


@pytest.mark.requirement("SY-26")
def test_stimulus_counts_once_and_interrupts_lower_priority(
    nao: Robot,
) -> None:
    stage = stage_of(nao, start={"exercise": 100.0})
    stage.slot(3)
    assert winner(stage) == "jogs"
    for values in ({"hears": "ball", "values": {"size": 8}}, {"lesson": "praise"}):
        stage.runtime.modulate("life", values, stage.tick)
    stage.slot(8)
    assert winner(stage) == "kicks"
    stage.slot(30)
    assert winner(stage) != "kicks"
    assert not stage.runtime.view("life").error
    stage.runtime.modulate("life", {"hears": "ball", "values": {"size": 10}}, 41)
    stage.slot(20)
    assert "kicks" not in stage.runtime.winners[-1], "the ball is too large"


@pytest.mark.requirement("SY-26")
def test_lesson_counts_once(nao: Robot) -> None:
    """Scolding at a rate of 0.5 turns 60 % into 30 %."""
    models: dict[str, Any] = {
        "m": {
            "nodes": {"n": [{"to": {"n": [60, "kicks"], "o": [40, "jogs"]}}], "o": []}
        }
    }
    stage = stage_of(nao, models=models, rate=0.5)
    stage.slot()
    life: Any = stage.runtime.instances.roots["life"].schema
    taken = life._switch.present
    assert taken is not None
    before = taken.model.automaton.row("n", 0).arcs[taken.arc].percent
    for values in ({"lesson": "scolding"}, {"rate": 0.4}):
        stage.runtime.modulate("life", values, stage.tick)
    after = taken.model.automaton.row("n", 0).arcs
    assert after[taken.arc].percent == pytest.approx(before / 2)
    assert sum(arc.percent for arc in after) == pytest.approx(100.0)


ROW: dict[str, Any] = {"to": {"n": [100]}}


def model(**changes: Any) -> dict[str, Any]:
    return {"m": {"nodes": {"n": [ROW]}} | changes}


def row(**changes: Any) -> dict[str, Any]:
    return model(nodes={"n": [ROW | changes]})


def test_unknown_names_and_values_out_of_range_are_rejected() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'kicks'"):
        MotivatedParameters(models=MODELS, effects={"kick": {}})
    with pytest.raises(UnknownName, match="Did you mean 'joy'"):
        MotivatedParameters(per_s={"joi": 1.0})
    with pytest.raises(BadInput, match="give a number from 0 to 100"):
        MotivatedParameters(start={"joy": 101.0})
    with pytest.raises(BadInput, match="rate is 2"):
        MotivatedParameters(rate=2.0)
    assert MotivatedParameters().lesson is None
    assert Lesson("praise") is Lesson.PRAISE


HEARS_HIT: dict[str, Any] = {
    "m": {
        "nodes": {
            "n": [
                {"event": "hit", "to": {"n": [100, "kicks"]}},
                {"quantity": "anger", "low": 30, "to": {"n": [100, "jogs"]}},
            ]
        }
    }
}


def strengths(stage: SchemaWorld) -> Any:
    return stage.runtime.value("life", "strengths")


@pytest.mark.requirement("SY-26")
def test_single_ready_child_waits_for_a_proposal(nao: Robot) -> None:
    """`jogs` is never ready; `kicks` is not proposed before the ball stimulus."""
    stage = SchemaWorld.of(
        nao,
        lasting("kicks", 2),
        actuation("jogs", ready=lambda _: False),
    )
    stage.begin(
        "motivated", name="life", parameters={"models": MODELS}, children=CHILDREN
    )
    stage.slot(30)
    assert winner(stage) == "life"
    stage.runtime.modulate("life", {"hears": "ball", "values": {"size": 8}}, stage.tick)
    stage.slot(1)
    assert winner(stage) == "kicks"
    stage.slot(40)
    assert winner(stage) == "life", "one stimulus, one action"


@pytest.mark.requirement("SY-26")
def test_recognition_changes_emotions_by_their_gains(
    nao: Robot,
) -> None:
    """ke = 0.5 and ΔE = 40: anger 20; ki = 2 and ΔI = 3: affection 6; joy by time."""
    stage = stage_of(
        nao,
        models=HEARS_HIT,
        reactions={"hit": {"anger": 40.0, "affection": 3.0}},
        gains={"anger": 0.5, "affection": 2.0},
        per_s={"joy": 10.0},
    )
    stage.slot(1)
    stage.runtime.modulate("life", {"hears": "hit"}, stage.tick)
    stage.slot(10)
    assert winner(stage) == "kicks"
    assert strengths(stage)["anger"] == pytest.approx(20.0)
    assert strengths(stage)["affection"] == pytest.approx(6.0)
    assert strengths(stage)["joy"] == pytest.approx(2.0), "two decisions, 0.1 s apart"
    stage.runtime.modulate("life", {"rate": 0.2}, stage.tick)
    stage.slot(20)
    assert strengths(stage)["anger"] == pytest.approx(20.0), "one stimulus"


@pytest.mark.requirement("SY-26")
def test_models_decide_without_stimulus_after_quiet_time(nao: Robot) -> None:
    """Anger is above its threshold from the start; quiet_s must pass first."""
    stage = stage_of(nao, models=HEARS_HIT, start={"anger": 90.0}, quiet_s=0.5)
    seen = []
    for _ in range(60):
        stage.slot()
        seen.append(winner(stage))
    assert seen.index("jogs") == 50
    stage = stage_of(nao, models=HEARS_HIT, start={"anger": 90.0}, quiet_s=0.5)
    stage.slot(30)
    stage.runtime.modulate("life", {"hears": "hit"}, stage.tick)
    seen = []
    for _ in range(80):
        stage.slot()
        seen.append(winner(stage))
    assert seen.index("kicks") < seen.index("jogs") == 50, "counted from the hit"


@pytest.mark.requirement("SY-26")
@pytest.mark.parametrize("practice", [0.5, None])
def test_completion_reinforces_the_action(nao: Robot, practice: float | None) -> None:
    """With a practice of 0.5, the action taken moves half the way to 100 %.

    The default practice is a tenth of the rate of a lesson.
    """
    models: dict[str, Any] = {
        "m": {"nodes": {"n": [{"to": {"n": [60, "kicks"], "o": [40]}}], "o": []}}
    }
    given = {} if practice is None else {"practice": practice}
    stage = stage_of(nao, models=models, **given)
    left = 1.0 - (MotivatedParameters().practice if practice is None else practice)
    life: Any = stage.runtime.instances.roots["life"].schema
    seen = set()
    for _ in range(200):
        stage.slot()
        automaton = life._switch._models[0].automaton
        seen.add(round(automaton.row("n", 0).arcs[0].percent, 6))
        assert sum(arc.percent for arc in automaton.row("n", 0).arcs) == pytest.approx(
            100.0
        )
    done = sum(type(e).__name__ == "Finished" for e in stage.events)
    assert sorted(seen) == [pytest.approx(100 - 40 * left**n) for n in range(done + 1)]
    assert done
    assert left < 1.0


@pytest.mark.requirement("SY-26")
def test_messages(messages: Messages, nao: Robot) -> None:
    messages(
        invalid_models=each(
            lambda **data: read_models(data),
            {"m": 3},
            model(nodes={}),
            model(prio=1),
            model(priority="high"),
            model(start="x"),
            model(nodes={"n": "rows"}),
            row(to=None),
            row(to={"x": [100]}),
            row(to={"n": [90]}),
            row(to={"n": ["a"]}),
            row(to={"n": [100, 3]}),
            row(to={"n": [100, "a", "b"]}),
            row(event=3),
            row(low="x"),
            row(high=True),
            row(evnt="ball"),
        ),
        action_without_a_child=lambda: SchemaWorld.of(
            nao, lasting("kicks", 2), lasting("jogs", 2)
        ).begin(
            "motivated",
            name="life",
            parameters={"models": MODELS},
            children=CHILDREN[:1],
        ),
        invalid_reactions_gains_or_times=each(
            MotivatedParameters,
            reactions=[{"hit": {"angr": 1.0}}, {"hit": {"anger": float("nan")}}],
            gains=[{"angr": 1.0}, {"anger": float("inf")}],
            practice=[-0.1],
            quiet_s=[-1.0],
        ),
    )
