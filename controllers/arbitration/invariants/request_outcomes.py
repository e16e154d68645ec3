"""One outcome for each request, in time.

A failure changes nothing; who is gone leaves nothing behind.
"""

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    RuleTable,
    TraceReplay,
    due_by,
    tick_over,
)
from nao_testbed.controllers.arbitration.tokens import NoticeKind, OutcomeKind, Why

_REASONS = {
    OutcomeKind.DENIED: (Why.BUSY, Why.OUTRANKED, Why.DEADLOCK, Why.FROZEN),
    OutcomeKind.TIMED_OUT: (Why.TIMEOUT, Why.FROZEN),
    OutcomeKind.CANCELLED: (Why.WITHDRAWN, Why.CLOSED, Why.OWNER_GONE, Why.TOKEN_DEAD),
}
_IN_THE_WAY = (Why.BUSY, Why.OUTRANKED, Why.TIMEOUT, Why.FROZEN)
_WHO_WOULD_WAIT = (Why.DEADLOCK, Why.OUTRANKED)
"""Reasons for which it is denied though it would have waited."""


RULES = RuleTable()

# -- outcomes --------------------------------------------------------------------------
# Each request ends once, at the latest when its limit is due.
#
# Calls of a tick come before what is due in it: a request whose limit is due now may
# still be granted, and is over when the tick is.


@RULES.before("I-6", "I-7")
def new_number(replay: TraceReplay, event: t.Requested) -> Findings:
    """Requests are numbered upwards; only a paused one has an older place."""
    number = event.request
    if number <= replay.last_request:
        yield "I-6", f"request number {number} was used before"
    place = 0 if event.recalls else number
    if event.resumes is None and event.arrival != place:
        yield "I-6", f"request {number} claims the arrival of {event.arrival}"
    if event.timeout_ticks is None and event.resumes is None:
        yield "I-6", f"request {number} would wait for ever"


@RULES.before("I-6", "I-7")
def granted_once(replay: TraceReplay, event: t.Granted) -> Findings:
    """A grant comes to a request that waits, before its limit."""
    yield from _ends(replay, event.request, OutcomeKind.GRANTED)
    request = replay.waiting(event.request)
    due = request.due_tick if request else None
    if due is not None and event.tick > due:
        yield "I-6", f"request {event.request} is granted after its limit, {due}"


@RULES.before("I-6", "I-7")
def failed_once(replay: TraceReplay, event: t.Failed) -> Findings:
    """A failure comes to a request that waits, for a reason of its kind."""
    yield from _ends(replay, event.request, event.kind)
    request = replay.waiting(event.request)
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
    at_once = event.kind is OutcomeKind.DENIED and event.why not in _WHO_WOULD_WAIT
    if at_once and asked.timeout_ticks != 0:
        yield "I-6", f"{name} is denied at once; it would have waited until {due}"
    if event.why is Why.OUTRANKED and not _is_outranked(replay, asked):
        yield "I-6", f"{name} is outranked, but nobody of a higher priority has it"
    units = asked.optional.values()
    wanted = [*asked.shares] or [leaf for unit in units for leaf in unit]
    is_frozen = any(replay.leaf(leaf).is_frozen for leaf in wanted)
    if event.why in _IN_THE_WAY and is_frozen is not (event.why is Why.FROZEN):
        yield "I-6", f"{name} ends as {event.why}; frozen: {is_frozen}"


def _is_outranked(replay: TraceReplay, asked: t.Requested) -> bool:
    seats = [seat for leaf in asked.shares for seat in replay.leaf(leaf).seats]
    is_higher = any(seat.token.priority > asked.priority for seat in seats)
    return replay.by_priority and is_higher


@RULES.before("I-6", "I-7")
def told_once(replay: TraceReplay, event: t.Notified) -> Findings:
    """Whoever had to wait is told the outcome once."""
    if event.kind is not NoticeKind.OUTCOME or event.request is None:
        return
    number = event.request
    request = replay.requests.get(number)
    if request is None or request.outcome is None:
        yield "I-6", f"{event.owner} is told the outcome of request {number}: none"
        return
    said = event.outcome.kind if event.outcome else request.outcome
    if said is not request.outcome or event.owner != request.asked.owner:
        yield "I-6", f"{event.owner} is told {said}: it is {request.outcome}"
    if number in _told(replay):
        yield "I-6", f"{event.owner} is told twice how request {number} ended"


@RULES.before("I-6", "I-7")
def who_ended_knows(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call who ended knows it, and who tries once does not wait."""
    told = _told(replay) if replay.ended else set()
    for request in replay.ended:
        number, has_ended = request.number, request.outcome_call == replay.call
        if has_ended and request.call < replay.call and number not in told:
            how = f"request {number} waited and is {request.outcome}"
            yield "I-6", f"{how}; nobody told its owner"
    for asked in replay.notes.all(t.Requested):
        tries_once = asked.resumes is None and asked.timeout_ticks == 0
        if tries_once and replay.waiting(asked.request) is not None:
            yield "I-6", f"request {asked.request} was to try once, and waits"


def _told(replay: TraceReplay) -> set[int | None]:
    """Return the numbers of the requests whose outcomes were told in this call."""
    notices = replay.notes.all(t.Notified)
    return {told.request for told in notices if told.kind is NoticeKind.OUTCOME}


@RULES.before("I-6", "I-7")
def nothing_is_overdue(replay: TraceReplay, event: t.Settled | t.Ticked) -> Findings:
    """When a tick is over, all limits up to it are."""
    for due, number in due_by(tick_over(event), replay.due_requests):
        if replay.waiting(number) is not None:
            yield "I-6", f"request {number} still waits; its limit was tick {due}"


def never_ended(replay: TraceReplay) -> Findings:
    """When all is over, every request has its outcome."""
    for number, request in replay.requests.items():
        if request.outcome is None:
            yield "I-6", f"request {number} of {request.asked.owner} never ended"


def _ends(replay: TraceReplay, number: int, kind: OutcomeKind) -> Findings:
    request = replay.requests.get(number)
    if request is not None and request.outcome is None:
        return
    if request is None and number > replay.last_request:
        yield "I-6", f"request {number} is {kind}, but nobody asked"
        return
    was = request.outcome if request else None
    same_tick = request is not None and request.outcome_tick == replay.tick
    at_once = same_tick and OutcomeKind.TIMED_OUT in (kind, was)
    yield "I-7" if at_once else "I-6", f"request {number} is {kind} after it ended"


# -- denial ----------------------------------------------------------------------------
# Nobody gives way in vain: what is taken for somebody is given to that one.
#
# So a request that fails has changed nothing but its own place in the queue.


@RULES.before("I-16")
def taker_waits(replay: TraceReplay, event: t.Revoked) -> Findings:
    """Nobody loses to a request that has ended."""
    if event.request is not None and replay.waiting(event.request) is None:
        yield "I-16", f"{event.owner} loses to request {event.request}: ended"


@RULES.before("I-16")
def in_vain(replay: TraceReplay, event: t.Failed) -> Findings:
    """A request for which somebody lost something does not fail."""
    lost = _takers(replay).get(event.request)
    if lost is not None:
        yield "I-16", f"{lost.owner} lost to request {event.request}, which failed"


@RULES.before("I-16")
def nobody_gave_way_for_nothing(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call the taker has it, and the state is left."""
    for number, lost in _takers(replay).items():
        yield "I-16", f"{lost.owner} lost to request {number}, which is not granted"
    for lost in replay.notes.gave_up_state:
        yield "I-16", f"{lost.owner} lost a state that is not left"


def _takers(replay: TraceReplay) -> dict[int, t.Revoked]:
    """Return requests for which holders lost in this call, and have no outcome yet."""
    notes = replay.notes
    if t.Revoked not in notes.said:
        return {}
    ended = {end.request for end in notes.all(t.Granted)}
    ended |= {end.request for end in notes.all(t.Failed)}
    return {
        lost.request: lost
        for lost in reversed(notes.all(t.Revoked))  # of several the first
        if lost.request is not None and lost.request not in ended
    }


# -- owners that are gone --------------------------------------------------------------
# An owner that is gone, or silent for its time to live, holds and awaits nothing.
#
# Nor do its descendants. It may come back: what it asks for anew is its own.


@RULES.before("I-9")
def owner_is_gone(replay: TraceReplay, event: t.Expired) -> Findings:
    """Only the tokens of those expire."""
    if replay.owner(event.owner) not in replay.notes.crashed:
        yield "I-9", f"token {event.token} expires; {event.owner} is not gone"


@RULES.before("I-9")
def asker_is_gone(replay: TraceReplay, event: t.Failed) -> Findings:
    """Only the requests of those are cancelled for it."""
    is_gone = replay.owner(event.owner) in replay.notes.crashed
    if event.why is Why.OWNER_GONE and not is_gone:
        yield "I-9", f"request {event.request} ends; {event.owner} is not gone"


@RULES.before("I-9")
def all_of_it_has_ended(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call all of it has ended."""
    for token in replay.notes.ending:
        if token.ended is None:
            yield "I-9", f"{token.owner.name} is gone; token {token.id} is valid"
    for owner in replay.notes.crashed:
        if owner.is_entrusted and owner.is_gone:
            yield "I-9", f"{owner.name} is gone; it is entrusted"
    for request in replay.notes.cancelled:
        if request.outcome is not OutcomeKind.CANCELLED:
            which = f"request {request.number}"
            yield "I-9", f"{request.owner.name} is gone; {which} is not cancelled"


@RULES.before("I-9")
def nobody_is_silent(replay: TraceReplay, event: t.Settled | t.Ticked) -> Findings:
    """When a tick is over, whose time is up has nothing."""
    for due, name in due_by(tick_over(event), replay.due_lives):
        owner = replay.owner(name)
        has_any = owner.tokens or owner.waiting
        if owner.due_tick == due and has_any and not owner.is_gone:
            yield "I-9", f"{name} is silent since {owner.last_life}, not gone"
