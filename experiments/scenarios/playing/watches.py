"""Conditions at work: a test of the facts of each slot, and when it came true."""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real

from experiments.scenarios.plan import conditions as c
from experiments.scenarios.playing.facts import Facts
from models.library import Unit

Test = Callable[[Facts], bool]


class Watch:
    """Notes when a condition came true, and for how long; `look` after each slot."""

    __slots__ = ("_test", "_was_true", "condition", "last_ticks", "ticks")

    def __init__(self, condition: c.Condition) -> None:
        """Begin before the first slot, in which nothing is true."""
        self.condition = condition
        self._test = test_of(condition)
        self._was_true = False
        self.ticks: list[int] = []
        """Slots in which it came true, rising."""
        self.last_ticks: list[int] = []
        """For each of them the last slot in which it still was."""

    def look(self, facts: Facts) -> bool:
        """Return whether it came true in this slot."""
        is_true = self._test(facts)
        came_true = is_true and not self._was_true
        self._was_true = is_true and isinstance(self.condition, LASTING)
        if came_true:
            self.ticks.append(facts.tick)
            self.last_ticks.append(facts.tick)
        elif is_true:
            self.last_ticks[-1] = facts.tick
        return came_true

    def is_true_within(self, first: int, last: int) -> bool:
        """Whether it was true in any slot from one to another, both with it."""
        spans = zip(self.ticks, self.last_ticks, strict=True)
        return any(begin <= last and end >= first for begin, end in spans)


LASTING = (
    *(c.Holds, c.InState, c.Hot, c.Fallen, c.ShutDown),
    *(c.OutputIs, c.OutputBeyond),
)
"""Conditions that last; the others happen, and come true each time."""


def test_of(condition: c.Condition) -> Test:  # noqa: PLR0911, PLR0912 # a branch a kind
    """Return the test of a condition, on the facts of a slot."""
    match condition:
        case c.Started(behaviour=path):
            return lambda facts: path in facts.started
        case c.Stopped(behaviour=path):
            return lambda facts: path in facts.stopped
        case c.SchemaFailed(behaviour=path):
            return lambda facts: path in facts.failed
        case c.RequestEnded(owner=owner, kind=kind):
            return lambda facts: (owner, kind) in facts.requests
        case c.LostLeaves(owner=owner):
            return lambda facts: owner in facts.losers
        case c.Holds(holders=holders):
            return lambda facts: all(
                is_held_by(facts.holders.get(leaf, ()), owner)
                for leaf, owner in holders.items()
            )
        case c.InState(state=state):
            return lambda facts: state in facts.states.values()
        case c.Hot(limits_degc=limits, is_above=is_above):
            return _hot(limits, is_above)
        case c.Fallen():
            return lambda facts: facts.has_fallen
        case c.ShutDown():
            return lambda facts: facts.is_shut_down
        case c.GroupStarted(group=group):
            return lambda facts: group in facts.groups_started
        case c.GroupEnded(group=group, reason=None):
            return lambda facts: any(group == one for one, _ in facts.groups_ended)
        case c.GroupEnded(group=group, reason=reason):
            return lambda facts: (group, reason) in facts.groups_ended
        case c.Said(text=text):
            return lambda facts: (Unit.SOUND, text) in facts.begun
        case c.StreamBegins(unit=unit, name=name):
            return lambda facts: (unit, name) in facts.begun
        case c.EventHappened(name=name):
            return lambda facts: name in facts.events
        case c.OutputIs(path=path, variable=variable, value=value):
            return lambda facts: facts.outputs.get((path, variable)) == value
        case c.OutputBeyond():
            return _beyond(condition)


def _beyond(condition: c.OutputBeyond) -> Test:
    key = (condition.path, condition.variable)
    limit, is_above = condition.limit, condition.is_above

    def test(facts: Facts) -> bool:
        value = facts.outputs.get(key)
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return float(value) > limit if is_above else float(value) < limit

    return test


def is_held_by(users: Sequence[str], owner: str | None) -> bool:
    """Whether an owner is among those who have a resource; None: nobody has it."""
    return not users if owner is None else owner in users


def _hot(limits: Mapping[str, float], is_above: bool) -> Test:
    if is_above:
        return lambda facts: all(facts.degc[j] > limit for j, limit in limits.items())
    return lambda facts: all(facts.degc[j] < limit for j, limit in limits.items())
