"""Judge whether a condition comes true in some slots, and how often."""

from controllers.resources.trace import Event
from experiments.scenarios.expectations import After, Happens, Window
from experiments.scenarios.facts import Facts
from experiments.scenarios.judges.seam import say, seconds, times
from experiments.scenarios.result import Verdict
from experiments.scenarios.stage import Stage
from experiments.scenarios.watches import Watch


class HappensJudge:
    """Watches the condition, and the one after which it should come true."""

    hears = False

    def __init__(self, expectation: Happens, tick_s: float) -> None:
        """Begin before the first slot."""
        self.expectation = expectation
        self._tick_s = tick_s
        self._watch = Watch(expectation.condition)
        where = expectation.where
        self._first = Watch(where.condition) if isinstance(where, After) else None

    def hear(self, event: Event) -> None:
        """Nothing: the facts hold it."""

    def look(self, facts: Facts, stage: Stage) -> None:
        """Watch."""
        del stage
        self._watch.look(facts)
        if self._first is not None:
            self._first.look(facts)

    def verdict(self) -> Verdict:
        """Count the slots of the window in which it came true."""
        expected = self.expectation.times
        window = self._window()
        if window is None:
            return say(
                self.expectation,
                holds=expected == 0,
                seen="what it should follow never came true",
            )
        ticks = self._watch.ticks
        inside = [tick for tick in ticks if window.first <= tick <= window.last]
        holds = bool(inside) if expected is None else len(inside) == expected
        return say(self.expectation, holds=holds, seen=self._seen(inside, window))

    def _seen(self, inside: list[int], window: Window) -> str:
        """Say when it came true: in the window, and if not there, elsewhere."""
        if self._first is not None and inside:
            start = seconds(window.first, self._tick_s)
            later = inside[0] - window.first
            return f"{times(inside, self._tick_s)}, {later} slots after {start}"
        others = self._watch.ticks
        if inside or not others:
            return times(inside, self._tick_s)
        return f"not then, but {times(others, self._tick_s)}"

    def _window(self) -> Window | None:
        where = self.expectation.where
        if isinstance(where, Window):
            return where
        ticks = self._first.ticks if self._first is not None else []
        if not ticks:
            return None
        first, within = ticks[0], where.within_ticks
        last = first + within if within is not None else 2**62
        return Window(first=first, last=last)
