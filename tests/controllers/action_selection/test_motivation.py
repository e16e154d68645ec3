"""Emotions, drives, automata, switch and learning, with hand-calculated values."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.action_selection import (
    Arc,
    Automaton,
    BehaviourModel,
    Lesson,
    NodeRow,
    RowCondition,
    Stimulus,
    Strengths,
    Switch,
    arbitration_by,
    reinforce,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation

BALL = RowCondition(event="ball", quantity="size", low=0.0, high=1000.0)
OBSTACLE = RowCondition(event="obstacle", quantity="distance", low=0.0, high=100.0)
HAPPY = RowCondition(quantity="joy", low=50.0, high=100.0)
NODE_100 = (
    NodeRow(
        condition=BALL,
        arcs=(
            Arc(to="node 120", percent=30.0, action="ACTION 1"),
            Arc(to="node 100", percent=70.0, action="ACTION 2"),
        ),
    ),
    NodeRow(
        condition=OBSTACLE,
        arcs=(Arc(to="node 1000", percent=100.0, action="MOVE BACK"),),
    ),
    NodeRow(
        condition=HAPPY,
        arcs=(
            Arc(to="node 120", percent=20.0, action="DANCE"),
            Arc(to="node 100", percent=80.0),
        ),
    ),
)
"""The table of figure 8: CN1396856's 30 % for a ball, its ranges and events; values
that its text does not state are invented."""
NODES = {"node 100": NODE_100, "node 120": (), "node 1000": ()}


def ball(size: float) -> Stimulus:
    return Stimulus(event="ball", values={"size": size})


@pytest.mark.requirement("SY-26")
def test_emotion_follows_equation_1() -> None:
    """E = 40, ke = 0.5, ΔE = +30: 55. With ΔE = -8: 51. Others stay."""
    emotions = Strengths(gains={"joy": 0.5}, start={"joy": 40.0, "fear": 10.0})
    emotions.update({"joy": 30.0})
    assert emotions["joy"] == pytest.approx(55.0)
    emotions.update({"joy": -8.0, "anger": 2.0})
    changed = {n: x for n, x in emotions.as_mapping().items() if x}
    assert changed == pytest.approx({"joy": 51.0, "anger": 2.0, "fear": 10.0})


@pytest.mark.requirement("SY-26")
def test_drive_follows_equation_2_and_appetite_is_set() -> None:
    """I = 20, ki = 2, ΔI = 15: 50. Appetite follows the battery: 100 - 70 %."""
    drives = Strengths(gains={"curiosity": 2.0}, start={"curiosity": 20.0})
    drives.update({"curiosity": 15.0})
    drives.set("appetite", 100.0 - 70.0)
    assert drives["curiosity"] == pytest.approx(50.0)
    assert drives["appetite"] == pytest.approx(30.0)


@pytest.mark.requirement("SY-26")
@given(
    gain=st.floats(-5, 5),
    changes=st.lists(st.floats(-1e3, 1e3), max_size=20),
)
def test_strengths_stay_from_0_to_100(gain: float, changes: list[float]) -> None:
    levels = Strengths(gains={"joy": gain}, start={"joy": 50.0})
    for change in changes:
        levels.update({"joy": change})
        assert 0.0 <= levels["joy"] <= 100.0


@pytest.mark.requirement("SY-26")
@pytest.mark.parametrize("percent", [(30.0, 60.0), (60.0, 60.0), (120.0, -20.0), ()])
def test_row_that_does_not_sum_to_100_percent_is_rejected(
    percent: tuple[float, ...],
) -> None:
    arcs = tuple(Arc(to="a", percent=share) for share in percent)
    with pytest.raises(BadInput, match="sum to 100 %"):
        NodeRow(condition=BALL, arcs=arcs)


@pytest.mark.requirement("SY-26")
def test_first_matching_row_is_taken() -> None:
    automaton = Automaton(NODES, "node 100")
    sad, happy = {"joy": 49.0}, {"joy": 50.0}
    far = Stimulus(event="obstacle", values={"distance": 101.0})
    near = Stimulus(event="obstacle", values={"distance": 100.0})
    assert automaton.row_for(ball(1000.0), sad) == 0
    assert automaton.row_for(ball(1001.0), sad) is None
    assert automaton.row_for(near, sad) == 1
    assert automaton.row_for(far, happy) is None, "something was recognised"
    assert automaton.row_for(None, happy) == 2
    assert automaton.row_for(None, sad) is None


@pytest.mark.requirement("SY-26")
def test_arcs_are_drawn_by_their_probabilities() -> None:
    """30 % of 20 000: 6 000, with a standard deviation of 65."""
    random = np.random.default_rng(1)
    drawn = Counter(NODE_100[0].draw(random) for _ in range(20_000))
    assert drawn[0] == pytest.approx(6_000, abs=4 * 65)
    assert drawn[0] + drawn[1] == 20_000


def test_arc_of_0_percent_is_never_drawn() -> None:
    class Edge:
        """Generator that draws the ends of the range."""

        def __init__(self, value: float) -> None:
            self.value = value

        def random(self) -> float:
            return self.value

    arcs = tuple(Arc(to="a", percent=share) for share in (0.0, 100.0, 0.0))
    row = NodeRow(condition=BALL, arcs=arcs)
    edges: list[Any] = [Edge(0.0), Edge(np.nextafter(1.0, 0.0))]
    assert [row.draw(edge) for edge in edges] == [1, 1]


def model(name: str, priority: int, action: str, event: str) -> BehaviourModel:
    """Return a model with one node and one action."""
    row = NodeRow(
        condition=RowCondition(event=event),
        arcs=(Arc(to="only", percent=100.0, action=action),),
    )
    return BehaviourModel(
        name=name, priority=priority, automaton=Automaton({"only": (row,)}, "only")
    )


@pytest.mark.requirement("SY-26")
def test_switch_takes_the_highest_preset_priority() -> None:
    models = [
        model("play", 1, "kick", "ball"),
        model("survive", 9, "recharge", "ball"),
        model("avoid", 5, "turn", "obstacle"),
    ]
    switch, random = Switch(models, Strengths()), np.random.default_rng(0)
    taken = switch.decide(ball(10.0), random)
    assert taken is not None
    assert (taken.action, taken.model.name) == ("recharge", "survive")
    turn = switch.decide(Stimulus(event="obstacle"), random)
    assert turn is not None
    assert turn.action == "turn"
    assert switch.decide(Stimulus(event="voice"), random) is None
    kick = switch.decide(ball(10.0), random, among=("kick",))
    assert kick is not None
    assert kick.action == "kick"
    assert switch.decide(ball(10.0), random, above=9) is None


@pytest.mark.requirement("SY-26")
def test_model_advances_only_when_its_proposal_is_taken() -> None:
    low = BehaviourModel(name="low", priority=1, automaton=Automaton(NODES, "node 100"))
    high = model("high", 2, "recharge", "ball")
    switch, random = Switch([low, high], Strengths()), np.random.default_rng(0)
    switch.decide(ball(10.0), random)
    assert low.automaton.node == "node 100"
    near = Stimulus(event="obstacle", values={"distance": 5.0})
    taken = switch.decide(near, random)
    assert taken is not None
    assert taken.action == "MOVE BACK"
    assert low.automaton.node == "node 1000"


@pytest.mark.requirement("SY-26")
def test_praise_raises_and_scolding_lowers_the_probability() -> None:
    """30/70 %, rate 0.1: praised 37/63; then scolded 33.3/66.7."""
    praised = reinforce(NODE_100[0], 0, Lesson.PRAISE, 0.1)
    assert [arc.percent for arc in praised.arcs] == pytest.approx([37.0, 63.0])
    scolded = reinforce(praised, 0, Lesson.SCOLDING, 0.1)
    assert [arc.percent for arc in scolded.arcs] == pytest.approx([33.3, 66.7])


@pytest.mark.requirement("SY-26")
def test_completion_changes_emotions_and_drives_and_is_learnt() -> None:
    low = BehaviourModel(name="low", priority=1, automaton=Automaton(NODES, "node 100"))
    strengths = Strengths(start={"anger": 60.0, "exercise": 80.0})
    effects = {"MOVE BACK": {"anger": -25.0, "exercise": -5.0}}
    switch = Switch([low], strengths, effects=effects, rate=0.5)
    near = Stimulus(event="obstacle", values={"distance": 5.0})
    switch.decide(near, np.random.default_rng(0))
    switch.complete("MOVE BACK")
    assert strengths["anger"] == pytest.approx(35.0)
    assert strengths["exercise"] == pytest.approx(75.0)

    low.automaton.go("node 100")
    taken = switch.decide(ball(1.0), np.random.default_rng(0))
    assert taken is not None
    before = NODE_100[0].arcs[taken.arc].percent
    switch.teach(Lesson.SCOLDING)
    after = low.automaton.row("node 100", 0).arcs
    assert after[taken.arc].percent == pytest.approx(before / 2)
    assert sum(arc.percent for arc in after) == pytest.approx(100.0)


@pytest.mark.requirement("SY-26")
@given(
    shares=st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any),
    lessons=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(Lesson), st.floats(0, 1)),
        max_size=30,
    ),
)
def test_rows_remain_distributions_after_any_lessons(
    shares: list[int], lessons: list[tuple[int, Lesson, float]]
) -> None:
    total = sum(shares)
    arcs = tuple(Arc(to="a", percent=100.0 * share / total) for share in shares)
    row = NodeRow(condition=BALL, arcs=arcs)
    for number, lesson, rate in lessons:
        arc = number % len(arcs)
        before = row.arcs[arc].percent
        row = reinforce(row, arc, lesson, rate)
        assert sum(one.percent for one in row.arcs) == pytest.approx(100.0)
        rises = row.arcs[arc].percent >= before - 1e-9
        falls = row.arcs[arc].percent <= before + 1e-9
        assert len(arcs) == 1 or (rises if lesson is Lesson.PRAISE else falls)


@pytest.mark.requirement("SY-26")
@pytest.mark.parametrize("rate", [0.9, 0.99, 0.999])
def test_rounding_errors_of_a_row_do_not_grow_by_teaching(rate: float) -> None:
    """Near 100 % the other arcs are mostly rounding errors; then they grow again."""
    either = [(arc, lesson) for arc in (0, 1) for lesson in Lesson]
    for later in product(either, repeat=3):
        row = NodeRow(
            condition=BALL, arcs=(Arc(to="a", percent=59), Arc(to="b", percent=41))
        )
        for arc, lesson in (
            *[(0, Lesson.PRAISE)] * 9,
            *[(0, Lesson.SCOLDING)] * 3,
            *later,
        ):
            row = reinforce(row, arc, lesson, rate)
            assert abs(sum(arc.percent for arc in row.arcs) - 100.0) < 1e-9


@pytest.mark.requirement("SY-26")
def test_schema_parent_can_select_children_by_the_switch(nao: Robot) -> None:
    """The ball starts play, a low battery interrupts, and recharging is kept."""
    models = [
        model("play", 1, "kick", "ball"),
        model("survive", 9, "recharge", "battery low"),
        model("idle", 0, "rest", "ball"),
    ]
    heard = {1: ball(1.0), 3: Stimulus(event="battery low"), 5: ball(1.0)}
    now: list[int] = [0]
    rule = arbitration_by(
        Switch(models, Strengths()),
        lambda: heard.pop(now[0], None),
        np.random.default_rng(0),
    )
    names = ("kick", "recharge", "rest")
    parent = actuation(
        "parent",
        start=lambda s: [s.wake(name) for name in names],
        arbitrate=rule,
    )
    stage = SchemaWorld.of(nao, parent, *(actuation(name) for name in names))
    stage.begin("parent")
    seen = []
    for tick in range(7):
        now[0] = tick
        stage.slot()
        seen.append(stage.runtime.winners[-1].rpartition("/")[2])
    assert seen == ["parent", *["kick"] * 2, *["recharge"] * 4]


def test_invalid_values_are_rejected() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'joy'"):
        Strengths(gains={"joi": 1.0})
    with pytest.raises(BadInput, match="give a number from 0 to 100"):
        Strengths(start={"joy": 101.0})
    with pytest.raises(BadInput, match="give a finite number"):
        Strengths().update({"joy": float("nan")})
    with pytest.raises(UnknownName, match="Node 'node 120'"):
        Automaton({"node 100": NODE_100}, "node 100")
    with pytest.raises(BadInput, match="both have priority 1"):
        Switch([model("a", 1, "x", "e"), model("b", 1, "y", "e")], Strengths())
    with pytest.raises(BadInput, match="learning rate is 2"):
        reinforce(NODE_100[0], 0, Lesson.PRAISE, 2.0)
    with pytest.raises(BadInput, match="arc 7 is not in a row of 2"):
        reinforce(NODE_100[0], 7, Lesson.PRAISE)
