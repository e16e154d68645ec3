"""Events are shared by all listeners and therefore immutable."""

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from nao_testbed.controllers.arbitration import events
from nao_testbed.controllers.arbitration.events import (
    Event,
    Granted,
    event_from_line,
    event_to_line,
)
from nao_testbed.controllers.arbitration.requests import Request
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.controllers.schemas import events as schemas
from nao_testbed.controllers.transmitter import events as orders
from nao_testbed.controllers.transmitter import events as transmitter
from nao_testbed.testing import TraceChecker
from tests.controllers.arbitration.events.sample_traces import STORIES
from tests.controllers.arbitration.ledger_setup import LedgerSetup

OTHERS = (schemas, orders, transmitter)
"""Sample traces of other packages; importing them registers their events."""
KINDS = [
    kind
    for kind in events.event_classes().values()
    if not kind.__module__.startswith("tests")
]
SAMPLES: Mapping[object, object] = {str: "a", int: 1, float: 0.5, bool: True}

CHANGES: tuple[Callable[[Any], object], ...] = (
    lambda d: d.update(new=0),
    lambda d: d.__setitem__("new", 0),
    lambda d: d.setdefault("new", 0),
    lambda d: d.__ior__({"new": 0}),
    lambda d: d.pop("a"),
    lambda d: d.popitem(),
    lambda d: d.__delitem__("a"),
    lambda d: d.clear(),
)


def sample(hint: Any) -> object:
    """Return a value of a type; containers are mutable ones."""
    arms, origin = get_args(hint), get_origin(hint)
    if hint in SAMPLES:
        return SAMPLES[hint]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {"a": sample(arms[1])}
    if origin is tuple:
        return (sample(arms[0]),)
    if hint is TokenId:
        return TokenId(1, 1)
    if hasattr(hint, "__members__"):
        return next(iter(hint))
    return sample(arms[0]) if arms else None


def changeable(value: object, where: str) -> Iterator[str]:
    """Yield the paths inside a value at which it is mutable."""
    if isinstance(value, Mapping):
        for change in CHANGES:
            try:
                change(value)
                yield where
            except TypeError:
                pass
        for key in value:
            yield from changeable(value[key], f"{where}[{key!r}]")
    elif isinstance(value, tuple):
        for k, item in enumerate(value):
            yield from changeable(item, f"{where}[{k}]")
    else:
        try:
            hash(value)
        except TypeError:
            yield where


def all_changeable(event: Event) -> list[str]:
    return [
        place
        for field in fields(event)
        for place in changeable(getattr(event, field.name), field.name)
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_event_is_immutable(kind: type[Event]) -> None:
    hints = get_type_hints(kind)
    given = {field.name: sample(hints[field.name]) for field in fields(kind)}
    event = kind(**given)  # type: ignore[arg-type]
    assert all_changeable(event) == []
    before = event_to_line(event)
    for value in given.values():
        if isinstance(value, dict):
            value.clear()  # the caller's container, not the event's copy
    assert event_to_line(event) == before
    for again in (
        event_from_line(before),
        pickle.loads(pickle.dumps(event)),
        copy.deepcopy(event),
        kind(**asdict(event)),
    ):
        assert all_changeable(again) == []
        assert event_to_line(again) == before
    with pytest.raises(AttributeError):
        event.tick = 5  # type: ignore[misc]


def test_events_of_sample_traces_are_immutable() -> None:
    events = [event for story in STORIES for event in story()]
    assert {place for event in events for place in all_changeable(event)} == set()


@pytest.mark.requirement("RM-33")
def test_listener_cannot_change_an_event_for_later_listeners() -> None:
    stage = LedgerSetup()
    checker, shares = TraceChecker(), []

    def modify(event: Event) -> None:
        if isinstance(event, Granted):
            event.shares.clear()  # type: ignore[attr-defined]

    def hear(event: Event) -> None:
        if isinstance(event, Granted):
            shares.append(dict(event.shares))

    for event in stage.events:
        checker.see(event)
    stage.ledger.listeners[:0] = [modify]
    stage.ledger.listeners.extend([checker.see, hear])
    stage.owner("a")
    stage.take("a", "HeadYaw")
    assert shares == [{"HeadYaw": 10_000}]
    assert not checker.violations
    with pytest.raises(TypeError, match="copy it"):
        stage.ledger.advance(1)


def test_rates_of_a_request_are_immutable() -> None:
    rates = {"CPU": 10.0}
    request = Request(owner="a", rates=rates)
    rates["CPU"] = 20.0
    assert all_changeable_of(request.rates) == []
    assert request.rates == {"CPU": 10.0}


def all_changeable_of(value: object) -> list[str]:
    return list(changeable(value, "it"))
