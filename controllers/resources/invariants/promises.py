"""I-16: nobody prepares in vain to give way."""

import heapq
from dataclasses import dataclass

from controllers.resources import trace as t
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.seam import (
    MALFORMED,
    Findings,
    Judge,
    Rule,
    after,
    before,
)
from controllers.resources.tokens import TokenId
from controllers.resources.words import NoticeKind


@dataclass(slots=True, eq=False)
class _Promise:
    """A token was asked to give way for a request, until a tick."""

    owner: str
    until: int
    asked: frozenset[str]
    kept: set[str]
    """Leaves of these that it has not lost since."""


class Promises(Judge):
    """Who is asked to give way by a tick is made to then, or told to keep on.

    To keep on is said once, when the asker has its turn otherwise, has given up, or
    could not start in spite of it; not to who holds nothing of it any more.
    """

    invariants = ("I-16", MALFORMED)

    def __init__(self, replay: Replay) -> None:
        """Begin with no promises."""
        super().__init__(replay)
        self._pending: dict[TokenId, dict[int, _Promise]] = {}
        """Token to request to what was promised."""
        self._holders: dict[int, dict[TokenId, None]] = {}
        """Request to those who promised."""
        self._over: list[int] = []
        """Requests that have ended in this call."""
        self._due: list[tuple[int, int, TokenId]] = []

    def rules(self) -> tuple[Rule, ...]:
        """Look at both notices, at losses, and at how requests end."""
        return (
            before(t.Notified, self.asked_or_let_off),
            before(t.Revoked, self.note_loss),
            before(t.Released, self.note_loss),
            before(t.Expired, self.note_loss),
            after(t.Granted, self.note_end),
            after(t.Failed, self.note_end),
            before(t.Settled, self.settled),
            before(t.Ticked, self.nobody_is_left),
        )

    def asked_or_let_off(self, event: t.Notified) -> Findings:
        """A holder is asked in time, and let off what it was asked for."""
        if event.token is None or event.request is None:
            return
        if event.kind is NoticeKind.YIELD_BY and event.until_tick is not None:
            yield from self._asked(event, event.token, event.request, event.until_tick)
        elif event.kind is NoticeKind.KEEP_ON:
            yield from self._let_off(event, event.token, event.request)

    def note_loss(self, event: t.Revoked | t.Released | t.Expired) -> Findings:
        """Who has lost a leaf need not be told to keep it."""
        gone = (
            (*event.lost, *event.freed)
            if isinstance(event, t.Revoked)
            else event.leaves
        )
        for promise in self._pending.get(event.token, {}).values():
            promise.kept.difference_update(gone)
        yield from ()

    def note_end(self, event: t.Granted | t.Failed) -> Findings:
        """Remember whose promises are void."""
        if event.request in self._holders:
            self._over.append(event.request)
        yield from ()

    def settled(self, event: t.Settled) -> Findings:
        """After a call, those who promised to who has ended know it."""
        for request in self._over:
            for token in self._holders.pop(request, ()):
                yield from self._not_let_off(token, request)
        self._over.clear()
        yield from self._overdue(event.tick - 1)

    def nobody_is_left(self, event: t.Ticked) -> Findings:
        """When a tick is over, all that is due by it was called in or let off."""
        yield from self._overdue(event.tick)

    # -- inside -----------------------------------------------------------------------

    def _asked(
        self, event: t.Notified, token: TokenId, number: int, until: int
    ) -> Findings:
        request = self.replay.waiting(number)
        due = request.due_tick if request else None
        if due is not None and until >= due:
            yield (
                "I-16",
                f"{event.owner} is to give way by tick {until}; request {number} ends "
                f"at {due}",
            )
        known = self._pending.get(token, {}).get(number)
        if until <= event.tick or (known is not None and known.until > event.tick):
            yield MALFORMED, f"{event.owner} is to give way by tick {until}: not now"
        asked = frozenset(event.leaves)
        promise = _Promise(event.owner, until, asked, set(asked))
        self._pending.setdefault(token, {})[number] = promise
        self._holders.setdefault(number, {})[token] = None
        heapq.heappush(self._due, (until, number, token))

    def _let_off(self, event: t.Notified, token: TokenId, number: int) -> Findings:
        promise = self._forget(token, number)
        if promise is None or event.tick > promise.until:
            yield MALFORMED, f"{event.owner} may keep on; it was not asked to give way"
            return
        if self.replay.waiting(number) is not None and event.tick < promise.until:
            yield MALFORMED, f"{event.owner} may keep on; request {number} still waits"
        if not promise.kept <= set(event.leaves) <= promise.asked:
            yield (
                "I-16",
                f"{event.owner} may keep {event.leaves}; it was asked for "
                f"{sorted(promise.asked)} and has {sorted(promise.kept)}",
            )

    def _overdue(self, tick: int) -> Findings:
        while self._due and self._due[0][0] <= tick:
            until, number, token = heapq.heappop(self._due)
            promise = self._pending.get(token, {}).get(number)
            if promise is not None and promise.until == until:
                yield from self._not_let_off(token, number)

    def _not_let_off(self, token: TokenId, number: int) -> Findings:
        promise = self._forget(token, number)
        if promise is not None and promise.kept:
            yield (
                "I-16",
                f"{promise.owner} is never told that it need not give way to request "
                f"{number}",
            )

    def _forget(self, token: TokenId, number: int) -> _Promise | None:
        promises = self._pending.get(token, {})
        promise = promises.pop(number, None)
        if not promises:
            self._pending.pop(token, None)
        return promise
