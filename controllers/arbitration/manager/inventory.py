"""Owners and resources come and go at run time.

Owners live as long as they are heard of; when one is gone, all it had ends. The tree of
names and the leaves of the state are kept in step.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from controllers.arbitration.events import (
    Crashed,
    OwnerAdded,
    Renewed,
    ResourceAdded,
    ResourceRemoved,
)
from controllers.arbitration.manager.holdings import Holdings, Rights
from controllers.arbitration.manager.leaves import (
    CumulativeLeaf,
    ExclusiveLeaf,
    StateGroup,
    StateLeaf,
)
from controllers.arbitration.manager.queue import WaitingList
from controllers.arbitration.manager.records import Leaf, OwnerRecord
from controllers.arbitration.manager.state import Due, ReservationState
from controllers.arbitration.requests import Owner
from controllers.arbitration.resource_tree import ResourceTree, check_name
from controllers.arbitration.tokens import OutcomeKind, Why
from models import BadInput, UnknownName
from models.errors import MOST_LISTED
from models.resources import ResourceKind

DEEPEST_OWNER = 100
"""Owners above an owner, at most."""


class Liveness:
    """Knows owners, hears signs of life, and ends what the silent ones had."""

    def __init__(
        self,
        book: ReservationState,
        waiting_list: WaitingList,
        holdings: Holdings,
        rights: Rights,
    ) -> None:
        """Work on a book, by its moves."""
        self._book = book
        self._rights = rights
        self._waiting_list = waiting_list
        self._holdings = holdings
        self._added = 0
        self._started = 0

    def add(self, owner: Owner) -> None:
        """Let an owner be known; known already, its habits change.

        Raises:
            UnknownName: its parent is not known.
            BadInput: it is known under another parent, its name is that of a virtual
                owner or of a behaviour that runs, or it is too deep in the tree of
                owners.
        """
        book = self._book
        if owner.name in book.virtual:
            raise BadInput(
                f"{owner.name!r} is a virtual owner's name; choose another one."
            )
        parent = None if owner.parent is None else book.owner(owner.parent)
        record = book.owners.get(owner.name)
        if record is None:
            if parent is not None and parent.depth >= DEEPEST_OWNER:
                raise BadInput(
                    f"owner {owner.name!r} would be {parent.depth + 1} owners deep; "
                    f"at most {DEEPEST_OWNER} are."
                )
            self._added += 1
            record = OwnerRecord(owner, parent, self._added)
            book.owners[owner.name] = record
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
        record.habits = owner
        if book.listeners:
            live_s = owner.time_to_live_s
            book.emit(
                OwnerAdded(
                    tick=book.tick,
                    owner=owner.name,
                    parent=owner.parent,
                    time_to_live_ticks=None if live_s is None else self._ticks(live_s),
                )
            )
        self.see(record)

    def check_free(self, name: str) -> None:
        """Refuse a name by which somebody else acts.

        Raises:
            BadInput: its owner, or a part of it, has something, waits, or starts.
        """
        record = self._book.owners.get(name)
        if record is not None and (record.is_starting or record.has_any()):
            raise _name_taken(record)

    def start(self, record: OwnerRecord) -> int:
        """Note that a behaviour acts by an owner's name; return its number."""
        self._started += 1
        record.started, record.is_starting = self._started, True
        return self._started

    def renew(self, record: OwnerRecord) -> None:
        """Note a sign of life that is nothing else."""
        if self._book.listeners:
            self._book.emit(Renewed(tick=self._book.tick, owner=record.name))
        self.see(record)

    def see(self, record: OwnerRecord) -> None:
        """Note a sign of life: the time to live begins anew."""
        live_s = record.habits.time_to_live_s
        record.is_gone = False
        if live_s is None:
            record.dies = None
            return
        record.dies = self._book.tick + self._ticks(live_s)
        if record.watched is None or record.watched > record.dies:
            self._watch(record, record.dies)

    def drop(self, record: OwnerRecord) -> None:
        """End all that an owner and its descendants hold and wait for."""
        if self._book.listeners:
            self._book.emit(Crashed(tick=self._book.tick, owner=record.name))
        self._end(record)

    def give_up(self, records: Sequence[OwnerRecord]) -> None:
        """Withdraw all that owners wait for, then release all that they hold.

        The last one's tokens go first, and of each the latest.
        """
        for record in records:
            for waiting in list(record.waiting.values()):
                self._waiting_list.fail(waiting, OutcomeKind.CANCELLED, Why.WITHDRAWN)
        for record in reversed(records):
            if record.reservations:
                self.see(record)
            for reservation in reversed(list(record.reservations)):
                if reservation.ended is None:
                    self._holdings.release(reservation, list(reservation.shares))

    def forget(self, record: OwnerRecord) -> None:
        """Drop an owner, and know it no more.

        Raises:
            BadInput: others are a part of it.
        """
        if record.children:
            names = ", ".join(child.name for child in record.children)
            raise BadInput(
                f"owner {record.name!r} still has parts: {names}; forget these first."
            )
        self.drop(record)
        del self._book.owners[record.name]
        if record.parent:
            del record.parent.children[record]

    def _end(self, record: OwnerRecord) -> None:
        """End what an owner has, its descendants' first."""
        for child in record.children:
            self._end(child)
        record.is_gone, record.dies = True, None
        record.started, record.is_starting = None, False
        for waiting in list(record.waiting.values()):
            self._waiting_list.fail(waiting, OutcomeKind.CANCELLED, Why.OWNER_GONE)
        for reservation in reversed(list(record.reservations)):
            if reservation.ended is None:
                self._holdings.expire(reservation)
        for loser in list(record.losers):
            loser.forget()
        if (
            record.is_entrusted
        ):  # so is who comes back by this name, if somebody says so
            self._rights.entrust(record, is_entrusted=False)

    def _ticks(self, live_s: float) -> int:
        return max(1, self._book.cfg.ticks(live_s))

    def _watch(self, record: OwnerRecord, tick: int) -> None:
        record.watched = tick
        look = partial(self._look, record)
        self._book.timers.at(tick, Due.TIME_TO_LIVE, look, place=record.place)

    def _look(self, record: OwnerRecord) -> None:
        """See whether an owner is silent for too long; if not, look again later."""
        if record.watched != self._book.tick:
            return  # an earlier timer looks
        record.watched = None
        if record.dies is None:
            return
        if record.dies > self._book.tick:
            self._watch(record, record.dies)
        else:
            self.drop(record)


def _name_taken(record: OwnerRecord) -> BadInput:
    held = {leaf.name for one in record.reservations for leaf in one.shares}
    what = f" and holds {', '.join(sorted(held))}" if held else ""
    return BadInput(
        f"another behaviour acts by the name {record.name!r}{what}; stop that one "
        "first, or give this one a name of its own: two of one name would be one owner."
    )


class ResourceList:
    """Keeps the tree of names and the leaves of the book in step."""

    def __init__(self, book: ReservationState, tree: ResourceTree) -> None:
        """Make a leaf for each of the tree."""
        self._book = book
        self.tree = tree
        for node in tree.root.walk():
            self._emit_added(node.name)
            if not node.children:
                self._make_leaf(node.name)
        leaves = book.leaves
        for name in tree.motors:
            leaves[name].is_motor = True
        for name, motors in tree.limits.items():
            leaves[name].limits = tuple(leaves[motor] for motor in motors)
            for motor in leaves[name].limits:
                motor.limited += (leaves[name],)

    def leaves_of(self, names: Iterable[str]) -> list[Leaf]:
        """Return all leaves at or below some names, sorted.

        Raises:
            UnknownName: there is no such resource.
        """
        found = {leaf for name in names for leaf in self.tree.leaves(name)}
        return [self._book.leaves[name] for name in sorted(found)]

    def leaf(self, name: str) -> Leaf:
        """Return a leaf.

        Raises:
            UnknownName: there is no such resource.
            BadInput: it is a composite.
        """
        try:
            return self._book.leaves[name]
        except (KeyError, TypeError):
            raise self._no_leaf(name) from None

    def add(self, name: str, parent: str, kind: ResourceKind) -> None:
        """Let a leaf be known from now on.

        Raises:
            BadInput: the name is taken, or the parent is a leaf in use.
            UnknownName: there is no such parent.
        """
        above = self._book.leaves.get(check_name(parent, "a parent"))
        if above is not None:
            self._check_idle(above, "get parts")
        self.tree = self.tree.with_resource(name, parent, kind)
        if above is not None:
            self._forget_leaf(above)
        self._make_leaf(name)
        self._emit_added(name)

    def remove(self, name: str) -> None:
        """Forget a leaf; a composite that has no parts any more becomes one.

        Raises:
            UnknownName: there is no such resource.
            BadInput: it has parts, is in use, or commands a part of the robot.
        """
        device = self.tree.node(name).device
        if device is not None:
            raise BadInput(
                f"{name!r} commands {', '.join(device.names)} of the robot and stays."
            )
        leaf = self._book.leaves.get(name)
        if leaf is not None:
            self._check_idle(leaf, "be removed")
        above = self.tree.parent(name)
        self.tree = self.tree.without(name)
        if leaf is not None:
            self._forget_leaf(leaf)
        if self._book.listeners:
            self._book.emit(ResourceRemoved(tick=self._book.tick, name=name))
        if above is not None and not self.tree.children(above):
            self._make_leaf(above)
            self._emit_added(above)

    def _no_leaf(self, name: str) -> BadInput:
        check_name(name, "a resource")
        if name in self.tree:
            leaves = ", ".join(self.tree.leaves(name)[:MOST_LISTED])
            return BadInput(
                f"{name!r} is a composite; name one of its leaves: {leaves}."
            )
        return UnknownName("Resource", name, self._book.leaves, "this ledger")

    def _make_leaf(self, name: str) -> None:
        kind, leaves = self.tree.node(name).kind, self._book.leaves
        if kind is ResourceKind.STATE:
            group = self.tree.state_group(name)
            states = self._book.groups.setdefault(group, StateGroup(group))
            leaves[name] = StateLeaf(name, states)
        elif kind is ResourceKind.CUMULATIVE:
            leaves[name] = CumulativeLeaf(name)
        else:
            leaves[name] = ExclusiveLeaf(name)

    def _forget_leaf(self, leaf: Leaf) -> None:
        del self._book.leaves[leaf.name]
        for loser in list(leaf.losers):
            loser.forget()
        if isinstance(leaf, StateLeaf):
            del leaf.group.leaves[leaf.name]
            if not leaf.group.leaves:
                del self._book.groups[leaf.group.name]

    def _check_idle(self, leaf: Leaf, what: str) -> None:
        is_hoped_for = any(
            leaf in unit
            for waiting in self._book.waiting.values()
            for unit in waiting.optional.values()
        )
        is_lent = any(leaf in held.lent for held in self._book.reservations.values())
        is_lent |= any(leaf in one.lent for one in self._book.waiting.values())
        is_active = isinstance(leaf, StateLeaf) and leaf.group.active is leaf
        is_wanted = leaf.waiters or is_hoped_for
        if leaf.seated() or is_wanted or is_lent or leaf.freezes or is_active:
            raise BadInput(
                f"{leaf.name!r} is held, lent, waited for, frozen or the active state; "
                f"it can {what} when it is idle."
            )

    def _emit_added(self, name: str) -> None:
        if not self._book.listeners:
            return
        node = self.tree.node(name)
        self._book.emit(
            ResourceAdded(
                tick=self._book.tick,
                name=name,
                parent=self.tree.parent(name),
                kind=None if node.children else node.kind,
                device=node.device.kind if node.device else None,
                limits=self.tree.limits.get(name, ()),
            )
        )
