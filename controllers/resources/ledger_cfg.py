"""How a ledger counts time and settles conflicts."""

from dataclasses import dataclass
from math import ceil

from controllers.resources.words import Preemption, word
from models import BadInput
from models.real_numbers import as_number, short

LONGEST_S = 1e9
"""A time limit beyond which nothing is waited for, in s."""
SHORTEST_S = 1e-9
"""A tick or retry period below which times could not be counted, in s."""


def check_tick(tick: object) -> None:
    """Refuse what is no tick, though it may equal one.

    Raises:
        BadInput: it is no whole number.
    """
    if type(tick) is not int:
        raise BadInput(f"tick is {short(tick)}; give a whole number.")


@dataclass(frozen=True, kw_only=True)
class LedgerCfg:
    """Rules that hold for one ledger."""

    tick_s: float = 0.01
    """Length of a tick in s: the device slot."""
    preemption: Preemption = Preemption.OFF
    retry_s: float = 0.5
    """Period in s at which holders are told again of those who wait (RM-19)."""
    overtake_s: float = 5.0
    """Time in s for which a request that waits may be passed by later ones of equal
    priority that can be granted at once, so that a waiting group does not mute the
    robot; then nobody passes it, so that it does not starve. 0 lets nobody pass."""
    tells_commands: bool = True
    """Whether listeners are told of every command that a gate takes and writes, some
    thousands a second. Without, a long run costs less, and its trace cannot prove who
    wrote what; refusals are told all the same."""
    dead_tokens_kept: int = 10_000
    """Records of ended tokens that are kept to say why a command is refused (AR-26)."""

    def __post_init__(self) -> None:
        """Refuse periods that are none.

        Raises:
            BadInput: a period is no positive number, the number of records no whole
                one from 0, or a choice neither true nor false.
            UnknownName: there is no such preemption.
        """
        preemption = word(Preemption, self.preemption, "Preemption")
        object.__setattr__(self, "preemption", preemption)
        for name in ("tick_s", "retry_s"):
            accepted = f"give a positive number, {SHORTEST_S:g} or more"
            self._check_time(name, SHORTEST_S, accepted)
        self._check_time(
            "overtake_s", 0.0, "give 0 to let nobody pass, or a positive number"
        )
        if type(self.dead_tokens_kept) is not int or self.dead_tokens_kept < 0:
            raise BadInput(
                f"dead_tokens_kept is {short(self.dead_tokens_kept)}; give a whole "
                "number from 0."
            )
        if type(self.tells_commands) is not bool:
            raise BadInput(
                f"tells_commands is {short(self.tells_commands)}; give true or false."
            )

    def _check_time(self, name: str, least: float, accepted: str) -> None:
        """Keep a time in s as a float.

        Raises:
            BadInput: it is no number, not finite, or too short.
        """
        value = as_number(getattr(self, name))
        if value is None or not least <= value < float("inf"):
            raise BadInput(f"{name} is {short(getattr(self, name))} s; {accepted}.")
        object.__setattr__(self, name, value)

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
