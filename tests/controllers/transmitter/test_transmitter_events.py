"""Events of the transmitter: round trip of lines, and listeners."""

import pytest

from nao_testbed.controllers.arbitration.events import (
    Event,
    event_from_line,
    event_to_line,
)
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    Sent,
    StreamEnded,
    StreamStarted,
)
from nao_testbed.models import Robot
from nao_testbed.testing import check_trace, trace_hash
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    LIGHT,
    STREAM_EVENTS,
    Clip,
    World,
    tag,
)


def play(stage: World) -> World:
    """Run streams that together emit every kind of event."""
    token = stage.take("greet", *LEAVES)
    a, b, c = LEAVES[:3]
    stage.receive(Clip(token, [c], 3, label="sit up"))
    stage.receive(Clip(token, [a], 3), tag(50))
    stage.receive(Clip(token, [b], 3, unit=LIGHT), tag(50))
    stage.receive(Clip(token, [c]), tag(99, "late"))
    stage.slots(2)
    stage.transmitter.interrupt(Clip(token, [a], 1), stage.tick)
    stage.slots(12)
    return stage


def test_stream_event_round_trip_through_its_line(nao: Robot) -> None:
    stage = play(World.of(nao))
    mine = [event for event in stage.events if isinstance(event, STREAM_EVENTS)]
    assert {type(event) for event in mine} == set(STREAM_EVENTS)
    for event in mine:
        assert event_from_line(event_to_line(event)) == event


def test_line_names_stream_unit_and_group(nao: Robot) -> None:
    stage = play(World.of(nao))
    sent = next(event for event in stage.told(Sent) if event.stream == 3)
    assert event_to_line(sent) == (
        '{"bus": "main", "event": "Sent", "group": "hello", "k": 0, "preset": 100, '
        '"stream": 3, "tick": 1, "unit": "light", "values": 1}'
    )


def test_same_calls_give_the_same_trace(nao: Robot) -> None:
    first, second = (play(World.of(nao)).events for _ in range(2))
    assert trace_hash(first) == trace_hash(second)


@pytest.mark.parametrize("has_listeners", [True, False])
def test_item_events_follow_the_setting_of_command_events(
    nao: Robot, has_listeners: bool
) -> None:
    """Starts and ends are always events; without listeners the result is the same."""
    loud = play(World.of(nao))
    quiet = play(World.of(nao, tells_commands=False, has_listeners=has_listeners))
    assert not quiet.told(Sent)
    kinds: tuple[type[Event], ...] = (StreamStarted, StreamEnded, GroupStarted)
    for kind in kinds:
        assert quiet.told(kind) == (loud.told(kind) if has_listeners else [])
    assert len(quiet.robot.commands) == len(loud.robot.commands)


def test_ticks_of_a_trace_never_decrease(nao: Robot) -> None:
    """Although events are emitted before the ledger has advanced to their tick."""
    events = play(World.of(nao)).events
    ticks = [event.tick for event in events]
    assert ticks == sorted(ticks)


def test_recorded_trace_passes_the_rules(nao: Robot) -> None:
    stage = play(World.of(nao))
    lines = map(event_to_line, stage.events)
    assert not check_trace(map(event_from_line, lines))
