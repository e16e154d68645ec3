"""Lock: refuse, keep (RM-34); the default (RM-38)."""

from dataclasses import dataclass
from typing import ClassVar

from controllers.resources.policies.seam import KEEP, Answer, Demand


@dataclass(frozen=True)
class Lock:
    """The holder keeps; the asker waits within its time limit."""

    name: ClassVar[str] = "lock"

    def answer(self, demand: Demand) -> Answer:
        """Keep."""
        del demand  # whoever asks
        return KEEP
