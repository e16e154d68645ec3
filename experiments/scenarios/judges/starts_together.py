"""Judge whether a synchronous group starts as one, and joins on to what it follows."""

from controllers.resources.trace import Event
from controllers.sync.orders.pipeline_trace import Converted, PrepSent
from controllers.sync.transmitter.trace import GroupStarted, StreamEnded, StreamStarted
from controllers.sync.transmitter.words import EndReason
from experiments.scenarios.expectations import INITIAL_MOTION, StartsTogether
from experiments.scenarios.facts import Facts
from experiments.scenarios.judges.seam import say, seconds
from experiments.scenarios.result import Verdict
from experiments.scenarios.stage import Stage


class StartsTogetherJudge:
    """Notes the first slots of the group's streams, and the last of those before."""

    hears = True

    def __init__(self, expectation: StartsTogether, tick_s: float) -> None:
        """Begin without having seen any."""
        self.expectation = expectation
        self._tick_s = tick_s
        self._first: dict[int, int] = {}
        """Stream of the group to the slot of its first item."""
        self._expected: tuple[int, ...] | None = None
        """Streams that the transmitter said to start together."""
        self._orders: set[int] = set()
        """Orders that prepared for the group."""
        self._before: set[int] = set()
        """Streams that it follows."""
        self._last_before: int | None = None

    def hear(self, event: Event) -> None:
        """Note what belongs to the group."""
        group, after = self.expectation.group, self.expectation.after
        match event:
            case PrepSent() if event.group == group and after == INITIAL_MOTION:
                self._orders.add(event.order)
            case Converted() if event.is_initial and event.order in self._orders:
                self._before.add(event.stream)
            case GroupStarted() if event.group == group and self._expected is None:
                self._expected = event.streams
            case GroupStarted() if event.group == after:
                self._before.update(event.streams)
            case StreamStarted() if event.group == group:
                self._first.setdefault(event.stream, event.tick)
            case StreamEnded() if event.stream in self._before:
                if event.reason is EndReason.DONE and self._expected is None:
                    self._last_before = event.tick

    def look(self, facts: Facts, stage: Stage) -> None:
        """Nothing: only events count."""

    def verdict(self) -> Verdict:
        """Compare the slots."""
        want = self.expectation
        if self._expected is None:
            return say(want, holds=False, seen=f"group {want.group} never started")
        slots = [self._first[n] for n in self._expected if n in self._first]
        start, skew = min(slots), max(slots) - min(slots)
        holds = len(slots) == len(self._expected) and skew == want.skew_slots
        seen = (
            f"{len(slots)} of {len(self._expected)} streams started at "
            f"{seconds(start, self._tick_s)}, skew {skew} slots"
        )
        if want.after is not None:
            if self._last_before is None:
                return say(want, holds=False, seen=f"{seen}; {want.after} did not end")
            empty = start - self._last_before - 1
            seen += f", {empty} empty slots after {want.after}"
            holds &= want.empty_slots is None or empty == want.empty_slots
        return say(want, holds=holds, seen=seen)
