"""Judge the true temperatures of motors over a time."""

from math import inf

from controllers.resources.trace import Event
from experiments.scenarios.plan.expectations import Temperatures
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.judges.seam import say, seconds
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage


class TemperaturesJudge:
    """Keeps the highest and the lowest of them, and where they were."""

    hears = False

    def __init__(self, expectation: Temperatures, tick_s: float) -> None:
        """Begin before the first slot."""
        self.expectation = expectation
        self._tick_s = tick_s
        self._highest = (-inf, "", 0)
        self._lowest = (inf, "", 0)

    def hear(self, event: Event) -> None:
        """Nothing: temperatures are no events."""

    def look(self, facts: Facts, stage: Stage) -> None:
        """Compare the temperatures of a slot of the window."""
        window = self.expectation.window
        if not window.first <= facts.tick <= window.last:
            return
        degc = stage.true_degc()
        for joint in self.expectation.joints:
            value = float(degc[stage.motor_of[joint]])
            if value > self._highest[0]:
                self._highest = (value, joint, facts.tick)
            if value < self._lowest[0]:
                self._lowest = (value, joint, facts.tick)

    def verdict(self) -> Verdict:
        """Compare the extremes with the limits."""
        below, above = self.expectation.below_degc, self.expectation.above_degc
        seen, holds = [], bool(self._highest[1])
        if below is not None:
            holds &= self._highest[0] < below
            seen.append("at most " + self._say(*self._highest))
        if above is not None:
            holds &= self._lowest[0] > above
            seen.append("at least " + self._say(*self._lowest))
        return say(self.expectation, holds=holds, seen=", ".join(seen))

    def _say(self, degc: float, joint: str, tick: int) -> str:
        if not joint:
            return "nothing: the run ended before"
        return f"{degc:.2f} °C ({joint} at {seconds(tick, self._tick_s)})"
