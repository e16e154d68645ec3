"""The invariants of reservations, transmitter and schemas, judged as a run goes on."""

from controllers.resources.invariants import Checker
from controllers.resources.invariants.checker import JUDGES
from controllers.resources.invariants.seam import Violation
from controllers.resources.trace import Event
from controllers.schemas.invariants import SchemaChecker
from controllers.sync.invariants import SYNC_JUDGES
from experiments.scenarios.playing.result import Verdict

MOST_SAID = 3
"""Violations that a verdict spells out."""


class Proof:
    """A listener of the ledger, from its first event on (I-1 to I-27)."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self._checkers = (Checker((*JUDGES, *SYNC_JUDGES)), SchemaChecker())
        self._see = tuple(checker.see for checker in self._checkers)

    def hear(self, event: Event) -> None:
        """Judge the next event."""
        for see in self._see:
            see(event)

    def violations(self) -> tuple[Violation, ...]:
        """Return all that was wrong until now."""
        return tuple(v for checker in self._checkers for v in checker.finish())

    def verdict(self) -> Verdict:
        """Judge the whole trace until now."""
        wrong = self.violations()
        said = "; ".join(
            f"{v.invariant} at tick {v.tick}: {v.sentence}" for v in wrong[:MOST_SAID]
        )
        more = f" and {len(wrong) - MOST_SAID} more" if len(wrong) > MOST_SAID else ""
        return Verdict(
            expectation="invariants I-1 to I-27 of the trace",
            holds=not wrong,
            seen=said + more or "hold at every event",
            line=0,
        )
