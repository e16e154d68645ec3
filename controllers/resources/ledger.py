"""The ledger of reservations: one tree of resources, one tree of owners.

Deterministic and single-threaded; time is an argument, in ticks that never decrease.
Within a tick calls come before timers: a call first lets happen what was due earlier,
`advance` what is due up to its tick.

    tree = ResourceTree(load_robot().resources)
    ledger = Ledger(tree, LedgerCfg(tick_s=0.01), epoch=1)
    ledger.add_owner(Owner(name="look around"), tick=0)
    ticket = ledger.request(Request(owner="look around", resources=("Head",)), tick=0)
    ticket.outcome.token  # goes with every command
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from controllers.resources.book import Book, LedgerCfg
from controllers.resources.cumulative_leaf import CumulativeLeaf
from controllers.resources.deadlock import latest_in_a_circle
from controllers.resources.demands import Demands
from controllers.resources.exclusive_leaf import ExclusiveLeaf
from controllers.resources.granting import Granting
from controllers.resources.leaf import Freeze, Leaf
from controllers.resources.losses import Loser
from controllers.resources.owner import Owner
from controllers.resources.records import OwnerRecord, Reservation, Waiting
from controllers.resources.request import Request, Ticket
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.stale_token import StaleToken
from controllers.resources.state_leaf import StateGroup, StateLeaf
from controllers.resources.timers import Due
from controllers.resources.tokens import Token, TokenMint
from controllers.resources.trace import (
    Crashed,
    Event,
    Frozen,
    Notified,
    Opened,
    OwnerAdded,
    Renewed,
    ResourceAdded,
    ResourceRemoved,
    Settled,
    StateChanged,
    StateRefused,
    Thawed,
    Ticked,
)
from controllers.resources.wanted import covered, waiting_for
from controllers.resources.words import (
    LossCause,
    Mode,
    NoticeKind,
    OutcomeKind,
    Refusal,
    Why,
)
from models import BadInput, UnknownName
from models.resource_node import ResourceKind

Listener = Callable[[Event], None]


class Ledger:
    """Grants, keeps and ends reservations.

    A listener sees every event in its order and never calls the ledger; a conflict
    policy may, with the present tick.
    """

    def __init__(
        self,
        tree: ResourceTree,
        cfg: LedgerCfg | None = None,
        *,
        epoch: int = 1,
        mint: TokenMint | None = None,
        listeners: Iterable[Listener] = (),
    ) -> None:
        """Begin an epoch with everything free.

        Args:
            tree: the resources.
            cfg: ticks and rules.
            epoch: count of restarts, higher than at any time before (I-12).
            mint: issues the tokens; None draws secrets from the system.
            listeners: told every event, from the first on.
        """
        self.cfg = cfg or LedgerCfg()
        self._book = Book(self.cfg, mint or TokenMint(epoch))
        self._book.listeners.extend(listeners)
        self._granting = Granting(self._book)
        self._demands = Demands(self._book, self._granting)
        self._depth = 0
        self._tree = tree
        if listeners:
            self._emit_opening()
        for name in tree.all_leaves:
            self._add_leaf(name)

    # -- looking ----------------------------------------------------------------------

    @property
    def tick(self) -> int:
        """Tick of the last call."""
        return self._book.tick

    @property
    def epoch(self) -> int:
        """Count of restarts that its tokens carry."""
        return self._book.mint.epoch

    @property
    def tree(self) -> ResourceTree:
        """The resources, as they are now."""
        return self._tree

    @property
    def book(self) -> Book:
        """The records, for `snapshot`; nobody else looks into them."""
        return self._book

    @property
    def listeners(self) -> list[Listener]:
        """Those that are told every event."""
        return self._book.listeners

    def next_due(self) -> int | None:
        """Return the tick by which `advance` should be called, None if no matter."""
        return self._book.timers.next_due()

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Answer the gate: may a command with this token act on a leaf (I-15)?

        Args:
            token: as the command carries it.
            leaf: name of a leaf of the tree.

        Returns:
            None if it may, else why not.

        Raises:
            UnknownName: there is no such leaf.
        """
        resource = self._book.leaves.get(leaf)
        if resource is None:
            raise UnknownName("Resource", leaf, self._book.leaves, "this ledger")
        if token is None:
            return Refusal.NO_TOKEN
        reservation = self._find(token)
        if isinstance(reservation, Refusal):
            return reservation
        if resource.is_frozen:
            return Refusal.FROZEN
        if resource not in reservation.shares or reservation.mode is Mode.RESERVE:
            return Refusal.NOT_COVERED
        return None

    def is_genuine(self, token: Token | None) -> bool:
        """Whether this manager issued a token, and still remembers it."""
        if token is None or token.epoch != self.epoch:
            return False
        reservation = self._book.reservations.get(token.sequence)
        return reservation is not None and reservation.token == token

    def effort_cap(self, leaf: str) -> float:
        """Return the largest stiffness that virtual owners allow, in [0, 1].

        Raises:
            UnknownName: there is no such leaf.
        """
        return self._leaf(leaf).effort_cap()

    def active_state(self, group: str) -> str | None:
        """Return the active state of a set, None if none is.

        Raises:
            UnknownName: there is no such set of states.
        """
        active = self._group(group).active
        return active.name if active else None

    # -- owners -----------------------------------------------------------------------

    def add_owner(self, owner: Owner, tick: int) -> None:
        """Let an owner be known; known already, its habits change.

        Raises:
            UnknownName: its parent is not known.
            BadInput: it is known under another parent.
        """
        parent = None if owner.parent is None else self._owner(owner.parent)
        known = self._book.owners.get(owner.name)
        if known is not None and known.parent is not parent:
            above = known.parent.name if known.parent else "nobody"
            raise BadInput(
                f"owner {owner.name!r} is known as a part of {above!r}; it cannot "
                f"become a part of {owner.parent!r}."
            )
        with self._call(tick):
            if known is None:
                depth = parent.depth + 1 if parent else 0
                known = OwnerRecord(owner, parent, tick, depth)
                self._book.owners[owner.name] = known
                if parent:
                    parent.children.append(known)
            had_limit = known.habits.time_to_live_s is not None and not known.is_gone
            known.habits = owner
            if self._book.listeners:
                self._book.emit(self._owner_added(known))
            self._see_alive(known, starts=not had_limit)

    def renew(self, owner: str, tick: int) -> None:
        """Note a sign of life: the time to live of an owner begins anew.

        Raises:
            UnknownName: it is not known.
        """
        record = self._owner(owner)
        with self._call(tick):
            if self._book.listeners:
                self._book.emit(Renewed(tick=tick, owner=owner))
            self._see_alive(record)

    def drop(self, owner: str, tick: int) -> None:
        """End all that an owner and its descendants hold and wait for: it is gone.

        Raises:
            UnknownName: it is not known.
        """
        record = self._owner(owner)
        with self._call(tick):
            self._drop(record)

    def remove_owner(self, owner: str, tick: int) -> None:
        """Forget an owner; all that it still holds or waits for ends first.

        Raises:
            UnknownName: it is not known.
            BadInput: other owners are parts of it.
        """
        record = self._owner(owner)
        if record.children:
            parts = ", ".join(child.name for child in record.children)
            raise BadInput(f"owner {owner!r} has parts: {parts}; remove them first.")
        with self._call(tick):
            if not record.is_gone:
                self._drop(record)
            del self._book.owners[owner]
            if record.parent:
                record.parent.children.remove(record)

    # -- reservations -----------------------------------------------------------------

    def request(self, request: Request, tick: int) -> Ticket:
        """Ask for resources; at once or later the ticket has an outcome.

        Raises:
            UnknownName: the owner or a resource is not known.
            BadInput: the request cannot be granted by anybody.
            StaleToken: the token to be enlarged is dead.
        """
        record = self._owner(request.owner)
        with self._call(tick):
            add_to = None if request.add_to is None else self._live(request.add_to)
            waiting = waiting_for(request, self._tree, self._book, record, add_to)
            if record.habits.time_to_live_s is not None:
                self._see_alive(record)
            self._ask_for(waiting)
        waiting.has_waited = True
        return waiting.ticket

    def withdraw(self, ticket: int, tick: int) -> bool:
        """Cancel a request that waits; return whether it did."""
        with self._call(tick):
            waiting = self._book.waiting.get(ticket)
            if waiting is None:
                return False
            self._book.fail(waiting, OutcomeKind.CANCELLED, Why.WITHDRAWN)
            return True

    def demand_again(self, ticket: int, tick: int) -> None:
        """Ask holders again for a request that waits, as its retry would (RM-19).

        For a holder that has something new to say before the retry is due; while an
        answer is already promised, nothing happens.
        """
        with self._call(tick):
            waiting = self._book.waiting.get(ticket)
            if waiting is not None and waiting.promises is None:
                self._demands.demand(waiting, arrives=False)

    def release(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        """Give back all of a token, or some resources of it (AR-24, AR-25).

        Raises:
            StaleToken: it is dead; nothing changes.
            UnknownName: a resource is not known.
            BadInput: it does not cover one of them.
        """
        with self._call(tick):
            reservation = self._live(token)
            leaves = (
                list(reservation.shares)
                if names is None
                else covered(reservation, names, self._tree)
            )
            if reservation.owner.habits.time_to_live_s is not None:
                self._see_alive(reservation.owner)
            self._book.release(reservation, leaves)

    # -- the body ---------------------------------------------------------------------

    def freeze(
        self,
        names: Iterable[str],
        by: str,
        tick: int,
        *,
        effort_cap: float | None = None,
        is_total: bool = True,
    ) -> None:
        """Let a virtual owner have leaves: a part is hot, broken or absent (RM-40).

        Total: whoever holds one loses it, and nobody is granted it. Partial: it stays
        usable, with the effort capped.

        Args:
            names: leaves or composites.
            by: name of the virtual owner, which says the cause.
            tick: now.
            effort_cap: largest stiffness of their joints, in [0, 1].
            is_total: whether nobody else may use them.

        Raises:
            UnknownName: a resource is not known.
            BadInput: the cap is out of range, or a real owner has that name.
        """
        if effort_cap is not None and not 0.0 <= effort_cap <= 1.0:
            raise BadInput(f"effort cap is {effort_cap}; give a fraction from 0 to 1.")
        if by in self._book.owners:
            raise BadInput(f"{by!r} is a real owner; a virtual one needs its own name.")
        leaves = self._leaves_of(names)
        with self._call(tick):
            for leaf in leaves if is_total else ():
                for holder in leaf.seated():
                    if leaf in holder.shares:
                        self._book.take_away(holder, [leaf], LossCause.FROZEN, by)
            for leaf in leaves:
                leaf.freezes[by] = Freeze(is_total, effort_cap)
                self._refresh_frozen(leaf)
            if self._book.listeners:
                self._book.emit(
                    Frozen(
                        tick=tick,
                        leaves=tuple(leaf.name for leaf in leaves),
                        by=by,
                        effort_cap=effort_cap,
                        is_total=is_total,
                    )
                )

    def thaw(self, by: str, tick: int, names: Iterable[str] | None = None) -> None:
        """Let a virtual owner give back leaves: its cause is over (RM-45).

        Args:
            by: the virtual owner; what others hold stays theirs.
            tick: now.
            names: leaves or composites; None gives back all.

        Raises:
            UnknownName: a resource is not known.
        """
        every = self._book.leaves.values() if names is None else self._leaves_of(names)
        leaves = [leaf for leaf in every if by in leaf.freezes]
        with self._call(tick):
            for leaf in leaves:
                del leaf.freezes[by]
                self._refresh_frozen(leaf)
            if self._book.listeners and leaves:
                given = tuple(sorted(leaf.name for leaf in leaves))
                self._book.emit(Thawed(tick=tick, leaves=given, by=by))

    def set_state(self, group: str, active: str | None, tick: int) -> None:
        """Note as a fact which state of a set is active (RM-52): a fall is one.

        Those who need the state that is left lose it.

        Raises:
            UnknownName: there is no such set, or no such state in it.
        """
        states = self._group(group)
        following = None if active is None else self._state(states, active)
        with self._call(tick):
            self._set_state(states, following)

    def ask_state(self, group: str, wanted: str, tick: int, by: str = "") -> bool:
        """Ask those who need the active state to let it be left (RM-53).

        Args:
            group: the set of states.
            wanted: the one to change to.
            tick: now.
            by: who asks, for the notices.

        Returns:
            Whether all gave way at once; then the wanted state is active.

        Raises:
            UnknownName: there is no such set, or no such state in it.
        """
        states = self._group(group)
        following = self._state(states, wanted)
        with self._call(tick):
            left = states.active
            if left is following:
                return True
            if self._demands.ask_holders(states, by):
                self._set_state(states, following)
                return True
            if self._book.listeners and left is not None:
                holders = sorted({r.owner.name for r in left.seated()})
                self._book.emit(
                    StateRefused(
                        tick=tick, group=group, wanted=wanted, holders=tuple(holders)
                    )
                )
            return False

    # -- the list of resources --------------------------------------------------------

    def add_resource(
        self,
        name: str,
        parent: str,
        tick: int,
        kind: ResourceKind = ResourceKind.EXCLUSIVE,
    ) -> None:
        """Let a leaf be known from now on, such as a ball (RM-15, RM-60).

        Raises:
            BadInput: the name is taken, or the parent is a leaf that is held, waited
                for or frozen.
            UnknownName: there is no such parent.
        """
        above = self._book.leaves.get(parent)
        if above is not None:
            _check_idle(above, "get parts")
        tree = self._tree.with_resource(name, parent, kind)
        with self._call(tick):
            self._book.leaves.pop(parent, None)
            self._tree = tree
            self._add_leaf(name)
            if self._book.listeners:
                self._book.emit(
                    ResourceAdded(tick=tick, name=name, parent=parent, kind=kind)
                )

    def remove_resource(self, name: str, tick: int) -> None:
        """Forget a leaf, or a composite with no parts.

        Raises:
            UnknownName: there is no such resource.
            BadInput: it has parts, or is held, waited for or frozen.
        """
        leaf = self._book.leaves.get(name)
        if leaf is not None:
            _check_idle(leaf, "be removed")
        tree = self._tree.without(name)
        with self._call(tick):
            self._tree = tree
            if leaf is not None:
                del self._book.leaves[name]
                for loser in list(leaf.losers):
                    loser.forget()
                if isinstance(leaf, StateLeaf):
                    del leaf.group.leaves[name]
            if self._book.listeners:
                self._book.emit(ResourceRemoved(tick=tick, name=name))

    # -- time -------------------------------------------------------------------------

    def advance(self, tick: int) -> None:
        """Let happen all that is due up to and including a tick.

        Raises:
            BadInput: the tick is earlier than an earlier call's.
        """
        self._check_tick(tick)
        self._run_timers(tick + 1)
        self._book.tick = tick
        if self._book.listeners:
            self._book.emit(Ticked(tick=tick))

    # -- inside: calls ----------------------------------------------------------------

    @contextmanager
    def _call(self, tick: int) -> Iterator[None]:
        """Surround a change: time before it, grants and notices after it."""
        self._check_tick(tick)
        if not self._depth:
            self._run_timers(tick)
            self._book.tick = tick
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self._finish()

    def _check_tick(self, tick: int) -> None:
        now = self._book.tick
        if tick < now or (self._depth and tick != now):
            raise BadInput(
                f"tick is {tick}, but it is {now} already; time does not go back, and "
                "stands still while policies are asked."
            )

    def _run_timers(self, before: int) -> None:
        book = self._book
        while (due := book.timers.next_due()) is not None and due < before:
            call = book.timers.pop()
            book.tick = due
            self._depth += 1
            try:
                call()
            finally:
                self._depth -= 1
                self._finish()

    def _finish(self) -> None:
        """Grant what is free; after the outermost call, see that nobody is stuck."""
        book = self._book
        if book.changed:
            self._granting.settle()
        if self._depth:
            return
        while book.entangled and (stuck := latest_in_a_circle(book)) is not None:
            book.fail(stuck, OutcomeKind.DENIED, Why.DEADLOCK)
            self._granting.settle()
        if book.eased:
            self._tell_losers()
        if book.listeners:
            book.emit(Settled(tick=book.tick))

    def _tell_losers(self) -> None:
        book = self._book
        eased = sorted(book.eased, key=_token_of)
        book.eased.clear()
        for loser in eased:
            if not loser.can_have_all():
                continue
            loser.forget()
            if book.listeners:
                book.emit(
                    Notified(
                        tick=book.tick,
                        owner=loser.owner.name,
                        kind=NoticeKind.AVAILABLE,
                        token=loser.token,
                        leaves=tuple(sorted(leaf.name for leaf in loser.lost)),
                    )
                )

    def _ask_for(self, waiting: Waiting) -> None:
        book = self._book
        request, habits = waiting.ticket.request, waiting.owner.habits
        timeout_s = habits.timeout_s if request.timeout_s is None else request.timeout_s
        limit = book.cfg.ticks(timeout_s)
        if book.listeners:
            book.announce(waiting, limit)
        if self._granting.try_now(waiting, arrives=True):
            return
        book.enqueue(waiting, limit or None)
        if limit:
            self._demands.repeat(waiting)
        self._demands.demand(waiting, arrives=True)
        if waiting.is_waiting and not limit:
            book.fail(waiting, OutcomeKind.DENIED, Why.BUSY)

    # -- inside: changes --------------------------------------------------------------

    def _set_state(self, states: StateGroup, following: StateLeaf | None) -> None:
        left = states.active
        if left is following:
            return
        for holder in left.seated() if left else ():
            if left in holder.shares:
                cause = following.name if following else states.name
                self._book.take_away(holder, [left], LossCause.STATE_LEFT, cause)
        states.active = following
        for leaf in states.leaves.values():
            self._book.touch(leaf)
        if self._book.listeners:
            name = following.name if following else None
            self._book.emit(
                StateChanged(tick=self._book.tick, group=states.name, active=name)
            )

    def _refresh_frozen(self, leaf: Leaf) -> None:
        leaf.is_frozen = any(freeze.is_total for freeze in leaf.freezes.values())
        if not leaf.is_frozen:
            self._book.touch(leaf)

    def _drop(self, record: OwnerRecord) -> None:
        book = self._book
        if book.listeners:
            book.emit(Crashed(tick=book.tick, owner=record.name))
        record.is_gone = True
        self._end_all(record)

    def _end_all(self, record: OwnerRecord) -> None:
        """End what is held and waited for, the descendants' first."""
        for child in record.children:
            self._end_all(child)
        for waiting in list(record.waiting.values()):
            self._book.fail(waiting, OutcomeKind.CANCELLED, Why.OWNER_GONE)
        for reservation in reversed(list(record.reservations)):
            if reservation.ended is None:
                self._book.expire(reservation)
        for loser in list(record.losers):
            loser.forget()

    def _see_alive(self, record: OwnerRecord, *, starts: bool = False) -> None:
        """Note a sign of life; the first one starts the clock."""
        record.last_sign = self._book.tick
        starts = starts or record.is_gone
        record.is_gone = False
        if starts and record.habits.time_to_live_s is not None:
            self._watch(record)

    def _watch(self, record: OwnerRecord) -> None:
        live_s = record.habits.time_to_live_s
        if live_s is not None:
            due = record.last_sign + max(1, self.cfg.ticks(live_s))
            self._book.timers.at(
                due, Due.TIME_TO_LIVE, partial(self._look_whether_alive, record)
            )

    def _look_whether_alive(self, record: OwnerRecord) -> None:
        live_s = record.habits.time_to_live_s
        if live_s is None or record.is_gone:
            return
        if record.last_sign + max(1, self.cfg.ticks(live_s)) <= self._book.tick:
            self._drop(record)
        else:
            self._watch(record)

    def _add_leaf(self, name: str) -> None:
        kind = self._tree.node(name).kind
        leaf: Leaf
        if kind is ResourceKind.STATE:
            group = self._tree.state_group(name)
            states = self._book.groups.setdefault(group, StateGroup(group))
            leaf = StateLeaf(name, states)
        elif kind is ResourceKind.CUMULATIVE:
            leaf = CumulativeLeaf(name)
        else:
            leaf = ExclusiveLeaf(name)
        self._book.leaves[name] = leaf

    def _emit_opening(self) -> None:
        book, cfg = self._book, self.cfg
        book.emit(
            Opened(
                tick=0,
                epoch=self.epoch,
                preemption=cfg.preemption,
                retry_ticks=max(1, cfg.ticks(cfg.retry_s)),
            )
        )
        for node in self._tree.root.walk():
            book.emit(
                ResourceAdded(
                    tick=0,
                    name=node.name,
                    parent=self._tree.parent(node.name),
                    kind=None if node.children else node.kind,
                )
            )

    def _owner_added(self, record: OwnerRecord) -> OwnerAdded:
        live_s = record.habits.time_to_live_s
        return OwnerAdded(
            tick=self._book.tick,
            owner=record.name,
            parent=record.parent.name if record.parent else None,
            time_to_live_ticks=None if live_s is None else self.cfg.ticks(live_s),
        )

    # -- inside: finding --------------------------------------------------------------

    def _find(self, token: Token) -> Reservation | Refusal:
        """Return the live reservation of a token, or why there is none."""
        if token.epoch != self._book.mint.epoch:
            return Refusal.WRONG_EPOCH
        reservation = self._book.reservations.get(token.sequence)
        if reservation is None or reservation.token.secret != token.secret:
            return Refusal.UNKNOWN
        return reservation.ended or reservation

    def _live(self, token: Token) -> Reservation:
        found = self._find(token)
        if isinstance(found, Refusal):
            raise StaleToken(token, found)
        return found

    def _owner(self, name: str) -> OwnerRecord:
        record = self._book.owners.get(name)
        if record is None:
            raise UnknownName("Owner", name, self._book.owners, "this ledger")
        return record

    def _leaf(self, name: str) -> Leaf:
        leaf = self._book.leaves.get(name)
        if leaf is None:
            raise UnknownName("Resource", name, self._book.leaves, "this ledger")
        return leaf

    def _leaves_of(self, names: Iterable[str]) -> list[Leaf]:
        found = {leaf for name in names for leaf in self._tree.leaves(name)}
        return [self._book.leaves[name] for name in sorted(found)]

    def _group(self, name: str) -> StateGroup:
        group = self._book.groups.get(name)
        if group is None:
            raise UnknownName("Set of states", name, self._book.groups, "this ledger")
        return group

    def _state(self, group: StateGroup, name: str) -> StateLeaf:
        leaf = group.leaves.get(name)
        if leaf is None:
            raise UnknownName("State", name, group.leaves, f"set {group.name!r}")
        return leaf


def _check_idle(leaf: Leaf, what: str) -> None:
    if leaf.seated() or leaf.waiters or leaf.freezes:
        raise BadInput(
            f"{leaf.name!r} is held, waited for or frozen; it can {what} when it is "
            "idle."
        )


def _token_of(loser: Loser) -> tuple[int, int]:
    return loser.token
