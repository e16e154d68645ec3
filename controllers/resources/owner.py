"""Owners: behaviours that reserve, in a tree (RM-6)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controllers.resources.policies import ConflictPolicy, Lock, as_policy
from controllers.resources.words import AskerTie, HolderTie, word
from models import BadInput

if TYPE_CHECKING:  # the trace's records hold requests, and these owners' habits
    from controllers.resources.trace import Expired, Notified

OnStop = Callable[["Notified"], None]
OnLost = Callable[["Notified | Expired"], None]
LOWEST, HIGHEST = 0, 9
"""Range of priorities (AR-13)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A behaviour, a box, a program or another robot, and its habits.

    What a request leaves open is taken from here.
    """

    name: str
    parent: str | None = None
    """The owner that it is a part of; its reservations are open to it."""
    policy: ConflictPolicy = field(default_factory=Lock)
    """What it answers when somebody asks for what it holds."""
    priority: int = 0
    """From 0, low, to 9, high."""
    max_priority: int = HIGHEST
    """The highest that a request of it may ask with: set by whom it is (AR-13)."""
    timeout_s: float = 5.0
    """Longest wait of its requests in s; never infinite (RM-20)."""
    time_to_live_s: float | None = None
    """Silence after which it counts as gone, in s; None trusts it for ever."""
    asker_tie: AskerTie = AskerTie.LOSES
    holder_tie: HolderTie = HolderTie.KEEPS
    on_stop: OnStop | None = None
    """Called when it promised to give way: it has to stop by `until_tick` (fig. 8c)."""
    on_lost: OnLost | None = None
    """Called when it has lost resources, for whatever cause, also for a pause. Both are
    called when the change is made, and may ask anew; what they raise hinders nobody."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            BadInput: the name is empty, the priority out of range, a time negative,
                the policy or a hook none.
            UnknownName: a tie rule, or the policy's name, is none.
        """
        asker_tie = word(AskerTie, self.asker_tie, "asker_tie")
        object.__setattr__(self, "asker_tie", asker_tie)
        holder_tie = word(HolderTie, self.holder_tie, "holder_tie")
        object.__setattr__(self, "holder_tie", holder_tie)
        object.__setattr__(self, "policy", as_policy(self.policy))
        for hook in (self.on_stop, self.on_lost):
            if hook is not None and not callable(hook):
                raise BadInput(
                    f"on_stop or on_lost of owner {self.name!r} is {hook!r}; give a "
                    "function that takes the notice."
                )
        if not self.name.strip():
            raise BadInput("An owner has an empty name; give it one to be known by.")
        if self.parent == self.name:
            raise BadInput(f"Owner {self.name!r} is its own parent.")
        check_priority(self.priority)
        check_priority(self.max_priority)
        if self.priority > self.max_priority:
            raise BadInput(
                f"priority of owner {self.name!r} is {self.priority}; its highest is "
                f"{self.max_priority}."
            )
        check_timeout(self.timeout_s)
        live = self.time_to_live_s
        if live is not None and not (math.isfinite(live) and live > 0.0):
            raise BadInput(
                f"time to live of owner {self.name!r} is {live} s; give a positive "
                "number of seconds, or none for an owner that is always trusted."
            )


def check_priority(priority: int) -> None:
    """Refuse what is no priority.

    Raises:
        BadInput: it is not a whole number from 0 to 9.
    """
    if not isinstance(priority, int) or not LOWEST <= priority <= HIGHEST:
        raise BadInput(
            f"priority is {priority!r}; give a whole number from {LOWEST} (low) to "
            f"{HIGHEST} (high)."
        )


def check_timeout(timeout_s: float) -> None:
    """Refuse what is no time limit.

    Raises:
        BadInput: it is negative or not finite.
    """
    if not 0.0 <= timeout_s < math.inf:
        raise BadInput(
            f"timeout is {timeout_s} s; give 0 to try once, or a positive number of "
            "seconds: no request waits for ever."
        )
