"""The events of a ledger and the listeners that they are delivered to."""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from nao_testbed.controllers.arbitration.events import Event, Notified
from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    Reservation,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state.timers import Timers
from nao_testbed.controllers.arbitration.tokens import NoticeKind

Listener = Callable[[Event], None]


class Trace(AbstractContextManager[None]):
    """Events in order, and their listeners.

    Events are collected (`emit`) during a call and delivered (`tell`) at its end, so
    that calls of listeners find all changes complete. In a block `with trace:` nothing
    is delivered before its end.
    """

    def __init__(self, timers: Timers, listeners: Iterable[Listener]) -> None:
        self.listeners = list(listeners)
        self.at_once: dict[int, Listener] = {}
        """Quick listeners of this project, by id, which `post` never takes over: a
        foreign listener may say that it equals one of them."""
        self.post: Callable[[Listener, Event], None] | None = None
        """Delivers to all other listeners in place of a direct call."""
        self.fault: Exception | None = None
        """First error of a listener; the next `advance` raises it."""
        self.turns = 0
        """How many times over listeners have called in answer to each other; 0 while
        nothing is delivered."""
        self._timers = timers
        self._pending_events: deque[Event] = deque()
        self._n_quiet = 0
        """Blocks begun and not ended."""

    def __enter__(self) -> None:
        self._n_quiet += 1

    def __exit__(self, *_: object) -> None:
        self._n_quiet -= 1
        if self.listeners:
            self.deliver_events()

    def emit(self, event: Event) -> None:
        """Collect an event if there are listeners.

        Frequent callers check for listeners first, so that no unused event is created.
        """
        if self.listeners:
            self._pending_events.append(event)

    def notify(
        self,
        holder: Reservation,
        kind: NoticeKind,
        leaves: Iterable[Leaf],
        **more: Any,
    ) -> None:
        """Collect a notice to the owner of a reservation.

        Args:
            holder: reservation of the owner.
            kind: kind of the notice.
            leaves: affected leaves.
            more: other fields of `Notified`.
        """
        if self.listeners:
            self._pending_events.append(
                Notified(
                    tick=self._timers.now,
                    owner=holder.owner.name,
                    kind=kind,
                    token=holder.token.id,
                    leaves=names_of(leaves),
                    **more,
                )
            )

    def deliver_events(self) -> None:
        """Deliver all collected events, then those of calls that listeners make.

        Raises:
            BaseException: what ends the program, once everything is delivered.
        """
        if self.turns or self._n_quiet:
            return  # the delivery under way goes on with it, or the end of the block
        pending, end = self._pending_events, None
        while pending:
            self.turns += 1
            for _ in range(len(pending)):
                event = pending.popleft()
                for listener in tuple(self.listeners):
                    try:
                        if self.post is None or id(listener) in self.at_once:
                            listener(event)
                        else:
                            self.post(listener, event)
                    except Exception as fault:  # noqa: BLE001  the others hear it too
                        if self.fault is None:  # its own truth is foreign code
                            self.fault = fault
                    except BaseException as ends:  # noqa: BLE001  as above
                        end = ends if end is None else end
        self.turns = 0
        if end is not None:
            raise end

    def take_fault(self) -> Exception | None:
        """Return what a listener raised since the last time, and forget it."""
        fault, self.fault = self.fault, None
        return fault
