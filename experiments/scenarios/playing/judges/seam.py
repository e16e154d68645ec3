"""What the runner tells a judge, and what it gets in the end."""

from collections.abc import Iterable
from typing import Protocol

from controllers.resources.trace import Event
from experiments.scenarios.plan.expectations import Expectation
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage


class Judge(Protocol):
    """Looks on and changes nothing."""

    hears: bool
    """Whether the trace matters to it."""

    @property
    def expectation(self) -> Expectation:
        """What it judges."""

    def hear(self, event: Event) -> None:
        """Note an event of the trace, as it happens."""

    def look(self, facts: Facts, stage: Stage) -> None:
        """Look at a slot that is over; the physics has not run yet."""

    def verdict(self) -> Verdict:
        """Judge what was seen until now."""


def say(expectation: Expectation, *, holds: bool, seen: str) -> Verdict:
    """Return the verdict on an expectation."""
    return Verdict(
        expectation=expectation.text, holds=holds, seen=seen, line=expectation.line
    )


def seconds(tick: int, tick_s: float) -> str:
    """Return the time of a slot for people, in s."""
    return f"{tick * tick_s:.2f} s"


def times(ticks: Iterable[int], tick_s: float, most: int = 5) -> str:
    """Return the times of some slots for people."""
    every = list(ticks)
    if not every:
        return "never"
    shown = ", ".join(seconds(tick, tick_s) for tick in every[:most])
    more = len(every) - most
    return f"at {shown}" + (f" and {more} times more" if more > 0 else "")
