"""Owners and resources come and go at run time.

Owners live as long as they are heard of; when one is gone, all it had ends. The tree of
names and the leaves of the state are kept in step.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from nao_testbed.controllers.arbitration.events import (
    Crashed,
    OwnerAdded,
    Renewed,
    ResourceAdded,
    ResourceRemoved,
)
from nao_testbed.controllers.arbitration.manager import holdings, queue
from nao_testbed.controllers.arbitration.manager.leaves import (
    CumulativeLeaf,
    ExclusiveLeaf,
    StateGroup,
    StateLeaf,
)
from nao_testbed.controllers.arbitration.manager.records import Leaf, OwnerRecord
from nao_testbed.controllers.arbitration.manager.state import Due, ReservationState
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.resource_tree import check_name
from nao_testbed.controllers.arbitration.tokens import OutcomeKind, Why
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.errors import MOST_LISTED
from nao_testbed.models.resources import ResourceKind

DEEPEST_OWNER = 100
"""Owners above an owner, at most."""


def add_owner(state: ReservationState, owner: Owner) -> None:
    """Register an owner, or replace its defaults."""
    if owner.name in state.virtual:
        raise BadInput(f"{owner.name!r} is a virtual owner's name; choose another one.")
    parent = None if owner.parent is None else state.owner(owner.parent)
    record = state.owners.get(owner.name)
    if record is None:
        if parent is not None and parent.depth >= DEEPEST_OWNER:
            raise BadInput(
                f"owner {owner.name!r} would be {parent.depth + 1} owners deep; "
                f"at most {DEEPEST_OWNER} are."
            )
        state.owners_added += 1
        record = OwnerRecord(owner, parent, state.owners_added)
        state.owners[owner.name] = record
        if parent:
            parent.children[record] = None
    elif record.parent is not parent:
        above = record.parent.name if record.parent else "nobody"
        raise BadInput(
            f"owner {owner.name!r} is known as a part of {above!r}; it cannot "
            f"become a part of {owner.parent or 'nobody'!r}."
        )
    elif record.is_starting or (record.started is not None and record.has_any()):
        raise _name_taken(record)
    record.defaults = owner
    if state.listeners:
        live_s = owner.time_to_live_s
        state.emit(
            OwnerAdded(
                tick=state.tick,
                owner=owner.name,
                parent=owner.parent,
                time_to_live_ticks=None if live_s is None else _ticks(state, live_s),
            )
        )
    see(state, record)


def check_free(state: ReservationState, name: str) -> None:
    """Refuse a name by which somebody else acts."""
    record = state.owners.get(name)
    if record is not None and (record.is_starting or record.has_any()):
        raise _name_taken(record)


def start(state: ReservationState, record: OwnerRecord) -> int:
    """Note that a behaviour acts by an owner's name; return its number."""
    state.starts += 1
    record.started, record.is_starting = state.starts, True
    return state.starts


def renew(state: ReservationState, record: OwnerRecord) -> None:
    """Note a sign of life that is nothing else."""
    state.emit(Renewed(tick=state.tick, owner=record.name))
    see(state, record)


def see(state: ReservationState, record: OwnerRecord) -> None:
    """Note a sign of life: the time to live begins anew."""
    live_s = record.defaults.time_to_live_s
    record.is_gone = False
    if live_s is None:
        record.dies = None
        return
    record.dies = state.tick + _ticks(state, live_s)
    if record.looked_at is None or record.looked_at > record.dies:
        _watch(state, record, record.dies)


def drop(state: ReservationState, record: OwnerRecord) -> None:
    """End all that an owner and its descendants hold and wait for."""
    state.emit(Crashed(tick=state.tick, owner=record.name))
    _end(state, record)


def give_up(state: ReservationState, records: Sequence[OwnerRecord]) -> None:
    """Withdraw all that owners wait for, then release all that they hold.

    The last one's tokens go first, and of each the latest.
    """
    for record in records:
        for waiting in list(record.waiting.values()):
            queue.fail(state, waiting, OutcomeKind.CANCELLED, Why.WITHDRAWN)
    for record in reversed(records):
        if record.reservations:
            see(state, record)
        for reservation in reversed(list(record.reservations)):
            if reservation.ended is None:
                holdings.release(state, reservation, list(reservation.shares))


def forget_owner(state: ReservationState, record: OwnerRecord) -> None:
    """Drop an owner, and know it no more."""
    if record.children:
        names = ", ".join(child.name for child in record.children)
        raise BadInput(
            f"owner {record.name!r} still has parts: {names}; forget these first."
        )
    drop(state, record)
    del state.owners[record.name]
    if record.parent:
        del record.parent.children[record]


def _end(state: ReservationState, record: OwnerRecord) -> None:
    """End what an owner has, its descendants' first."""
    for child in record.children:
        _end(state, child)
    record.is_gone, record.dies = True, None
    record.started, record.is_starting = None, False
    for waiting in list(record.waiting.values()):
        queue.fail(state, waiting, OutcomeKind.CANCELLED, Why.OWNER_GONE)
    for reservation in reversed(list(record.reservations)):
        if reservation.ended is None:
            holdings.expire(state, reservation)
    for watch in list(record.watches):
        watch.forget()
    if record.is_entrusted:  # so is who comes back by this name, if somebody says so
        holdings.entrust(state, record, is_entrusted=False)


def _ticks(state: ReservationState, live_s: float) -> int:
    return max(1, state.cfg.ticks(live_s))


def _watch(state: ReservationState, record: OwnerRecord, tick: int) -> None:
    record.looked_at = tick
    look = partial(_look, state, record)
    state.timers.at(tick, Due.TIME_TO_LIVE, look, place=record.place)


def _look(state: ReservationState, record: OwnerRecord) -> None:
    """See whether an owner is silent for too long; if not, look again later."""
    if record.looked_at != state.tick:
        return  # an earlier timer looks
    record.looked_at = None
    if record.dies is None:
        return
    if record.dies > state.tick:
        _watch(state, record, record.dies)
    else:
        drop(state, record)


def _name_taken(record: OwnerRecord) -> BadInput:
    held = {leaf.name for one in record.reservations for leaf in one.shares}
    what = f" and holds {', '.join(sorted(held))}" if held else ""
    return BadInput(
        f"another behaviour acts by the name {record.name!r}{what}; stop that one "
        "first, or give this one a name of its own: two of one name would be one owner."
    )


def make_leaves(state: ReservationState) -> None:
    """Make a leaf for each of the tree, at the beginning."""
    tree, leaves = state.tree, state.leaves
    for node in tree.root.walk():
        _emit_added(state, node.name)
        if not node.children:
            _make_leaf(state, node.name)
    for name in tree.motors:
        leaves[name].is_motor = True
    for name, motors in tree.limits.items():
        leaves[name].limits = tuple(leaves[motor] for motor in motors)
        for motor in leaves[name].limits:
            motor.limited += (leaves[name],)


def leaves_of(state: ReservationState, names: Iterable[str]) -> list[Leaf]:
    """Return all leaves at or below some names, sorted."""
    found = {leaf for name in names for leaf in state.tree.leaves(name)}
    return [state.leaves[name] for name in sorted(found)]


def find_leaf(state: ReservationState, name: str) -> Leaf:
    """Return a leaf."""
    try:
        return state.leaves[name]
    except (KeyError, TypeError):
        raise _no_leaf(state, name) from None


def add_resource(
    state: ReservationState, name: str, parent: str, kind: ResourceKind
) -> None:
    """Let a leaf be known from now on."""
    above = state.leaves.get(check_name(parent, "a parent"))
    if above is not None:
        _check_idle(state, above, "get parts")
    state.tree = state.tree.with_resource(name, parent, kind)
    if above is not None:
        _forget_leaf(state, above)
    _make_leaf(state, name)
    _emit_added(state, name)


def remove_resource(state: ReservationState, name: str) -> None:
    """Forget a leaf; a composite that has no parts any more becomes one."""
    device = state.tree.node(name).device
    if device is not None:
        raise BadInput(
            f"{name!r} commands {', '.join(device.names)} of the robot and stays."
        )
    leaf = state.leaves.get(name)
    if leaf is not None:
        _check_idle(state, leaf, "be removed")
    above = state.tree.parent(name)
    state.tree = state.tree.without(name)
    if leaf is not None:
        _forget_leaf(state, leaf)
    state.emit(ResourceRemoved(tick=state.tick, name=name))
    if above is not None and not state.tree.children(above):
        _make_leaf(state, above)
        _emit_added(state, above)


def _no_leaf(state: ReservationState, name: str) -> BadInput:
    check_name(name, "a resource")
    if name in state.tree:
        leaves = ", ".join(state.tree.leaves(name)[:MOST_LISTED])
        return BadInput(f"{name!r} is a composite; name one of its leaves: {leaves}.")
    return UnknownName("Resource", name, state.leaves, "this ledger")


def _make_leaf(state: ReservationState, name: str) -> None:
    kind, leaves = state.tree.node(name).kind, state.leaves
    if kind is ResourceKind.STATE:
        group = state.tree.state_group(name)
        states = state.groups.setdefault(group, StateGroup(group))
        leaves[name] = StateLeaf(name, states)
    elif kind is ResourceKind.CUMULATIVE:
        leaves[name] = CumulativeLeaf(name)
    else:
        leaves[name] = ExclusiveLeaf(name)


def _forget_leaf(state: ReservationState, leaf: Leaf) -> None:
    del state.leaves[leaf.name]
    for watch in list(leaf.watches):
        watch.forget()
    if isinstance(leaf, StateLeaf):
        del leaf.group.leaves[leaf.name]
        if not leaf.group.leaves:
            del state.groups[leaf.group.name]


def _check_idle(state: ReservationState, leaf: Leaf, what: str) -> None:
    is_hoped_for = any(
        leaf in unit
        for waiting in state.waiting.values()
        for unit in waiting.optional.values()
    )
    is_lent = any(leaf in held.lent for held in state.reservations.values())
    is_lent |= any(leaf in one.lent for one in state.waiting.values())
    is_active = isinstance(leaf, StateLeaf) and leaf.group.active is leaf
    is_wanted = leaf.waiters or is_hoped_for
    if leaf.seated() or is_wanted or is_lent or leaf.freezes or is_active:
        raise BadInput(
            f"{leaf.name!r} is held, lent, waited for, frozen or the active state; "
            f"it can {what} when it is idle."
        )


def _emit_added(state: ReservationState, name: str) -> None:
    if not state.listeners:
        return
    node = state.tree.node(name)
    state.emit(
        ResourceAdded(
            tick=state.tick,
            name=name,
            parent=state.tree.parent(name),
            kind=None if node.children else node.kind,
            device=node.device.kind if node.device else None,
            limits=state.tree.limits.get(name, ()),
        )
    )
