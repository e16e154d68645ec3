"""Events as lines of JSON, for `events.jsonl`, and back.

A line is one object: `event` names the class, the other keys are its fields. Tokens
stand by their public part, `epoch.sequence`; the outcome that a notice carries to its
owner holds a whole token and is left out. Keys are sorted, so equal events make equal
lines.

Events of other parts join by `know_events`: their trace module calls it, so that who
imports it can read them.
"""

import json
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum, StrEnum
from typing import Union, get_args, get_origin, get_type_hints

from controllers.resources import trace
from controllers.resources.tokens import TokenId
from controllers.resources.trace import Event, Notified
from models import BadInput, UnknownName

_TOKEN = re.compile(r"(\d{1,18})\.(\d{1,18})")
_SECRET = {(Notified, "outcome")}
"""Fields that hold what only an owner may see."""
_DROPPED = {("Requested", "mode")}
"""Kinds and fields of lines that earlier versions wrote, and that nothing needs."""
_Read = Callable[[object], object]
_Form = tuple[tuple[str, _Read, bool], ...]


def event_classes() -> dict[str, type[Event]]:
    """Return every kind of event that can be read, by its name."""
    return dict(_KINDS)


def know_events(*kinds: type[Event]) -> None:
    """Let lines of these kinds be read from now on.

    Raises:
        BadInput: another kind has the name, or a field is of a type that no line holds.
    """
    for kind in kinds:
        _form(kind)
        known = _KINDS.setdefault(kind.__name__, kind)
        if known is not kind:
            raise BadInput(
                f"event {kind.__name__!r} of {kind.__module__} has the name of one of "
                f"{known.__module__}; give it another name."
            )


def event_to_record(event: Event) -> dict[str, object]:
    """Return an event as plain data: what stands between the braces of its line.

    A recorder that writes lines of its own puts it into them.
    """
    form = _form(type(event))
    record = {name: _plain(getattr(event, name)) for name, _, _ in form}
    return {"event": type(event).__name__} | record


def event_to_line(event: Event) -> str:
    """Return an event as one line of JSON, without a line end."""
    record = event_to_record(event)
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False)


def event_from_line(line: str) -> Event:
    """Return the event of a line.

    Raises:
        BadInput: it is no JSON, or no event, or a field is missing, unknown or wrong.
        UnknownName: there is no such kind of event.
    """
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{_short(line)} is no JSON: {error}.") from error
    return event_from_record(record)


def event_from_record(record: object) -> Event:
    """Return the event of plain data, such as `event_to_record` made.

    Raises:
        BadInput: it is no event, or a field is missing, unknown or wrong.
        UnknownName: there is no such kind of event.
    """
    shown = _short(record)
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        raise BadInput(f"{shown} is no event; it is an object with the key 'event'.")
    name = record["event"]
    left = {
        key: value
        for key, value in record.items()
        if key != "event" and (name, key) not in _DROPPED
    }
    if name not in _KINDS:
        raise UnknownName("Event", name, _KINDS, "the traces that are known")
    kind = _KINDS[name]
    values: dict[str, object] = {}
    for field, read, is_needed in _form(kind):
        if field in left:
            try:
                values[field] = read(left.pop(field))
            except (ValueError, TypeError) as error:
                raise BadInput(f"{name}.{field} in {shown}: {error}.") from error
        elif is_needed:
            raise BadInput(f"{shown} has no {field!r}, which {name} needs.")
    if left:
        raise BadInput(f"{shown} has {sorted(left)}, unknown in {name}.")
    return kind(**values)  # type: ignore[arg-type]  # each was read by its type


def _short(what: object) -> str:
    text = repr(what)
    return text if len(text) <= 120 else text[:120] + "..."


def _plain(value: object) -> object:
    if isinstance(value, TokenId):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _form(kind: type[Event]) -> _Form:
    """Return each field's name, what reads it, and whether it has no default."""
    if kind not in _FORMS:
        hints = get_type_hints(kind)
        _FORMS[kind] = tuple(
            (field.name, _reader(hints[field.name]), field.default is MISSING)
            for field in fields(kind)
            if (kind, field.name) not in _SECRET
        )
    return _FORMS[kind]


def _reader(hint: object) -> _Read:
    """Return what turns plain data into a value of a type."""
    arms, origin = get_args(hint), get_origin(hint)
    if origin in (Union, types.UnionType):
        read = _reader(next(arm for arm in arms if arm is not type(None)))
        return lambda value: None if value is None else read(value)
    if origin is not None and issubclass(origin, Mapping):
        read = _reader(arms[1])
        return lambda value: {key: read(item) for key, item in _object(value).items()}
    if origin is tuple:
        read = _reader(arms[0])
        return lambda value: tuple(map(read, _list(value)))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint
    if hint not in _SCALARS:
        raise BadInput(
            f"an event has a field of type {hint}, which no line of JSON holds; take "
            "text, numbers, truth values, words, tokens, tuples or mappings of these."
        )
    return _SCALARS[hint]


def _token(value: object) -> TokenId:
    match = _TOKEN.fullmatch(_text(value))
    if match is None:
        raise ValueError(f"{value!r} is no token; it is epoch.sequence")
    return TokenId(int(match[1]), int(match[2]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


_SCALARS: Mapping[object, _Read] = {
    TokenId: _token,
    str: _text,
    bool: _truth,
    int: _whole,
    float: _number,
}
_FORMS: dict[type[Event], _Form] = {}
"""What each kind of event is read by, filled when it is first met."""
_KINDS: dict[str, type[Event]] = {}
"""Every kind of event that can be read."""
know_events(
    *(
        kind
        for kind in vars(trace).values()
        if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
    )
)
