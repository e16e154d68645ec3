"""The timeline: spans of a trace, readable rows, and a figure of any run."""

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import Event, Granted, StateChanged
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.policies import StopOnDemand
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Token, TokenId
from nao_testbed.controllers.schemas.declaration import Kind
from nao_testbed.controllers.schemas.events import SchemaStarted, SchemaStopped, Woken
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    StreamEnded,
    StreamReceived,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.common.drawing.style import TIME
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.experiments.scenarios.timeline.figure import (
    MAX_LETTERS,
    Mark,
    label_span,
    level_marks,
    timeline_figure,
)
from nao_testbed.experiments.scenarios.timeline.rows import (
    LETTER,
    SIZE,
    cover,
    owner_colours,
    pattern_colour,
    resource_rows,
    row_of,
)
from nao_testbed.experiments.scenarios.timeline.spans import (
    Span,
    SpanKind,
    acting_spans,
    holding_spans,
    state_spans,
    stream_spans,
)
from nao_testbed.models import load_robot
from nao_testbed.models.library import LightPattern, LightStep, Unit

NAO = load_robot()
TREE = ResourceTree(NAO.resources)
MOTORS = TREE.leaves("All motors")
TICK_S = 0.01
TOKEN = TokenId(1, 1)


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "figure.yaml"
    path.write_text(
        "name: figure\nabout: For a figure.\nduration_s: 8\n"
        "expect: [{joint: Head, degc_below: 60}]\n",
        "utf-8",
    )
    return load_scenario(path)


def head_queue() -> list[Event]:
    """Three owners request the head, one times out; then a hot motor freezes it."""
    events: list[Event] = []
    ledger = Ledger(TREE, LedgerCfg(), listeners=[events.append])
    ledger.add_virtual_owner("hotEngine", 0)
    for name in ("a", "b", "c"):
        ledger.add_owner(Owner(name=name), 0)
    ask = ("Head",)
    a = ledger.request(Request(owner="a", resources=ask), 0)
    b = ledger.request(Request(owner="b", resources=ask), 50)
    ledger.request(Request(owner="c", resources=ask, timeout_s=1.0), 70)
    ledger.advance(300)
    assert a.outcome is not None
    assert a.outcome.token is not None
    ledger.release(a.outcome.token, 300)
    assert b.outcome is not None
    ledger.freeze(("HeadYaw",), "hotEngine", 500)
    ledger.advance(800)
    return events


def spans_of(spans: Sequence[Span]) -> list[tuple[str, str, float, float]]:
    return [
        (s.name, s.kind.value, round(s.start_s, 9), round(s.end_s, 9)) for s in spans
    ]


def test_spans_show_holders_and_waiters_of_a_leaf() -> None:
    spans = holding_spans(head_queue(), TICK_S, 800)
    assert set(spans) == {"HeadYaw", "HeadPitch"}
    assert spans_of(spans["HeadYaw"]) == [
        ("a", "holds", 0.0, 3.0),
        ("b", "waits", 0.5, 3.0),
        ("c", "waits", 0.7, 1.7),
        ("b", "holds", 3.0, 5.0),
        ("hotEngine", "frozen", 5.0, 8.0),
    ]
    # Losing one leaf releases the whole token.
    assert spans_of(spans["HeadPitch"])[-1] == ("b", "holds", 3.0, 5.0)


def test_resources_lent_to_a_part_have_separate_spans() -> None:
    """A part uses a joint entirely; of a rate, the parent uses the rest."""
    events: list[Event] = []
    ledger = Ledger(TREE, LedgerCfg(), listeners=[events.append])

    def ask(owner: str, joint: str, percent: float, tick: int) -> Token:
        asked = Request(owner=owner, resources=(joint,), rates={"CPU": percent})
        return ledger.request(asked, tick).token

    ledger.add_owner(Owner(name="a"), 0)
    ledger.add_owner(Owner(name="part", parent="a"), 0)
    whole = ask("a", "Head", 50.0, 0)
    ledger.release(ask("part", "HeadYaw", 50.0, 20), 30)
    ask("part", "HeadYaw", 20.0, 60)
    ledger.release(whole, 80)
    spans = holding_spans(events, TICK_S, 100)
    assert spans_of(spans["HeadYaw"]) == [
        ("a", "holds", 0.0, 0.2),
        ("a", "lent", 0.2, 0.3),
        ("part", "holds", 0.2, 0.3),
        ("a", "holds", 0.3, 0.6),
        ("a", "lent", 0.6, 0.8),
        ("part", "holds", 0.6, 0.8),
    ]
    assert spans_of(spans["HeadPitch"]) == [("a", "holds", 0.0, 0.8)]
    assert spans_of(spans["CPU"])[0] == ("a", "holds", 0.0, 0.8)


@settings(max_examples=40)
@given(st.data())
def test_exclusive_leaf_has_at_most_one_bar_at_a_time(data: st.DataObject) -> None:
    """For random requests, the shown holders never overlap."""
    events: list[Event] = []
    ledger = Ledger(TREE, LedgerCfg(), listeners=[events.append])
    names = ["a", "b", "c"]
    for name in names:
        ledger.add_owner(Owner(name=name, policy=StopOnDemand(within_s=0.02)), 0)
    sets = st.sampled_from([("Head",), ("HeadYaw",), ("Left arm", "HeadPitch")])
    for tick in range(0, 60, 5):
        ledger.advance(tick)
        request = Request(
            owner=data.draw(st.sampled_from(names)),
            resources=data.draw(sets),
            timeout_s=0.1,
        )
        ticket = ledger.request(request, tick)
        if data.draw(st.booleans()) and ticket.outcome and ticket.outcome.token:
            ledger.release(ticket.outcome.token, tick)
    spans = holding_spans(events, TICK_S, 60)
    for bars in spans.values():
        holding = [s for s in bars if s.kind is SpanKind.HOLDS]
        for one, other in pairwise(sorted(holding, key=lambda s: s.start_s)):
            assert one.end_s <= other.start_s + 1e-9
    shown, left_out = resource_rows(spans, TREE)
    assert left_out == 0
    granted = {e.owner for e in events if isinstance(e, Granted)}
    bars_of = {s.name for row in shown for lane in row.lanes for s in lane}
    assert bars_of <= set(names)
    assert {s.name for bars in spans.values() for s in bars} <= granted | bars_of


def test_states_and_acting_schemas_have_spans() -> None:
    path = "life/dance"
    eye = "life/eye"
    events: list[Event] = [
        StateChanged(tick=0, group="State", active="Sit"),
        Woken(tick=0, path=eye, schema="eye", kind=Kind.PERCEPTIVE, parent="life"),
        SchemaStarted(tick=0, path=eye),
        SchemaStarted(tick=10, path=path),
        StateChanged(tick=100, group="State", active=None),
        SchemaStopped(tick=150, path=path, why="lost"),
        StateChanged(tick=200, group="State", active="Stand"),
    ]
    states = state_spans(events, TICK_S, 300)
    assert spans_of(states["State"]) == [
        ("Sit", "holds", 0.0, 1.0),
        ("Stand", "holds", 2.0, 3.0),
    ]
    acting = acting_spans(events, TICK_S, 300)
    assert set(acting) == {path}
    assert spans_of(acting[path]) == [(path, "holds", 0.1, 1.5)]


def played(
    number: int,
    unit: Unit,
    label: str,
    times: tuple[int, int | None, int],
    group: str | None = None,
    reason: EndReason = EndReason.DONE,
) -> Iterator[Event]:
    """Events of a stream received, started and ended at these ticks."""
    received, started, ended = times
    who = {"stream": number, "unit": unit, "label": label}
    of = {"group": group, "preset": 100 if group else None}
    yield StreamReceived(
        tick=received,
        **who,  # type: ignore[arg-type]
        **of,  # type: ignore[arg-type]
        bus="main",
        token=TOKEN,
        leaves=(),
        points=0,
        after=None,
        is_interrupt=False,
        refused=None,
    )
    if started is not None:
        yield StreamStarted(tick=started, **who, **of, leaves=(), items=2)  # type: ignore[arg-type]
    yield StreamEnded(tick=ended, **who, **of, reason=reason, sent=1, detail="")  # type: ignore[arg-type]


def outputs() -> list[Event]:
    """Events of an initial motion, a group of three after it, and a deleted stream."""
    return [
        *played(1, Unit.MOTION, "sit to stand", (30, 30, 320)),
        *played(2, Unit.MOTION, "wave", (290, 321, 700), "hello"),
        *played(3, Unit.LIGHT, "blink", (285, 321, 420), "hello"),
        *played(4, Unit.SOUND, "Hello", (300, 321, 450), "hello"),
        *played(5, Unit.MOTION, "bow", (500, None, 720), "bye", EndReason.DELETED),
        GroupStarted(tick=321, group="hello", preset=100, streams=(2, 3, 4)),
    ]


def test_streams_span_their_waiting_and_their_last_slot() -> None:
    first, wave, *_, bow = stream_spans(outputs(), TICK_S, 800)
    assert (first.received_s, first.start_s, first.end_s) == (0.3, 0.3, 3.21)
    assert wave.start_s == first.end_s  # no empty slot between
    assert (bow.start_s, bow.end_s, bow.reason) == (None, 7.2, EndReason.DELETED)


@given(st.sets(st.sampled_from(MOTORS)))
def test_row_names_cover_only_its_leaves(leaves: set[str]) -> None:
    text = cover(sorted(leaves), TREE)
    names = [name for name in text.partition(" + ")[0].split(", ") if name]
    meant = {leaf for name in names for leaf in TREE.leaves(name)}
    assert meant <= leaves
    if " + " not in text:
        assert meant == leaves


def test_leaves_with_equal_spans_share_a_row() -> None:
    rows, _ = resource_rows(
        {leaf: [Span(name="a", start_s=0, end_s=1)] for leaf in TREE.leaves("Arms")},
        TREE,
    )
    assert [row.label for row in rows] == ["Arms"]


def test_busiest_rows_are_kept_if_there_are_many() -> None:
    spans = {
        leaf: [Span(name="a", start_s=0, end_s=i + 1)] for i, leaf in enumerate(MOTORS)
    }
    busy = MOTORS[7]
    spans[busy].append(Span(name="b", start_s=99, end_s=100))
    rows, left_out = resource_rows(spans, TREE, most=5)
    assert len(rows) == 5
    assert left_out == len(MOTORS) - 5
    assert busy in [row.label for row in rows]


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 20), st.booleans()), max_size=30
    )
)
def test_bars_of_a_lane_never_overlap(drawn: list[tuple[int, int, bool]]) -> None:
    spans = [
        Span(
            name=str(i),
            start_s=start,
            end_s=start + length,
            kind=SpanKind.WAITS if waits else SpanKind.HOLDS,
        )
        for i, (start, length, waits) in enumerate(drawn)
    ]
    row = row_of("x", spans)
    assert sorted(s.name for lane in row.lanes for s in lane) == sorted(
        s.name for s in spans
    )
    for number, lane in enumerate(row.lanes):
        waits = {span.kind is SpanKind.WAITS for span in lane}
        assert waits == {number >= row.n_holding}
        for one, other in pairwise(lane):
            assert one.end_s <= other.start_s


@given(st.lists(st.tuples(st.floats(0, 100), st.text(max_size=30)), max_size=20))
def test_labels_of_marks_never_overlap(drawn: list[tuple[float, str]]) -> None:
    marks = [Mark(time_s=time_s, text=text) for time_s, text in drawn]
    levels = level_marks(marks, 100.0, 9.0)
    for level in set(levels) - {-1}:
        boxes = sorted(
            label_span(mark, 100.0, 9.0)
            for mark, at in zip(marks, levels, strict=True)
            if at == level
        )
        for (_, end), (later, _) in pairwise(boxes):
            assert end <= later + 1e-9


@given(st.floats(0, 100), st.text(max_size=80))
def test_label_of_a_mark_stays_in_the_panel(time_s: float, text: str) -> None:
    """Near the start it is right of its mark, near the end left of it."""
    start, end = label_span(Mark(time_s=time_s, text=text), 100.0, 9.0)
    assert end - start >= min(len(text), MAX_LETTERS) * LETTER * SIZE
    assert start >= 0.0
    assert end <= 9.0 + 1e-9
    assert min(abs(edge - time_s / 100.0 * 9.0) for edge in (start, end)) < 1e-9


def test_light_strips_show_the_fade() -> None:
    steps = (
        LightStep(at_s=0.0, leds=("Left eye",), colour=(0.0, 1.0, 0.0), fade_s=0.4),
        LightStep(at_s=1.0, leds=("Left eye",), colour=(1.0, 0.0, 0.0)),
    )
    pattern = LightPattern(name="p", steps=steps, length_s=1.0)
    assert pattern_colour(pattern, 0.0) == (0.0, 0.0, 0.0)
    assert pattern_colour(pattern, 0.1) == pytest.approx((0.0, 0.25, 0.0))
    assert pattern_colour(pattern, 0.9) == (0.0, 1.0, 0.0)
    assert pattern_colour(pattern, 1.0) == (1.0, 0.0, 0.0)


def test_owners_keep_their_colours() -> None:
    colours = owner_colours(["a", "b", "a", "hotEngine"], ["hotEngine"])
    assert len({colours["a"], colours["b"], colours["hotEngine"]}) == 3
    assert owner_colours(["a", "b", "c"], [])["b"] == owner_colours(["a", "b"], [])["b"]


def texts(figure: object) -> str:
    return " ".join(
        text.get_text()
        for axes in figure.axes  # type: ignore[attr-defined]
        for text in axes.texts
    )


def test_figure_names_owners_groups_words_and_hottest_joint(scenario: Scenario) -> None:
    time_s = np.linspace(0.0, 8.0, 50)
    degc = dict.fromkeys(NAO.joint_names, 30.0 + 0.0 * time_s)
    degc["HeadYaw"] = 30.0 + 5.0 * time_s
    frame = pd.DataFrame(degc, index=pd.Index(time_s, name="time_s"))
    events = [*head_queue(), *outputs()]
    marks = [
        Mark(time_s=4.0, text="push torso 30 N"),
        Mark(time_s=5.0, text="✗ wave failed", is_failure=True),
    ]
    figure = timeline_figure(scenario, events, frame, marks, said="1 of 1 hold")
    shown = texts(figure)
    for words in (
        *("Head", "hotEngine", "wave", "“Hello”", "▾ hello", "bow: deleted"),
        *("push torso 30 N", "✗ wave failed", "HeadYaw 70.0 °C"),
    ):
        assert words in shown
    rows, heat = figure.axes
    assert rows.get_xlim() == heat.get_xlim() == (0.0, 8.0)
    left, right = rows.get_position(), heat.get_position()
    assert (left.x0, left.x1) == pytest.approx((right.x0, right.x1))


@pytest.mark.parametrize(
    "events", [[], [StateChanged(tick=0, group="State", active="Sit")]]
)
def test_figure_of_a_run_without_events_is_drawn(
    scenario: Scenario, events: list[Event], tmp_path: Path
) -> None:
    figure = timeline_figure(scenario, events)
    figure.savefig(tmp_path / "empty.png")
    assert (tmp_path / "empty.png").stat().st_size > 1000


def test_names_are_shown_unchanged(scenario: Scenario, tmp_path: Path) -> None:
    name = r"$\badcmd$ costs $5_x"
    odd = dataclasses.replace(scenario, name=name)
    figure = timeline_figure(odd, [], marks=[Mark(time_s=1.0, text=name)])
    figure.savefig(tmp_path / "odd.png")
    assert name in texts(figure)


@pytest.mark.parametrize(
    ("end_s", "last"), [(600.0, "10"), (14.0, "0.225"), (300.0, "5")]
)
def test_time_axis_is_in_minutes(scenario: Scenario, end_s: float, last: str) -> None:
    figure = timeline_figure(scenario, head_queue(), end_s=end_s)
    axes = figure.axes[-1]
    assert axes.get_xlabel() == TIME
    figure.draw_without_rendering()
    assert axes.get_xticklabels()[-1].get_text() == last
