"""Agenda of iterations, and the end of acting: orders, then sub-tree, then tokens.

The agenda has a bucket for each tick, so that a slot costs only its due instances.

A loser's orders end first, then its sub-tree, then its tokens. Errors of a schema's
methods are handled here too: the instance and its sub-tree are deactivated; others are
not affected.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.controllers.schemas.events import (
    SchemaEvent,
    SchemaFailed,
    SchemaStopped,
    Slept,
    StateChangedTo,
)
from nao_testbed.controllers.schemas.runtime.instance import Instance
from nao_testbed.models.errors import FOREIGN_ERRORS

_NUMBER = attrgetter("number")


class Agenda:
    """Agenda that keeps each active instance on the grid of its period.

    An instance that was due since the last call, in skipped slots too, is due once now.
    """

    def __init__(self) -> None:
        """Create an empty agenda."""
        self._buckets: dict[int, list[Instance]] = {}
        self._last = -1

    def add(self, instance: Instance, tick: int) -> None:
        """Schedule an instance for exactly one tick."""
        instance.next_due = tick
        self._buckets.setdefault(tick, []).append(instance)

    def remove(self, instance: Instance) -> None:
        """Remove an instance from the agenda."""
        instance.next_due = -1

    def take(self, tick: int) -> Sequence[Instance]:
        """Return the due instances, parents first, and schedule their next tick."""
        buckets = self._buckets
        if tick == self._last + 1:
            found = buckets.pop(tick, None)
            if found is None:
                self._last = tick
                return ()
            late = [(tick, found)]
        else:
            late = [(at, buckets.pop(at)) for at in sorted(buckets) if at <= tick]
        self._last = tick
        due: list[Instance] = []
        for at, found in late:
            for one in found:
                if one.next_due == at:  # otherwise it was deactivated in between
                    due.append(one)
                    period = one.period_ticks
                    self.add(one, tick + period - (tick - at) % period)
        for one in due:
            one.due = tick
        due.sort(key=_NUMBER)
        return due


_T = TypeVar("_T")


class Deactivation:
    """Deactivation of instances, and release of their resources."""

    def __init__(self, ledger: Ledger, agenda: Agenda) -> None:
        """Create the deactivation without active instances.

        Args:
            ledger: ledger that releases reservations and emits events.
            agenda: due iterations.
        """
        self.tick = 0
        """Present slot."""
        self.holders: dict[Instance, None] = {}
        """Instances that act with a token."""
        self.waiting: dict[Instance, None] = {}
        """Winners whose request has no outcome yet."""
        self._ledger = ledger
        self._agenda = agenda

    def deactivate(self, one: Instance, why: str = "asleep") -> None:
        """Deactivate an instance and its sub-tree."""
        if not one.is_awake:
            return
        self.stop_all(one, why)
        self._mark_slept(one)

    def demote(self, one: Instance, why: str) -> None:
        """Demote a winner: deactivate its sub-tree and release its tokens."""
        self.stop_all(one, why)
        parent = one.parent
        if parent is not None and parent.winner is one:
            parent.winner = None
        if one.is_awake:
            self.change(one, State.READY if one.is_ready else State.CHECKING)

    def stop_all(self, top: Instance, why: str, *, keeps_ticket: bool = False) -> None:
        """Stop an instance from acting: deactivate its sub-tree, release all tokens."""
        below = list(top.awake_below())
        for one in below:
            self._stop(one, "asleep")
        self._stop(top, why)
        family = [top, *reversed(below)]
        for one in family:
            for order in one.take_orders():
                self._safe_call(one, "the end of an order", order.end)
            self.holders.pop(one, None)
            self.waiting.pop(one, None)
        leaving = family[1:] if keeps_ticket else family
        engaged = [one for one in leaving if one.ticket is not None]
        for one in engaged:
            one.ticket = None
        if engaged:
            self._ledger.give_up(tuple(one.path for one in engaged), self.tick)
        for one in below:
            self._mark_slept(one)

    def _stop(self, one: Instance, why: str) -> None:
        """Call `stop` of a started instance; commands in it are refused."""
        one.may_act = False
        one.newly_awake.clear()
        if not one.is_acting:
            return
        one.is_acting = False
        self.emit(SchemaStopped, one, why=why)
        if why not in ("no token", "failed"):
            self._safe_call(one, "stop", one.schema.stop)

    def _mark_slept(self, one: Instance) -> None:
        self._agenda.remove(one)
        one.is_ready = False
        parent = one.parent
        if parent is not None:
            if parent.winner is one:
                parent.winner = None
            if one in parent.ranked:
                parent.ranked.remove(one)
        self.emit(Slept, one)
        self.change(one, State.SLEPT)

    def attempt(
        self,
        one: Instance,
        name: str,
        method: Callable[[], _T],
    ) -> _T | None:
        """Call a method; if it raises, deactivate the instance and its descendants."""
        try:
            return method()
        except FOREIGN_ERRORS as error:  # other schemas continue
            self.fail(one, name, error)
        return None

    def fail(self, one: Instance, name: str, error: BaseException) -> None:
        """Deactivate an instance whose method raised, and its descendants."""
        self._record_failure(one, name, error)
        self.deactivate(one, "failed")

    def _safe_call(
        self, one: Instance, name: str, method: Callable[[], object]
    ) -> None:
        """Call a method of an ending instance, and record an error."""
        try:
            method()
        except FOREIGN_ERRORS as error:  # other schemas continue
            self._record_failure(one, name, error)

    def _record_failure(self, one: Instance, name: str, error: BaseException) -> None:
        try:
            one.error = f"{type(error).__name__}: {error}"
        except FOREIGN_ERRORS:  # `str` of the error may call foreign code
            one.error = type(error).__name__
        self.emit(SchemaFailed, one, method=name, error=one.error)

    def change(self, one: Instance, state: State) -> None:
        """Set the state of an instance."""
        if one.state is state:
            return
        one.state = state
        if state is not State.WINNER:
            one.has_acted = False
        self.emit(StateChangedTo, one, state=state)

    def emit(self, kind: type[SchemaEvent], one: Instance, /, **fields: Any) -> None:
        """Emit an event of an instance if the ledger has listeners."""
        if self._ledger.listeners:
            self._ledger.emit(kind(tick=self.tick, path=one.path, **fields))
