"""Steps of random histories, and how each is chosen.

A step is plain data, so that a failure prints as a history that can be replayed. It is
chosen by a `Chooser`: hypothesis draws and shrinks, a seeded generator is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    Loss,
    Preemption,
)
from nao_testbed.models.resources import ResourceKind
from tests.controllers.arbitration.manager.histories.small_setup import (
    EXCLUSIVE,
    GROUP,
    PARENTS,
    POLICIES,
    STATES,
)

T = TypeVar("T")

OWNERS = tuple(PARENTS)
LEAVES = (*EXCLUSIVE, *STATES, "CPU", "ball")
NAMES = (*EXCLUSIVE, "Arm", "Upper", "Robot", *STATES)
CAUSES = ("hot", "broken")
TOKENS = ("live", "dead", "forged", "older epoch", "none")


@dataclass(frozen=True, kw_only=True)
class Focus:
    """Owners and resources of the requests: with fewer, conflicts are more frequent."""

    owners: tuple[str, ...] = OWNERS
    names: tuple[str, ...] = NAMES
    rates: tuple[float, ...] = (0.0, 0.0, 0.0, 20.0, 60.0, 100.0)


FOCUSES = (
    Focus(),
    Focus(),
    Focus(names=("A1", "Arm"), rates=(0.0,)),
    Focus(
        owners=("boss", "kid", "tot", "twin"),
        names=("A1", "Arm"),
        rates=(0.0, 0.0, 60.0),
    ),
    Focus(names=(), rates=(20.0, 20.0, 40.0, 60.0)),
    Focus(
        owners=("boss", "kid", "tot", "twin"),
        names=(),
        rates=(20.0, 40.0, 60.0, 80.0),
    ),
)


class Chooser(Protocol):
    """Chooses one of several options."""

    focus: Focus

    def choose(self, options: Sequence[T]) -> T: ...


@dataclass(frozen=True, kw_only=True)
class Step:
    """Call made `later` ticks after the previous one."""

    later: int = 0


@dataclass(frozen=True, kw_only=True)
class Ask(Step):
    owner: str
    resources: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rate: float = 0.0
    priority: int = 0
    timeout_s: float = 5.0
    loss: Loss = Loss.WHOLE
    policy: str = "lock"
    asker_tie: AskerTie = AskerTie.LOSES
    holder_tie: HolderTie = HolderTie.KEEPS
    add_to: int | None = None
    """Index among the valid tokens."""


@dataclass(frozen=True, kw_only=True)
class Release(Step):
    kind: str
    which: int
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Loan(Step):
    """Call of `lend` or `recall` by a token."""

    call: str
    which: int
    names: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class Word(Step):
    """Call of `withdraw` or `notify_blockers` for a waiting request."""

    call: str
    which: int


@dataclass(frozen=True, kw_only=True)
class AddOwner(Step):
    owner: str
    policy: str
    priority: int
    time_to_live_s: float | None


@dataclass(frozen=True, kw_only=True)
class Call(Step):
    """Call of a ledger method with keyword arguments; the tick is added."""

    call: str
    said: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Act(Step):
    """Command submitted to the gate."""

    kind: str
    which: int
    leaf: str


@dataclass(frozen=True, kw_only=True)
class Advance(Step):
    ticks: int


SOON = (0, 0, 0, 1, 3)


def choose_request(pick: Chooser) -> Ask:
    focus = pick.focus
    rate = pick.choose(focus.rates)
    names = pick.choose(((), focus.names, focus.names, focus.names))
    resources: set[str] = set()
    optional: set[str] = set()
    if names:
        resources = {pick.choose(names) for _ in range(pick.choose((1, 1, 2)))}
    if not (resources or rate) or pick.choose((False, False, True)):
        optional = {pick.choose(NAMES) for _ in range(pick.choose((1, 2)))}
    return Ask(
        later=pick.choose(SOON),
        owner=pick.choose(focus.owners),
        resources=tuple(sorted(resources)),
        optional=tuple(sorted(optional - resources)),
        rate=rate,
        priority=pick.choose((0, 0, 1, 2)),
        timeout_s=pick.choose((4.0, 0.0, 1.0, 3.0, 9.0)),
        loss=pick.choose((Loss.WHOLE, Loss.PARTIAL)),
        policy=pick.choose(POLICIES),
        asker_tie=pick.choose(tuple(AskerTie)),
        holder_tie=pick.choose(tuple(HolderTie)),
        add_to=pick.choose((None, None, None, None, 0, 1)),
    )


def choose_release(pick: Chooser) -> Release:
    return Release(
        later=pick.choose(SOON),
        kind=pick.choose(("live", "live", "live", *TOKENS[:4])),
        which=pick.choose(range(4)),
        names=pick.choose((None, None, ("A1",), ("Arm",), ("CPU",), ("H", "L"))),
    )


def choose_loan(pick: Chooser) -> Loan:
    call = pick.choose(("lend", "recall"))
    names = (("A1",), ("Arm",), ("H", "L"), ("Stand",), ("A1", "A2"))
    return Loan(
        later=pick.choose(SOON),
        call=call,
        which=pick.choose(range(4)),
        names=pick.choose(names if call == "lend" else (None, None, *names)),
    )


def _call(pick: Chooser, call: str, **said: object) -> Call:
    return Call(call=call, said=said, later=pick.choose(SOON))


def choose_word(pick: Chooser) -> Step:
    call = pick.choose(("withdraw", "notify_blockers"))
    return Word(call=call, later=pick.choose(SOON), which=pick.choose(range(4)))


def choose_sign_of_life(pick: Chooser) -> Step:
    owner = pick.choose((*OWNERS, *CAUSES))
    if pick.choose((True, False)):
        return _call(pick, "renew", owner=owner)
    return AddOwner(
        later=pick.choose(SOON),
        owner=owner,
        policy=pick.choose(POLICIES),
        priority=pick.choose((0, 1)),
        time_to_live_s=pick.choose((None, 3.0, 6.0)),
    )


def choose_end(pick: Chooser) -> Step:
    """Return a step that drops an owner, sometimes removing it."""
    call = pick.choose(("drop", "drop", "forget_owner"))
    return _call(pick, call, owner=pick.choose(OWNERS))


def choose_fault(pick: Chooser) -> Step:
    names = pick.choose((("A1",), ("Arm",), ("H", "L"), ("CPU",), ("Stand",)))
    by = pick.choose((*CAUSES, *CAUSES, *CAUSES, *CAUSES, OWNERS[-1]))
    if pick.choose((True, False)):
        return _call(pick, "thaw", by=by, names=pick.choose((None, names)))
    is_total = pick.choose((True, False))
    later = pick.choose(SOON)
    cap = pick.choose((None, 0.3, 0.0) if is_total else (0.5, 0.2))
    said = {"names": names, "by": by, "effort_cap": cap, "is_total": is_total}
    return Call(call="freeze", said=said, later=later)


def choose_posture(pick: Chooser) -> Step:
    call, what = pick.choose((("set_state", "active"), ("ask_state", "wanted")))
    return _call(pick, call, group=GROUP, **{what: pick.choose((None, *STATES))})


def choose_rules(pick: Chooser) -> Step:
    return _call(
        pick,
        "reconfigure",
        preemption=pick.choose((None, *Preemption)),
        retry_s=pick.choose((None, 1.0, 4.0)),
        overtake_s=pick.choose((None, 0.0, 3.0)),
    )


def choose_resource(pick: Chooser) -> Step:
    if pick.choose((True, False)):
        parent = pick.choose(("Robot", "Arm"))
        kind = ResourceKind.EXCLUSIVE
        return _call(pick, "add_resource", name="ball", parent=parent, kind=kind)
    name = pick.choose(("ball", "ball", "H", "L", "Sit", "Arm"))
    return _call(pick, "remove_resource", name=name)


def choose_command(pick: Chooser) -> Act:
    return Act(
        kind=pick.choose(TOKENS),
        which=pick.choose(range(4)),
        leaf=pick.choose(LEAVES[:-1]),
    )


def choose_time(pick: Chooser) -> Advance:
    return Advance(ticks=pick.choose((0, 1, 1, 2, 3, 10)))
