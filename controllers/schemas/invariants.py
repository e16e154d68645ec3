"""I-25, I-28 and I-29, winner discipline, as functions of the event trace.

I-25: per level at most one WINNER; no write by one that is none; when a winner loses,
its whole sub-tree sleeps and its tokens are dead before its successor even wins.
I-28: a winner that has a token acts within `GRACE_TICKS`. I-29: no schema is denied a
request twice in a row because of what it holds itself.

A judge as those of the reservations, which follows the same trace from the first
schema on:

    checker = Checker((*JUDGES, *SYNC_JUDGES, WinnerDiscipline))

That the same seed gives the same trace is for two runs to show (`trace_hash`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Expired,
    Failed,
    Granted,
    Released,
    Revoked,
    Ticked,
)
from nao_testbed.controllers.arbitration.invariants import Checker, Violation
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    MALFORMED,
    Findings,
    InvariantJudge,
    before,
)
from nao_testbed.controllers.arbitration.tokens import TokenId, Why
from nao_testbed.controllers.schemas.declaration import Kind, State
from nao_testbed.controllers.schemas.events import (
    SchemaStarted,
    SchemaStopped,
    StateChangedTo,
    Woken,
    Won,
)

I_25, I_28, I_29 = "I-25", "I-28", "I-29"
GRACE_TICKS = 2
"""A grant outside a slot of the runtime is heard in the next one."""
_AWAKE = {Kind.PERCEPTIVE: State.WINNER, Kind.ACTUATION: State.CHECKING}
_MOVES = {
    State.SLEPT: {State.CHECKING, State.WINNER},
    State.CHECKING: {State.READY, State.SLEPT},
    State.READY: {State.CHECKING, State.WINNER, State.SLEPT},
    State.WINNER: {State.CHECKING, State.READY, State.SLEPT},
}


@dataclass
class _Seen:
    """An instance as the trace tells of it."""

    path: str
    kind: Kind
    parent: "_Seen | None"
    state: State = State.SLEPT
    has_started: bool = False
    children: list["_Seen"] = field(default_factory=list)

    def below(self) -> Iterator["_Seen"]:
        for child in self.children:
            yield child
            yield from child.below()


@dataclass(eq=False)
class WinnerDiscipline(InvariantJudge):
    """Judges schemas; owners that are no schemas are of no concern to it."""

    invariants = (I_25, I_28, I_29)

    _seen: dict[str, _Seen] = field(default_factory=dict)
    _owner: dict[TokenId, str] = field(default_factory=dict)
    """Of each token, also of ended ones."""
    _tokens: dict[str, set[TokenId]] = field(default_factory=dict)
    """Owner to the tokens of it that are valid."""
    _idle_since: dict[str, int] = field(default_factory=dict)
    """Winner that has a token and does not act, to the tick when that was seen."""
    _blocked: set[str] = field(default_factory=set)
    """Who was denied by its own hold, and has neither got nor given back since."""

    # -- tokens -----------------------------------------------------------------------

    @before
    def granted(self, event: Granted) -> Findings:
        """Only a winner is granted anything."""
        self._owner[event.token] = event.owner
        self._blocked.discard(event.owner)
        self._tokens.setdefault(event.owner, set()).add(event.token)
        one = self._seen.get(event.owner)
        if one is not None and one.state is not State.WINNER:
            yield I_25, f"{one.path} is {one.state} and is granted {event.token}"

    @before
    def ended(self, event: Released | Revoked | Expired) -> None:
        """Note what is valid no more."""
        self._blocked.discard(event.owner)
        if isinstance(event, Expired) or event.is_whole:
            self._tokens.get(event.owner, set()).discard(event.token)

    @before
    def executed(self, event: Executed) -> Findings:
        """Only a winner that has started writes, by a valid token."""
        one = self._seen.get(self._owner.get(event.token, ""))
        if one is None:
            return
        if not (one.state is State.WINNER and one.has_started):
            yield I_25, f"{one.path} is {one.state} and writes {event.resource}"
        if event.token not in self._tokens[one.path]:
            yield (
                I_25,
                f"{one.path} writes {event.resource} with the dead {event.token}",
            )

    @before
    def failed(self, event: Failed) -> Findings:
        """Nobody stands in its own way twice: what it holds it has forgotten."""
        if event.owner not in self._seen or event.why is not Why.DEADLOCK:
            return
        if self._tokens.get(event.owner):
            if event.owner in self._blocked:
                yield I_29, f"{event.owner} is denied by its own hold again"
            self._blocked.add(event.owner)

    @before
    def ticked(self, event: Ticked) -> Findings:
        """Look for winners that have what they need and do not act."""
        for one in self._seen.values():
            has_token = bool(self._tokens.get(one.path))
            if one.state is not State.WINNER or one.has_started or not has_token:
                self._idle_since.pop(one.path, None)
                continue
            since = self._idle_since.setdefault(one.path, event.tick)
            if event.tick == since + GRACE_TICKS + 1:
                yield I_28, f"{one.path} has its needs since tick {since}, and is idle"

    # -- schemas ----------------------------------------------------------------------

    @before
    def woken(self, event: Woken) -> Findings:
        """Only a winner that has started wakes, and one that sleeps."""
        parent = None if event.parent is None else self._seen.get(event.parent)
        if event.parent is not None:
            if parent is None:
                yield MALFORMED, f"{event.path} has the unknown parent {event.parent}"
            elif not parent.has_started or parent.state is not State.WINNER:
                yield I_25, f"{event.parent} is {parent.state} and wakes {event.path}"
        one = self._seen.get(event.path)
        if one is None:
            one = _Seen(event.path, event.kind, parent)
            self._seen[event.path] = one
            if parent is not None:
                parent.children.append(one)
        elif one.state is not State.SLEPT:
            yield MALFORMED, f"{event.path} is {one.state} and is woken"

    @before
    def changed(self, event: StateChangedTo) -> Findings:
        """States follow each other in their order; one winner a level."""
        one = self._seen.get(event.path)
        if one is None:
            yield MALFORMED, f"{event.path} was never woken and is {event.state}"
            return
        was, one.state = one.state, event.state
        is_first = was is State.SLEPT and event.state is not _AWAKE[one.kind]
        if event.state not in _MOVES[was] or is_first:
            yield I_25, f"{one.path}, {one.kind}, goes from {was} to {event.state}"
        if event.state is State.WINNER:
            yield from self._is_alone(one)
        else:
            yield from self._is_harmless(one, event.state)

    def _is_alone(self, one: _Seen) -> Findings:
        if one.parent is None or one.kind is Kind.PERCEPTIVE:
            return
        for other in one.parent.children:
            is_winner = other.state is State.WINNER and other.kind is Kind.ACTUATION
            if other is not one and is_winner:
                yield I_25, f"{one.path} and {other.path} are winners at once"

    def _is_harmless(self, one: _Seen, state: State) -> Findings:
        """Yield what one that is no winner still has."""
        if one.has_started:
            yield I_25, f"{one.path} is {state} and was not stopped"
        for token in sorted(self._tokens.get(one.path, ())):
            yield I_25, f"{one.path} is {state} and still has {token}"
        for below in one.below():
            if below.state is not State.SLEPT:
                yield I_25, f"{one.path} is {state} and {below.path} {below.state}"

    @before
    def won(self, event: Won) -> Findings:
        """Before it, its rivals and all below them have lost their tokens."""
        parent = None if event.parent is None else self._seen.get(event.parent)
        for other in parent.children if parent is not None else ():
            if other.path == event.path or other.kind is Kind.PERCEPTIVE:
                continue
            for one in (other, *other.below()):
                for token in sorted(self._tokens.get(one.path, ())):
                    yield I_25, f"{event.path} wins; {one.path} still has {token}"

    @before
    def started(self, event: SchemaStarted) -> Findings:
        """Only a winner starts."""
        one = self._seen.get(event.path)
        if one is None or one.state is not State.WINNER:
            state = "unknown" if one is None else one.state
            yield I_25, f"{event.path} is {state} and starts"
        else:
            one.has_started = True

    @before
    def stopped(self, event: SchemaStopped) -> Findings:
        """Only what has started stops."""
        one = self._seen.get(event.path)
        if one is None or not one.has_started:
            yield MALFORMED, f"{event.path} stops, and had not started"
        else:
            one.has_started = False


def check_schemas(events: Iterable[Event]) -> tuple[Violation, ...]:
    """Return all that breaks I-25, I-28 or I-29 in a trace."""
    checker = Checker((WinnerDiscipline,))
    for event in events:
        checker.see(event)
    return checker.finish()
