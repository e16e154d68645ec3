"""Judges a trace, event by event, or as a whole."""

import hashlib
from collections.abc import Callable, Iterable
from functools import partial

from nao_testbed.controllers.arbitration.events import Event, Opened, event_to_line
from nao_testbed.controllers.arbitration.invariants import (
    losing,
    ownership,
    request_outcomes,
    waiting,
    well_formed,
)
from nao_testbed.controllers.arbitration.invariants.device_access import (
    CommandOutcomes,
    DeviceRights,
    Freezing,
)
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    Rule,
    TraceReplay,
    Violation,
)

JUDGES: tuple[Rule | type[InvariantJudge], ...] = (
    *well_formed.RULES,
    *ownership.RULES,
    *request_outcomes.RULES,
    *waiting.RULES,
    *losing.RULES,
    CommandOutcomes,
    DeviceRights,
    Freezing,
)
"""The one table of rules: those of the reservations, and judges of what passes a gate,
which remember commands."""
_Judging = Callable[[Event], Findings | None]


class Checker:
    """Follows a trace and collects what is wrong with it.

    It may listen to a ledger, from the first event on:

        checker = Checker()
        ledger = Ledger(tree, listeners=[checker.see])
        ...
        assert not checker.finish()

    It must see the first event, `Opened`; a second one is a restart, and what was held
    and awaited before is void. An event costs some ten microseconds, however long the
    trace and the queues are; only where many owners both hold and wait does the search
    for circles grow with their number. Ended tokens are remembered for an epoch.
    """

    def __init__(self, judges: Iterable[Rule | type[InvariantJudge]] = JUDGES) -> None:
        self.violations: list[Violation] = []
        self._kinds = tuple(judges)
        self.replay = TraceReplay()
        """The reservations as the trace tells them."""
        self._count = 0
        self._begin()

    def see(self, event: Event) -> None:
        """Judge the next event."""
        rules = self._rules.get(type(event)) or self._rules_for(type(event))
        judging, looking_back = rules
        self.replay.now = event.tick
        for judge in judging:
            self._note(judge(event), event.tick)
        if isinstance(event, Opened) and self._count:
            self._begin()
        self.replay.apply(event)
        for judge in looking_back:
            self._note(judge(event), event.tick)
        self._count += 1

    def finish(self, *, is_over: bool = False) -> tuple[Violation, ...]:
        """Return all that was wrong.

        Args:
            is_over: whether nothing more will happen, so that every request and every
                command must have ended; False for a trace that merely stops.
        """
        if is_over:
            self._note(request_outcomes.never_ended(self.replay), self.replay.tick)
            for judge in self._judges:
                self._note(judge.end(), self.replay.tick)
        return tuple(self.violations)

    def _begin(self) -> None:
        self._judges: list[InvariantJudge] = []
        self._rules: dict[type[Event], tuple[list[_Judging], list[_Judging]]] = {}
        self._bound: list[tuple[Rule, _Judging]] = []
        for kind in self._kinds:
            if isinstance(kind, Rule):
                self._bound.append((kind, partial(kind.judge, self.replay)))
                continue
            judge = kind(self.replay)
            self._judges.append(judge)
            for rule in kind.rules:
                self._bound.append((rule, partial(rule.judge, judge)))

    def _rules_for(self, event: type[Event]) -> tuple[list[_Judging], list[_Judging]]:
        found: tuple[list[_Judging], list[_Judging]] = ([], [])
        for rule, judging in self._bound:
            if issubclass(event, rule.events):
                found[not rule.is_before].append(judging)
        self._rules[event] = found
        return found

    def _note(self, findings: Findings | None, tick: int) -> None:
        for invariant, sentence in findings or ():
            self.violations.append(
                Violation(
                    invariant=invariant,
                    tick=tick,
                    sentence=sentence,
                    index=self._count,
                )
            )


def check(events: Iterable[Event], *, is_over: bool = False) -> tuple[Violation, ...]:
    """Return all that is wrong with a trace.

    Args:
        events: from the `Opened` of its manager on.
        is_over: whether nothing more happened after the last one.
    """
    checker = Checker()
    for event in events:
        checker.see(event)
    return checker.finish(is_over=is_over)


def trace_hash(events: Iterable[Event]) -> str:
    """Return a number for a trace, in hexadecimal: equal traces have equal ones.

    Two runs that differ only in the order of names must agree in it (I-5), and two with
    the same calls as well. Secrets have no part in it.
    """
    digest = hashlib.blake2b(digest_size=16)
    for event in events:
        digest.update(event_to_line(event).encode() + b"\n")
    return digest.hexdigest()
