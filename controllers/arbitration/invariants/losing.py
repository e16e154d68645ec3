"""Who may take, who is told, how much goes; no promise in vain."""

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.replay_state import (
    Promise,
    RequestState,
    TokenState,
)
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    MALFORMED,
    Findings,
    RuleTable,
    TraceReplay,
    due_by,
    tick_over,
)
from nao_testbed.controllers.arbitration.policies import AnswerKind
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    TokenId,
)

_PROMISED = {
    LossCause.YIELDED: AnswerKind.YIELD,
    LossCause.PAUSED: AnswerKind.PAUSE,
}
_FOR_A_REQUEST = (LossCause.OVERRIDDEN, LossCause.YIELDED, LossCause.PAUSED)


RULES = RuleTable()

# -- taking ----------------------------------------------------------------------------
# A holder loses to a higher priority, to the tie rule, or by its own promise.
#
# Reading 2: ties are won at arrival only. Reading 17: the asker must want to win
# them, and the holder must not keep. Each loss is told once, before the taker has it.


@RULES.before("I-17")
def told_what_was_lost(replay: TraceReplay, event: t.Notified) -> Findings:
    """The notice says what the loss was."""
    if event.kind is not NoticeKind.LOST:
        return
    lost = replay.notes.untold.get(event.token) if event.token else None
    if lost is None:
        yield "I-17", f"{event.owner} is told of a loss that was not, or twice"
        return
    was = (lost.owner, lost.lost, lost.freed, lost.by, lost.why)
    if (event.owner, event.leaves, event.freed, event.by, event.why) != was:
        yield "I-17", f"{lost.owner} is told of another loss than it had"


@RULES.before("I-17")
def taken_rightly(replay: TraceReplay, event: t.Revoked) -> Findings:
    """The cause of a loss is one that gives the right to it."""
    token = replay.live(event.token)
    request = replay.waiting(event.request)
    if event.token in replay.notes.untold:
        yield "I-17", f"{event.owner} loses again before it is told"
    if event.why not in _FOR_A_REQUEST or token is None:
        return
    if event.request is not None and any(
        (lost.token, lost.request) == (event.token, event.request)
        for lost in _taken_for_requests(replay)
    ):
        yield "I-17", f"{event.owner} loses twice to request {event.request}"
    if request is not None and event.by != request.asked.owner:
        yield "I-17", f"{event.owner} loses to {event.by}, who does not ask"
    if event.why is LossCause.OVERRIDDEN:
        yield from _overridden(replay, event, token, request)
    else:
        yield from _promised(replay, event)


@RULES.before("I-17")
def told_before_the_grant(replay: TraceReplay, event: t.Granted) -> Findings:
    """Losers know before the taker has it."""
    for lost in replay.notes.untold.values():
        if lost.request == event.request:
            yield "I-17", f"{lost.owner} is not told before {event.owner} has it"


@RULES.before("I-17")
def told_before_the_command(replay: TraceReplay, event: t.Executed) -> Findings:
    """Losers know before the taker's first command."""
    for lost in replay.notes.untold.values():
        yield "I-17", f"{lost.owner} is not told before {event.resource} moves"


@RULES.before("I-17")
def all_losers_know(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call every loser knows."""
    for lost in replay.notes.untold.values():
        yield "I-17", f"{lost.owner} is never told that it lost {lost.lost}"


def _overridden(
    replay: TraceReplay,
    event: t.Revoked,
    token: TokenState,
    request: RequestState | None,
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
        and request.call == replay.call
    )
    if not replay.by_priority or not (is_higher or wins):
        who = f"{asked.owner} with priority {asked.priority}"
        whom = f"{event.owner} with {token.priority}"
        yield "I-17", f"{who} overrides {whom} without the right to"


def _promised(replay: TraceReplay, event: t.Revoked) -> Findings:
    request = replay.waiting(event.request)
    answers = replay.notes.answers if request is None else request.answers
    answer = answers.get(event.token)
    if answer is not _PROMISED[event.why]:
        yield "I-17", f"{event.owner} has {event.why}, but its answer was {answer}"
    held = replay.live(event.token)
    promise = held.promises.get(event.request or 0) if held else None
    if promise is not None and event.tick < promise.until:
        yield "I-17", f"{event.owner} was promised time until tick {promise.until}"


def _taken_for_requests(replay: TraceReplay) -> list[t.Revoked]:
    """Return the losses of this call that a request caused."""
    losses = replay.notes.all(t.Revoked)
    return [lost for lost in losses if lost.why in _FOR_A_REQUEST]


# -- losing ----------------------------------------------------------------------------
# A whole token loses everything, a partial one what was taken and no more.
#
# That freed leaves are offered at once is with the wake-ups.


@RULES.before("I-18")
def whole_or_partial(replay: TraceReplay, event: t.Revoked) -> Findings:
    """The token loses what its rule says."""
    token = replay.live(event.token)
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


@RULES.before("I-18")
def taken_for_this(replay: TraceReplay, event: t.Granted) -> Findings:
    """The taker has what was taken."""
    losses = _taken_for_requests(replay)
    taken = {x for one in losses if one.request == event.request for x in one.lost}
    for leaf in sorted(taken - set(event.shares)):
        yield "I-18", f"{leaf} was taken for {event.owner}, who does not get it"


@RULES.before("I-18")
def the_outer_one_is_gone(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call, the reservation around what was lost is gone as well."""
    for lost, leaf, outer in replay.notes.outer:
        around = replay.live(outer)
        if outer is None or (around is not None and leaf in around.seats):
            yield (
                "I-18",
                f"{lost.owner} lost {leaf}; the reservation is still there",
            )


# -- promises --------------------------------------------------------------------------
# Who is asked to give way by a tick is made to then, or told to keep on.
#
# To keep on is said once, when the asker has its turn otherwise, has given up, or
# could not start in spite of it; not to who holds nothing of it any more.


@RULES.before("I-16", MALFORMED)
def asked_or_let_off(replay: TraceReplay, event: t.Notified) -> Findings:
    """A holder is asked in time, and let off what it was asked for."""
    if event.token is None or event.request is None:
        return
    if event.kind is NoticeKind.YIELD_BY and event.until_tick is not None:
        yield from _asked(replay, event, event.token, event.request, event.until_tick)
    elif event.kind is NoticeKind.KEEP_ON:
        yield from _let_off(replay, event, event.token, event.request)


@RULES.before("I-16", MALFORMED)
def all_are_let_off(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call, those who promised to who has ended know it."""
    for request in replay.ended:
        for token in request.promised_by:
            yield from _not_let_off(replay, token, request.number)


@RULES.before("I-16", MALFORMED)
def nobody_is_left(replay: TraceReplay, event: t.Settled | t.Ticked) -> Findings:
    """When a tick is over, all that is due by it was called in or let off."""
    for until, (number, token) in due_by(tick_over(event), replay.due_promises):
        promise = _promise(replay, token, number)
        if promise is not None and promise.until == until:
            yield from _not_let_off(replay, token, number)


def _asked(
    replay: TraceReplay, event: t.Notified, token: TokenId, number: int, until: int
) -> Findings:
    request = replay.waiting(number)
    due = request.due_tick if request else None
    if due is not None and until >= due:
        what = f"{event.owner} is to give way by tick {until}"
        yield "I-16", f"{what}; request {number} ends at {due}"
    known = _promise(replay, token, number)
    if until <= event.tick or (known is not None and known.until > event.tick):
        yield MALFORMED, f"{event.owner} is to give way by tick {until}: not now"


def _let_off(
    replay: TraceReplay, event: t.Notified, token: TokenId, number: int
) -> Findings:
    promise = _promise(replay, token, number)
    if promise is None or event.tick > promise.until:
        yield MALFORMED, f"{event.owner} may keep on; it was not asked to give way"
        return
    if replay.waiting(number) is not None and event.tick < promise.until:
        yield MALFORMED, f"{event.owner} may keep on; request {number} still waits"
    if not promise.kept <= set(event.leaves) <= promise.asked:
        was = f"it was asked for {sorted(promise.asked)}"
        has = f"and has {sorted(promise.kept)}"
        yield "I-16", f"{event.owner} may keep {event.leaves}; {was} {has}"


def _not_let_off(replay: TraceReplay, token: TokenId, number: int) -> Findings:
    promise = _promise(replay, token, number)
    if promise is not None:
        del replay.tokens[token].promises[number]
        if promise.kept:
            who = f"{promise.owner} is never told that it need not"
            yield "I-16", f"{who} give way to request {number}"


def _promise(replay: TraceReplay, token: TokenId, number: int) -> Promise | None:
    held = replay.tokens.get(token)
    return held.promises.get(number) if held else None
