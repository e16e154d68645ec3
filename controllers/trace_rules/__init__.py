"""Eight invariants of the trace of a run, for tests of users and of this project.

A trace is the list of events of a ledger and its surroundings, from `Opened` on:

    events = []
    ledger = Ledger(tree, listeners=[events.append])
    ...
    assert not check_trace(events)

owner       a leaf has one user, shares sum to at most 100 %, a held state is active
outcome     a request gets all that it asked for or nothing, once and in time
queue       a long-waiting request is not overtaken; no request waits for free leaves
loss        a token loses only leaves that it has; its owner is notified in the call
gate        a command is written or refused once, according to its right at that time
frozen      a leaf of a virtual owner is not granted or moved; moved leaves become safe
together    the streams of a group start, run and end together; others do not wait
winner      one schema of a level wins; only a winner is granted anything and writes

A violation of `trace` is separate: an event refers to an object that was not announced.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from nao_testbed.controllers.arbitration.events import Event, Opened, event_to_line
from nao_testbed.controllers.trace_rules.motion import MotionRules
from nao_testbed.models import BadInput

__all__ = ["TraceChecker", "Violation", "check_trace", "trace_hash"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """Event that breaks a rule."""

    rule: str
    tick: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule} (tick {self.tick}): {self.sentence}"


class TraceChecker(MotionRules):
    """Listener of a ledger that checks the trace event by event, from `Opened` on."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []

    def see(self, event: Event) -> None:
        """Check the next event.

        Raises:
            BadInput: the first event is not `Opened`.
        """
        if self._tick < 0 and not isinstance(event, Opened):
            raise BadInput(
                f"the trace begins with {type(event).__name__}, not Opened; give "
                "all events of the ledger, from its first on."
            )
        rules = getattr(self, f"_on_{type(event).__name__.lower()}", None)
        found: list[str] = []
        try:
            if 0 <= self._tick < event.tick:
                found += self._on_slot_end(event.tick)
            self._tick = max(self._tick, event.tick)
            found += (rules(event) or ()) if rules is not None else ()
        except KeyError as unknown:
            name = type(event).__name__
            found.append(f"trace: {name} of {unknown}, which is unknown")
        for said in found:
            rule, sentence = said.split(": ", 1)
            self.violations.append(
                Violation(rule=rule, tick=event.tick, sentence=sentence)
            )

    def finish(self) -> tuple[Violation, ...]:
        """Return all violations so far."""
        return tuple(self.violations)


def check_trace(events: Iterable[Event]) -> tuple[Violation, ...]:
    """Return all violations of a trace, from its `Opened` on."""
    checker = TraceChecker()
    for event in events:
        checker.see(event)
    return checker.finish()


def trace_hash(events: Iterable[Event]) -> str:
    """Return a hexadecimal hash of a trace; equal traces have equal hashes."""
    digest = blake2b(digest_size=16)
    for event in events:
        digest.update(event_to_line(event).encode() + b"\n")
    return digest.hexdigest()
