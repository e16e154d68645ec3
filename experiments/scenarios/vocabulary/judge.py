"""Base classes of expectations and of their judges.

An `Expectation` holds the fields of the file, resolved names, and the slots that it
covers. Each run creates a `Judge` for it, which observes the run and returns a
`Verdict`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.experiments.scenarios.vocabulary.conditions import (
    Condition,
    ConditionWatch,
    Entry,
)
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models.files.yaml_forms import Place


class Window(NamedTuple):
    """Inclusive interval of slots."""

    first: int
    last: int


class Claim(NamedTuple):
    """Claim about one slot that excludes another value of the same quantity."""

    key: str
    """Key of the expectation."""
    about: tuple[str, str]
    """Quantity and subject of the value."""
    value: object
    words: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of judging one expectation."""

    expectation: str
    """Text of the file, on one line."""
    holds: bool
    seen: str
    """Observed outcome, in words with units."""
    line: int
    """Line of the scenario's file."""

    def complaint(self, file: str) -> str:
        """Return a sentence with file and line that reports the failed expectation."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: not as expected: {self.expectation}. Seen: {self.seen}."


class Expectation(Entry):
    """Base class of expectations; the key is the first field."""

    judge_type: "ClassVar[type[Judge[Any]]]"
    """Subclass of `Judge` for this kind."""
    _slots: Window = Window(0, 0)

    @property
    def slots(self) -> Window:
        """Slots that the expectation covers."""
        return self._slots

    @property
    def counts_commands(self) -> bool:
        """True if judging it requires every command in the trace."""
        return False

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the covered slots; report times that are not slots."""
        return slots_between(place, lookup, None, None)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Report claims that no run can satisfy."""

    def conditions(self) -> Iterable[Condition]:
        """Return the conditions to watch."""
        return ()

    def claims(self, tree: ResourceTree) -> Iterable[Claim]:
        """Return the claims about its slot; for resources only exclusive ones."""
        del tree
        return ()

    def denied_waiters(self) -> Iterator[str]:
        """Yield owners that are expected to wait or to get no grant."""
        yield from ()

    def judge(self, tick_s: float) -> "Judge[Any]":
        """Return a judge for one run."""
        return self.judge_type(self, self.slots, tick_s)


ExpectationT = TypeVar("ExpectationT", bound=Expectation)


class Judge(Generic[ExpectationT]):
    """Read-only observer of a run; a subclass `of=` an expectation judges that kind.

    Call `on_event` for each event of the trace and `observe` in each slot, then read
    `verdict`.
    """

    def __init_subclass__(cls, of: type[Expectation]) -> None:
        """Register this class as the judge of an expectation."""
        of.judge_type = cls

    def __init__(self, want: ExpectationT, window: Window, tick_s: float) -> None:
        """Create the judge before the first slot."""
        self.want = want
        self.window = window
        self.watches = [ConditionWatch(one) for one in want.conditions()]
        """Watches in the order of `conditions`."""
        self._tick_s = tick_s

    @property
    def handles_events(self) -> bool:
        """True if the judge reads the trace."""
        return type(self).on_event is not Judge.on_event

    def on_event(self, event: Event) -> None:
        """Record an event of the trace when it occurs."""

    def observe(self, facts: Facts, setup: Setup) -> None:
        """Read a finished slot, before its physics step."""
        del setup
        for watch in self.watches:
            watch.observe(facts)

    def verdict(self) -> tuple[bool, str]:
        """Return the result and the observed outcome so far."""
        raise NotImplementedError

    def judged(self) -> Verdict:
        """Return the verdict so far."""
        holds, seen = self.verdict()
        text, line = self.want.text, self.want.line
        return Verdict(expectation=text, holds=holds, seen=seen, line=line)

    def time(self, tick: int) -> str:
        """Return the time of a slot in s, for display."""
        return f"{tick * self._tick_s:.2f} s"

    def times(self, ticks: list[int], most: int = 5) -> str:
        """Return the times of some slots for display."""
        if not ticks:
            return "never"
        more = len(ticks) - most
        return f"at {', '.join(map(self.time, ticks[:most]))}" + (
            f" and {more} more times" if more > 0 else ""
        )


def read_expectation(
    form: Expectation, place: Place, lookup: Lookup, tree: Any
) -> Expectation | None:
    """Return a validated expectation; report errors and return None if it is invalid.

    Args:
        form: form of the expectation.
        place: place of the expectation in the file.
        lookup: known names.
        tree: source of the expectation.
    """
    expectation = form.with_text(tree, lookup.line_of(place))
    expectation._slots = form.window(place, lookup)
    return expectation.resolved(place, lookup)


def slots_between(
    place: Place, lookup: Lookup, from_s: float | None, to_s: float | None
) -> Window:
    """Return the slots between two times; None is the start or end of the run."""
    first, last = 0, lookup.duration_ticks - 1
    if from_s is not None:
        first = lookup.moment((*place, "from_s"), from_s)
    if to_s is not None:
        to = lookup.ticks((*place, "to_s"), to_s)
        if to > lookup.duration_ticks:
            lookup.moment((*place, "to_s"), to_s)
        last = min(to, last)
    if first > last:
        lookup.notes.add(
            (*place, "to_s"),
            f"impossible: from_s {first * lookup.tick_s:g} s is after to_s "
            f"{last * lookup.tick_s:g} s; swap them.",
        )
    return Window(first, last)
