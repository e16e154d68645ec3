"""The judges of I-23 and I-24: nothing to say about true stories, much about others."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest

from controllers.arbitration.events import Event, Granted, Released
from controllers.arbitration.invariants import JUDGES, Checker
from controllers.arbitration.invariants.trace_replay import Violation
from controllers.transmitter.events import (
    GroupCompleted,
    GroupStarted,
    Sent,
    StreamEnded,
    StreamPaused,
    StreamReceived,
    StreamResumed,
    StreamStarted,
)
from controllers.transmitter.invariants import SYNC_JUDGES
from controllers.transmitter.receipt import EndReason, NotReceived
from models import Robot
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    LIGHT,
    SOUND,
    Clip,
    TransmitterWorld,
    tag,
)

E = TypeVar("E", bound=Event)
Change = Callable[[list[Event]], list[Event]]
A, B, C, D = LEAVES[:4]
MINE = (
    StreamReceived,
    GroupCompleted,
    GroupStarted,
    StreamStarted,
    Sent,
    StreamPaused,
    StreamResumed,
    StreamEnded,
)


def judge(events: Sequence[Event]) -> tuple[Violation, ...]:
    checker = Checker((*JUDGES, *SYNC_JUDGES))
    for event in events:
        checker.see(event)
    return checker.finish(is_over=True)


@pytest.fixture
def story(nao: Robot) -> list[Event]:
    """Streams 1 and 2 and 3: a group that an interrupt (5) pauses in slot 3.

    Stream 4 is independent; 6 and 7 are a group of ten that follows it and is revoked
    in slot 9; 8 waits for ever; 9 is independent and refused, since 6 uses its leaf.
    """
    stage = TransmitterWorld.of(nao, ttl_s=10.0)
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
    assert judge(story) == ()
    kinds = {type(event) for event in story}
    assert kinds >= set(MINE)


LIES: dict[str, tuple[str, Change]] = {
    "a member does not start": (
        "I-23",
        lambda e: changed(e, first(e, StreamStarted, 2)),
    ),
    "a member starts a slot later": (
        "I-23",
        lambda e: at_tick(e, first(e, StreamStarted, 3), 2),
    ),
    "a first item comes a slot later": (
        "I-23",
        lambda e: at_tick(e, first(e, Sent, 3), 2),
    ),
    "light before motion on the bus": (
        "I-23",
        lambda e: moved(e, first(e, Sent, 1), 2),  # 4 is a motion too
    ),
    "an item is left out": (
        "I-23",
        lambda e: changed(e, last(e, Sent, 2)),
    ),
    "an item goes out twice": (
        "I-23",
        lambda e: changed(e, last(e, Sent, 4), *[last(e, Sent, 4)] * 2),
    ),
    "items in another order": (
        "I-23",
        lambda e: changed(e, first(e, Sent, 4), replace(first(e, Sent, 4), k=1)),
    ),
    "an item of a paused stream": (
        "I-23",
        lambda e: changed(e, first(e, StreamPaused, 2)),
    ),
    "it goes on without a word": (
        "I-23",
        lambda e: changed(e, first(e, StreamResumed, 1)),
    ),
    "it is led back, but was not paused": (
        "I-23",
        lambda e: changed(e, last(e, Sent, 4), replace(last(e, Sent, 4), k=-1)),
    ),
    "an item after the end": (
        "I-23",
        lambda e: [*e, replace(first(e, Sent, 6), tick=e[-1].tick + 1)],
    ),
    "an item of a group that waits": (
        "I-23",
        lambda e: [*e, replace(first(e, Sent, 6), stream=8, group="never")],
    ),
    "ninety-nine points are enough": (
        "I-23",
        lambda e: changed(
            e,
            first(e, StreamReceived, 1),
            replace(first(e, StreamReceived, 1), points=19),
        ),
    ),
    "it was never complete": ("I-23", lambda e: changed(e, first(e, GroupCompleted))),
    "one of its members is forgotten": (
        "I-23",
        lambda e: changed(
            e, first(e, GroupStarted), replace(first(e, GroupStarted), streams=(1, 2))
        ),
    ),
    "points of a hundred count towards ten": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamReceived, 6),
            replace(first(e, StreamReceived, 6), preset=100),
        ),
    ),
    "it starts before what it follows is done": (
        "I-23",
        lambda e: at_tick(e, first(e, StreamEnded, 4), 8),
    ),
    "one of a revoked group goes on": (
        "I-23",
        lambda e: changed(e, last(e, StreamEnded, 6)),
    ),
    "a revoked group ends for two reasons": (
        "I-23",
        lambda e: changed(
            e,
            last(e, StreamEnded, 6),
            replace(last(e, StreamEnded, 6), reason=EndReason.CANNOT_BEGIN),
        ),
    ),
    "it has started, and is deleted": (
        "I-23",
        lambda e: changed(
            e,
            last(e, StreamEnded, 4),
            replace(last(e, StreamEnded, 4), reason=EndReason.DELETED),
        ),
    ),
    "it is done before its last item": (
        "I-23",
        lambda e: changed(
            e, last(e, StreamEnded, 4), replace(last(e, StreamEnded, 4), sent=5)
        ),
    ),
    "it ends twice": (
        "I-23",
        lambda e: [*e, last(e, StreamEnded, 4)],
    ),
    "a number twice": (
        "I-23",
        lambda e: changed(
            e, first(e, StreamReceived, 8), *[first(e, StreamReceived, 8)] * 2
        ),
    ),
    "an independent one waits": (
        "I-24",
        lambda e: changed(e, first(e, StreamStarted, 4)),
    ),
    "an independent one with a right is refused": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamReceived, 4),
            replace(first(e, StreamReceived, 4), refused=NotReceived.NO_TOKEN),
        ),
    ),
    "an independent one is refused for a leaf that is free": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamReceived, 4),
            replace(first(e, StreamReceived, 4), refused=NotReceived.IN_USE),
        ),
    ),
    "an independent one is refused since a group waits for its leaf": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamReceived, 9),
            replace(first(e, StreamReceived, 9), leaves=(LEAVES[5],)),
        ),
    ),
    "an independent one is dropped with its right": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamStarted, 4),
            replace(
                last(e, StreamEnded, 4),
                tick=1,
                sent=0,
                reason=EndReason.REVOKED,
            ),
        ),
    ),
    "an independent one is replaced by nobody": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamStarted, 4),
            replace(
                last(e, StreamEnded, 4),
                tick=1,
                sent=0,
                reason=EndReason.REPLACED,
            ),
        ),
    ),
    "an independent one has expired": (
        "I-24",
        lambda e: changed(
            e,
            first(e, StreamStarted, 4),
            replace(last(e, StreamEnded, 4), tick=1, sent=0, reason=EndReason.EXPIRED),
        ),
    ),
}


@pytest.mark.parametrize("lie", list(LIES))
@pytest.mark.requirement("I-23", "I-24")
def test_a_lie_is_found_by_its_judge(story: list[Event], lie: str) -> None:
    invariant, change = LIES[lie]
    found = Counter(violation.invariant for violation in judge(change(story)))
    assert found[invariant], found


def test_every_event_that_is_left_out_is_missed(story: list[Event]) -> None:
    """But the one that waits, and the word that one was refused."""
    not_missed = []
    for event in story:
        if isinstance(event, MINE) and not judge(changed(story, event)):
            not_missed.append((type(event), getattr(event, "stream", None)))
    assert not_missed == [(StreamReceived, 8), (StreamReceived, 9)]


@pytest.mark.requirement("I-24")
def test_a_stream_without_its_right_is_rightly_dropped(nao: Robot) -> None:
    """The same trace is a lie if the token was not released."""
    stage = TransmitterWorld.of(nao)
    token = stage.take("greet", A)
    stage.receive(Clip(token, [A]))
    stage.ledger.release(token, stage.tick)
    assert stage.receive(Clip(token, [A])).refused is NotReceived.NO_TOKEN
    stage.slots(2)
    assert judge(stage.events) == ()
    released = first(stage.events, Released)
    assert first(stage.events, Granted).token == released.token
    lie = judge(changed(stage.events, released))
    assert Counter(violation.invariant for violation in lie)["I-24"] == 2
