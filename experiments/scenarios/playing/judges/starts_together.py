"""Judge whether a synchronous group starts as one, and joins on to what it follows."""

from dataclasses import dataclass

from controllers.resources.trace import Event
from controllers.sync.orders.pipeline_trace import Converted, PrepSent
from controllers.sync.transmitter.trace import GroupStarted, StreamEnded, StreamStarted
from controllers.sync.transmitter.words import EndReason
from experiments.scenarios.plan.expectations import INITIAL_MOTION, StartsTogether
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.judges.seam import say, seconds
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.stage import Stage


@dataclass(kw_only=True)
class _Start:
    """One start of the group."""

    tick: int
    streams: tuple[int, ...]
    before: int | None
    """Slot of the last item of what it follows; None: that did not end."""


class StartsTogetherJudge:
    """Notes the first slots of the group's streams, and the last of those before."""

    hears = True

    def __init__(self, expectation: StartsTogether, tick_s: float) -> None:
        """Begin without having seen any."""
        self.expectation = expectation
        self._tick_s = tick_s
        self._starts: list[_Start] = []
        self._first: dict[int, int] = {}
        """Stream of the group to the slot of its first item."""
        self._orders: dict[int, int | None] = {}
        """Order that prepared for a group of this ID to the preset of that."""
        self._before: dict[int, int | None] = {}
        """Stream that it follows to that preset; None: any."""
        self._last_before: dict[int | None, int] = {}
        """Preset to the slot in which the last of these ended, since the last start."""

    def hear(self, event: Event) -> None:
        """Note what belongs to the group."""
        group, after = self.expectation.group, self.expectation.after
        match event:
            case PrepSent() if event.group == group and after == INITIAL_MOTION:
                self._orders[event.order] = event.preset
            case Converted() if event.is_initial and event.order in self._orders:
                self._before[event.stream] = self._orders[event.order]
            case GroupStarted() if event.group == group:
                ends = [self._last_before.pop(p, None) for p in (event.preset, None)]
                before = max((end for end in ends if end is not None), default=None)
                start = _Start(tick=event.tick, streams=event.streams, before=before)
                self._starts.append(start)
            case GroupStarted() if event.group == after:
                self._before |= dict.fromkeys(event.streams)
            case StreamStarted() if event.group == group:
                self._first.setdefault(event.stream, event.tick)
            case StreamEnded() if event.stream in self._before:
                if event.reason is EndReason.DONE:
                    self._last_before[self._before[event.stream]] = event.tick

    def look(self, facts: Facts, stage: Stage) -> None:
        """Nothing: only events count."""

    def verdict(self) -> Verdict:
        """Compare the slots of every start."""
        want = self.expectation
        if not self._starts:
            return say(want, holds=False, seen=f"group {want.group} never started")
        judged = [self._judge(start) for start in self._starts]
        holds = all(is_right for is_right, _ in judged)
        seen = next((said for is_right, said in judged if not is_right), judged[0][1])
        if len(judged) > 1:
            right = sum(is_right for is_right, _ in judged)
            seen = f"{right} of {len(judged)} starts as expected; {seen}"
        return say(want, holds=holds, seen=seen)

    def _judge(self, start: _Start) -> tuple[bool, str]:
        """Return whether a start is as expected, and what it was like."""
        want = self.expectation
        slots = [self._first[n] for n in start.streams if n in self._first]
        begin = min(slots, default=start.tick)
        skew = max(slots, default=begin) - begin
        holds = len(slots) == len(start.streams) and skew == want.skew_slots
        seen = (
            f"{len(slots)} of {len(start.streams)} streams started at "
            f"{seconds(begin, self._tick_s)}, skew {skew} slots"
        )
        if want.after is None:
            return holds, seen
        if start.before is None:
            return False, f"{seen}; {want.after} did not end before"
        empty = begin - start.before - 1
        holds &= want.empty_slots is None or empty == want.empty_slots
        return holds, f"{seen}, {empty} empty slots after {want.after}"
