"""I-6, I-7, I-9, I-16: one outcome for each request, in time.

A failure changes nothing; who is gone leaves nothing behind.
"""

import heapq

from controllers.arbitration import events as t
from controllers.arbitration.invariants.replay_state import (
    OwnerState,
    RequestState,
    TokenState,
)
from controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    JudgeRule,
    TraceReplay,
    after,
    before,
)
from controllers.arbitration.tokens import LossCause, NoticeKind, OutcomeKind, Why

_REASONS = {
    OutcomeKind.DENIED: (Why.BUSY, Why.DEADLOCK, Why.FROZEN),
    OutcomeKind.TIMED_OUT: (Why.TIMEOUT, Why.FROZEN),
    OutcomeKind.CANCELLED: (
        Why.WITHDRAWN,
        Why.CLOSED,
        Why.OWNER_GONE,
        Why.TOKEN_DEAD,
    ),
}

_IN_THE_WAY = (Why.BUSY, Why.TIMEOUT, Why.FROZEN)


class Outcomes(InvariantJudge):
    """Each request ends once, at the latest when its limit is due.

    Calls of a tick come before what is due in it: a request whose limit is due now may
    still be granted, and is over when the tick is.
    """

    invariants = ("I-6", "I-7")

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with nothing due."""
        super().__init__(replay)
        self._due: list[tuple[int, int]] = []
        self._untold: dict[int, OutcomeKind] = {}
        """Requests that had to wait and have ended in this call."""
        self._told: dict[int, OutcomeKind] = {}
        self._tried_once: list[int] = []

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at requests, their outcomes, and the passing of time."""
        return (
            before(t.Requested, self.new_number),
            before(t.Granted, self.granted_once),
            before(t.Failed, self.failed_once),
            before(t.Notified, self.told_once),
            before(t.Settled, self.settled),
            before(t.Ticked, self.nothing_is_overdue),
        )

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
            heapq.heappush(self._due, (event.tick + event.timeout_ticks, number))

    def granted_once(self, event: t.Granted) -> Findings:
        """A grant comes to a request that waits, before its limit."""
        yield from self._ends(event.request, OutcomeKind.GRANTED)
        request = self.replay.waiting(event.request)
        due = request.due_tick if request else None
        if due is not None and event.tick > due:
            yield "I-6", f"request {event.request} is granted after its limit, {due}"

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

    def settled(self, event: t.Settled) -> Findings:
        """After a call who ended knows it, and nobody is overdue."""
        for number, kind in self._untold.items():
            yield "I-6", f"request {number} waited and is {kind}; nobody told its owner"
        for number in self._tried_once:
            if self.replay.waiting(number) is not None:
                yield "I-6", f"request {number} was to try once, and waits"
        self._untold.clear()
        self._told.clear()
        self._tried_once.clear()
        yield from self._overdue(event.tick - 1)

    def nothing_is_overdue(self, event: t.Ticked) -> Findings:
        """When a tick is over, all limits up to it are."""
        yield from self._overdue(event.tick)

    def end(self) -> Findings:
        """When all is over, every request has its outcome."""
        for number, request in self.replay.requests.items():
            if request.outcome is None:
                yield "I-6", f"request {number} of {request.asked.owner} never ended"

    def _overdue(self, tick: int) -> Findings:
        while self._due and self._due[0][0] <= tick:
            due, number = heapq.heappop(self._due)
            if self.replay.waiting(number) is not None:
                yield "I-6", f"request {number} still waits; its limit was tick {due}"

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


class Denial(InvariantJudge):
    """Nobody gives way in vain: what is taken for somebody is given to that one.

    So a request that fails has changed nothing but its own place in the queue.
    """

    invariants = ("I-16",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with nobody having given way."""
        super().__init__(replay)
        self._for_request: dict[int, t.Revoked] = {}
        self._for_state: list[t.Revoked] = []

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at losses and at what follows them in the same call."""
        return (
            before(t.Revoked, self.note_loss),
            before(t.Granted, self.taker_has_it),
            before(t.StateChanged, self.state_is_left),
            before(t.Failed, self.in_vain),
            before(t.Settled, self.settled),
        )

    def note_loss(self, event: t.Revoked) -> Findings:
        """Remember for whom it was taken."""
        if event.request is not None:
            self._for_request.setdefault(event.request, event)
            if self.replay.waiting(event.request) is None:
                yield "I-16", f"{event.owner} loses to request {event.request}: ended"
        elif event.why in (LossCause.YIELDED, LossCause.STATE_LEFT):
            self._for_state.append(event)

    def taker_has_it(self, event: t.Granted) -> Findings:
        """The taker is granted."""
        self._for_request.pop(event.request, None)
        yield from ()

    def state_is_left(self, event: t.StateChanged) -> Findings:
        """The state that they gave up is left."""
        del event
        self._for_state.clear()
        yield from ()

    def in_vain(self, event: t.Failed) -> Findings:
        """A request for which somebody lost something fails."""
        lost = self._for_request.pop(event.request, None)
        if lost is not None:
            yield "I-16", f"{lost.owner} lost to request {event.request}, which failed"

    def settled(self, event: t.Settled) -> Findings:
        """After a call nobody has given way for nothing."""
        del event
        for number, lost in self._for_request.items():
            yield "I-16", f"{lost.owner} lost to request {number}, which is not granted"
        for lost in self._for_state:
            yield "I-16", f"{lost.owner} lost a state that is not left"
        self._for_request.clear()
        self._for_state.clear()


class GoneOwners(InvariantJudge):
    """An owner that is gone, or silent for its time to live, holds and awaits nothing.

    Nor do its descendants. It may come back: what it asks for anew is its own.
    """

    invariants = ("I-9",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with everybody there."""
        super().__init__(replay)
        self._ending: list[TokenState] = []
        self._cancelled: list[RequestState] = []
        self._crashed: set[OwnerState] = set()
        """Owners that are gone since this call began."""
        self._due: list[tuple[int, str]] = []

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at crashes, at what ends by them, and at signs of life."""
        return (
            before(t.Crashed, self.note_crash),
            before(t.Expired, self.owner_is_gone),
            before(t.Failed, self.asker_is_gone),
            after(t.OwnerAdded, self.note_life),
            after(t.Requested, self.note_life),
            after(t.Released, self.note_life),
            after(t.Renewed, self.note_life),
            after(t.Allowed, self.note_consent),
            before(t.Settled, self.settled),
            before(t.Ticked, self.nobody_is_silent),
        )

    def note_crash(self, event: t.Crashed) -> Findings:
        """Remember what must end."""
        family = self.replay.owner(event.owner).family()
        self._crashed.update(family)
        for owner in family:
            self._ending.extend(owner.tokens.values())
            self._cancelled.extend(owner.waiting.values())
        yield from ()

    def owner_is_gone(self, event: t.Expired) -> Findings:
        """Only the tokens of those expire."""
        if self.replay.owner(event.owner) not in self._crashed:
            yield "I-9", f"token {event.token} expires; {event.owner} is not gone"

    def asker_is_gone(self, event: t.Failed) -> Findings:
        """Only the requests of those are cancelled for it."""
        is_gone = self.replay.owner(event.owner) in self._crashed
        if event.why is Why.OWNER_GONE and not is_gone:
            yield "I-9", f"request {event.request} ends; {event.owner} is not gone"

    def note_life(
        self, event: t.OwnerAdded | t.Requested | t.Released | t.Renewed
    ) -> Findings:
        """Remember when silence would be too long."""
        yield from self._note_life(self.replay.owner(event.owner), event.tick)

    def note_consent(self, event: t.Allowed) -> Findings:
        """Who lets others shift or limit what it holds is there."""
        held = self.replay.live(event.token)
        if held is not None:
            yield from self._note_life(held.owner, event.tick)

    def _note_life(self, owner: OwnerState, tick: int) -> Findings:
        due = _due(owner)
        if due is not None and owner.last_life == tick:
            heapq.heappush(self._due, (due, owner.name))
        yield from ()

    def settled(self, event: t.Settled) -> Findings:
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
        yield from self._silent(event.tick - 1)

    def nobody_is_silent(self, event: t.Ticked) -> Findings:
        """When a tick is over, whose time is up has nothing."""
        yield from self._silent(event.tick)

    def _silent(self, tick: int) -> Findings:
        while self._due and self._due[0][0] <= tick:
            due, name = heapq.heappop(self._due)
            owner = self.replay.owner(name)
            has_any = owner.tokens or owner.waiting
            if _due(owner) == due and has_any and not owner.is_gone:
                yield "I-9", f"{name} is silent since {owner.last_life}, not gone"


def _due(owner: OwnerState) -> int | None:
    limit = owner.time_to_live_ticks
    return None if limit is None else owner.last_life + max(1, limit)
