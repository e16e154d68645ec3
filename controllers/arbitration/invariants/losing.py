"""Who may take, who is told, how much goes; no promise in vain."""

from dataclasses import dataclass, field
from heapq import heappush

from controllers.arbitration import events as t
from controllers.arbitration.invariants.replay_state import RequestState, TokenState
from controllers.arbitration.invariants.trace_replay import (
    MALFORMED,
    Findings,
    InvariantJudge,
    after,
    before,
    due_by,
    gone_leaves,
    tick_over,
)
from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import Loss, LossCause, NoticeKind, TokenId

_PROMISED = {
    LossCause.YIELDED: AnswerKind.YIELD,
    LossCause.PAUSED: AnswerKind.PAUSE,
}
_FOR_A_REQUEST = (LossCause.OVERRIDDEN, LossCause.YIELDED, LossCause.PAUSED)


@dataclass(eq=False)
class FairTaking(InvariantJudge):
    """A holder loses to a higher priority, to the tie rule, or by its own promise.

    Reading 2: ties are won at arrival only. Reading 17: the asker must want to win
    them, and the holder must not keep. Each loss is told once, before the taker has it.
    """

    invariants = ("I-17",)

    _promises: dict[int | None, dict[TokenId, AnswerKind]] = field(default_factory=dict)
    _until: dict[int, dict[TokenId, int]] = field(default_factory=dict)
    _untold: dict[TokenId, t.Revoked] = field(default_factory=dict)
    _taken: set[tuple[TokenId, int]] = field(default_factory=set)

    @before
    def note_answer(self, event: t.Answered) -> None:
        """Remember what a holder promised to whom; the last answer counts."""
        self._promises.setdefault(event.request, {})[event.token] = event.answer

    @before
    def told_what_was_lost(self, event: t.Notified) -> Findings:
        """The notice says what the loss was; a promise called in has its own tick."""
        if event.kind is NoticeKind.YIELD_BY:
            if event.request is not None and event.token and event.until_tick:
                until = self._until.setdefault(event.request, {})
                until[event.token] = event.until_tick
            return
        if event.kind is not NoticeKind.LOST:
            return
        lost = self._untold.pop(event.token, None) if event.token else None
        if lost is None:
            yield "I-17", f"{event.owner} is told of a loss that was not, or twice"
            return
        was = (lost.owner, lost.lost, lost.freed, lost.by, lost.why)
        if (event.owner, event.leaves, event.freed, event.by, event.why) != was:
            yield "I-17", f"{lost.owner} is told of another loss than it had"

    @before
    def taken_rightly(self, event: t.Revoked) -> Findings:
        """The cause of a loss is one that gives the right to it."""
        token = self.replay.live(event.token)
        request = self.replay.waiting(event.request)
        if event.token in self._untold:
            yield "I-17", f"{event.owner} loses again before it is told"
        self._untold[event.token] = event
        if event.why not in _FOR_A_REQUEST or token is None:
            return
        if event.request is not None:
            if (event.token, event.request) in self._taken:
                yield "I-17", f"{event.owner} loses twice to request {event.request}"
            self._taken.add((event.token, event.request))
        if request is not None and event.by != request.asked.owner:
            yield "I-17", f"{event.owner} loses to {event.by}, who does not ask"
        if event.why is LossCause.OVERRIDDEN:
            yield from self._overridden(event, token, request)
        else:
            yield from self._promised(event)

    @before
    def told_before_the_grant(self, event: t.Granted) -> Findings:
        """Losers know before the taker has it."""
        for lost in self._untold.values():
            if lost.request == event.request:
                yield "I-17", f"{lost.owner} is not told before {event.owner} has it"

    @before
    def told_before_the_command(self, event: t.Executed) -> Findings:
        """Losers know before the taker's first command."""
        for lost in self._untold.values():
            yield "I-17", f"{lost.owner} is not told before {event.resource} moves"

    @before
    def forget(self, event: t.Granted | t.Failed) -> None:
        """Promises are void when the request has ended."""
        self._promises.pop(event.request, None)
        self._until.pop(event.request, None)

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call every loser knows."""
        for lost in self._untold.values():
            yield "I-17", f"{lost.owner} is never told that it lost {lost.lost}"
        self._untold.clear()
        self._taken.clear()
        self._promises.pop(None, None)

    def _overridden(
        self, event: t.Revoked, token: TokenState, request: RequestState | None
    ) -> Findings:
        if request is None:
            yield "I-17", f"{event.owner} is overridden, but nobody asks"
            return
        asked = request.asked
        is_higher = asked.priority > token.priority
        wins = (
            asked.priority == token.priority
            and asked.wins_ties
            and not token.keeps_ties
            and request.call == self.replay.call
        )
        if not self.replay.by_priority or not (is_higher or wins):
            who = f"{asked.owner} with priority {asked.priority}"
            whom = f"{event.owner} with {token.priority}"
            yield "I-17", f"{who} overrides {whom} without the right to"

    def _promised(self, event: t.Revoked) -> Findings:
        answer = self._promises.get(event.request, {}).get(event.token)
        if answer is not _PROMISED[event.why]:
            yield "I-17", f"{event.owner} has {event.why}, but its answer was {answer}"
        if event.request is None:
            return
        until = self._until.get(event.request, {}).get(event.token, event.tick)
        if event.tick < until:
            yield "I-17", f"{event.owner} was promised time until tick {until}"


@dataclass(eq=False)
class Losing(InvariantJudge):
    """A whole token loses everything, a partial one what was taken and no more.

    That freed leaves are offered at once is with the wake-ups.
    """

    invariants = ("I-18",)

    _taken: dict[int, set[str]] = field(default_factory=dict)
    """Leaves that were taken for a request."""
    _outer: list[tuple[t.Revoked, str, TokenId | None]] = field(default_factory=list)
    """Losses inside of a reservation that goes: leaf, and whose it was."""

    @before
    def whole_or_partial(self, event: t.Revoked) -> Findings:
        """The token loses what its rule says."""
        token = self.replay.live(event.token)
        if token is None:
            return
        gone, cover = {*event.lost, *event.freed}, set(token.seats)
        if set(event.lost) & set(event.freed):
            yield "I-18", f"token {token.id} both loses and frees a leaf"
        is_implied = event.why is LossCause.FROZEN and gone <= token.implied
        if token.loss is Loss.WHOLE and gone != cover and not is_implied:
            yield "I-18", f"token {token.id} loses whole, but keeps {cover - gone}"
        if token.loss is Loss.PARTIAL and event.freed:
            yield "I-18", f"token {token.id} loses in part, but frees {event.freed}"
        if event.is_whole != (gone >= cover):
            left = cover - gone
            yield "I-18", f"token {token.id} covers {left} and is_whole is wrong"

    @before
    def note_cause(self, event: t.Revoked) -> None:
        """Remember for what it was lost."""
        if event.request is not None and event.why in _FOR_A_REQUEST:
            self._taken.setdefault(event.request, set()).update(event.lost)
        token = self.replay.live(event.token)
        if event.why is LossCause.PARENT_RELEASED and token is not None:
            for leaf in event.lost:
                seat = token.seats.get(leaf)
                self._outer.append((event, leaf, seat.inside if seat else None))

    @before
    def taken_for_this(self, event: t.Granted) -> Findings:
        """The taker has what was taken."""
        for leaf in sorted(self._taken.pop(event.request, set()) - set(event.shares)):
            yield "I-18", f"{leaf} was taken for {event.owner}, who does not get it"

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call, the reservation around what was lost is gone as well."""
        for lost, leaf, outer in self._outer:
            around = self.replay.live(outer)
            if outer is None or (around is not None and leaf in around.seats):
                yield (
                    "I-18",
                    f"{lost.owner} lost {leaf}; the reservation is still there",
                )
        self._taken.clear()
        self._outer.clear()


@dataclass(slots=True, eq=False)
class _Promise:
    """A token was asked to give way for a request, until a tick."""

    owner: str
    until: int
    asked: frozenset[str]
    kept: set[str]
    """Leaves of these that it has not lost since."""


@dataclass(eq=False)
class Promises(InvariantJudge):
    """Who is asked to give way by a tick is made to then, or told to keep on.

    To keep on is said once, when the asker has its turn otherwise, has given up, or
    could not start in spite of it; not to who holds nothing of it any more.
    """

    invariants = ("I-16", MALFORMED)

    _pending: dict[TokenId, dict[int, _Promise]] = field(default_factory=dict)
    """Token to request to what was promised."""
    _holders: dict[int, dict[TokenId, None]] = field(default_factory=dict)
    """Request to those who promised."""
    _over: list[int] = field(default_factory=list)
    """Requests that have ended in this call."""
    _due: list[tuple[int, tuple[int, TokenId]]] = field(default_factory=list)

    @before
    def asked_or_let_off(self, event: t.Notified) -> Findings:
        """A holder is asked in time, and let off what it was asked for."""
        if event.token is None or event.request is None:
            return
        if event.kind is NoticeKind.YIELD_BY and event.until_tick is not None:
            yield from self._asked(event, event.token, event.request, event.until_tick)
        elif event.kind is NoticeKind.KEEP_ON:
            yield from self._let_off(event, event.token, event.request)

    @before
    def note_loss(self, event: t.Revoked | t.Released | t.Expired) -> None:
        """Who has lost a leaf need not be told to keep it."""
        for promise in self._pending.get(event.token, {}).values():
            promise.kept.difference_update(gone_leaves(event))

    @after
    def note_end(self, event: t.Granted | t.Failed) -> None:
        """Remember whose promises are void."""
        if event.request in self._holders:
            self._over.append(event.request)

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call, those who promised to who has ended know it."""
        for request in self._over:
            for token in self._holders.pop(request, ()):
                yield from self._not_let_off(token, request)
        self._over.clear()

    @before
    def nobody_is_left(self, event: t.Settled | t.Ticked) -> Findings:
        """When a tick is over, all that is due by it was called in or let off."""
        for until, (number, token) in due_by(tick_over(event), self._due):
            promise = self._pending.get(token, {}).get(number)
            if promise is not None and promise.until == until:
                yield from self._not_let_off(token, number)

    # -- inside -----------------------------------------------------------------------

    def _asked(
        self, event: t.Notified, token: TokenId, number: int, until: int
    ) -> Findings:
        request = self.replay.waiting(number)
        due = request.due_tick if request else None
        if due is not None and until >= due:
            what = f"{event.owner} is to give way by tick {until}"
            yield "I-16", f"{what}; request {number} ends at {due}"
        known = self._pending.get(token, {}).get(number)
        if until <= event.tick or (known is not None and known.until > event.tick):
            yield MALFORMED, f"{event.owner} is to give way by tick {until}: not now"
        asked = frozenset(event.leaves)
        promise = _Promise(event.owner, until, asked, set(asked))
        self._pending.setdefault(token, {})[number] = promise
        self._holders.setdefault(number, {})[token] = None
        heappush(self._due, (until, (number, token)))

    def _let_off(self, event: t.Notified, token: TokenId, number: int) -> Findings:
        promise = self._forget(token, number)
        if promise is None or event.tick > promise.until:
            yield MALFORMED, f"{event.owner} may keep on; it was not asked to give way"
            return
        if self.replay.waiting(number) is not None and event.tick < promise.until:
            yield MALFORMED, f"{event.owner} may keep on; request {number} still waits"
        if not promise.kept <= set(event.leaves) <= promise.asked:
            was = f"it was asked for {sorted(promise.asked)}"
            has = f"and has {sorted(promise.kept)}"
            yield "I-16", f"{event.owner} may keep {event.leaves}; {was} {has}"

    def _not_let_off(self, token: TokenId, number: int) -> Findings:
        promise = self._forget(token, number)
        if promise is not None and promise.kept:
            who = f"{promise.owner} is never told that it need not"
            yield "I-16", f"{who} give way to request {number}"

    def _forget(self, token: TokenId, number: int) -> _Promise | None:
        promises = self._pending.get(token, {})
        promise = promises.pop(number, None)
        if not promises:
            self._pending.pop(token, None)
        return promise
