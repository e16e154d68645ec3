"""Events as lines of JSON: round trip of every kind, no secrets."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from nao_testbed.controllers.arbitration.events import (
    Event,
    Granted,
    Notified,
    Opened,
    event_classes,
    event_from_line,
    event_from_record,
    event_to_line,
    event_to_record,
    know_events,
)
from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.models import BadInput
from nao_testbed.testing import check_trace, trace_hash
from tests.controllers.arbitration.events.sample_traces import STORIES
from tests.controllers.arbitration.ledger_setup import LedgerSetup
from tests.messages import Messages, each


def logged(event: Event) -> Event:
    """Return an event as a log keeps it: without the outcome and its token."""
    return replace(event, outcome=None) if isinstance(event, Notified) else event


@pytest.mark.parametrize("story", STORIES)
def test_event_round_trip_through_its_line(
    story: Callable[[], list[Event]],
) -> None:
    for event in story():
        line = event_to_line(event)
        back = event_from_line(line)
        assert back == logged(event)
        assert type(back) is type(event)
        assert event_to_line(back) == line
        assert "\n" not in line
        assert event_from_record(event_to_record(event)) == back


def test_sample_traces_contain_every_kind_of_event() -> None:
    kinds = {type(event).__name__ for story in STORIES for event in story()}
    home = Event.__module__  # without events of other packages
    assert kinds == {k for k, v in event_classes().items() if v.__module__ == home}


@pytest.mark.parametrize("story", STORIES)
def test_recorded_trace_has_the_same_hash_and_violations(
    story: Callable[[], list[Event]],
) -> None:
    told = story()
    recorded = [event_from_line(event_to_line(event)) for event in told]
    assert trace_hash(recorded) == trace_hash(told)
    assert check_trace(recorded) == ()
    assert check_trace(recorded[:-9] + recorded[-8:]) == check_trace(
        told[:-9] + told[-8:]
    )


def test_line_has_the_fields_of_the_event() -> None:
    stage = LedgerSetup(epoch=3)
    stage.owner("a")
    stage.take("a", "HeadYaw")
    granted = next(event for event in stage.events if isinstance(event, Granted))
    assert event_to_line(granted) == (
        '{"event": "Granted", "inside": {}, "missing": [], "owner": "a", "request": 1,'
        ' "shares": {"HeadYaw": 10000}, "tick": 0, "token": "3.1"}'
    )


@pytest.mark.requirement("AR-7")
def test_line_contains_no_secret() -> None:
    """The notice of an outcome carries the token; its line does not."""
    stage = LedgerSetup()
    stage.owners("a", "b")
    token = stage.take("a", "HeadYaw")
    ticket = stage.ask("b", "HeadYaw")
    stage.release(token)
    assert ticket.outcome is not None
    assert ticket.outcome.token is not None
    text = "\n".join(map(event_to_line, stage.events))
    for secret in (token.secret, ticket.outcome.token.secret):
        assert secret >= 5000  # secrets start at 5000, no other number does
        assert str(secret) not in text.replace("10000", "")
        assert f"{secret:016x}" not in text
    told = [e for e in stage.events if isinstance(e, Notified) and e.outcome]
    assert told
    assert "outcome" not in json.loads(event_to_line(told[0]))


def test_non_ascii_names_stay_readable() -> None:
    stage = LedgerSetup()
    stage.owner('Grüße 🤖"')
    line = event_to_line(stage.events[-2])
    assert 'Grüße 🤖\\"' in line
    assert event_from_line(line) == stage.events[-2]


LINE = event_to_line(Opened(tick=0, epoch=1, preemption="off", retry_ticks=50))


def changed(**fields: object) -> str:
    return json.dumps(json.loads(LINE) | fields)


def test_long_invalid_line_is_shortened_in_the_message() -> None:
    with pytest.raises(BadInput) as caught:
        event_from_line("x" * 10_000)
    assert len(str(caught.value)) < 250


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured(Event):
    """Event of another package, with every type that a line can hold."""

    numbers: tuple[int, ...]
    by_name: Mapping[str, tuple[float, ...]]
    word: Refusal | None
    is_true: bool = False


MEASURED = Measured(
    tick=1, numbers=(1, 2), by_name={"x": (0.5, 1.0)}, word=Refusal.FROZEN
)


def test_events_of_other_packages_are_read_once_registered() -> None:
    line = event_to_line(MEASURED)
    know_events(Measured)
    know_events(Measured)
    assert event_from_line(line) == MEASURED
    assert event_to_line(event_from_line(line)) == line


def test_field_of_unsupported_type_is_rejected() -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Odd(Event):
        what: Callable[[], int] | LedgerSetup

    with pytest.raises(BadInput, match="a type that JSON cannot hold"):
        event_to_line(Odd(tick=1, what=LedgerSetup()))


def test_messages(messages: Messages) -> None:
    messages(
        invalid_line=each(
            event_from_line,
            LINE[:-5],
            "[1, 2]",
            "{}",
            changed(event=3),
            changed(epoch="one"),
            changed(epoch=True),
            changed(preemption=1),
            changed(colour="red"),
            LINE.replace('"epoch": 1, ', ""),
            '{"event": "Renewed", "owner": null, "tick": 1}',
            '{"event": "Frozen", "leaves": "HeadYaw", "by": "hot", "effort_cap": null, '
            '"is_total": true, "tick": 1}',
            '{"event": "Frozen", "leaves": [], "by": "hot", "effort_cap": "all", '
            '"is_total": true, "tick": 1}',
            '{"event": "Frozen", "leaves": [], "by": "hot", "effort_cap": 1, '
            '"is_total": 1, "tick": 1}',
            '{"event": "Executed", "command": 1, "resource": "x", "tick": 1, '
            '"token": "12"}',
            '{"event": "Rejected", "command": 1, "resource": "x", "tick": 1, '
            '"token": null, "reason": "BECAUSE"}',
            '{"event": "Granted", "inside": [], "missing": [], "owner": "a", '
            '"request": 1, "shares": {}, "tick": 0, "token": "3.1"}',
        ),
        unknown_event=lambda: event_from_line(LINE.replace("Opened", "Grantet")),
        duplicate_event_name=lambda: know_events(type("Opened", (Event,), {})),
    )
