"""Events of a ledger, and their delivery to listeners."""

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

    Events are collected during a call (`emit`) and delivered at its end
    (`deliver_events`), so that listeners find all changes complete. A block `with
    trace:` delays the delivery to its end.
    """

    def __init__(self, timers: Timers, listeners: Iterable[Listener]) -> None:
        self.listeners = list(listeners)
        self.at_once: dict[int, Listener] = {}
        """Ids of built-in listeners, which are called directly and never by `post`. Ids
        are used since a foreign listener could compare equal to one of them."""
        self.post: Callable[[Listener, Event], None] | None = None
        """Function that delivers to all other listeners; None: direct calls."""
        self.fault: Exception | None = None
        """First error of a listener; the next `advance` raises it."""
        self.turns = 0
        """Number of rounds in which listeners have called in response to events; 0
        outside a delivery."""
        self._timers = timers
        self._pending_events: deque[Event] = deque()
        self._n_quiet = 0
        """Number of open blocks."""

    def __enter__(self) -> None:
        self._n_quiet += 1

    def __exit__(self, *_: object) -> None:
        self._n_quiet -= 1
        if self.listeners:
            self.deliver_events()

    def emit(self, event: Event) -> None:
        """Collect an event if there are listeners.

        Frequent callers check for listeners first, to avoid creating unused events.
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
        """Deliver all collected events, then the events caused by listeners.

        Raises:
            BaseException: an exit exception of a listener, after the delivery.
        """
        if self.turns or self._n_quiet:
            return  # delivered by the running delivery, or at the end of the block
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
                        if self.fault is None:  # `bool(fault)` could call foreign code
                            self.fault = fault
                    except BaseException as ends:  # noqa: BLE001  as above
                        end = ends if end is None else end
        self.turns = 0
        if end is not None:
            raise end

    def take_fault(self) -> Exception | None:
        """Return and clear the pending error of a listener."""
        fault, self.fault = self.fault, None
        return fault
