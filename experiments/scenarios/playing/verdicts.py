"""Judge the expectations of a scenario: one judge each looks on and says a verdict.

`AtTimeJudge` what is so in one slot: who holds, who waits, who runs, how the body
stands. `HappensJudge` whether a condition comes true in some slots, and how often.
`InOrderJudge` whether conditions come true one after the other. `TemperaturesJudge` the
true temperatures of motors over a time. `StartsTogetherJudge` whether a synchronous
group starts as one, and joins on to what it follows. `CountsJudge` how often something
happened to an owner.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from controllers.arbitration.events import Event, Executed, Granted, Notified, Rejected
from controllers.arbitration.manager.front import ResourceRow, take_snapshot
from controllers.arbitration.tokens import NoticeKind, TokenId
from controllers.transmitter.events import (
    Converted,
    GroupStarted,
    PrepSent,
    StreamEnded,
    StreamStarted,
)
from controllers.transmitter.receipt import EndReason
from experiments.scenarios.playing.result import Verdict
from experiments.scenarios.playing.setup import Setup
from experiments.scenarios.vocabulary.conditions import ConditionWatch, is_held_by
from experiments.scenarios.vocabulary.expectations import (
    INITIAL_MOTION,
    After,
    AtTime,
    Count,
    Counts,
    Expectation,
    Happens,
    InOrder,
    StartsTogether,
    Temperatures,
    Window,
)
from experiments.scenarios.vocabulary.facts import Facts

ExpectationT = TypeVar("ExpectationT", bound=Expectation)


class Judge(Generic[ExpectationT]):
    """Looks on and changes nothing; one that needs no events has no `hear` of its own.

    `hear` each event of the trace, `look` at each slot, then ask for the `verdict`.
    """

    hears: ClassVar[bool] = False
    """Whether the trace matters to it."""

    def __init__(self, expectation: ExpectationT, tick_s: float) -> None:
        """Begin before the first slot."""
        self.expectation = expectation
        self._tick_s = tick_s

    def hear(self, event: Event) -> None:
        """Note an event of the trace, as it happens."""

    def look(self, facts: Facts, stage: Setup) -> None:
        """Look at a slot that is over; the physics has not run yet."""

    def verdict(self) -> Verdict:
        """Judge what was seen until now."""
        raise NotImplementedError

    def _verdict(self, *, holds: bool, seen: str) -> Verdict:
        said = self.expectation
        return Verdict(expectation=said.text, holds=holds, seen=seen, line=said.line)


def seconds(tick: int, tick_s: float) -> str:
    """Return the time of a slot for people, in s."""
    return f"{tick * tick_s:.2f} s"


def times(ticks: Iterable[int], tick_s: float, most: int = 5) -> str:
    """Return the times of some slots for people."""
    every = list(ticks)
    if not every:
        return "never"
    shown = ", ".join(seconds(tick, tick_s) for tick in every[:most])
    more = len(every) - most
    return f"at {shown}" + (f" and {more} times more" if more > 0 else "")


class AtTimeJudge(Judge[AtTime]):
    """Looks once."""

    def __init__(self, expectation: AtTime, tick_s: float) -> None:
        """Wait for its slot."""
        super().__init__(expectation, tick_s)
        self._wrong: list[str] | None = None

    def look(self, facts: Facts, stage: Setup) -> None:
        """Compare everything in the slot."""
        if facts.tick != self.expectation.tick:
            return
        rows = {row.name: row for row in take_snapshot(stage.ledger).resources}
        self._wrong = [
            *self._wrong_reservations(rows),
            *self._wrong_behaviours(stage),
            *self._wrong_posture(stage),
        ]

    def verdict(self) -> Verdict:
        """Say what was otherwise."""
        if self._wrong is None:
            return self._verdict(holds=False, seen="the run ended before")
        seen = "; ".join(self._wrong) or "as expected"
        return self._verdict(holds=not self._wrong, seen=seen)

    def _wrong_reservations(self, rows: Mapping[str, ResourceRow]) -> Iterator[str]:
        for leaf, expected in self.expectation.holders.items():
            users = rows[leaf].users
            if not is_held_by(users, expected):
                yield f"{leaf} is held by {', '.join(users) or 'nobody'}"
        for leaf, waiters in self.expectation.waiters.items():
            waiting = tuple(wait.owner for wait in rows[leaf].waiters)
            if waiting != waiters:
                yield f"for {leaf} wait {', '.join(waiting) or 'none'}"
        for state in self.expectation.states:
            if not rows[state].is_active:
                parent = rows[state].parent
                others = [
                    r.name for r in rows.values() if r.parent == parent and r.is_active
                ]
                yield f"state is {', '.join(others) or 'none'}, not {state}"

    def _wrong_behaviours(self, stage: Setup) -> Iterator[str]:
        for path in self.expectation.running:
            if not stage.schemas.may_act(path):
                yield f"{path} does not run"
        for path in self.expectation.not_running:
            if stage.schemas.may_act(path):
                yield f"{path} runs"

    def _wrong_posture(self, stage: Setup) -> Iterator[str]:
        name = self.expectation.posture
        if name is None:
            return
        robot = stage.robot
        error = np.rad2deg(stage.body.sim.truth().q - robot.posture(name).angles)
        worst = int(np.abs(error).argmax())
        if abs(error[worst]) > self.expectation.within_deg:
            yield (
                f"{robot.joint_names[worst]} is {error[worst]:+.1f}° off posture {name}"
            )


class HappensJudge(Judge[Happens]):
    """Watches the condition, and the one after which it should come true."""

    def __init__(self, expectation: Happens, tick_s: float) -> None:
        """Begin before the first slot."""
        super().__init__(expectation, tick_s)
        self._watch = ConditionWatch(expectation.condition)
        where = expectation.where
        self._first = (
            ConditionWatch(where.condition) if isinstance(where, After) else None
        )

    def look(self, facts: Facts, stage: Setup) -> None:
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
            return self._verdict(holds=False, seen=why)
        expected = self.expectation.times
        inside = [t for t in self._watch.ticks if window.first <= t <= window.last]
        is_true = self._watch.is_true_within(window.first, window.last)
        if expected:
            holds = len(inside) == expected
        elif expected == 0:
            holds = not is_true
        else:  # after something else it has to come true, not to be so since before
            holds = is_true if self._first is None else bool(inside)
        return self._verdict(holds=holds, seen=self._seen(inside, is_true, window))

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


class InOrderJudge(Judge[InOrder]):
    """Watches them all; the next one counts from the slot of the one before."""

    def __init__(self, expectation: InOrder, tick_s: float) -> None:
        """Begin before the first slot."""
        super().__init__(expectation, tick_s)
        self._watches = [ConditionWatch(one) for one in expectation.conditions]

    def look(self, facts: Facts, stage: Setup) -> None:
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
        return self._verdict(holds=len(reached) == n, seen=seen)


class TemperaturesJudge(Judge[Temperatures]):
    """Keeps the highest and the lowest of them, and where they were."""

    def __init__(self, expectation: Temperatures, tick_s: float) -> None:
        """Begin before the first slot."""
        super().__init__(expectation, tick_s)
        self._highest = (-inf, "", 0)
        self._lowest = (inf, "", 0)

    def look(self, facts: Facts, stage: Setup) -> None:
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
        return self._verdict(holds=holds, seen=", ".join(seen))

    def _say(self, degc: float, joint: str, tick: int) -> str:
        if not joint:
            return "nothing: the run ended before"
        return f"{degc:.2f} °C ({joint} at {seconds(tick, self._tick_s)})"


@dataclass(kw_only=True)
class _Start:
    """One start of the group."""

    tick: int
    streams: tuple[int, ...]
    before: int | None
    """Slot of the last item of what it follows; None: that did not end."""


class StartsTogetherJudge(Judge[StartsTogether]):
    """Notes the first slots of the group's streams, and the last of those before."""

    hears = True

    def __init__(self, expectation: StartsTogether, tick_s: float) -> None:
        """Begin without having seen any."""
        super().__init__(expectation, tick_s)
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

    def verdict(self) -> Verdict:
        """Compare the slots of every start."""
        want = self.expectation
        if not self._starts:
            return self._verdict(holds=False, seen=f"group {want.group} never started")
        judged = [self._judge(start) for start in self._starts]
        holds = all(is_right for is_right, _ in judged)
        seen = next((said for is_right, said in judged if not is_right), judged[0][1])
        if len(judged) > 1:
            right = sum(is_right for is_right, _ in judged)
            seen = f"{right} of {len(judged)} starts as expected; {seen}"
        return self._verdict(holds=holds, seen=seen)

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


class CountsJudge(Judge[Counts]):
    """Counts events of one owner; commands belong to him whose token they carry."""

    hears = True

    def __init__(self, expectation: Counts, tick_s: float) -> None:
        """Begin at 0."""
        super().__init__(expectation, tick_s)
        self._tokens: set[TokenId] = set()
        self._counted: Counter[str] = Counter()

    def hear(self, event: Event) -> None:
        """Count."""
        owner = self.expectation.owner
        match event:
            case Granted() if event.owner == owner:
                self._tokens.add(event.token)
                self._counted["granted"] += 1
            case Notified() if event.owner == owner:
                self._counted["demanded"] += event.kind is NoticeKind.DEMANDED
            case Executed():
                self._counted["executed"] += event.token in self._tokens
            case Rejected():
                self._counted["refused"] += event.token in self._tokens

    def verdict(self) -> Verdict:
        """Compare each count that is expected."""
        holds, seen = True, []
        for name in ("executed", "refused", "granted", "demanded"):
            expected: Count | None = getattr(self.expectation, name)
            if expected is None:
                continue
            n = self._counted[name]
            holds &= expected.lowest <= n <= expected.highest
            seen.append(f"{n} {name}")
        return self._verdict(holds=holds, seen=", ".join(seen))


_JUDGES: Mapping[type[Expectation], type[Judge[Any]]] = {
    AtTime: AtTimeJudge,
    Happens: HappensJudge,
    InOrder: InOrderJudge,
    Temperatures: TemperaturesJudge,
    StartsTogether: StartsTogetherJudge,
    Counts: CountsJudge,
}


def make_judges(
    expectations: Iterable[Expectation], tick_s: float
) -> tuple[Judge[Any], ...]:
    """Return a judge for each expectation, in their order."""
    return tuple(_JUDGES[type(one)](one, tick_s) for one in expectations)
