"""Callback on demand: user code first, then free (RM-36)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from controllers.resources.policies.seam import (
    KEEP,
    Answer,
    AnswerKind,
    Demand,
    check_takes_demand,
    keep_time,
)


def _keep(demand: Demand) -> None:
    """Decide nothing: what a policy without a function does."""


@dataclass(frozen=True)
class CallbackOnDemand:
    """A function, or the behaviour itself, decides; without an answer it keeps.

    What it says nothing about is kept until a limit.

    A dance that is asked for the legs goes on to its next stable posture and releases
    them there: its function returns None, and `limit_s` says how long that may take.
    """

    name: ClassVar[str] = "callback"

    function: Callable[[Demand], Answer | None] = _keep
    """Returns an answer, or None: the holder will release by itself, or not."""
    limit_s: float | None = None
    """After this time a None becomes a stop, in s; None leaves it a refusal."""

    @property
    def decides(self) -> bool:
        """Whether it has a function of its own."""
        return self.function is not _keep

    def __post_init__(self) -> None:
        """Refuse what cannot be called with a demand, and what is no time.

        Raises:
            BadInput: the function is none, or the limit no number from 0.
        """
        check_takes_demand(self.function, "the function of a callback")
        if self.limit_s is not None:
            keep_time(self, "limit_s", f"policy {self.name!r}")

    def answer(self, demand: Demand) -> Answer:
        """Ask the function."""
        answer = self.function(demand)
        if answer is not None:
            return answer
        if self.limit_s is None:
            return KEEP
        return Answer(kind=AnswerKind.YIELD, after_s=self.limit_s)
