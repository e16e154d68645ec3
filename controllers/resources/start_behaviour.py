"""Start a behaviour on a ledger: what of it runs, and with which tokens.

running = start_behaviour(GREETING, LedgerFront(ledger))
running.runs  # False: it lacks something essential
running.missing  # ("Left leg", "Right leg") of a robot that is walking
running.present_token(ledger)  # for its commands
stop_behaviour(running, front)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from controllers.resources.behaviours import Behaviour
from controllers.resources.front import Front
from controllers.resources.ledger import Ledger
from controllers.resources.owner import OnLost, OnStop, Owner
from controllers.resources.request import Request
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.tokens import Token
from models import UnknownName

_Starts = dict[str, int]
"""Name to number of all that began, a whole before its parts."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """What came of starting a behaviour."""

    behaviour: Behaviour
    runs: bool
    number: int = 0
    """Of this start, at its ledger."""
    token: Token | None = None
    """Granted at its start; None: it has nothing. See `present_token`. Of one that
    needs all its parts it covers what they cannot lack as well."""
    has: tuple[str, ...] = ()
    """Leaves of its own needs that its token covered at the start, sorted."""
    missing: tuple[str, ...] = ()
    """Names of its needs that it did not get."""
    parts: tuple["Running", ...] = ()

    def walk(self) -> Iterator["Running"]:
        """Yield this one and all its parts, from the top."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def part(self, name: str) -> "Running":
        """Return what came of the part of a name.

        Raises:
            UnknownName: it has no such part.
        """
        found = {one.behaviour.name: one for one in self.walk()}
        if name not in found:
            raise UnknownName("Part", name, found, f"behaviour {self.behaviour.name!r}")
        return found[name]

    def present_token(self, ledger: Ledger) -> Token | None:
        """Return the token for its commands now: after a pause it is another (RM-37).

        Returns:
            None while it is paused, when its token has ended, or if it had none.
        """
        if self.token is None:
            return None
        present = ledger.follow(self.behaviour.name, self.token)
        return present if isinstance(present, Token) else None

    def is_over(self, ledger: Ledger) -> bool:
        """Tell whether it was stopped, or lost for good what its token covered."""
        name = self.behaviour.name
        if not self.runs or not ledger.has_started(name, self.number):
            return True
        return self.token is not None and ledger.follow(name, self.token) is None

    def has_all_it_had(self, ledger: Ledger) -> bool:
        """Tell whether its token covers all that the first one did at the start."""
        token = self.present_token(ledger)
        return all(ledger.authorise(token, leaf) is None for leaf in self.has)


def start_behaviour(
    behaviour: Behaviour,
    front: Front,
    parent: str | None = None,
    *,
    on_stop: OnStop | None = None,
    on_lost: OnLost | None = None,
) -> Running:
    """Ask for all that a behaviour and its parts need, each part for itself.

    Args:
        behaviour: the whole.
        front: of the ledger; lets time pass while something is waited for.
        parent: name of an owner, known already, that it is a part of.
        on_stop: called when it or a part promised to give way, and has to stop in time.
        on_lost: called when it or a part has lost resources; the notice says whose.

    Returns:
        What runs, from the whole down. What does not run holds nothing.

    Raises:
        UnknownName: a resource or the parent is not known; nothing is held then.
        BadInput: a need cannot be asked for, or a behaviour of one of these names runs
            already; nothing is held then.
    """
    with front.step() as (ledger, _):
        check_behaviour(behaviour, ledger.tree)
    starts: _Starts = {}
    habits = Owner(name=behaviour.name, on_stop=on_stop, on_lost=on_lost)
    try:
        running = _start(behaviour, front, parent, habits, starts)
    except BaseException:
        _stop(starts, front)
        raise
    return running


def check_behaviour(behaviour: Behaviour, tree: ResourceTree) -> None:
    """Refuse what cannot be asked for by a behaviour or its parts.

    Raises:
        UnknownName: a resource is not in the tree.
        BadInput: what it and all its parts need together is more than there is.
    """
    for one in behaviour.walk():
        for name in (*one.essential, *one.optional, *one.rates):
            tree.node(name)
        if one.needs_all_parts:
            _request(one, one.essential, one.rates, one.optional)


def stop_behaviour(running: Running, front: Front) -> None:
    """Give back all that a behaviour and its parts hold, and wait for no more.

    That is what was taken at the start, by whatever token they have it since a pause,
    and all else that was asked for by their names. Stopped again nothing happens, nor
    to another one that was started by such a name since.
    """
    _stop({one.behaviour.name: one.number for one in running.walk()}, front)


def _stop(starts: Mapping[str, int], front: Front) -> None:
    with front.step() as (ledger, tick):
        ledger.stop(starts, tick)


def _start(
    behaviour: Behaviour,
    front: Front,
    parent: str | None,
    habits: Owner,
    starts: _Starts,
) -> Running:
    habits = replace(
        habits,
        name=behaviour.name,
        parent=parent,
        policy=behaviour.policy,
        priority=behaviour.priority,
        timeout_s=behaviour.timeout_s,
    )
    with front.step() as (ledger, _):
        ledger.check_free(behaviour.name)
        front.add_owner(habits)
        number = starts[behaviour.name] = ledger.start(behaviour.name)
    running = _run(behaviour, number, front, habits, starts)
    if running.runs:
        with front.step() as (ledger, _):
            ledger.end_start(behaviour.name, number)
    else:
        _stop({one.name: starts.get(one.name, 0) for one in behaviour.walk()}, front)
    return running


def _run(
    behaviour: Behaviour, number: int, front: Front, habits: Owner, starts: _Starts
) -> Running:
    idle = Running(
        behaviour=behaviour, runs=False, number=number, missing=_needs(behaviour)
    )
    own = _take_own(idle, front)
    if not own.runs:
        return idle
    parts = tuple(
        _start(one, front, behaviour.name, habits, starts) for one in behaviour.parts
    )
    if behaviour.needs_all_parts and not all(part.runs for part in parts):
        return idle
    return replace(own, parts=parts)


def _take_own(idle: Running, front: Front) -> Running:
    """Return how it runs, without its parts; if it does not, as it was given."""
    behaviour, needs = idle.behaviour, idle.missing
    essential, rates = behaviour.essential, behaviour.rates
    running = replace(idle, runs=True, missing=())
    request = _request(behaviour, essential, rates, behaviour.optional)
    if request is None:
        return running
    outcome = front.take(request)
    lacking: tuple[str, ...] = ()
    if not outcome.is_granted and (essential or rates):
        if not behaviour.runs_regardless:
            return idle
        wished = (*essential, *behaviour.optional)
        request = _request(behaviour, (), {}, wished, timeout_s=0.0)
        if request is not None:
            outcome, lacking = front.take(request), tuple(rates)
    if not outcome.is_granted:
        is_for_parts = _request(behaviour, (), {}, ()) is not None
        return idle if is_for_parts else replace(running, missing=needs)
    with front.step() as (ledger, _):
        tree = ledger.tree
    own = {leaf for name in needs for leaf in tree.leaves(name)}
    own.update(motor for leaf in tuple(own) for motor in tree.limits.get(leaf, ()))
    return replace(
        running,
        token=outcome.token,
        has=tuple(leaf for leaf in outcome.obtained if leaf in own),
        missing=(*outcome.missing, *lacking),
    )


def _request(
    behaviour: Behaviour,
    essential: tuple[str, ...],
    rates: Mapping[str, float],
    optional: tuple[str, ...],
    timeout_s: float | None = None,
) -> Request | None:
    """Return the request for some of its needs, and for what parts cannot lack.

    Returns:
        None if that is nothing.

    Raises:
        BadInput: together that is more than there is, or a name is there twice.
    """
    names: dict[str, None] = {}
    sums = dict(rates)
    for part in behaviour.parts if behaviour.needs_all_parts else ():
        for one in part.walk():
            if one.runs_regardless:
                continue
            names.update(dict.fromkeys(one.essential))
            for name, percent in one.rates.items():
                sums[name] = round(sums.get(name, 0.0) + percent, 2)
    optional = tuple(name for name in optional if name not in names)
    resources = (*essential, *(name for name in names if name not in essential))
    if not (resources or sums or optional):
        return None
    return Request(
        owner=behaviour.name,
        resources=resources,
        rates=sums,
        optional=optional,
        timeout_s=timeout_s,
    )


def _needs(behaviour: Behaviour) -> tuple[str, ...]:
    return (*behaviour.essential, *behaviour.rates, *behaviour.optional)
