"""Start a behaviour on a ledger: what of it runs, and with which tokens.

running = start_behaviour(GREETING, LedgerFront(ledger))
running.runs  # False: it lacks something essential
running.missing  # ("Left leg", "Right leg") of a robot that is walking
running.present_token(ledger)  # for its commands
stop_behaviour(running, front)
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from controllers.resources.behaviours import Behaviour
from controllers.resources.front import Front
from controllers.resources.ledger import Ledger
from controllers.resources.owner import Owner
from controllers.resources.request import Outcome, Request
from controllers.resources.tokens import Token
from controllers.resources.words import Mode
from models import UnknownName

_Taken = list[tuple[str, Token]]
"""Owner and first token of what was granted, in that order."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """What came of starting a behaviour."""

    behaviour: Behaviour
    runs: bool
    token: Token | None = None
    """Granted at its start; None: it has nothing of its own. See `present_token`."""
    kept: Token | None = None
    """Of what it reserves for its parts, if it needs all of them."""
    has: tuple[str, ...] = ()
    """Leaves that its token covered at the start, sorted."""
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

    def has_all_it_had(self, ledger: Ledger) -> bool:
        """Tell whether its token covers all that the first one did at the start."""
        token = self.present_token(ledger)
        return all(ledger.authorise(token, leaf) is None for leaf in self.has)


def start_behaviour(
    behaviour: Behaviour, front: Front, parent: str | None = None
) -> Running:
    """Ask for all that a behaviour and its parts need, each part for itself.

    Args:
        behaviour: the whole.
        front: of the ledger; lets time pass while something is waited for.
        parent: name of an owner, known already, that it is a part of.

    Returns:
        What runs, from the whole down. What does not run holds nothing.

    Raises:
        UnknownName: a resource or the parent is not known; nothing is held then.
        BadInput: a need cannot be asked for; nothing is held then.
    """
    with front.step() as (ledger, _):
        for one in behaviour.walk():
            for name in (*one.essential, *one.optional, *one.rates):
                ledger.tree.node(name)
    taken: _Taken = []
    try:
        return _start(behaviour, front, parent, taken)
    except BaseException:
        _give_back(taken, front)
        raise


def stop_behaviour(running: Running, front: Front) -> None:
    """Give back all that a behaviour and its parts hold, and wait for no more.

    That is what was taken at the start, by whatever token they have it since a pause,
    and all else that was asked for by their names. Stopped again nothing happens.
    """
    with front.step() as (ledger, tick):
        ledger.give_up([one.behaviour.name for one in running.walk()], tick)


def _start(
    behaviour: Behaviour, front: Front, parent: str | None, taken: _Taken
) -> Running:
    habits = Owner(
        name=behaviour.name,
        parent=parent,
        policy=behaviour.policy,
        priority=behaviour.priority,
        timeout_s=behaviour.timeout_s,
    )
    front.add_owner(habits)
    before = len(taken)
    idle = Running(behaviour=behaviour, runs=False, missing=_needs(behaviour))
    kept = None
    if behaviour.needs_all_parts:
        everything = _everything(behaviour)
        if everything is not None:
            kept = _take(everything, front, taken).token
            if kept is None:
                return idle
    own = _take_own(behaviour, front, taken)
    if own is None:
        _give_back(taken[before:], front)
        return idle
    parts = tuple(_start(one, front, behaviour.name, taken) for one in behaviour.parts)
    if behaviour.needs_all_parts and not all(part.runs for part in parts):
        _give_back(taken[before:], front)
        return idle
    return replace(own, kept=kept, parts=parts)


def _take_own(behaviour: Behaviour, front: Front, taken: _Taken) -> Running | None:
    """Return how it runs, without its parts; None if it does not."""
    running = Running(behaviour=behaviour, runs=True)
    needs = _needs(behaviour)
    if not needs:
        return running
    request = Request(
        owner=behaviour.name,
        resources=behaviour.essential,
        rates=behaviour.rates,
        optional=behaviour.optional,
    )
    outcome = _take(request, front, taken)
    lacking: tuple[str, ...] = ()
    is_essential = bool(behaviour.essential or behaviour.rates)
    if not outcome.is_granted:
        if is_essential and not behaviour.runs_regardless:
            return None
        wished = (*behaviour.essential, *behaviour.optional)
        if not is_essential or not wished:
            return replace(running, missing=needs)
        some = Request(owner=behaviour.name, optional=wished, timeout_s=0.0)
        outcome = _take(some, front, taken)
        if not outcome.is_granted:
            return replace(running, missing=needs)
        lacking = tuple(behaviour.rates)
    return replace(
        running,
        token=outcome.token,
        has=outcome.obtained,
        missing=(*outcome.missing, *lacking),
    )


def _everything(behaviour: Behaviour) -> Request | None:
    """Return the request that reserves what the whole and its parts cannot lack."""
    names: dict[str, None] = {}
    rates: dict[str, float] = {}
    for one in behaviour.walk():
        if one.runs_regardless:
            continue
        names.update(dict.fromkeys(one.essential))
        for name, percent in one.rates.items():
            rates[name] = round(rates.get(name, 0.0) + percent, 2)
    if not names and not rates:
        return None
    return Request(
        owner=behaviour.name, resources=tuple(names), rates=rates, mode=Mode.RESERVE
    )


def _needs(behaviour: Behaviour) -> tuple[str, ...]:
    return (*behaviour.essential, *behaviour.rates, *behaviour.optional)


def _take(request: Request, front: Front, taken: _Taken) -> Outcome:
    outcome = front.take(request)
    if outcome.token is not None:
        taken.append((request.owner, outcome.token))
    return outcome


def _give_back(taken: _Taken, front: Front) -> None:
    """Release tokens, the latest first, whatever they have become meanwhile."""
    for owner, token in reversed(taken):
        with front.step() as (ledger, tick):
            present = ledger.follow(owner, token)
            if isinstance(present, Token):
                ledger.release(present, tick)
            elif present is not None:  # it was paused
                ledger.withdraw(present.number, tick)
