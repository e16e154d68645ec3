"""Traces that no manager writes: names, numbers, order, notices."""

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    MALFORMED,
    Findings,
    RuleTable,
    TraceReplay,
)
from nao_testbed.controllers.arbitration.tokens import NoticeKind, TokenId
from nao_testbed.models.resources import ResourceKind

_NAMES = ("leaves", "lost", "freed", "missing", "holders", "shares", "optional")
"""Fields that hold names."""
_LEAVES = ("leaves", "lost", "freed", "shares")
_Loss = t.Released | t.Revoked | t.Expired
_Owned = (
    t.Requested
    | t.Granted
    | t.Failed
    | _Loss
    | t.Renewed
    | t.Crashed
    | t.Notified
    | t.Answered
)
_Listing = (
    t.Requested
    | t.Granted
    | _Loss
    | t.Frozen
    | t.Thawed
    | t.StateRefused
    | t.Notified
    | t.MadeSafe
)


RULES = RuleTable()

# -- names -----------------------------------------------------------------------------
# Names come sorted, known and in time.
#
# Sorted: so the order in which a request names them leaves no mark (I-5). That two
# runs with permuted names have one `trace_hash` is for a test.


@RULES.before("I-5", MALFORMED)
def in_time(replay: TraceReplay, event: t.Event) -> Findings:
    """Ticks never decrease within an epoch, and the epoch comes first."""
    if not isinstance(event, t.Opened):
        if event.tick < replay.tick:
            yield MALFORMED, f"tick {event.tick} comes after {replay.tick}"
        if replay.epoch == 0:
            yield MALFORMED, f"{type(event).__name__} comes before any epoch"


@RULES.before("I-5", MALFORMED)
def sorted_names(_: TraceReplay, event: _Listing) -> Findings:
    """Names are sorted, each there once."""
    for part in _NAMES:
        names = list(getattr(event, part, ()))
        if names != sorted(set(names)):
            yield "I-5", f"{type(event).__name__}.{part} is not sorted: {names}"


@RULES.before("I-5", MALFORMED)
def known_leaves(replay: TraceReplay, event: _Listing) -> Findings:
    """Leaves were added before."""
    for part in _LEAVES:
        for name in getattr(event, part, ()):
            if name not in replay.leaves:
                yield MALFORMED, f"{type(event).__name__} names {name!r}: no leaf"


@RULES.before("I-5", MALFORMED)
def known_owner(replay: TraceReplay, event: _Owned) -> Findings:
    """Owners were added before."""
    if event.owner not in replay.owners:
        yield MALFORMED, f"{type(event).__name__} names {event.owner!r}: no owner"


@RULES.before("I-5", MALFORMED)
def known_parent(replay: TraceReplay, event: t.OwnerAdded) -> Findings:
    """An owner's parent was added before, and stays its parent while it is here."""
    if event.parent is not None and event.parent not in replay.owners:
        yield MALFORMED, f"{event.owner} is a part of {event.parent!r}: no owner"
    known = replay.owners.get(event.owner)
    if known is not None and not known.is_gone:
        was = known.parent.name if known.parent else None
        if was != event.parent:
            yield MALFORMED, f"{event.owner} moves from {was} to {event.parent}"


@RULES.before("I-5", MALFORMED)
def below_a_composite(replay: TraceReplay, event: t.ResourceAdded) -> Findings:
    """A resource is added once, below one that nobody has."""
    if event.name in replay.leaves or replay.children.get(event.name):
        yield MALFORMED, f"resource {event.name} is added twice"
    above = replay.leaves.get(event.parent or "")
    if above is not None and (above.seats or above.queue):
        yield MALFORMED, f"{event.name} is added below {event.parent}: in use"


@RULES.before("I-5", MALFORMED)
def was_there(replay: TraceReplay, event: t.ResourceRemoved) -> Findings:
    """Only what is known is removed."""
    if event.name not in replay.leaves:
        yield MALFORMED, f"{event.name!r} is removed: it was no leaf"


@RULES.before("I-5", MALFORMED)
def known_state(replay: TraceReplay, event: t.StateChanged) -> Findings:
    """The active state is one of its set."""
    states = [
        name
        for name in replay.children.get(event.group, ())
        if name in replay.leaves and replay.leaves[name].kind is ResourceKind.STATE
    ]
    if event.active is not None and event.active not in states:
        yield MALFORMED, f"{event.active!r} is no state of {event.group!r}"
    if event.active == replay.active.get(event.group):
        yield MALFORMED, f"{event.group!r} changes to {event.active!r}: it was so"


# -- tokens ----------------------------------------------------------------------------
# Tokens and epochs only grow, so none is ever used again.


@RULES.before("I-12")
def higher_epoch(replay: TraceReplay, event: t.Opened) -> Findings:
    """A restart raises the epoch."""
    if event.epoch <= replay.epoch:
        yield "I-12", f"epoch {event.epoch} begins after epoch {replay.epoch}"


@RULES.before("I-12")
def newer(replay: TraceReplay, event: t.Granted) -> Findings:
    """A token that is not known yet is later than all others."""
    if event.token in replay.tokens:
        return
    if event.token.epoch != replay.epoch:
        yield "I-12", f"token {event.token} is not of epoch {replay.epoch}"
    if event.token <= replay.last_token:
        yield "I-12", f"token {event.token} comes after {replay.last_token}"


_DEMANDS = (NoticeKind.DEMANDED, NoticeKind.YIELD_BY, NoticeKind.KEEP_ON)
_OF_WHAT_IT_HAS = (*_DEMANDS, NoticeKind.LIMITED, NoticeKind.UNLIMITED)


# -- notices ---------------------------------------------------------------------------
# Who is asked holds what is asked for, and answers at once.
#
# What a loss or an outcome says is with the losses and the outcomes.


@RULES.before(MALFORMED)
def about_a_token(replay: TraceReplay, event: t.Notified) -> Findings:
    """The token is the owner's, and covers the leaves if it is to give them."""
    token = replay.tokens.get(event.token) if event.token else None
    if event.token is None and event.kind in (
        NoticeKind.OUTCOME,
        NoticeKind.RAISED,
    ):
        return
    what = f"{event.owner} is told {event.kind}"
    if token is None or token.owner.name != event.owner:
        yield MALFORMED, f"{what} about {event.token}, which is not its token"
    elif event.kind in _OF_WHAT_IT_HAS:
        if not event.leaves or not set(event.leaves) <= set(token.seats):
            yield MALFORMED, f"{what} about leaves that token {token.id} lacks"
    elif event.kind is NoticeKind.OUTCOME:
        if not set(event.leaves) <= set(token.seats):
            yield MALFORMED, f"{what} about leaves that it did not get"
    elif event.kind is NoticeKind.AVAILABLE:
        frozen = [leaf for leaf in event.leaves if replay.leaf(leaf).is_frozen]
        if frozen or not event.leaves:
            yield MALFORMED, f"{what} about what is not: {frozen}"


@RULES.before(MALFORMED)
def by_who_asks(replay: TraceReplay, event: t.Notified) -> Findings:
    """The asker of a demand is the one who waits, or did until now."""
    if event.kind not in _DEMANDS:
        return
    request = replay.waiting(event.request)
    if event.kind is NoticeKind.KEEP_ON and event.request is not None:
        request = replay.requests.get(event.request)
    if event.request is not None:
        asker = request.asked.owner if request else None
        if asker != event.by:
            yield MALFORMED, f"{event.owner} is asked by {event.by}, not {asker}"
    elif event.kind is not NoticeKind.DEMANDED:
        yield MALFORMED, f"{event.owner} promised, but to no request"


def _unanswered(
    replay: TraceReplay,
) -> list[tuple[str, TokenId | None, int | None]]:
    """Return owner, token and request of the demands of this call without an answer."""
    if t.Notified not in replay.notes.said:
        return []
    demands = [
        (told.owner, told.token, told.request)
        for told in replay.notes.all(t.Notified)
        if told.kind is NoticeKind.DEMANDED
    ]
    for said in replay.notes.all(t.Answered):
        if (answered := (said.owner, said.token, said.request)) in demands:
            demands.remove(answered)
    return demands


@RULES.before(MALFORMED)
def was_asked(replay: TraceReplay, event: t.Answered) -> Findings:
    """An answer follows its demand."""
    if (event.owner, event.token, event.request) not in _unanswered(replay):
        yield MALFORMED, f"{event.owner} answers what it was not asked"


@RULES.before(MALFORMED)
def kept_by_holders(replay: TraceReplay, event: t.StateRefused) -> Findings:
    """A wish for a state is refused by those who need the active one."""
    active = replay.active.get(event.group)
    seats = replay.leaf(active).seats if active else []
    holders = {seat.owner.name for seat in seats}
    if not event.holders or set(event.holders) != holders:
        yield MALFORMED, f"{event.group} is kept by {event.holders}: not holders"
    states = replay.children.get(event.group, ())
    if event.wanted is not None and event.wanted not in states:
        yield MALFORMED, f"{event.wanted!r} is no state of {event.group!r}"


@RULES.before(MALFORMED)
def all_have_answered(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call everybody has answered."""
    for owner, token, request in _unanswered(replay):
        yield MALFORMED, f"{owner} gives no answer about {token} to {request}"
