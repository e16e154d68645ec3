"""What is due when: a heap of calls, in one order for equal ticks."""

import heapq
from collections.abc import Callable
from enum import IntEnum


class Due(IntEnum):
    """Kinds of timers, in the order in which those of one tick are called."""

    TIMEOUT = 0
    PROMISE = 1
    TIME_TO_LIVE = 2
    RETRY = 3


class Timers:
    """Calls to be made at a tick; what is out of date does nothing when called."""

    def __init__(self) -> None:
        """Begin with nothing due."""
        self._heap: list[tuple[int, Due, int, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, tick: int, due: Due, call: Callable[[], None], place: int = 0) -> None:
        """Make a call at a tick.

        Args:
            tick: when.
            due: what kind it is.
            call: what to do.
            place: place among those of one kind and tick; then the earlier made first.
        """
        self._count += 1
        heapq.heappush(self._heap, (tick, due, place, self._count, call))

    def next_due(self) -> int | None:
        """Return the tick of the next call, None if there is none."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Callable[[], None]:
        """Take out the next call."""
        return heapq.heappop(self._heap)[4]
