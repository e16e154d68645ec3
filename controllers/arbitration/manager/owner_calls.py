"""Calls about owners: registration, starts, renewal, permissions and removal."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from nao_testbed.controllers.arbitration.events import (
    Crashed,
    Entrusted,
    Event,
    Expired,
    Notified,
    OwnerAdded,
    Renewed,
)
from nao_testbed.controllers.arbitration.manager.calls import Core
from nao_testbed.controllers.arbitration.manager.state.records import OwnerRecord
from nao_testbed.controllers.arbitration.manager.state.timers import Due
from nao_testbed.controllers.arbitration.manager.state.trace import Listener
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.resource_tree import (
    check_name,
    check_names,
)
from nao_testbed.controllers.arbitration.tokens import (
    NoticeKind,
    TokenId,
    Why,
)
from nao_testbed.models import BadInput
from nao_testbed.models.errors import error_text
from nao_testbed.models.values import short

DEEPEST_OWNER = 100
"""Largest number of ancestors of an owner."""


class OwnerCalls(Core):
    """Calls about owners.

    An owner that is silent for longer than its time to live is dropped, and its
    reservations and requests end.
    """

    _owners_added = 0
    """Number of owners registered so far; the rank of the last one."""
    _starts = 0
    """Number of behaviour starts so far; the number of the last one."""
    _hook_listener: Listener | None = None
    """Listener that calls the callbacks of owners."""

    def add_owner(self, owner: Owner, tick: int) -> None:
        """Register an owner, or replace its defaults.

        Raises:
            BadInput: the owner is registered under another parent, has the name of a
                virtual owner or of a running behaviour, or is too deep in the tree.
        """
        if not isinstance(owner, Owner):
            raise BadInput(f"an owner is {short(owner)}; give an Owner.")
        has_hook = owner.on_stop is not None or owner.on_lost is not None
        hears = self._hook_listener
        if has_hook and not any(one is hears for one in self._trace.listeners):
            self._hook_listener = hears = self._call_hooks
            self.add_direct_listener(hears)
        with self._calls.at(tick):
            record = self._register(owner)
            record.defaults = owner
            live_s, period = owner.time_to_live_s, self._queue.cfg.period
            self._trace.emit(
                OwnerAdded(
                    tick=self._timers.now,
                    owner=owner.name,
                    parent=owner.parent,
                    time_to_live_ticks=None if live_s is None else period(live_s),
                )
            )
            self._see(record)

    def knows(self, owner: str) -> bool:
        """Return True if an owner has this name."""
        return check_name(owner, "an owner") in self.holdings.owners

    def check_free(self, owner: str) -> None:
        """Check that no behaviour runs under a name.

        Raises:
            BadInput: the owner or a descendant holds a resource, waits, or starts.
        """
        record = self.holdings.owners.get(check_name(owner, "an owner"))
        if record is not None and (record.is_starting or record.has_any()):
            raise _name_taken(record)

    def start(self, owner: str) -> int:
        """Register the start of a behaviour under an owner's name.

        The name is reserved until `end_start`, and then while it holds or awaits any.

        Returns:
            Number of this start, for the calls below.
        """
        record = self.holdings.owner(owner)
        self._starts += 1
        record.started, record.is_starting = self._starts, True
        return self._starts

    def end_start(self, owner: str, number: int) -> None:
        """Register that a behaviour has sent all requests of its start."""
        if self.has_started(owner, number):
            self.holdings.owner(owner).is_starting = False

    def has_started(self, owner: str, number: int) -> bool:
        """Return True if the behaviour of a start still runs under the name."""
        record = self.holdings.owners.get(owner)
        return record is not None and record.started == number

    def stop(self, starts: Mapping[str, int], tick: int) -> None:
        """Stop behaviours: release resources and withdraw requests in one step.

        Args:
            starts: owner to the number of its start, parents before children; stopped
                or restarted behaviours are skipped.
            tick: present tick.
        """
        mine = [name for name, n in starts.items() if self.has_started(name, n)]
        self.give_up(mine, tick)
        for name in mine:
            record = self.holdings.owner(name)
            record.started, record.is_starting = None, False

    def renew(self, owner: str, tick: int) -> None:
        """Renew an owner: restart its time to live."""
        with self._calls.at(tick):
            self._renew(self.holdings.owner(owner))

    def drop(self, owner: str, tick: int) -> None:
        """End all reservations and requests of an owner and its descendants.

        The owner may send new requests later; its old tokens stay invalid.
        """
        with self._calls.at(tick):
            self._drop(self.holdings.owner(owner))

    def give_up(self, owners: Iterable[str], tick: int) -> None:
        """Withdraw all requests and release all resources of owners in one step.

        For owners that have ended by themselves. Paused reservations do not resume.
        Tokens are released from the last owner to the first, newest first.

        Args:
            owners: owners, parents before children; children release first.
            tick: present tick.
        """
        names = check_names(owners, "owners")
        with self._calls.at(tick):
            records = [self.holdings.owner(name) for name in names]
            for record in records:
                self._queue.cancel(record.waiting.values(), Why.WITHDRAWN)
            for record in reversed(records):
                if record.reservations:
                    self._see(record)
                for held in reversed(list(record.reservations)):
                    if held.ended is None:
                        self.holdings.release(held, list(held.shares))

    def forget_owner(self, owner: str, tick: int) -> None:
        """Drop an owner and remove its name.

        Raises:
            BadInput: the owner has children.
        """
        with self._calls.at(tick):
            record = self.holdings.owner(owner)
            if record.children:
                names = ", ".join(child.name for child in record.children)
                raise BadInput(
                    f"owner {record.name!r} still has parts: {names}; remove them "
                    "first."
                )
            self._drop(record)
            del self.holdings.owners[record.name]
            if record.parent:
                del record.parent.children[record]

    def entrust(self, owner: str, tick: int, *, is_entrusted: bool = True) -> None:
        """Entrust an owner: it may limit and shift motors unless a holder forbids it.

        The stiffness controller is entrusted by the program that runs the robot. It
        takes torque limits without the motors. The trust ends with the owner; a later
        owner of the same name must be entrusted again.
        """
        with self._calls.at(tick):
            self._entrust(self.holdings.owner(owner), is_entrusted=is_entrusted)

    # -- notification ------------------------------------------------------------------

    def add_direct_listener(self, listener: Listener) -> None:
        """Add a built-in listener, which a shared ledger calls directly as well.

        It must be fast and call no foreign code.
        """
        self._trace.at_once[id(listener)] = listener
        self._trace.listeners.append(listener)

    def is_hook(self, function: object, owner: str) -> bool:
        """Return True if a function is an owner's callback for losses or a stop."""
        record = self.holdings.owners.get(owner)
        if record is None:
            return False
        defaults = record.defaults
        return function is defaults.on_lost or function is defaults.on_stop

    def notify_error(
        self,
        owner: str,
        fault: BaseException,
        *,
        token: TokenId | None = None,
        request: int | None = None,
    ) -> None:
        """Notify an owner of an error in its own callback."""
        self.emit(
            Notified(
                tick=self._timers.now,
                owner=owner,
                kind=NoticeKind.RAISED,
                token=token,
                request=request,
                error=error_text(fault),
            )
        )

    # -- internals ---------------------------------------------------------------------

    def _register(self, owner: Owner) -> OwnerRecord:
        """Return the record of an owner; create it for an unknown one."""
        owners, name = self.holdings.owners, owner.name
        if name in self.holdings.virtual:
            raise BadInput(f"{name!r} is a virtual owner's name; choose another one.")
        parent = None if owner.parent is None else self.holdings.owner(owner.parent)
        record = owners.get(name)
        if record is None:
            if parent is not None and len(parent.line) > DEEPEST_OWNER:
                raise BadInput(
                    f"owner {name!r} would be {len(parent.line)} levels deep; at "
                    f"most {DEEPEST_OWNER} are accepted."
                )
            self._owners_added += 1
            record = owners[name] = OwnerRecord(owner, parent, self._owners_added)
            if parent:
                parent.children[record] = None
        elif record.parent is not parent:
            above = record.parent
            place = f"is a part of {above.name!r}" if above else "has no parent"
            raise BadInput(
                f"owner {name!r} {place}; its parent cannot change to {owner.parent!r}."
            )
        elif record.is_starting or (record.started is not None and record.has_any()):
            raise _name_taken(record)
        return record

    def _renew(self, record: OwnerRecord) -> None:
        self._trace.emit(Renewed(tick=self._timers.now, owner=record.name))
        self._see(record)

    def _see(self, record: OwnerRecord) -> None:
        """Restart the time to live of an owner."""
        live_s = record.defaults.time_to_live_s
        record.is_gone = False
        if live_s is None:
            record.dies = None
            return
        record.dies = self._timers.now + self._queue.cfg.period(live_s)
        if record.looked_at is None or record.looked_at > record.dies:
            self._watch(record, record.dies)

    def _watch(self, record: OwnerRecord, tick: int) -> None:
        record.looked_at = tick
        look = partial(self._look, record)
        self._timers.at(tick, Due.TIME_TO_LIVE, look, place=record.place)

    def _look(self, record: OwnerRecord) -> None:
        """Drop an owner whose time to live has expired, or set the next check."""
        if record.looked_at != self._timers.now:
            return  # an earlier timer checks
        record.looked_at = None
        if record.dies is None:
            return
        if record.dies > self._timers.now:
            self._watch(record, record.dies)
        else:
            self._drop(record)

    def _drop(self, record: OwnerRecord) -> None:
        self._trace.emit(Crashed(tick=self._timers.now, owner=record.name))
        self._end(record)

    def _end(self, record: OwnerRecord) -> None:
        """End the reservations and requests of an owner, descendants first."""
        for child in record.children:
            self._end(child)
        record.is_gone, record.dies = True, None
        record.started, record.is_starting = None, False
        self._queue.cancel(record.waiting.values(), Why.OWNER_GONE)
        for held in reversed(list(record.reservations)):
            if held.ended is None:
                self.holdings.expire(held)
        for watch in list(record.watches):
            watch.forget()
        if record.is_entrusted:  # a later owner of this name is not entrusted
            self._entrust(record, is_entrusted=False)

    def _entrust(self, record: OwnerRecord, *, is_entrusted: bool) -> None:
        record.is_entrusted = is_entrusted
        for waiting in record.waiting.values():
            for leaf in waiting.shares:
                if leaf.limits:
                    self._queue.touch(leaf)
        now, name = self._timers.now, record.name
        self._trace.emit(Entrusted(tick=now, owner=name, is_entrusted=is_entrusted))

    def _call_hooks(self, event: Event) -> None:
        """Call the callback of an owner for its losses or a stop."""
        if not isinstance(event, Notified | Expired):
            return
        record = self.holdings.owners.get(event.owner)
        if record is None:
            return
        hook: Callable[..., None] | None = None
        if isinstance(event, Expired) or event.kind is NoticeKind.LOST:
            hook = record.defaults.on_lost
        elif event.kind is NoticeKind.YIELD_BY:
            hook = record.defaults.on_stop
        if hook is not None and self._trace.post is not None:
            self._trace.post(hook, event)
        elif hook is not None:
            try:
                hook(event)
            except Exception as fault:  # noqa: BLE001  foreign code
                self.notify_error(event.owner, fault, token=event.token)


def _name_taken(record: OwnerRecord) -> BadInput:
    held = {leaf.name for one in record.reservations for leaf in one.shares}
    what = f" and holds {', '.join(sorted(held))}" if held else ""
    return BadInput(
        f"another behaviour is already the owner {record.name!r}{what}; stop it "
        "first, or choose another name: two behaviours of one name would be one "
        "owner."
    )
