"""How a ledger counts time and settles conflicts."""

from dataclasses import dataclass
from math import ceil

from controllers.resources.words import Preemption, word
from models import BadInput

LONGEST_S = 1e9
"""A time limit beyond which nothing is waited for, in s."""


@dataclass(frozen=True, kw_only=True)
class LedgerCfg:
    """Rules that hold for one ledger."""

    tick_s: float = 0.01
    """Length of a tick in s: the device slot."""
    preemption: Preemption = Preemption.OFF
    retry_s: float = 0.5
    """Period in s at which holders are told again of those who wait (RM-19)."""
    overtake_s: float = 0.0
    """Time in s for which a request that waits may be passed by later ones of equal
    priority that can be granted at once: more use of the resources, later groups."""
    tells_commands: bool = True
    """Whether listeners are told of every command that a gate takes and writes, some
    thousands a second. Without, a long run costs less, and its trace cannot prove who
    wrote what; refusals are told all the same."""
    dead_tokens_kept: int = 10_000
    """Records of ended tokens that are kept to say why a command is refused (AR-26)."""

    def __post_init__(self) -> None:
        """Refuse periods that are none.

        Raises:
            BadInput: a period is not positive, or the number of records negative.
            UnknownName: there is no such preemption.
        """
        preemption = word(Preemption, self.preemption, "Preemption")
        object.__setattr__(self, "preemption", preemption)
        for name in ("tick_s", "retry_s"):
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise BadInput(f"{name} is {value} s; give a positive number.")
        if not 0.0 <= self.overtake_s < float("inf"):
            raise BadInput(
                f"overtake_s is {self.overtake_s} s; give 0 to let nobody pass, or a "
                "positive number."
            )
        if self.dead_tokens_kept < 0:
            raise BadInput(
                f"dead_tokens_kept is {self.dead_tokens_kept}; give 0 or more."
            )

    @property
    def retry_ticks(self) -> int:
        """Retry period in ticks, at least one."""
        return max(1, self.ticks(self.retry_s))

    @property
    def overtake_ticks(self) -> int:
        """Time in ticks for which a request may be passed."""
        return self.ticks(self.overtake_s)

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks, rounded up; of the longest, thirty years."""
        return max(0, ceil(min(seconds, LONGEST_S) / self.tick_s - 1e-9))
