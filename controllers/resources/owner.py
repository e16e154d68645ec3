"""Owners: behaviours that reserve, in a tree (RM-6)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controllers.resources.names import check_name
from controllers.resources.policies import ConflictPolicy, Lock, as_policy
from controllers.resources.words import AskerTie, HolderTie, word
from models import BadInput
from models.real_numbers import as_number, short

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
            BadInput: the name is none, the priority out of range, a time negative, the
                policy or a hook none.
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
        object.__setattr__(self, "name", check_name(self.name, "an owner"))
        if self.parent is not None:
            parent = check_name(self.parent, f"the parent of owner {self.name!r}")
            object.__setattr__(self, "parent", parent)
        if self.parent == self.name:
            raise BadInput(f"Owner {self.name!r} is its own parent.")
        check_priority(self.priority)
        check_priority(self.max_priority)
        if self.priority > self.max_priority:
            raise BadInput(
                f"priority of owner {self.name!r} is {self.priority}; its highest is "
                f"{self.max_priority}."
            )
        object.__setattr__(self, "timeout_s", check_timeout(self.timeout_s))
        if self.time_to_live_s is not None:
            live = as_number(self.time_to_live_s)
            if live is None or not 0.0 < live < math.inf:
                raise BadInput(
                    f"time to live of owner {self.name!r} is "
                    f"{short(self.time_to_live_s)} s; give a positive number of "
                    "seconds, or none for an owner that is always trusted."
                )
            object.__setattr__(self, "time_to_live_s", live)


def check_priority(priority: int) -> None:
    """Refuse what is no priority.

    Raises:
        BadInput: it is not a whole number from 0 to 9.
    """
    is_whole = isinstance(priority, int) and not isinstance(priority, bool)
    if not is_whole or not LOWEST <= priority <= HIGHEST:
        raise BadInput(
            f"priority is {short(priority)}; give a whole number from {LOWEST} (low) "
            f"to {HIGHEST} (high)."
        )


def check_timeout(timeout_s: float) -> float:
    """Return a time limit in s.

    Raises:
        BadInput: it is no number, negative or not finite.
    """
    limit_s = as_number(timeout_s)
    if limit_s is None or not 0.0 <= limit_s < math.inf:
        raise BadInput(
            f"timeout is {short(timeout_s)} s; give 0 to try once, or a positive "
            "number of seconds: no request waits for ever."
        )
    return limit_s
