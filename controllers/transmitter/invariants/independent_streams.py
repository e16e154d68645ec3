"""I-24 and I-26: independent streams pass at once; motions begin in their state.

I-24: an independent stream passes, however many groups wait. With a right to all its
leaves it is never dropped, unless a group that has started uses one.
What has the preset 10 never counts towards 100.

I-26: a motion that begins in a posture begins in a robot that is in its state. As it is
seen; on the way between two states, as it was seen last, or as the last whole motion
left it. A robot of which nothing was ever seen is in no state. What follows an initial
motion, or another order, begins where that ended.
"""

from dataclasses import dataclass, field, replace

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    before,
)
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.controllers.transmitter import events as s
from nao_testbed.controllers.transmitter.events import (
    Converted,
    OrderEnded,
    OrderReceived,
    WayChosen,
)
from nao_testbed.controllers.transmitter.invariants.groups import (
    StreamRecord,
    StreamRecords,
)
from nao_testbed.controllers.transmitter.receipt import EndReason, NotReceived
from nao_testbed.models.library import Unit

_BY_SENDER = (EndReason.DELETED, EndReason.CANNOT_BEGIN)
"""Ends without a start that need no other reason: withdrawn, or not fit."""
_TICKS = 3
"""Ends of slots by which it has started: that of the slot in which it came, which may
be over for it, and that of the next, after which the start is told."""


@dataclass(eq=False)
class Passing(InvariantJudge):
    """Judges independent streams from their receipt to their start."""

    invariants = ("I-24",)

    _records: StreamRecords = field(default_factory=StreamRecords)
    _waiting: dict[int, int] = field(default_factory=dict)
    """Independent stream that has not started to slots that have ended since."""
    _in_use: list[s.StreamReceived] = field(default_factory=list)
    """Refused since a leaf is in use, by what has not started or ended so far."""

    @before
    def slot_is_over(self, event: t.Event) -> Findings:
        """What used a leaf without having started has done so in this slot, or ended.

        Between the items and the flush of a slot a group has begun, but nothing of it
        has gone out.
        """
        if not self._in_use or event.tick <= self._in_use[0].tick:
            return
        for refused in self._in_use:
            if not self._records.began(refused.leaves, refused.tick):
                name = f"independent stream {refused.stream} ({refused.label!r})"
                yield "I-24", f"{name} is refused; no group uses its leaves"
        self._in_use.clear()

    @before
    def received(self, event: s.StreamReceived) -> Findings:
        """It is refused only without a right, or where a started group is."""
        record = self._records.receive(event)
        if event.group is not None or event.is_interrupt or self._follows(event):
            return
        name = f"independent stream {event.stream} ({event.label!r})"
        if record is not None:
            self._waiting[event.stream] = 0
        elif event.refused is NotReceived.NO_TOKEN:
            if event.is_genuine and self._has_right(event.token, event.leaves):
                yield "I-24", f"{name} is refused, but has its right"
        elif event.refused is NotReceived.IN_USE:
            if not self._records.users(event.leaves):
                self._in_use.append(event)
        elif event.refused is not NotReceived.UNDER_WAY:
            yield "I-24", f"{name} is refused with {event.refused}"

    @before
    def of_one_preset(self, event: s.GroupStarted) -> Findings:
        """All streams that start have the preset of their group."""
        group = self._records.groups.get((event.preset, event.group))
        if group is not None:
            group.started_tick = event.tick
        for number in event.streams:
            record = self._records.streams.get(number)
            if record is not None and record.asked.preset != event.preset:
                what = f"{record.name} of preset {record.asked.preset}"
                yield "I-24", f"{what} counts towards {event.preset}"

    @before
    def started(self, event: s.StreamStarted) -> None:
        """It has passed."""
        self._records.start(event)
        self._waiting.pop(event.stream, None)

    @before
    def ended_rightly(self, event: s.StreamEnded) -> Findings:
        """One that has not started is dropped for a reason."""
        record = self._records.streams.get(event.stream)
        if record is None:
            return
        record.reason, record.ended_tick = event.reason, event.tick
        if self._waiting.pop(event.stream, None) is None:
            return
        asked = record.asked
        if event.reason is EndReason.REVOKED:
            is_right = not self._has_right(asked.token, asked.leaves)
        elif event.reason is EndReason.REPLACED:
            is_right = self._is_replaced(record)
        else:
            is_right = event.reason in _BY_SENDER
        if not is_right:
            yield "I-24", f"{record.name} is dropped: {event.reason}"

    @before
    def none_is_overdue(self, _: t.Ticked) -> Findings:
        """Whatever waits, it has started in the slot after its receipt."""
        for number in tuple(self._waiting):
            self._waiting[number] += 1
            if self._waiting[number] == _TICKS:
                name = self._records.streams[number].name
                yield "I-24", f"{name} is independent, but still waits"

    def _has_right(self, token: TokenId, leaves: tuple[str, ...]) -> bool:
        held = self.replay.tokens.get(token)
        if held is None or held.ended is not None:
            return False
        return all(
            name in held.seats and not leaf.is_frozen and not leaf.is_lent(token)
            for name, leaf in ((name, self.replay.leaf(name)) for name in leaves)
        )

    def _follows(self, event: s.StreamReceived) -> bool:
        """Whether it has to wait for the end of another stream, or its failure."""
        if event.after is None:
            return False
        first = self._records.streams.get(event.after)
        return first is None or first.reason is not EndReason.DONE

    def _is_replaced(self, record: StreamRecord) -> bool:
        """Whether a later independent stream takes one of its leaves."""
        mine = set(record.asked.leaves)
        return any(
            other.asked.group is None
            and number > record.asked.stream
            and not mine.isdisjoint(other.asked.leaves)
            for number, other in self._records.streams.items()
        )


@dataclass(eq=False)
class InState(InvariantJudge):
    """Judges the first motion of every order."""

    invariants = ("I-26",)

    _orders: dict[int, OrderReceived] = field(default_factory=dict)
    """Those of which no motion was converted yet, by number."""
    _begins: dict[int, str] = field(default_factory=dict)
    """Motion that has not started to the state in which it begins."""
    _ends: dict[int, str] = field(default_factory=dict)
    """Motion that has not ended to the state in which it does."""
    _known: dict[str, str] = field(default_factory=dict)
    """Set of states to the last one that was known."""

    @before
    def seen(self, event: t.StateChanged) -> None:
        """Note what is seen."""
        if event.active is not None:
            self._known[event.group] = event.active

    @before
    def ordered(self, event: OrderReceived) -> None:
        """Note an order that moves."""
        if event.refused is None and Unit.MOTION in event.units:
            self._orders[event.order] = event

    @before
    def goes_otherwise(self, event: WayChosen) -> None:
        """Note where an order begins instead."""
        order = self._orders.get(event.order)
        if order is not None:
            self._orders[event.order] = replace(order, begins=event.begins)

    @before
    def converted(self, event: Converted) -> None:
        """Note where the stream of an order begins and ends."""
        order = self._orders.get(event.order)
        if event.unit is Unit.MOTION and order is not None:
            if order.begins is not None:
                self._begins[event.stream] = order.begins
            if event.is_initial:  # what follows it begins where it ends
                self._orders[event.order] = replace(order, begins=None)
            elif order.ends is not None:
                self._ends[event.stream] = order.ends

    @before
    def order_is_over(self, event: OrderEnded) -> None:
        """Forget an order."""
        self._orders.pop(event.order, None)

    @before
    def begins_in_its_state(self, event: s.StreamStarted) -> Findings:
        """The robot is where the motion begins."""
        state = self._begins.pop(event.stream, None)
        group = None if state is None else self._set_of(state)
        if group is None:
            return  # nobody tells of this state
        present = self.replay.active.get(group) or self._known.get(group)
        if present != state:
            where = "in no known state" if present is None else f"in {present}"
            name = f"motion {event.stream} ({event.label!r})"
            yield "I-26", f"{name} begins in {state}, the robot is {where}"

    @before
    def ended(self, event: s.StreamEnded) -> None:
        """Note where a whole motion has left the robot."""
        self._begins.pop(event.stream, None)
        state = self._ends.pop(event.stream, None)
        group = None if state is None else self._set_of(state)
        if state is not None and group is not None and event.reason is EndReason.DONE:
            self._known[group] = state

    def _set_of(self, state: str) -> str | None:
        for group, states in self.replay.children.items():
            if state in states:
                return group
        return None
