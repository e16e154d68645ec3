"""Present tick of a ledger, and calls scheduled at later ticks."""

import heapq
from collections.abc import Callable
from enum import IntEnum

from nao_testbed.controllers.arbitration.manager.state.records import Waiting

_FEW = 64
"""Number of obsolete timers below which no clean-up runs."""
_Timer = tuple[int, "Due", int, int, Callable[[], None], Waiting | None]


class Due(IntEnum):
    """Kinds of timers in the order of calls within one tick."""

    TIMEOUT = 0
    PROMISE = 1
    TIME_TO_LIVE = 2
    RETRY = 3


class Timers:
    """Calls scheduled at ticks; an obsolete one has no effect.

    Timers of ended requests are removed once they are the majority, so that a long time
    limit keeps no request in memory.
    """

    def __init__(self) -> None:
        self.now = 0
        """Present tick, the tick of the last call."""
        self._heap: list[_Timer] = []
        self._count = 0
        self._over = 0

    def at(
        self,
        tick: int,
        due: Due,
        call: Callable[[], None],
        *,
        place: int = 0,
        waiting: Waiting | None = None,
    ) -> None:
        """Schedule a call at a tick.

        Args:
            tick: tick of the call.
            due: kind of the timer.
            call: function to call.
            place: order among timers of one kind and tick; then the earlier created
                first.
            waiting: request that the timer belongs to; None: no request.
        """
        self._count += 1
        heapq.heappush(self._heap, (tick, due, place, self._count, call, waiting))

    def next_due(self) -> int | None:
        """Return the tick of the next call, or None."""
        return self._heap[0][0] if self._heap else None

    def take(self, tick: int, kind: Due) -> list[Callable[[], None]]:
        """Remove and return the calls of a kind at a tick, in their order."""
        if not self._heap or self._heap[0][0] > tick:
            return []
        found = sorted(one for one in self._heap if one[:2] == (tick, kind))
        if found:
            self._heap = [one for one in self._heap if one[:2] != (tick, kind)]
            heapq.heapify(self._heap)
        return [one[4] for one in found]

    def pop(self) -> Callable[[], None]:
        """Remove and return the next call."""
        return heapq.heappop(self._heap)[4]

    def ended(self) -> None:
        """Count the two obsolete timers of an ended request that had a time limit."""
        self._over += 2
        if self._over > max(_FEW, len(self._heap) // 2):
            self._heap = [
                timer for timer in self._heap if timer[5] is None or timer[5].is_waiting
            ]
            heapq.heapify(self._heap)
            self._over = 0
