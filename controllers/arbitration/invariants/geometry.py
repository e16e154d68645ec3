"""Who stands in whose way: consent, scopes, blockers, competitors in a replay.

What an ancestor has is open to its descendants: whoever has such an ancestor asks
inside of that reservation, its scope; all others ask outside.
"""

from bisect import bisect_left
from collections.abc import Container, Iterator

from nao_testbed.controllers.arbitration.invariants.replay_state import (
    LeafState,
    OwnerState,
    RequestState,
    SeatState,
    TokenState,
)
from nao_testbed.controllers.arbitration.invariants.trace_replay import TraceReplay
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.controllers.arbitration.tokens import Right
from nao_testbed.models.resources import ResourceKind


def scope(leaf: LeafState, owner: OwnerState) -> SeatState | None:
    """Return the reservation that an owner would be inside of; None: outside of all.

    The topmost one of its line on an exclusive leaf, the nearest one on a cumulative
    leaf; states have none.
    """
    if leaf.kind is ResourceKind.STATE:
        return None
    open_to_it = [seat for seat in leaf.seats if is_open_to(seat, owner)]
    if leaf.kind is ResourceKind.EXCLUSIVE:
        return open_to_it[-1] if open_to_it else None
    return min(open_to_it, key=lambda seat: owner.line[seat.owner], default=None)


def is_open_to(seat: SeatState, owner: OwnerState) -> bool:
    """Whether an owner is a descendant of a seat's."""
    return owner.line.get(seat.owner, 0) > 0


def free(leaf: LeafState, within: SeatState | None) -> int:
    """Return what is free of a cumulative leaf, in 1/100 %."""
    return FULL - leaf.used if within is None else within.share - within.used


def members(leaf: LeafState, within: SeatState | None) -> Iterator[SeatState]:
    """Yield all that sits inside of a seat of a cumulative leaf, the deepest first."""
    outer = within.token.id if within else None
    for seat in leaf.seats:
        if seat.inside == outer:
            yield from members(leaf, seat)
            yield seat


def blockers(
    replay: TraceReplay, leaf: LeafState, owner: OwnerState, share: int
) -> list[SeatState]:
    """Return the seats in an owner's way; of an inactive state, the active one's."""
    if leaf.kind is ResourceKind.STATE:
        active = replay.active.get(leaf.parent or "")
        if active is None or active == leaf.name:
            return []
        return list(replay.leaf(active).seats)
    within = scope(leaf, owner)
    if leaf.kind is ResourceKind.EXCLUSIVE:
        first = leaf.seats.index(within) + 1 if within else 0
        return leaf.seats[first:]
    return [] if free(leaf, within) >= share else list(members(leaf, within))


def is_open(replay: TraceReplay, leaf: LeafState) -> bool:
    """Whether a leaf may be granted to anybody: not frozen, and active if a state."""
    if leaf.is_frozen:
        return False
    is_state = leaf.kind is ResourceKind.STATE
    return not is_state or replay.active.get(leaf.parent or "") == leaf.name


def earlier_competitors(
    replay: TraceReplay, leaf: LeafState, request: RequestState
) -> Iterator[RequestState]:
    """Yield the earlier ones that wait for a leaf in the same scope, the last first."""
    if leaf.kind is ResourceKind.STATE:
        return
    within, has_scopes = scope(leaf, request.owner), leaf.has_scopes
    for place in range(bisect_left(leaf.queue, request.key) - 1, -1, -1):
        other = replay.requests[leaf.queue[place][2]]
        if not has_scopes or scope(leaf, other.owner) is within:
            yield other


def who_bars(
    replay: TraceReplay, leaf: LeafState, request: RequestState
) -> RequestState | None:
    """Return an earlier one that a request may not pass on a leaf.

    Equals may be passed for a while, where the manager says so (reading 7).
    """
    for other in earlier_competitors(replay, leaf, request):
        is_higher = other.asked.priority > request.asked.priority
        if is_higher or other.firm_at <= replay.now:
            return other
    return None


def heads(replay: TraceReplay, leaf: LeafState) -> Iterator[RequestState]:
    """Yield those that may be next: in each scope up to the first firm one."""
    closed: set[SeatState | None] = set()
    for _, _, number in leaf.queue:
        request = replay.requests[number]
        within = scope(leaf, request.owner)
        if within not in closed:
            yield request
            if request.firm_at <= replay.now and leaf.kind is not ResourceKind.STATE:
                closed.add(within)
                if not leaf.has_scopes:
                    return


def overrides(replay: TraceReplay, request: RequestState, seat: SeatState) -> bool:
    """Whether a waiting request takes by priority alone; a paused one never does."""
    is_new = request.asked.resumes is None
    return (
        replay.by_priority and is_new and request.asked.priority > seat.token.priority
    )


def gives_way(
    replay: TraceReplay, leaf: LeafState, request: RequestState, share: int
) -> bool:
    """Whether priority alone clears a leaf for a request."""
    if leaf.kind is not ResourceKind.CUMULATIVE:
        in_the_way = blockers(replay, leaf, request.owner, share)
        return all(overrides(replay, request, seat) for seat in in_the_way)
    within = scope(leaf, request.owner)
    outer = within.token.id if within else None
    got = free(leaf, within)
    for seat in leaf.seats:
        leaving = [*members(leaf, seat), seat] if seat.inside == outer else []
        if leaving and all(overrides(replay, request, each) for each in leaving):
            got += seat.share
    return got >= share


def can_be_added(replay: TraceReplay, leaf: LeafState, request: RequestState) -> bool:
    """Whether the token that a request would enlarge lacks a leaf: it has it once."""
    added = replay.live(request.asked.add_to)
    return added is None or leaf.name not in added.seats


def is_opposed(
    replay: TraceReplay, leaf: LeafState, request: RequestState, names: Container[str]
) -> bool:
    """Whether who holds a motor, none of those asked for, lets nobody limit it."""
    return any(
        motor not in names
        and not consents(replay.leaf(motor), request.owner, Right.LIMIT)
        for motor in leaf.limits
    )


def is_grantable(replay: TraceReplay, request: RequestState) -> bool:
    """Whether nothing is in the way of a waiting request, so that it should have it."""
    asked = request.asked
    for name, share in asked.shares.items():
        leaf = replay.leaf(name)
        if (
            not is_open(replay, leaf)
            or not can_be_added(replay, leaf, request)
            or is_opposed(replay, leaf, request, asked.shares)
            or not gives_way(replay, leaf, request, share)
            or who_bars(replay, leaf, request) is not None  # last: asks the whole queue
        ):
            return False
        earlier = next(earlier_competitors(replay, leaf, request), None)
        if earlier is not None and blockers(replay, leaf, request.owner, share):
            return False  # past those who wait only to what is free
    return bool(asked.shares) or any(
        all(
            _is_free(replay, replay.leaf(name), request)
            and not is_opposed(
                replay,
                replay.leaf(name),
                request,
                {**asked.shares, **dict.fromkeys(unit)},
            )
            for name in unit
        )
        for unit in asked.optional.values()
    )


def _is_free(replay: TraceReplay, leaf: LeafState, request: RequestState) -> bool:
    return (
        is_open(replay, leaf)
        and can_be_added(replay, leaf, request)
        and not blockers(replay, leaf, request.owner, FULL)
        and who_bars(replay, leaf, request) is None
    )


def consents(motor: LeafState, owner: OwnerState, right: Right) -> bool:
    """Whether who holds a motor, if anybody does, lets an owner use a right."""
    if not motor.seats:
        return right is Right.LIMIT or owner.is_entrusted
    holder = motor.seats[-1].token
    said = holder.allows.get((owner.name, right))
    if said is None:
        is_own = right is Right.LIMIT and are_kin(holder.owner, owner)
        said = is_own or owner.is_entrusted
    return said


def may_shift(motor: LeafState, token: TokenState) -> bool:
    """Whether a valid token may shift a motor that is not frozen."""
    right = token.owner.name, Right.SHIFT
    if any(s.token is token for s in motor.seats[-1:]):
        return True
    if any(seat.token.allows.get(right) for seat in motor.seats[-1:]):
        return True
    limits = motor.limited_by
    has_limit = not limits or any(
        name in token.seats and not token.seats[name].leaf.is_lent(token.id)
        for name in limits
    )
    return has_limit and consents(motor, token.owner, Right.SHIFT)


def are_kin(one: OwnerState, other: OwnerState) -> bool:
    """Whether one is the other, or a part of it."""
    return one in other.line or other in one.line
