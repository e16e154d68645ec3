"""What went wrong in the slots of a robot: kept while it goes on, raised at the end.

A robot is protected whatever its behaviours do (RM-65), so nothing that one of them
raises ends a slot half-way. Nothing is lost either: each failure is kept with its tick,
and raised once the slots that were asked for have run.
"""

from collections.abc import Callable
from dataclasses import dataclass

from models import TestbedError

MOST_KEPT = 100
"""Failures that are kept, as one a slot is 100 a second; further ones are counted."""
MOST_SAID = 3
"""Failures that a message spells out."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failure in a slot."""

    tick: int
    """Of the ledger."""
    who: str
    """Owner of a behaviour, or the part of the robot's loop that failed."""
    error: Exception

    def __str__(self) -> str:
        """Say it in a line."""
        kind = type(self.error).__name__
        return f"{self.who!r} at tick {self.tick}: {kind}: {self.error}"


class SlotsFailed(TestbedError):
    """Something failed in the slots that were run; all of them were run to their end.

    A behaviour that failed is not called any more, and its owner was dropped. The robot
    may go on with the others: run further slots.
    """

    def __init__(self, failures: tuple[Failure, ...], count: int) -> None:
        """Say what failed.

        Args:
            failures: the first of them.
            count: of all.
        """
        self.failures = failures
        self.count = count
        said = "; ".join(str(failure) for failure in failures[:MOST_SAID])
        super().__init__(
            f"{count} time(s) something failed while the robot went on: {said}. A "
            "behaviour among them was stopped and its owner dropped; mend it, and add "
            "it again."
        )


class Failures:
    """Lets parts of a slot fail alone; `attempt` in the slot, `raise_new` after it."""

    def __init__(self) -> None:
        """Begin without any."""
        self.kept: list[Failure] = []
        """The first ones, in order."""
        self.count = 0
        """Of all."""
        self._raised = 0
        self._raised_count = 0

    def attempt(self, who: str, tick: int, part: Callable[[], object]) -> bool:
        """Let a part of the slot do its work; return whether it did not fail."""
        try:
            part()
        except Exception as error:  # noqa: BLE001  # whatever it is, the slot goes on
            self.count += 1
            if len(self.kept) < MOST_KEPT:
                self.kept.append(Failure(tick=tick, who=who, error=error))
            return False
        return True

    def raise_new(self) -> None:
        """Raise what failed since this was called last.

        Raises:
            SlotsFailed: something did.
        """
        new, count = tuple(self.kept[self._raised :]), self.count - self._raised_count
        self._raised, self._raised_count = len(self.kept), self.count
        if count:
            raise SlotsFailed(new, count) from (new[0].error if new else None)
