"""Stop on demand: the behaviour stops, its resources are freed (RM-35)."""

from dataclasses import dataclass
from typing import ClassVar

from controllers.resources.policies.seam import (
    Answer,
    AnswerKind,
    Demand,
    keep_time,
)


@dataclass(frozen=True)
class StopOnDemand:
    """The holder gives way for good, at once or in the time that stopping takes."""

    name: ClassVar[str] = "stop"

    within_s: float = 0.0
    """Time to stop in s: a walking robot first gets both feet down."""

    def __post_init__(self) -> None:
        """Refuse what is no time.

        Raises:
            BadInput: it is no number from 0.
        """
        keep_time(self, "within_s", f"policy {self.name!r}")

    def answer(self, demand: Demand) -> Answer:
        """Give way."""
        del demand
        return Answer(kind=AnswerKind.YIELD, after_s=self.within_s)
