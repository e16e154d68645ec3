"""Judge whether conditions come true one after the other."""

from controllers.resources.trace import Event
from experiments.scenarios.plan.expectations import InOrder
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.judges.seam import say, seconds
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage
from experiments.scenarios.playing.watches import Watch


class InOrderJudge:
    """Watches them all; the next one counts from the slot of the one before."""

    hears = False

    def __init__(self, expectation: InOrder, tick_s: float) -> None:
        """Begin before the first slot."""
        self.expectation = expectation
        self._tick_s = tick_s
        self._watches = [Watch(one) for one in expectation.conditions]

    def hear(self, event: Event) -> None:
        """Nothing: the facts hold it."""

    def look(self, facts: Facts, stage: Stage) -> None:
        """Watch."""
        del stage
        for watch in self._watches:
            watch.look(facts)

    def verdict(self) -> Verdict:
        """Take for each condition the first slot that is not before the last one's."""
        reached: list[int] = []
        for watch in self._watches:
            since = reached[-1] if reached else 0
            later = [tick for tick in watch.ticks if tick >= since]
            if not later:
                break
            reached.append(later[0])
        n = len(self._watches)
        seen = ", ".join(seconds(tick, self._tick_s) for tick in reached) or "none"
        if len(reached) < n:
            seen += f"; then number {len(reached) + 1} of {n} did not come true"
        return say(self.expectation, holds=len(reached) == n, seen=seen)
