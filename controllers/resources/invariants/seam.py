"""What a judge of invariants is: some functions of the trace, each on its events."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

from controllers.resources.invariants.replay import Replay
from controllers.resources.trace import Event

MALFORMED = "trace"
"""Stands in place of an invariant when no manager could have written the event."""

Findings = Iterator[tuple[str, str]]
"""Invariant that is broken, and a sentence about it."""
E = TypeVar("E", bound=Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """An invariant is broken."""

    invariant: str
    """`I-1` to `I-22`; `trace` if the trace itself makes no sense."""
    tick: int
    sentence: str
    """What is wrong, with names and values."""
    index: int
    """Of the event in the trace, from 0, with which it became known; the number of
    events for what only its end shows."""

    def __str__(self) -> str:
        """Return one line."""
        where = f"tick {self.tick}, event {self.index}"
        return f"{self.invariant} ({where}): {self.sentence}"


class Rule(NamedTuple):
    """A function of a judge, and the events that it wants to see."""

    event: type[Event]
    is_before: bool
    """Whether it looks at the state before the event, or after."""
    judge: Callable[[Event], Findings]


class Judge:
    """Keeps a family of invariants; a subclass says which events its rules want.

    A rule looks and remembers; it never changes the replay.
    """

    invariants: ClassVar[tuple[str, ...]]
    """Those that it can find broken."""

    def __init__(self, replay: Replay) -> None:
        """Judge what happens in a replay."""
        self.replay = replay

    def rules(self) -> tuple[Rule, ...]:
        """Return what it looks at."""
        raise NotImplementedError

    def end(self) -> Findings:
        """Say what is wrong when nothing more will happen."""
        yield from ()


def before(event: type[E], judge: Callable[[E], Findings]) -> Rule:
    """Judge an event by the state that it meets."""
    return Rule(event, True, judge)  # type: ignore[arg-type]  # only called with such


def after(event: type[E], judge: Callable[[E], Findings]) -> Rule:
    """Judge the state that an event leaves."""
    return Rule(event, False, judge)  # type: ignore[arg-type]  # only called with such
