"""Rules of one ledger, and the conversion of its times to ticks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from nao_testbed.controllers.arbitration.events import ReadOnly
from nao_testbed.controllers.arbitration.requests import SHORTEST_S, checked_priorities
from nao_testbed.controllers.arbitration.tokens import Preemption, word
from nao_testbed.models import BadInput
from nao_testbed.models.values import check_seconds, short

LONGEST_S = 1e9
"""Upper bound of all time limits, in s."""


def check_tick(tick: object) -> None:
    """Check the type of a tick; an equal number of another type is invalid.

    Raises:
        BadInput: the tick is not an int.
    """
    if type(tick) is not int:
        raise BadInput(f"tick is {short(tick)}; give a whole number.")


@dataclass(frozen=True, kw_only=True)
class LedgerCfg:
    """Rules of one ledger."""

    tick_s: float = 0.01
    """Length of a tick in s: the device slot."""
    preemption: Preemption = Preemption.OFF
    denies_lower: bool = False
    """With preemption: deny a request at once if a higher priority holds its leaves, as
    in US11660748B1. Otherwise it waits within its time limit, and the holder may
    release, as in ES2535273T3."""
    retry_s: float = 0.5
    """Period of repeated notices to holders in s, for requests without their own
    period."""
    overtake_s: float = 5.0
    """Time in s for which later requests of equal priority may overtake a waiting one
    if they can be granted at once. So a waiting group does not mute the robot, and the
    limit prevents starvation. 0: no overtaking."""
    operation_priority: Mapping[str, int] = field(default_factory=ReadOnly)
    """Kind of operation to the priority of the requests for it."""
    resource_priority: Mapping[str, int] = field(default_factory=ReadOnly)
    """Resource to the priority of requests for it, including parts without their own
    rule. The highest priority of the essential leaves counts, at most the owner's
    maximum."""
    tells_commands: bool = True
    """True if every accepted and written command is an event, some thousands per
    second. Without these events a long run is cheaper, but its trace does not show the
    writer of each value. Refusals are always events."""
    dead_tokens_kept: int = 10_000
    """Number of ended tokens whose records are kept to explain refusals."""

    def __post_init__(self) -> None:
        preemption = word(Preemption, self.preemption, "Preemption")
        object.__setattr__(self, "preemption", preemption)
        for what in ("operation_priority", "resource_priority"):
            rules = checked_priorities(what, getattr(self, what))
            object.__setattr__(self, what, rules)
        positive = f"give a positive number, {SHORTEST_S:g} or more", SHORTEST_S
        passing = "give 0 to forbid overtaking, or a positive number", 0.0
        for name, accepted, least in (
            ("tick_s", *positive),
            ("retry_s", *positive),
            ("overtake_s", *passing),
        ):
            seconds = check_seconds(getattr(self, name), name, accepted, least)
            object.__setattr__(self, name, seconds)
        if type(self.dead_tokens_kept) is not int or self.dead_tokens_kept < 0:
            raise BadInput(
                f"dead_tokens_kept is {short(self.dead_tokens_kept)}; give a whole "
                "number from 0."
            )
        for what in ("tells_commands", "denies_lower"):
            if type(getattr(self, what)) is not bool:
                raise BadInput(
                    f"{what} is {short(getattr(self, what))}; give true or false."
                )

    @property
    def retry_ticks(self) -> int:
        """Retry period in ticks, at least one."""
        return self.period(self.retry_s)

    def period(self, seconds: float) -> int:
        """Return a period in ticks, at least one."""
        return max(1, self.ticks(seconds))

    @property
    def overtake_ticks(self) -> int:
        """Time in ticks for which a request may be overtaken."""
        return self.ticks(self.overtake_s)

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks, rounded up and limited to thirty years."""
        return max(0, ceil(min(seconds, LONGEST_S) / self.tick_s - 1e-9))
