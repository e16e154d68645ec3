"""Reservations begin, shrink and end; what a holder lets others do with its motors.

A motor is one leaf in ES2535273; here its torque limit is a leaf of its own, so that
one controller may limit a whole body whose motors many move. So who holds a motor holds
its limit too: nobody else is granted the limit without the motor, and a limit commanded
by somebody else passes only by the holder's consent. That is said (`allow`), or taken
for granted of who is entrusted, such as the stiffness controller. It ends with the
hold, as it stands in the holder's record.
"""

from collections.abc import Iterable, Sequence

from nao_testbed.controllers.arbitration.events import (
    Allowed,
    Entrusted,
    Expired,
    Granted,
    Notified,
    Released,
    Revoked,
)
from nao_testbed.controllers.arbitration.manager import queue
from nao_testbed.controllers.arbitration.manager.leaves import ExclusiveLeaf
from nao_testbed.controllers.arbitration.manager.records import (
    AvailabilityWatch,
    Leaf,
    OwnerRecord,
    Reservation,
    Shares,
    Waiting,
    end_watches,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state import (
    DeadToken,
    ReservationState,
)
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Refusal,
    Right,
    Why,
)
from nao_testbed.models import BadInput


def entrust(state: ReservationState, owner: OwnerRecord, *, is_entrusted: bool) -> None:
    """Let an owner shift and limit what no holder forbids, or end that."""
    owner.is_entrusted = is_entrusted
    for waiting in owner.waiting.values():
        for leaf in waiting.shares:
            if leaf.limits:
                state.touch(leaf)
    state.emit(Entrusted(tick=state.tick, owner=owner.name, is_entrusted=is_entrusted))


def allow(
    state: ReservationState,
    holder: Reservation,
    owner: OwnerRecord,
    right: Right,
    *,
    is_allowed: bool,
) -> None:
    """Let an owner use a right on the motors of a token, or forbid it."""
    if not any(leaf.is_motor for leaf in holder.shares):
        raise BadInput(
            f"token {holder.token.id} of {holder.owner.name!r} covers no motor: "
            f"there is nothing to {right}."
        )
    holder.allows = {**(holder.allows or {}), (owner, right): is_allowed}
    for motor in holder.shares:
        state.touch_limits(motor)
    state.emit(
        Allowed(
            tick=state.tick,
            token=holder.token.id,
            owner=owner.name,
            right=right,
            is_allowed=is_allowed,
        )
    )


def tell_seated(
    state: ReservationState, seated: Reservation, leaves: Iterable[Leaf]
) -> None:
    """Tell who is seated who limits that, and others that it limits theirs."""
    limited: dict[tuple[Reservation, str], list[Leaf]] = {}
    for leaf in leaves:
        for by, freeze in leaf.freezes.items():
            if freeze.effort_cap is not None and (leaf.is_motor or leaf.limits):
                limited.setdefault((seated, by), []).append(leaf)
        for limit in leaf.limited:
            for other in limit.seated()[:1]:
                if _limits_other(other, leaf):
                    limited.setdefault((seated, other.owner.name), []).append(leaf)
        for motor in leaf.limits:
            for other in motor.seated()[:1]:
                if _limits_other(seated, motor):
                    limited.setdefault((other, seated.owner.name), []).append(motor)
    for (holder, by), theirs in limited.items():
        state.notify(holder, NoticeKind.LIMITED, theirs, by=by)


def tell_capped(
    state: ReservationState, leaves: Iterable[Leaf], by: str, kind: NoticeKind
) -> None:
    """Tell holders that a virtual owner limits what they hold, or no more."""
    limited: dict[Reservation, list[Leaf]] = {}
    for leaf in leaves:
        for holder in leaf.seated()[:1] if leaf.is_motor or leaf.limits else ():
            limited.setdefault(holder, []).append(leaf)
    for holder, theirs in limited.items():
        state.notify(holder, kind, theirs, by=by)


def may_limit(limit: Leaf, by: Reservation) -> bool:
    """Whether a token that covers a limit may set it: no holder of a motor minds."""
    return all(_consents(motor, by.owner, Right.LIMIT) for motor in limit.limits)


def is_opposed(limit: Leaf, shares: Iterable[Leaf], owner: OwnerRecord) -> bool:
    """Whether a limit is not to be granted now, with what else is asked for.

    A request takes with it the motors whose holders do not consent when it comes; who
    is seated on the others since, or consents no more, may still be in its way.
    """
    return any(
        motor not in shares and not _consents(motor, owner, Right.LIMIT)
        for motor in limit.limits
    )


def may_shift(motor: Leaf, by: Reservation) -> bool:
    """Whether a token may shift a motor that it does not cover."""
    holder = _user(motor)
    said = None if holder is None else holder.allows
    if said is not None and said.get((by.owner, Right.SHIFT)):
        return True
    limits = motor.limited
    has_limit = not limits or any(
        limit in by.shares and not limit.is_lent(by) for limit in limits
    )
    return has_limit and _consents(motor, by.owner, Right.SHIFT)


def motors_besides(shares: Iterable[Leaf], owner: OwnerRecord) -> Shares:
    """Return the motors that an owner has to take with the limits that it wants.

    Those are not among them that it holds, or may limit by their holders' consent, or
    that a virtual owner has.
    """
    wanted = set(shares)
    if owner.is_entrusted:
        return {}
    return {
        motor: FULL
        for limit in wanted
        for motor in limit.limits
        if motor not in wanted
        and not motor.is_frozen
        and not (motor.seated() and _consents(motor, owner, Right.LIMIT))
    }


def _consents(motor: Leaf, owner: OwnerRecord, right: Right) -> bool:
    """Whether the holder of a motor, if there is one, lets an owner use a right."""
    holder = _user(motor)
    if holder is None:
        return right is Right.LIMIT or owner.is_entrusted
    if holder.allows is not None:
        said = holder.allows.get((owner, right))
        if said is not None:
            return said
    is_own = right is Right.LIMIT and _are_kin(holder.owner, owner)
    return is_own or owner.is_entrusted


def _limits_other(by: Reservation, motor: Leaf) -> bool:
    """Whether who holds a limit may set that of somebody else's motor."""
    holder = _user(motor)
    return (
        holder is not None
        and not _are_kin(holder.owner, by.owner)
        and _consents(motor, by.owner, Right.LIMIT)
    )


def _user(motor: Leaf) -> Reservation | None:
    seated = motor.seated()
    return seated[0] if seated else None


def _are_kin(one: OwnerRecord, other: OwnerRecord) -> bool:
    return one in other.line or other in one.line


Yielding = dict[Reservation, list[Leaf]]
"""Who gives way, in order, and which leaves."""


def seat(
    state: ReservationState, waiting: Waiting, shares: Shares, missing: tuple[str, ...]
) -> None:
    """Grant a request these leaves: nothing stands in its way any more."""
    reservation = waiting.add_to
    if reservation is None:
        token = state.mint.issue()
        terms = waiting.terms
        reservation = Reservation(
            token,
            waiting.first or token,
            waiting.owner,
            {},
            terms.priority,
            terms.loss,
            terms.policy,
            terms.keeps_ties,
            waiting.arrival,
            state.tick,
            waiting.lent,
        )
        state.reservations[token.sequence] = reservation
        waiting.owner.reservations[reservation] = None
        if waiting.owner.waiting:
            state.entangled[waiting.owner] = None
    if waiting.implied:
        reservation.implied |= waiting.implied
    if reservation.lent:
        reservation.lent = reservation.lent.difference(shares)
    inside = {}
    for leaf, share in shares.items():
        below = leaf.seat(reservation, share)
        reservation.shares[leaf] = share
        if below is not None:
            inside[leaf.name] = below.token.id
        if below is not None and leaf.limited:
            state.touch_limits(leaf)
        if leaf.watches:
            end_watches(waiting.owner, leaf)
        if leaf.waiters or leaf.watches:
            state.touch(leaf)
            state.suspects[waiting.owner] = None
            if reservation.owner.children or not isinstance(leaf, ExclusiveLeaf):
                _suspect_waiters(state, leaf)
    waiting.ticket.outcome = Outcome(
        kind=OutcomeKind.GRANTED,
        tick=state.tick,
        token=reservation.token,
        obtained=tuple([leaf.name for leaf in shares]),
        missing=missing,
    )
    if state.listeners:
        state.emit(
            Granted(
                tick=state.tick,
                request=waiting.ticket.number,
                owner=waiting.owner.name,
                token=reservation.token.id,
                shares={leaf.name: share for leaf, share in shares.items()},
                missing=missing,
                inside=inside,
            )
        )
        queue.tell_outcome(state, waiting)
        tell_seated(state, reservation, shares)


def release(
    state: ReservationState,
    reservation: Reservation,
    leaves: Sequence[Leaf],
    *,
    lends: bool = False,
) -> None:
    """Give back leaves for an owner, and first what is inside of them.

    A token that lends all that it has stays alive.
    """
    _empty_inside(state, reservation, leaves)
    _unseat(state, reservation, leaves)
    is_whole = not reservation.shares and not lends
    if state.listeners:
        state.emit(
            Released(
                tick=state.tick,
                token=reservation.token.id,
                owner=reservation.owner.name,
                leaves=names_of(leaves),
                is_whole=is_whole,
            )
        )
    if is_whole:
        _end(state, reservation, Refusal.RELEASED, leaves)


def expire(state: ReservationState, reservation: Reservation) -> None:
    """End a reservation whose owner is gone."""
    leaves = list(reservation.shares)
    for leaf in leaves:
        for inner in leaf.inside(reservation):
            if inner.ended is None:
                expire(state, inner)  # a descendant's, gone as well
    _unseat(state, reservation, leaves)
    state.emit(
        Expired(
            tick=state.tick,
            token=reservation.token.id,
            owner=reservation.owner.name,
            leaves=names_of(leaves),
        )
    )
    _end(state, reservation, Refusal.EXPIRED, leaves)


def take_away(
    state: ReservationState,
    reservation: Reservation,
    wanted: Iterable[Leaf],
    why: LossCause,
    by: str,
    *,
    request: int | None = None,
    resume: int | None = None,
) -> None:
    """Take leaves from a holder, and all others too if its token loses whole.

    Behind it is an owner, a virtual one or a state (`by`), perhaps by a `request`;
    `resume` is the number of the ticket with which a paused holder waits.
    """
    lost = sorted(wanted, key=_name)
    whole = reservation.loss is Loss.WHOLE
    if why is LossCause.FROZEN and reservation.implied.issuperset(lost):
        whole = False  # what it limits otherwise it may still limit
    leaves = sorted(reservation.shares, key=_name) if whole else lost
    _empty_inside(state, reservation, leaves, request)
    shares = {leaf: reservation.shares[leaf] for leaf in lost}
    _unseat(state, reservation, leaves)
    if why is not LossCause.PAUSED:
        AvailabilityWatch(reservation.owner, reservation.token.id, shares)
    is_whole = not reservation.shares
    if state.listeners:
        freed = names_of([leaf for leaf in leaves if leaf not in shares])
        state.emit(
            Revoked(
                tick=state.tick,
                token=reservation.token.id,
                owner=reservation.owner.name,
                lost=names_of(lost),
                freed=freed,
                why=why,
                by=by,
                request=request,
                is_whole=is_whole,
            )
        )
        state.emit(
            Notified(
                tick=state.tick,
                owner=reservation.owner.name,
                kind=NoticeKind.LOST,
                token=reservation.token.id,
                leaves=names_of(lost),
                freed=freed,
                by=by,
                why=why,
                request=resume,
            )
        )
    if is_whole:
        _end(state, reservation, Refusal.REVOKED, leaves, why, by)


def _empty_inside(
    state: ReservationState,
    reservation: Reservation,
    leaves: Sequence[Leaf],
    request: int | None = None,
) -> None:
    """Take leaves from all inside of a reservation that goes.

    What is inside never holds what it is inside of: it is a descendant's.
    """
    if not reservation.owner.children:
        return
    inside: dict[Reservation, list[Leaf]] = {}
    for leaf in sorted(leaves, key=_name):  # an enlarged token has them otherwise
        for inner in leaf.inside(reservation):
            inside.setdefault(inner, []).append(leaf)
    for inner, theirs in inside.items():
        left = [leaf for leaf in theirs if leaf in inner.shares]
        if left:  # it may have gone with another one
            take_away(
                state,
                inner,
                left,
                LossCause.PARENT_RELEASED,
                reservation.owner.name,
                request=request,
            )


def _unseat(
    state: ReservationState, reservation: Reservation, leaves: Sequence[Leaf]
) -> None:
    for leaf in leaves:
        leaf.unseat(reservation)
        del reservation.shares[leaf]
        if leaf.limited and state.waiting:
            state.touch_limits(leaf)
        if leaf.waiters or leaf.watches or state.unqueued:
            state.touch(leaf)
            if reservation.owner.children:
                _suspect_waiters(state, leaf)


def _suspect_waiters(state: ReservationState, leaf: Leaf) -> None:
    """Note that those who wait for a leaf may wait for others than before."""
    for waiting in leaf.waiters:
        state.suspects[waiting.owner] = None


def _end(
    state: ReservationState,
    reservation: Reservation,
    ended: Refusal,
    leaves: Iterable[Leaf],
    why: LossCause | None = None,
    by: str = "",
) -> None:
    """Kill the token; its record stays for a while."""
    token = reservation.token
    reservation.ended = ended
    owner = reservation.owner
    del owner.reservations[reservation]
    if not owner.reservations:
        state.entangled.pop(owner, None)
    del state.reservations[token.sequence]
    dead = DeadToken(
        token.secret,
        ended,
        reservation.first,
        why,
        by,
        owner.name,
        tuple([leaf.name for leaf in leaves]),
        reservation.priority,
        reservation.keeps_ties,
    )
    state.ended[token.sequence] = dead
    state.ended_order.append(token.sequence)
    if len(state.ended_order) > state.cfg.dead_tokens_kept:
        del state.ended[state.ended_order.popleft()]
    if reservation.enlarged_by:
        for waiting in list(reservation.enlarged_by.values()):
            queue.fail(state, waiting, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)


def _name(leaf: Leaf) -> str:
    return leaf.name


def innermost_first(yielding: Yielding) -> Yielding:
    """Return who gives way, each after those of them that are inside of it.

    So that each goes by its own cause: a promised pause stays a pause.
    """
    order: Yielding = {}

    def add(holder: Reservation) -> None:
        if holder in order:
            return
        for leaf in holder.shares if holder.owner.children else ():
            for inner in leaf.inside(holder):
                if inner in yielding:
                    add(inner)
        order[holder] = yielding[holder]

    for holder in yielding:
        add(holder)
    return order
