"""What a scenario expects: judged after the run, a verdict each.

Times are ticks: slot `t` begins at `t` times the slot's length. "In slot t" means after
all that happens in it. Temperatures and postures of expectations are the true ones of
the simulation; those of conditions are what the robot's sensors report.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from experiments.scenarios.plan.conditions import Condition


@dataclass(frozen=True, kw_only=True)
class Window:
    """Slots from one to another, both with it."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class After:
    """Slots from that in which a condition first comes true, both ends with it.

    If it never does, the expectation is broken, also one that nothing happens: a test
    that passes because nothing was tested is none.
    """

    condition: Condition
    within_ticks: int | None
    """So many slots later at most; None: to the end."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What all have."""

    text: str
    """As in the file, on one line."""
    line: int
    """Of the file."""


@dataclass(frozen=True, kw_only=True)
class AtTime(Expectation):
    """All this is so in one slot."""

    tick: int
    holders: Mapping[str, str | None] = field(default_factory=dict)
    """Leaf to the path of the owner that holds it, by use; None: nobody does."""
    waiters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Leaf to those who wait for it: all of them, in the order of being served."""
    states: tuple[str, ...] = ()
    """Leaves that are the active state of their set."""
    running: tuple[str, ...] = ()
    """Behaviours that may act: WINNER, with a live token if they need one."""
    not_running: tuple[str, ...] = ()
    """Behaviours that may not."""
    posture: str | None = None
    """The stored posture that every joint is near."""
    within_deg: float = 5.0
    """How near."""


@dataclass(frozen=True, kw_only=True)
class Happens(Expectation):
    """A condition is true in some slots, or comes true so often in them.

    What lasts counts in every slot of a window in which it is so, also if it came true
    before. After another condition something happens only if it comes true then; and
    nothing does only if it is not so in any slot.
    """

    condition: Condition
    where: Window | After
    times: int | None = None
    """So often it comes true in these slots; None: it is true in one or more; 0: in
    none of them."""


@dataclass(frozen=True, kw_only=True)
class InOrder(Expectation):
    """Conditions come true one after the other; some may do so in the same slot.

    Each must come true in the slot of the one before it, or later.
    """

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, kw_only=True)
class Temperatures(Expectation):
    """Motors stay below, or above, a temperature in all slots of a window."""

    joints: tuple[str, ...]
    below_degc: float | None
    above_degc: float | None
    window: Window


INITIAL_MOTION = "initial motion"
"""What a command controller plays to bring the robot where a group begins (SY-2)."""


@dataclass(frozen=True, kw_only=True)
class StartsTogether(Expectation):
    """A synchronous group starts, as one (SY-1, SY-8)."""

    group: str
    after: str | None = None
    """INITIAL_MOTION, or another group that it follows."""
    empty_slots: int | None = None
    """Slots between the last item of what it follows and its first items; exact."""
    skew_slots: int = 0
    """Slots between the first items of its streams, the widest pair; exact."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """From the lowest to the highest, both with it."""

    lowest: int
    highest: int | None
    """None: no limit."""


@dataclass(frozen=True, kw_only=True)
class Counts(Expectation):
    """How often something happened to an owner in the run; None is not counted."""

    owner: str
    executed: Count | None = None
    """Its commands that the gate wrote to a device."""
    refused: Count | None = None
    """Its commands that the gate refused."""
    granted: Count | None = None
    """Its requests that were granted."""
    demanded: Count | None = None
    """Times that it was told that somebody wants what it holds."""
