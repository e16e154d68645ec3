"""Judge whether a condition comes true in some slots, and how often."""

from controllers.resources.trace import Event
from experiments.scenarios.plan.expectations import After, Happens, Window
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.judges.seam import say, seconds, times
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage
from experiments.scenarios.playing.watches import Watch


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
        """Look whether it was true in the window, or count how often it came true."""
        window = self._window()
        if window is None:
            why = "what it should follow never came true"
            return say(self.expectation, holds=False, seen=why)
        expected = self.expectation.times
        inside = [t for t in self._watch.ticks if window.first <= t <= window.last]
        is_true = self._watch.is_true_within(window.first, window.last)
        if expected:
            holds = len(inside) == expected
        elif expected == 0:
            holds = not is_true
        else:  # after something else it has to come true, not to be so since before
            holds = is_true if self._first is None else bool(inside)
        return say(
            self.expectation, holds=holds, seen=self._seen(inside, is_true, window)
        )

    def _seen(self, inside: list[int], is_true: bool, window: Window) -> str:
        """Say when it came true: in the window, and if not there, elsewhere."""
        others = times(self._watch.ticks, self._tick_s)
        if not inside:
            if is_true:
                return f"true all along since before, {others}"
            return f"not then, but {others}" if self._watch.ticks else others
        if self._first is None:
            return times(inside, self._tick_s)
        start = seconds(window.first, self._tick_s)
        later = inside[0] - window.first
        return f"{times(inside, self._tick_s)}, {later} slots after {start}"

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
