"""One outcome for each request, in time.

A failure changes nothing; who is gone leaves nothing behind.
"""

from dataclasses import dataclass, field
from heapq import heappush

from controllers.arbitration import events as t
from controllers.arbitration.invariants.replay_state import (
    OwnerState,
    RequestState,
    TokenState,
)
from controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    after,
    before,
    due_by,
    tick_over,
)
from controllers.arbitration.tokens import LossCause, NoticeKind, OutcomeKind, Why

_REASONS = {
    OutcomeKind.DENIED: (Why.BUSY, Why.DEADLOCK, Why.FROZEN),
    OutcomeKind.TIMED_OUT: (Why.TIMEOUT, Why.FROZEN),
    OutcomeKind.CANCELLED: (Why.WITHDRAWN, Why.CLOSED, Why.OWNER_GONE, Why.TOKEN_DEAD),
}
_IN_THE_WAY = (Why.BUSY, Why.TIMEOUT, Why.FROZEN)


@dataclass(eq=False)
class Outcomes(InvariantJudge):
    """Each request ends once, at the latest when its limit is due.

    Calls of a tick come before what is due in it: a request whose limit is due now may
    still be granted, and is over when the tick is.
    """

    invariants = ("I-6", "I-7")

    _due: list[tuple[int, int]] = field(default_factory=list)
    _untold: dict[int, OutcomeKind] = field(default_factory=dict)
    """Requests that had to wait and have ended in this call."""
    _told: dict[int, OutcomeKind] = field(default_factory=dict)
    _tried_once: list[int] = field(default_factory=list)

    @before
    def new_number(self, event: t.Requested) -> Findings:
        """Requests are numbered upwards; only a paused one has an older place."""
        number = event.request
        if number <= self.replay.last_request:
            yield "I-6", f"request number {number} was used before"
        place = 0 if event.recalls else number
        if event.resumes is None and event.arrival != place:
            yield "I-6", f"request {number} claims the arrival of {event.arrival}"
        if event.timeout_ticks is None:
            if event.resumes is None:
                yield "I-6", f"request {number} would wait for ever"
        elif event.timeout_ticks <= 0 and event.resumes is None:
            self._tried_once.append(number)
        else:
            heappush(self._due, (event.tick + event.timeout_ticks, number))

    @before
    def granted_once(self, event: t.Granted) -> Findings:
        """A grant comes to a request that waits, before its limit."""
        yield from self._ends(event.request, OutcomeKind.GRANTED)
        request = self.replay.waiting(event.request)
        due = request.due_tick if request else None
        if due is not None and event.tick > due:
            yield "I-6", f"request {event.request} is granted after its limit, {due}"

    @before
    def failed_once(self, event: t.Failed) -> Findings:
        """A failure comes to a request that waits, for a reason of its kind."""
        yield from self._ends(event.request, event.kind)
        request = self.replay.waiting(event.request)
        if request is None:
            return
        asked, due = request.asked, request.due_tick
        name = f"request {event.request}"
        if event.owner != asked.owner:
            yield "I-6", f"{name} is {asked.owner}'s, but {event.owner}'s ended"
        if event.why not in _REASONS.get(event.kind, ()):
            yield "I-6", f"{name} is {event.kind} because of: {event.why}"
        if event.kind is OutcomeKind.TIMED_OUT and event.tick != due:
            yield "I-6", f"{name} is timed out now; its limit is tick {due}"
        at_once = event.kind is OutcomeKind.DENIED and event.why is not Why.DEADLOCK
        if at_once and asked.timeout_ticks != 0:
            yield "I-6", f"{name} is denied at once; it would have waited until {due}"
        units = asked.optional.values()
        wanted = [*asked.shares] or [leaf for unit in units for leaf in unit]
        is_frozen = any(self.replay.leaf(leaf).is_frozen for leaf in wanted)
        if event.why in _IN_THE_WAY and is_frozen is not (event.why is Why.FROZEN):
            yield "I-6", f"{name} ends as {event.why}; frozen: {is_frozen}"

    @before
    def told_once(self, event: t.Notified) -> Findings:
        """Whoever had to wait is told the outcome once."""
        if event.kind is not NoticeKind.OUTCOME or event.request is None:
            return
        number = event.request
        request = self.replay.requests.get(number)
        if request is None or request.outcome is None:
            yield "I-6", f"{event.owner} is told the outcome of request {number}: none"
            return
        said = event.outcome.kind if event.outcome else request.outcome
        if said is not request.outcome or event.owner != request.asked.owner:
            yield "I-6", f"{event.owner} is told {said}: it is {request.outcome}"
        if number in self._told:
            yield "I-6", f"{event.owner} is told twice how request {number} ended"
        self._told[number] = said
        self._untold.pop(number, None)

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call who ended knows it, and who tries once does not wait."""
        for number, kind in self._untold.items():
            yield "I-6", f"request {number} waited and is {kind}; nobody told its owner"
        for number in self._tried_once:
            if self.replay.waiting(number) is not None:
                yield "I-6", f"request {number} was to try once, and waits"
        self._untold.clear()
        self._told.clear()
        self._tried_once.clear()

    @before
    def nothing_is_overdue(self, event: t.Settled | t.Ticked) -> Findings:
        """When a tick is over, all limits up to it are."""
        for due, number in due_by(tick_over(event), self._due):
            if self.replay.waiting(number) is not None:
                yield "I-6", f"request {number} still waits; its limit was tick {due}"

    def end(self) -> Findings:
        """When all is over, every request has its outcome."""
        for number, request in self.replay.requests.items():
            if request.outcome is None:
                yield "I-6", f"request {number} of {request.asked.owner} never ended"

    def _ends(self, number: int, kind: OutcomeKind) -> Findings:
        request = self.replay.requests.get(number)
        if request is not None and request.outcome is None:
            if request.call < self.replay.call:
                self._untold[number] = kind
            return
        if request is None and number > self.replay.last_request:
            yield "I-6", f"request {number} is {kind}, but nobody asked"
            return
        was = request.outcome if request else None
        same_tick = request is not None and request.outcome_tick == self.replay.tick
        at_once = same_tick and OutcomeKind.TIMED_OUT in (kind, was)
        yield "I-7" if at_once else "I-6", f"request {number} is {kind} after it ended"


@dataclass(eq=False)
class Denial(InvariantJudge):
    """Nobody gives way in vain: what is taken for somebody is given to that one.

    So a request that fails has changed nothing but its own place in the queue.
    """

    invariants = ("I-16",)

    _for_request: dict[int, t.Revoked] = field(default_factory=dict)
    _for_state: list[t.Revoked] = field(default_factory=list)

    @before
    def note_loss(self, event: t.Revoked) -> Findings:
        """Remember for whom it was taken."""
        if event.request is not None:
            self._for_request.setdefault(event.request, event)
            if self.replay.waiting(event.request) is None:
                yield "I-16", f"{event.owner} loses to request {event.request}: ended"
        elif event.why in (LossCause.YIELDED, LossCause.STATE_LEFT):
            self._for_state.append(event)

    @before
    def taker_has_it(self, event: t.Granted) -> None:
        """The taker is granted."""
        self._for_request.pop(event.request, None)

    @before
    def state_is_left(self, _: t.StateChanged) -> None:
        """The state that they gave up is left."""
        self._for_state.clear()

    @before
    def in_vain(self, event: t.Failed) -> Findings:
        """A request for which somebody lost something fails."""
        lost = self._for_request.pop(event.request, None)
        if lost is not None:
            yield "I-16", f"{lost.owner} lost to request {event.request}, which failed"

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call nobody has given way for nothing."""
        for number, lost in self._for_request.items():
            yield "I-16", f"{lost.owner} lost to request {number}, which is not granted"
        for lost in self._for_state:
            yield "I-16", f"{lost.owner} lost a state that is not left"
        self._for_request.clear()
        self._for_state.clear()


@dataclass(eq=False)
class GoneOwners(InvariantJudge):
    """An owner that is gone, or silent for its time to live, holds and awaits nothing.

    Nor do its descendants. It may come back: what it asks for anew is its own.
    """

    invariants = ("I-9",)

    _ending: list[TokenState] = field(default_factory=list)
    _cancelled: list[RequestState] = field(default_factory=list)
    _crashed: set[OwnerState] = field(default_factory=set)
    """Owners that are gone since this call began."""
    _due: list[tuple[int, str]] = field(default_factory=list)

    @before
    def note_crash(self, event: t.Crashed) -> None:
        """Remember what must end."""
        family = self.replay.owner(event.owner).family()
        self._crashed.update(family)
        for owner in family:
            self._ending.extend(owner.tokens.values())
            self._cancelled.extend(owner.waiting.values())

    @before
    def owner_is_gone(self, event: t.Expired) -> Findings:
        """Only the tokens of those expire."""
        if self.replay.owner(event.owner) not in self._crashed:
            yield "I-9", f"token {event.token} expires; {event.owner} is not gone"

    @before
    def asker_is_gone(self, event: t.Failed) -> Findings:
        """Only the requests of those are cancelled for it."""
        is_gone = self.replay.owner(event.owner) in self._crashed
        if event.why is Why.OWNER_GONE and not is_gone:
            yield "I-9", f"request {event.request} ends; {event.owner} is not gone"

    @after
    def note_life(
        self, event: t.OwnerAdded | t.Requested | t.Released | t.Renewed
    ) -> None:
        """Remember when silence would be too long."""
        self._note_life(self.replay.owner(event.owner), event.tick)

    @after
    def note_consent(self, event: t.Allowed) -> None:
        """Who lets others shift or limit what it holds is there."""
        held = self.replay.live(event.token)
        if held is not None:
            self._note_life(held.owner, event.tick)

    def _note_life(self, owner: OwnerState, tick: int) -> None:
        due = _due(owner)
        if due is not None and owner.last_life == tick:
            heappush(self._due, (due, owner.name))

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call all of it has ended."""
        for token in self._ending:
            if token.ended is None:
                yield "I-9", f"{token.owner.name} is gone; token {token.id} is valid"
        for owner in self._crashed:
            if owner.is_entrusted and owner.is_gone:
                yield "I-9", f"{owner.name} is gone; it is entrusted"
        for request in self._cancelled:
            if request.outcome is not OutcomeKind.CANCELLED:
                which = f"request {request.number}"
                yield "I-9", f"{request.owner.name} is gone; {which} is not cancelled"
        self._ending.clear()
        self._cancelled.clear()
        self._crashed.clear()

    @before
    def nobody_is_silent(self, event: t.Settled | t.Ticked) -> Findings:
        """When a tick is over, whose time is up has nothing."""
        for due, name in due_by(tick_over(event), self._due):
            owner = self.replay.owner(name)
            has_any = owner.tokens or owner.waiting
            if _due(owner) == due and has_any and not owner.is_gone:
                yield "I-9", f"{name} is silent since {owner.last_life}, not gone"


def _due(owner: OwnerState) -> int | None:
    limit = owner.time_to_live_ticks
    return None if limit is None else owner.last_life + max(1, limit)
