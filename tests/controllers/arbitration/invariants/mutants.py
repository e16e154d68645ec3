"""Small changes of a trace: an event left out, twice, too early, or with another field.

So it is seen how much a judge of traces sees.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any, NamedTuple

from nao_testbed.controllers.arbitration.events import (
    Event,
    Opened,
    OwnerAdded,
    ResourceAdded,
    Settled,
    Ticked,
)
from nao_testbed.controllers.arbitration.tokens import TokenId

FRAME = (Opened, ResourceAdded, OwnerAdded, Settled, Ticked)
"""Events that set the scene or end a call; they stay as they are."""
CHOICES = ("keeps_ties", "loss", "priority", "timeout_ticks", "wins_ties")
"""Fields in which an asker may choose otherwise: mostly another story, as true."""
UNTOLD = ("tick", "outcome", "error")


class Mutant(NamedTuple):
    """A changed trace, and what was done to which kind of event."""

    trace: list[Event]
    kind: str
    change: str


def mutants_of(events: list[Event]) -> Iterator[Mutant]:
    """Yield every small change of what happens in a trace."""
    for k, event in enumerate(events):
        if isinstance(event, FRAME):
            continue
        kind = type(event).__name__
        rest = events[k + 1 :]
        yield Mutant(events[:k] + rest, kind, "left out")
        yield Mutant([*events[:k], event, event, *rest], kind, "twice")
        if rest and rest[0].tick == event.tick:
            swapped = [*events[:k], rest[0], event, *rest[1:]]
            yield Mutant(swapped, kind, "swapped with the next")
        for field in fields(event):
            if field.name not in (*CHOICES, *UNTOLD):
                for other in _others(getattr(event, field.name)):
                    new: dict[str, Any] = {field.name: other}
                    changed = replace(event, **new)
                    yield Mutant([*events[:k], changed, *rest], kind, field.name)


def _others(value: object) -> Iterator[object]:
    """Yield other values of a field: mostly one."""
    if isinstance(value, TokenId):
        yield value._replace(sequence=value.sequence + 1)
    elif isinstance(value, Enum):
        members = list(type(value))
        yield members[(members.index(value) + 1) % len(members)]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield "somebody else"
    elif isinstance(value, tuple) and value:
        yield value[1:]
    elif isinstance(value, Mapping) and value:
        yield dict(list(value.items())[1:])
