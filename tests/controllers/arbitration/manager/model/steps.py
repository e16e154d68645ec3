"""The steps that generated histories are made of, and how each is chosen.

A step is plain data, so that a failure prints as a history that can be replayed. It is
chosen by a `Chooser`: hypothesis draws and shrinks, a seeded generator is fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from controllers.arbitration.tokens import AskerTie, HolderTie, Loss, Preemption
from tests.controllers.arbitration.manager.model.small_setup import (
    EXCLUSIVE,
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
    """Whom and what the requests of a history are about: fewer of them meet oftener."""

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
    """Picks one of several."""

    focus: Focus

    def choose(self, options: Sequence[T]) -> T: ...


@dataclass(frozen=True, kw_only=True)
class Step:
    """A call, `later` ticks after the one before."""

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
    """Which of all tokens that are alive."""


@dataclass(frozen=True, kw_only=True)
class Release(Step):
    kind: str
    which: int
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Withdraw(Step):
    which: int


@dataclass(frozen=True, kw_only=True)
class DemandAgain(Step):
    which: int


@dataclass(frozen=True, kw_only=True)
class ForgetOwner(Step):
    owner: str


@dataclass(frozen=True, kw_only=True)
class Renew(Step):
    owner: str


@dataclass(frozen=True, kw_only=True)
class Drop(Step):
    owner: str


@dataclass(frozen=True, kw_only=True)
class AddOwner(Step):
    owner: str
    policy: str
    priority: int
    time_to_live_s: float | None


@dataclass(frozen=True, kw_only=True)
class Freeze(Step):
    names: tuple[str, ...]
    by: str
    cap: float | None
    is_total: bool


@dataclass(frozen=True, kw_only=True)
class Thaw(Step):
    by: str
    names: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class SetState(Step):
    active: str | None


@dataclass(frozen=True, kw_only=True)
class AskState(Step):
    wanted: str | None


@dataclass(frozen=True, kw_only=True)
class Reconfigure(Step):
    """Other rules; None: as before."""

    preemption: Preemption | None
    retry_s: float | None
    overtake_s: float | None


@dataclass(frozen=True, kw_only=True)
class AddBall(Step):
    parent: str


@dataclass(frozen=True, kw_only=True)
class RemoveResource(Step):
    name: str


@dataclass(frozen=True, kw_only=True)
class Act(Step):
    """A command: the gate's question."""

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


def choose_word(pick: Chooser) -> Step:
    """A word about a request that waits."""
    kind = pick.choose((Withdraw, DemandAgain))
    return kind(later=pick.choose(SOON), which=pick.choose(range(4)))


def choose_sign_of_life(pick: Chooser) -> Step:
    owner = pick.choose((*OWNERS, *CAUSES))
    if pick.choose((True, False)):
        return Renew(owner=owner, later=pick.choose(SOON))
    return AddOwner(
        later=pick.choose(SOON),
        owner=owner,
        policy=pick.choose(POLICIES),
        priority=pick.choose((0, 1)),
        time_to_live_s=pick.choose((None, 3.0, 6.0)),
    )


def choose_end(pick: Chooser) -> Step:
    """An owner is gone, now and then for good."""
    kind = pick.choose((Drop, Drop, ForgetOwner))
    return kind(owner=pick.choose(OWNERS), later=pick.choose(SOON))


def choose_fault(pick: Chooser) -> Step:
    names = pick.choose((("A1",), ("Arm",), ("H", "L"), ("CPU",), ("Stand",)))
    by = pick.choose((*CAUSES, *CAUSES, *CAUSES, *CAUSES, OWNERS[-1]))
    if pick.choose((True, False)):
        return Thaw(by=by, names=pick.choose((None, names)), later=pick.choose(SOON))
    is_total = pick.choose((True, False))
    return Freeze(
        later=pick.choose(SOON),
        names=names,
        by=by,
        cap=pick.choose((None, 0.3, 0.0) if is_total else (0.5, 0.2)),
        is_total=is_total,
    )


def choose_posture(pick: Chooser) -> Step:
    if pick.choose((True, False)):
        return SetState(active=pick.choose((None, *STATES)), later=pick.choose(SOON))
    return AskState(wanted=pick.choose((None, *STATES)), later=pick.choose(SOON))


def choose_rules(pick: Chooser) -> Reconfigure:
    return Reconfigure(
        preemption=pick.choose((None, *Preemption)),
        retry_s=pick.choose((None, 1.0, 4.0)),
        overtake_s=pick.choose((None, 0.0, 3.0)),
        later=pick.choose(SOON),
    )


def choose_resource(pick: Chooser) -> Step:
    if pick.choose((True, False)):
        return AddBall(parent=pick.choose(("Robot", "Arm")), later=pick.choose(SOON))
    return RemoveResource(
        name=pick.choose(("ball", "ball", "H", "L", "Sit", "Arm")),
        later=pick.choose(SOON),
    )


def choose_command(pick: Chooser) -> Act:
    return Act(
        kind=pick.choose(TOKENS),
        which=pick.choose(range(4)),
        leaf=pick.choose(LEAVES[:-1]),
    )


def choose_time(pick: Chooser) -> Advance:
    return Advance(ticks=pick.choose((0, 1, 1, 2, 3, 10)))
