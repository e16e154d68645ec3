"""Who is due when: a bucket a tick, so that a slot costs what is due in it."""

from collections.abc import Sequence
from operator import attrgetter

from controllers.schemas.instance import Instance

_NUMBER = attrgetter("number")


class Agenda:
    """Keeps each instance that is awake on the grid of its own period.

    All that was due since the last call is due now, once: a run may skip slots.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._buckets: dict[int, list[Instance]] = {}
        self._last = -1

    def add(self, instance: Instance, tick: int) -> None:
        """Let an instance be due at a tick, and at no other."""
        instance.next_due = tick
        self._buckets.setdefault(tick, []).append(instance)

    def remove(self, instance: Instance) -> None:
        """Let an instance be due no more."""
        instance.next_due = -1

    def take(self, tick: int) -> Sequence[Instance]:
        """Return those that are due, parents first, and put them at their next tick."""
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
                if one.next_due == at:  # else it slept in between
                    due.append(one)
                    period = one.period_ticks
                    self.add(one, tick + period - (tick - at) % period)
        for one in due:
            one.due = tick
        due.sort(key=_NUMBER)
        return due
