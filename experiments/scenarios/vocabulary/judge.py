"""What every expectation of a scenario file has, and how it is judged.

An `Expectation` is what the file says, its names looked up, with the slots that it is
about; for each run it gets a `Judge`, who looks on and at the end says what the run
showed: a `Verdict`.
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
    """Slots from one to another, both with it."""

    first: int
    last: int


class Claim(NamedTuple):
    """What is so in one slot, and excludes another value of the same."""

    key: str
    """Of the expectation."""
    about: tuple[str, str]
    """Of what and of whom it is a value."""
    value: object
    words: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether an expectation holds."""

    expectation: str
    """As in the file, on one line."""
    holds: bool
    seen: str
    """What the run showed, in words with units."""
    line: int
    """Of the scenario's file."""

    def complaint(self, file: str) -> str:
        """Say in a sentence that it does not hold, with file and line."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: not as expected: {self.expectation}. Seen: {self.seen}."


class Expectation(Entry):
    """What a file expects; its key is the first field."""

    judged_by: "ClassVar[type[Judge[Any]]]"
    """The subclass of `Judge` of this kind."""
    _slots: Window = Window(0, 0)

    @property
    def slots(self) -> Window:
        """Those that it is about."""
        return self._slots

    @property
    def counts_commands(self) -> bool:
        """Whether it can be judged only if the trace has every command."""
        return False

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots that it is about; note times that are none."""
        return slots_between(place, lookup, None, None)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Note what is expected before it can be, whatever the run does."""

    def conditions(self) -> Iterable[Condition]:
        """Return those that are watched for it."""
        return ()

    def claims(self, tree: ResourceTree) -> Iterable[Claim]:
        """Return what is so in its one slot; of resources only what excludes others."""
        del tree
        return ()

    def waiters_in_vain(self) -> Iterator[str]:
        """Yield owners of whom it is expected that they wait, or get nothing."""
        yield from ()

    def judge(self, tick_s: float) -> "Judge[Any]":
        """Return who judges it in one run."""
        return self.judged_by(self, self.slots, tick_s)


ExpectationT = TypeVar("ExpectationT", bound=Expectation)


class Judge(Generic[ExpectationT]):
    """Looks on and changes nothing; a subclass `of=` an expectation judges that.

    `hear` each event of the trace, `look` at each slot, then ask for the `verdict`.
    """

    def __init_subclass__(cls, of: type[Expectation]) -> None:
        """Let an expectation be judged by it."""
        of.judged_by = cls

    def __init__(self, want: ExpectationT, window: Window, tick_s: float) -> None:
        """Begin before the first slot."""
        self.want = want
        self.window = window
        self.watches = [ConditionWatch(one) for one in want.conditions()]
        """In the order of `conditions`."""
        self._tick_s = tick_s

    @property
    def hears(self) -> bool:
        """Whether the trace matters to it."""
        return type(self).hear is not Judge.hear

    def hear(self, event: Event) -> None:
        """Note an event of the trace, as it happens."""

    def look(self, facts: Facts, setup: Setup) -> None:
        """Look at a slot that is over; the physics has not run yet."""
        del setup
        for watch in self.watches:
            watch.look(facts)

    def verdict(self) -> tuple[bool, str]:
        """Return whether it holds, and what was seen until now."""
        raise NotImplementedError

    def judged(self) -> Verdict:
        """Return what the run showed until now."""
        holds, seen = self.verdict()
        text, line = self.want.text, self.want.line
        return Verdict(expectation=text, holds=holds, seen=seen, line=line)

    def time(self, tick: int) -> str:
        """Return the time of a slot for people, in s."""
        return f"{tick * self._tick_s:.2f} s"

    def times(self, ticks: list[int], most: int = 5) -> str:
        """Return the times of some slots for people."""
        if not ticks:
            return "never"
        more = len(ticks) - most
        return f"at {', '.join(map(self.time, ticks[:most]))}" + (
            f" and {more} times more" if more > 0 else ""
        )


def read_expectation(
    form: Expectation, place: Place, lookup: Lookup, tree: Any
) -> Expectation | None:
    """Return an expectation; None, and notes, where something in it is wrong.

    Args:
        form: of the expectation.
        place: of the expectation in the file.
        lookup: what it may name.
        tree: the expectation as it was read.
    """
    expectation = form.said(tree, lookup.line_of(place))
    expectation._slots = form.window(place, lookup)
    return expectation.resolved(place, lookup)


def slots_between(
    place: Place, lookup: Lookup, from_s: float | None, to_s: float | None
) -> Window:
    """Return the slots from one time to another; None is the run's begin or end."""
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
            f"{last * lookup.tick_s:g} s; exchange them.",
        )
    return Window(first, last)
