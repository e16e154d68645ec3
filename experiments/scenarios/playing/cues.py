"""When the events of a scenario take place: at their times, or after conditions."""

import heapq
from collections.abc import Iterable

from experiments.scenarios.plan.events import AtTick, ScenarioEvent
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.watches import Watch


class Cues:
    """Says at the beginning of each slot which events take place in it.

    `due` before the slot, `look` after it. Of one slot they come in the order of the
    file; each takes place once.
    """

    def __init__(self, events: Iterable[ScenarioEvent]) -> None:
        """Wait for them all."""
        self._timed: list[tuple[int, int]] = []
        """Heap of tick and place in the file."""
        self._events = tuple(events)
        self._watches: list[tuple[int, int, Watch]] = []
        """Place in the file, delay in ticks, condition."""
        for place, event in enumerate(self._events):
            trigger = event.trigger
            if isinstance(trigger, AtTick):
                heapq.heappush(self._timed, (trigger.tick, place))
            else:
                watch = Watch(trigger.condition)
                self._watches.append((place, trigger.after_ticks, watch))

    def due(self, tick: int) -> list[ScenarioEvent]:
        """Return the events that take place at the beginning of a slot."""
        timed = self._timed
        if not timed or timed[0][0] > tick:
            return []
        places = []
        while timed and timed[0][0] <= tick:
            places.append(heapq.heappop(timed)[1])
        return [self._events[place] for place in sorted(places)]

    def look(self, facts: Facts) -> None:
        """Watch a slot that is over."""
        came_true = [item for item in self._watches if item[2].look(facts)]
        for item in came_true:
            place, delay, _ = item
            heapq.heappush(self._timed, (facts.tick + 1 + delay, place))
            self._watches.remove(item)

    @property
    def left(self) -> tuple[ScenarioEvent, ...]:
        """Those that have not taken place, in the order of the file."""
        places = [place for _, place in self._timed]
        places += [place for place, _, _ in self._watches]
        return tuple(self._events[place] for place in sorted(places))
