"""How a ledger counts time and settles conflicts."""

from dataclasses import dataclass
from math import ceil

from controllers.resources.words import Preemption, word
from models import BadInput


@dataclass(frozen=True, kw_only=True)
class LedgerCfg:
    """Rules that hold for one ledger."""

    tick_s: float = 0.01
    """Length of a tick in s: the device slot."""
    preemption: Preemption = Preemption.OFF
    retry_s: float = 0.5
    """Period in s at which holders are told again of those who wait (RM-19)."""
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
        if self.dead_tokens_kept < 0:
            raise BadInput(
                f"dead_tokens_kept is {self.dead_tokens_kept}; give 0 or more."
            )

    @property
    def retry_ticks(self) -> int:
        """Retry period in ticks, at least one."""
        return max(1, self.ticks(self.retry_s))

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks, rounded up."""
        return max(0, ceil(seconds / self.tick_s - 1e-9))
