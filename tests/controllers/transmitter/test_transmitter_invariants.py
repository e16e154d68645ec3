"""The judges of I-23 and I-24: nothing to say about true stories, much about others."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from nao_testbed.controllers.arbitration.events import Event, Granted, Released
from nao_testbed.controllers.transmitter.events import (
    GroupCompleted,
    GroupStarted,
    Sent,
    StreamEnded,
    StreamPaused,
    StreamReceived,
    StreamResumed,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason, NotReceived
from nao_testbed.models import Robot
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    LIGHT,
    SOUND,
    STREAM_EVENTS,
    Clip,
    World,
    judge,
    tag,
)

E = TypeVar("E", bound=Event)
Change = Callable[[list[Event]], list[Event]]
A, B, C, D = LEAVES[:4]


@pytest.fixture
def story(nao: Robot) -> list[Event]:
    """Streams 1 and 2 and 3: a group that an interrupt (5) pauses in slot 3.

    Stream 4 is independent; 6 and 7 are a group of ten that follows it and is revoked
    in slot 9; 8 waits for ever; 9 is independent and refused, since 6 uses its leaf.
    """
    stage = World.of(nao, ttl_s=10.0)
    token = stage.take("greet", A, B, C, D)
    other = stage.take("other", LEAVES[4])
    stage.receive(Clip(token, [A], 4), tag(20))
    stage.receive(Clip(token, [B], 4, unit=LIGHT), tag(10))
    stage.receive(Clip(token, [C], 5, unit=SOUND), tag(70))
    first = stage.receive(Clip(token, [D], 6))
    stage.slots(2)
    stage.transmitter.interrupt(Clip(token, [A], 2), stage.tick)
    stage.slot()
    stage.receive(Clip(token, [D], 9), tag(4, "ten", 10), after=first)
    stage.receive(Clip(other, [LEAVES[4]], 9), tag(6, "ten", 10), after=first)
    stage.receive(Clip(token, [D], 9), tag(30, "never"))
    stage.slots(4)
    stage.receive(Clip(token, [D], 9))
    stage.slot()
    stage.ledger.release(other, stage.tick)
    stage.slots(3)
    return list(stage.events)


def first(events: Sequence[Event], kind: type[E], stream: int = 0) -> E:
    return next(
        event
        for event in events
        if isinstance(event, kind)
        and (not stream or getattr(event, "stream", 0) == stream)
    )


def last(events: Sequence[Event], kind: type[E], stream: int) -> E:
    return first(events[::-1], kind, stream)


def changed(events: list[Event], old: Event, *new: Event) -> list[Event]:
    """Return a trace in which an event is others, or none."""
    place = next(k for k, event in enumerate(events) if event is old)
    return [*events[:place], *new, *events[place + 1 :]]


def moved(events: list[Event], old: Event, places: int) -> list[Event]:
    place = next(k for k, event in enumerate(events) if event is old)
    rest = [event for event in events if event is not old]
    return [*rest[: place + places], old, *rest[place + places :]]


def at_tick(events: list[Event], old: E, tick: int) -> list[Event]:
    """Return a trace in which an event is the last of another tick."""
    rest = [event for event in events if event is not old]
    place = max(k for k, event in enumerate(rest) if event.tick <= tick) + 1
    return [*rest[:place], replace(old, tick=tick), *rest[place:]]


@pytest.mark.requirement("I-23", "I-24")
def test_a_true_story_breaks_no_invariant(story: list[Event]) -> None:
    assert judge(story, is_over=True) == ()
    kinds = {type(event) for event in story}
    assert kinds >= set(STREAM_EVENTS)


def without(kind: type[Event], stream: int = 0) -> Change:
    """Leave out the first event of a kind, of a stream."""
    return lambda e: changed(e, first(e, kind, stream))


def without_last(kind: type[Event], stream: int) -> Change:
    return lambda e: changed(e, last(e, kind, stream))


def other(kind: type[Event], stream: int = 0, **values: Any) -> Change:
    """Change the first event of a kind, of a stream."""
    return lambda e: changed(
        e, first(e, kind, stream), replace(first(e, kind, stream), **values)
    )


def other_last(kind: type[Event], stream: int, **values: Any) -> Change:
    return lambda e: changed(
        e, last(e, kind, stream), replace(last(e, kind, stream), **values)
    )


def later(kind: type[Event], stream: int, tick: int) -> Change:
    return lambda e: at_tick(e, first(e, kind, stream), tick)


def dropped(reason: EndReason) -> Change:
    """End the independent stream 4 in place of its start."""
    return lambda e: changed(
        e,
        first(e, StreamStarted, 4),
        replace(last(e, StreamEnded, 4), tick=1, sent=0, reason=reason),
    )


def doubled(find: Callable[[list[Event]], Event]) -> Change:
    return lambda e: changed(e, find(e), *[find(e)] * 2)


def appended(stream: int, **values: Any) -> Change:
    """Send a first item of stream 6 at the end, as another one."""
    return lambda e: [*e, replace(first(e, Sent, 6), stream=stream, **values)]


LIES: dict[str, tuple[str, Change]] = {
    "a member does not start": ("I-23", without(StreamStarted, 2)),
    "a member starts a slot later": ("I-23", later(StreamStarted, 3, 2)),
    "a first item comes a slot later": ("I-23", later(Sent, 3, 2)),
    "light before motion on the bus": (
        "I-23",
        lambda e: moved(e, first(e, Sent, 1), 2),  # 4 is a motion too
    ),
    "an item is left out": ("I-23", without_last(Sent, 2)),
    "an item goes out twice": ("I-23", doubled(lambda e: last(e, Sent, 4))),
    "items in another order": ("I-23", other(Sent, 4, k=1)),
    "an item of a paused stream": ("I-23", without(StreamPaused, 2)),
    "it goes on without a word": ("I-23", without(StreamResumed, 1)),
    "it is led back, but was not paused": ("I-23", other_last(Sent, 4, k=-1)),
    "an item after the end": ("I-23", lambda e: appended(6, tick=e[-1].tick + 1)(e)),
    "an item of a group that waits": ("I-23", appended(8, group="never")),
    "ninety-nine points are enough": ("I-23", other(StreamReceived, 1, points=19)),
    "it was never complete": ("I-23", without(GroupCompleted)),
    "one of its members is forgotten": ("I-23", other(GroupStarted, streams=(1, 2))),
    "points of a hundred count towards ten": (
        "I-24",
        other(StreamReceived, 6, preset=100),
    ),
    "it starts before what it follows is done": ("I-23", later(StreamEnded, 4, 8)),
    "one of a revoked group goes on": ("I-23", without_last(StreamEnded, 6)),
    "a revoked group ends for two reasons": (
        "I-23",
        other_last(StreamEnded, 6, reason=EndReason.CANNOT_BEGIN),
    ),
    "it has started, and is deleted": (
        "I-23",
        other_last(StreamEnded, 4, reason=EndReason.DELETED),
    ),
    "it is done before its last item": ("I-23", other_last(StreamEnded, 4, sent=5)),
    "it ends twice": ("I-23", lambda e: [*e, last(e, StreamEnded, 4)]),
    "a number twice": ("I-23", doubled(lambda e: first(e, StreamReceived, 8))),
    "an independent one waits": ("I-24", without(StreamStarted, 4)),
    "an independent one with a right is refused": (
        "I-24",
        other(StreamReceived, 4, refused=NotReceived.NO_TOKEN),
    ),
    "an independent one is refused for a leaf that is free": (
        "I-24",
        other(StreamReceived, 4, refused=NotReceived.IN_USE),
    ),
    "an independent one is refused since a group waits for its leaf": (
        "I-24",
        other(StreamReceived, 9, leaves=(LEAVES[5],)),
    ),
    "an independent one is dropped with its right": (
        "I-24",
        dropped(EndReason.REVOKED),
    ),
    "an independent one is replaced by nobody": ("I-24", dropped(EndReason.REPLACED)),
    "an independent one has expired": ("I-24", dropped(EndReason.EXPIRED)),
}


@pytest.mark.parametrize("lie", list(LIES))
@pytest.mark.requirement("I-23", "I-24")
def test_a_lie_is_found_by_its_judge(story: list[Event], lie: str) -> None:
    invariant, change = LIES[lie]
    found = Counter(
        violation.invariant for violation in judge(change(story), is_over=True)
    )
    assert found[invariant], found


def test_every_event_that_is_left_out_is_missed(story: list[Event]) -> None:
    """But the one that waits, and the word that one was refused."""
    not_missed = []
    for event in story:
        if isinstance(event, STREAM_EVENTS) and not judge(
            changed(story, event), is_over=True
        ):
            not_missed.append((type(event), getattr(event, "stream", None)))
    assert not_missed == [(StreamReceived, 8), (StreamReceived, 9)]


@pytest.mark.requirement("I-24")
def test_a_stream_without_its_right_is_rightly_dropped(nao: Robot) -> None:
    """The same trace is a lie if the token was not released."""
    stage = World.of(nao)
    token = stage.take("greet", A)
    stage.receive(Clip(token, [A]))
    stage.ledger.release(token, stage.tick)
    assert stage.receive(Clip(token, [A])).refused is NotReceived.NO_TOKEN
    stage.slots(2)
    assert judge(stage.events, is_over=True) == ()
    released = first(stage.events, Released)
    assert first(stage.events, Granted).token == released.token
    lie = judge(changed(stage.events, released), is_over=True)
    assert Counter(violation.invariant for violation in lie)["I-24"] == 2
