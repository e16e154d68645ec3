"""Lasting conditions become true once; event conditions at each event."""

from types import SimpleNamespace
from typing import cast

import pytest

from nao_testbed.controllers.arbitration.events import (
    Failed,
    Granted,
    Revoked,
    StateChanged,
)
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    OutcomeKind,
    TokenId,
    Why,
)
from nao_testbed.controllers.schemas.events import SchemaStarted, SchemaStopped
from nao_testbed.controllers.transmitter.events import (
    StreamEnded,
    StreamReceived,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.scenarios.playing.triggers import Triggers
from nao_testbed.experiments.scenarios.vocabulary import conditions as c
from nao_testbed.experiments.scenarios.vocabulary.conditions import ConditionWatch
from nao_testbed.experiments.scenarios.vocabulary.events import (
    BreakEvent,
    ScenarioEvent,
)
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.models import default_robot_folder, load_robot
from nao_testbed.models.library import Unit
from tests.controllers.transmitter.commands.command_world import Line


def received(stream: int, group: str, preset: int = 100) -> StreamReceived:
    return StreamReceived(
        tick=0,
        stream=stream,
        unit=Unit.SOUND,
        label="Hello",
        bus="main",
        token=TokenId(1, stream),
        leaves=("TTS",),
        group=group,
        preset=preset,
        points=50,
        after=None,
        is_interrupt=False,
        refused=None,
    )


def ended(stream: int, group: str, reason: EndReason, preset: int = 100) -> StreamEnded:
    return StreamEnded(
        tick=0,
        stream=stream,
        unit=Unit.SOUND,
        label="Hello",
        group=group,
        preset=preset,
        reason=reason,
        sent=0,
        detail="",
    )


@pytest.mark.requirement("SY-17")
def test_groups_of_two_presets_end_independently() -> None:
    """Under one ID: the group with preset 10 ends while that with 100 waits."""
    facts, watch = Facts(), ConditionWatch(c.GroupEndedForm(group_ended="greet"))
    facts.on_event(received(1, "greet"))
    facts.on_event(received(2, "greet", 10))
    for tick, stream, preset in ((3, 2, 10), (5, 1, 100)):
        facts.clear(tick)
        facts.on_event(ended(stream, "greet", EndReason.DONE, preset))
        watch.observe(facts)
    assert watch.ticks == [3, 5]


@pytest.mark.requirement("SY-20")
def test_each_motion_of_a_sequence_starts_separately() -> None:
    """The second does not start with the first, although both are one stream."""
    line = Line.of(load_robot(default_robot_folder()), posture="Crouch")
    names = ("Crouch to Sit", "Sit to Stand")
    facts = Facts()
    watches = [
        ConditionWatch(c.MotionStartedForm(motion_started=name)) for name in names
    ]
    line.ledger.listeners.append(facts.on_event)
    line.controller.submit("rise", line.take("host", "All motors", "Leds", "TTS"), 1)
    while line.tick < 130:
        facts.clear(line.tick)
        line.slot()
        for watch in watches:
            watch.observe(facts)
    assert [watch.ticks for watch in watches] == [[12], [112]]


def test_lasting_condition_becomes_true_once_per_period() -> None:
    facts, watch = Facts(), ConditionWatch(c.StateForm(state="Sit"))
    for tick, active in enumerate(["Stand", "Sit", "Sit", None, "Sit"]):
        facts.clear(tick)
        facts.on_event(StateChanged(tick=tick, group="State", active=active))
        watch.observe(facts)
    assert watch.ticks == [1, 4]


def test_event_condition_is_true_at_each_event_only() -> None:
    facts, watch = Facts(), ConditionWatch(c.StartedForm(started="life/dance"))
    for tick in range(6):
        facts.clear(tick)
        if tick in {1, 2, 5}:
            facts.on_event(SchemaStarted(tick=tick, path="life/dance"))
        facts.on_event(SchemaStopped(tick=tick, path="life", why="lost"))
        watch.observe(facts)
    assert watch.ticks == [1, 2, 5]


def test_request_condition_matches_outcome_and_owner() -> None:
    facts = Facts()
    watch = ConditionWatch(c.TimedOutForm(timed_out="a"))
    won = ConditionWatch(c.GrantedForm(granted="b"))
    granted = Granted(
        tick=0,
        request=1,
        owner="b",
        token=TokenId(1, 1),
        shares={},
        missing=(),
        inside={},
    )
    late = Failed(
        tick=1, request=2, owner="a", kind=OutcomeKind.TIMED_OUT, why=Why.TIMEOUT
    )
    for tick, event in enumerate((granted, late)):
        facts.clear(tick)
        facts.on_event(event)
        watch.observe(facts)
        won.observe(facts)
    assert (watch.ticks, won.ticks) == ([1], [0])


def test_revoked_condition_matches_any_cause() -> None:
    facts, watch = Facts(), ConditionWatch(c.RevokedForm(revoked="a"))
    lost = Revoked(
        tick=3,
        token=TokenId(1, 1),
        owner="a",
        lost=("HeadYaw",),
        freed=(),
        why=LossCause.FROZEN,
        by="hotEngine",
        request=None,
        is_whole=True,
    )
    facts.clear(3)
    facts.on_event(lost)
    assert watch.observe(facts)
    facts.clear(4)
    assert not watch.observe(facts)


def test_group_ends_with_its_last_stream() -> None:
    facts, watch = Facts(), ConditionWatch(c.GroupEndedForm(group_ended="hello"))
    deleted = ConditionWatch(c.GroupEndedForm(group_ended="hello", reason="deleted"))
    facts.on_event(received(1, "hello"))
    facts.on_event(received(2, "hello"))
    for tick, stream in enumerate((1, 2)):
        facts.clear(tick)
        facts.on_event(ended(stream, "hello", EndReason.DONE))
        watch.observe(facts)
        deleted.observe(facts)
    assert (watch.ticks, deleted.ticks) == ([1], [])


def starts(facts: Facts, tick: int, unit: Unit, label: str) -> None:
    facts.clear(tick)
    facts.on_event(
        StreamStarted(
            tick=tick,
            stream=tick,
            unit=unit,
            label=label,
            leaves=(),
            group=None,
            preset=None,
            items=1,
        )
    )


def test_said_condition_matches_sound_but_not_light() -> None:
    facts, watch = Facts(), ConditionWatch(c.SaidForm(said="Hello"))
    for tick, unit in enumerate((Unit.LIGHT, Unit.SOUND)):
        starts(facts, tick, unit, "Hello")
        watch.observe(facts)
    assert watch.ticks == [1]


def test_motion_condition_matches_motion_and_first_dance_part() -> None:
    facts = Facts()
    names = ("nod", "dance", "dance 2/5")
    watches = {n: ConditionWatch(c.MotionStartedForm(motion_started=n)) for n in names}
    light = ConditionWatch(c.LightStartedForm(light_started="nod"))
    labels = ("nod", "dance 1/5", "dance 2/5")
    for tick, label in enumerate(labels):
        starts(facts, tick, Unit.MOTION, label)
        for watch in (*watches.values(), light):
            watch.observe(facts)
    assert [watch.ticks for watch in watches.values()] == [[0], [1], [2]]
    assert light.ticks == []
    starts(facts, 9, Unit.LIGHT, "nod")
    assert light.observe(facts)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (c.OutputAboveForm(output_above={"a.x": 0.5}), [3]),
        (c.OutputBelowForm(output_below={"a.x": 0.5}), [1, 5]),
    ],
)
def test_non_numeric_output_is_neither_above_nor_below(
    condition: c.Condition, expected: list[int]
) -> None:
    facts, watch = Facts(), ConditionWatch(condition)
    for tick, value in enumerate([None, 0.4, 0.5, 1, True, -3, float("nan")]):
        facts.clear(tick)
        facts.outputs = {"a.x": value}
        watch.observe(facts)
    facts.outputs = {}
    assert not watch.observe(facts)
    assert watch.ticks == expected


LIMITS = {"HeadYaw": 60.0, "HeadPitch": 50.0}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (c.DegcAboveForm(degc_above=LIMITS), [2]),
        (c.DegcBelowForm(degc_below=LIMITS), [0]),
    ],
)
def test_all_motors_must_be_hot_or_cold(
    condition: c.Condition, expected: list[int]
) -> None:
    facts, watch = Facts(), ConditionWatch(condition)
    for tick, degc in enumerate([(59.0, 49.0), (61.0, 49.0), (61.0, 51.0)]):
        facts.clear(tick)
        facts.degc = dict(zip(LIMITS, degc, strict=True))
        watch.observe(facts)
    assert watch.ticks == expected


@pytest.mark.requirement("ST-27")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (c.ForceAboveForm(force_above={"table": 1.0, "wall": 2.0}), [2]),
        (c.ForceBelowForm(force_below={"table": 1.0, "wall": 2.0}), [0, 3]),
    ],
)
def test_all_obstacles_must_be_pressed_or_left(
    condition: c.Condition, expected: list[int]
) -> None:
    facts, watch = Facts(), ConditionWatch(condition)
    for tick, force in enumerate([(0.0, 1.9), (1.1, 2.0), (1.1, 2.1), (0.9, 0.0)]):
        facts.clear(tick)
        facts.force_n = dict(zip(("table", "wall"), force, strict=True))
        watch.observe(facts)
    assert watch.ticks == expected


def event(line: int, **when: object) -> ScenarioEvent:
    """An event of this line, in slots of 10 ms."""
    said = BreakEvent.model_validate({**when, "break": ["Head"]}).with_text({}, line)

    def ticks(place: object, seconds: float) -> int:
        return round(seconds / 0.01)

    lookup = cast(Lookup, SimpleNamespace(ticks=ticks, moment=ticks))
    triggered = said.triggered((), lookup)
    assert triggered is not None
    return triggered


def test_events_of_a_slot_occur_once_in_file_order() -> None:
    hot = event(2, when={"fallen": True}, after_s=0.02)
    triggers = Triggers([event(1, at_s=0.03), hot, event(3, at_s=0.03)])
    facts = Facts()
    seen: list[tuple[int, list[int]]] = []
    for tick in range(8):
        facts.clear(tick)
        lines = [one.line for one in triggers.due(tick)]
        if lines:
            seen.append((tick, lines))
        facts.has_fallen = tick in {0, 4, 5}
        triggers.observe(facts)
    assert seen == [(3, [1, 2, 3])]  # fallen in slot 0, seen in 1, delay of 2
    assert triggers.left == ()


def test_events_that_never_occurred_are_known() -> None:
    triggers = Triggers([event(7, when={"fallen": True}), event(8, at_s=0.99)])
    triggers.observe(Facts())
    assert [one.line for one in triggers.left] == [7, 8]


def test_missing_output_has_no_value() -> None:
    """The parent has not activated the behaviour, or deactivated it again."""
    facts = Facts()
    watch = ConditionWatch(c.OutputForm(output={"life/watch.is_falling": True}))
    seen: list[dict[str, object]] = [
        {},
        {"life/watch.is_falling": False},
        {"life/watch.is_falling": True},
        {"life/watch.is_falling": True},
        {},
        {"life/watch.is_falling": True},
    ]
    for tick, outputs in enumerate(seen):
        facts.clear(tick)
        facts.outputs = outputs
        watch.observe(facts)
    assert watch.ticks == [2, 5]
    assert watch.last_ticks == [3, 5]
