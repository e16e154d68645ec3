"""I-25, winner discipline, as a function of the event trace.

Per level at most one WINNER; no write by one that is none; when a winner loses, its
whole sub-tree sleeps and its tokens are dead before its successor even wins.

    checker = SchemaChecker()
    ledger = Ledger(tree, listeners=[checker.see])
    ...
    assert not checker.finish()

That the same seed gives the same trace is for two runs to show (`trace_hash`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from controllers.arbitration.events import (
    Event,
    Executed,
    Expired,
    Granted,
    Released,
    Revoked,
)
from controllers.arbitration.invariants.trace_replay import (
    MALFORMED,
    Findings,
    Violation,
)
from controllers.arbitration.tokens import TokenId
from controllers.schemas.declaration import Kind, State
from controllers.schemas.events import (
    SchemaStarted,
    SchemaStopped,
    StateChangedTo,
    Woken,
    Won,
)

I_25 = "I-25"
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


class SchemaChecker:
    """Follows a trace and collects what breaks the discipline.

    It must see all of the trace from the first schema on. Owners that are no schemas
    are of no concern to it.
    """

    def __init__(self) -> None:
        """Begin before the first event."""
        self.violations: list[Violation] = []
        self._seen: dict[str, _Seen] = {}
        self._owner: dict[TokenId, str] = {}
        """Of each token, also of ended ones."""
        self._tokens: dict[str, set[TokenId]] = {}
        """Owner to the tokens of it that are valid."""
        self._count = 0
        self._rules: dict[type[Event], Callable[[Any], Findings]] = {
            Granted: self._granted,
            Released: self._ended,
            Revoked: self._ended,
            Expired: self._ended,
            Executed: self._executed,
            Woken: self._woken,
            Won: self._won,
            StateChangedTo: self._changed,
            SchemaStarted: self._started,
            SchemaStopped: self._stopped,
        }

    def see(self, event: Event) -> None:
        """Judge the next event."""
        rule = self._rules.get(type(event))
        for invariant, sentence in rule(event) if rule else ():
            self.violations.append(
                Violation(
                    invariant=invariant,
                    tick=event.tick,
                    sentence=sentence,
                    index=self._count,
                )
            )
        self._count += 1

    def finish(self) -> tuple[Violation, ...]:
        """Return all that was wrong."""
        return tuple(self.violations)

    # -- tokens -----------------------------------------------------------------------

    def _granted(self, event: Granted) -> Findings:
        self._owner[event.token] = event.owner
        self._tokens.setdefault(event.owner, set()).add(event.token)
        one = self._seen.get(event.owner)
        if one is not None and one.state is not State.WINNER:
            yield I_25, f"{one.path} is {one.state} and is granted {event.token}"

    def _ended(self, event: Released | Revoked | Expired) -> Findings:
        if isinstance(event, Expired) or event.is_whole:
            self._tokens.get(event.owner, set()).discard(event.token)
        yield from ()

    def _executed(self, event: Executed) -> Findings:
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

    # -- schemas ----------------------------------------------------------------------

    def _woken(self, event: Woken) -> Findings:
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

    def _changed(self, event: StateChangedTo) -> Findings:
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

    def _won(self, event: Won) -> Findings:
        parent = None if event.parent is None else self._seen.get(event.parent)
        for other in parent.children if parent is not None else ():
            if other.path == event.path or other.kind is Kind.PERCEPTIVE:
                continue
            for one in (other, *other.below()):
                for token in sorted(self._tokens.get(one.path, ())):
                    yield I_25, f"{event.path} wins; {one.path} still has {token}"

    def _started(self, event: SchemaStarted) -> Findings:
        one = self._seen.get(event.path)
        if one is None or one.state is not State.WINNER:
            state = "unknown" if one is None else one.state
            yield I_25, f"{event.path} is {state} and starts"
        else:
            one.has_started = True

    def _stopped(self, event: SchemaStopped) -> Findings:
        one = self._seen.get(event.path)
        if one is None or not one.has_started:
            yield MALFORMED, f"{event.path} stops, and had not started"
        else:
            one.has_started = False


def check_schemas(events: Iterable[Event]) -> tuple[Violation, ...]:
    """Return all that breaks I-25 in a trace."""
    checker = SchemaChecker()
    for event in events:
        checker.see(event)
    return checker.finish()
