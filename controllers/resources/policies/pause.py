"""Pause on demand: yield, and go on from there when the taker is done (RM-37)."""

from dataclasses import dataclass
from typing import ClassVar

from controllers.resources.policies.seam import (
    Answer,
    AnswerKind,
    Demand,
    keep_time,
)


@dataclass(frozen=True)
class PauseOnDemand:
    """The holder gives way, and goes on with the same set when the taker is done.

    It waits at the front of its class for exactly the set that it had.
    """

    name: ClassVar[str] = "pause"

    within_s: float = 0.0
    """Time to pause in s."""
    resume_timeout_s: float | None = None
    """Longest pause in s; None has no limit."""

    def __post_init__(self) -> None:
        """Refuse what is no time.

        Raises:
            BadInput: one is no number from 0.
        """
        keep_time(self, "within_s", f"policy {self.name!r}")
        if self.resume_timeout_s is not None:
            keep_time(self, "resume_timeout_s", f"policy {self.name!r}")

    def answer(self, demand: Demand) -> Answer:
        """Give way until the taker is done."""
        del demand
        return Answer(
            kind=AnswerKind.PAUSE,
            after_s=self.within_s,
            resume_timeout_s=self.resume_timeout_s,
        )
