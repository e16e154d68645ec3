"""I-26: a motion that begins in a posture begins in a robot that is in its state.

As it is seen; on the way between two states, as it was seen last, or as the last whole
motion left it. A robot of which nothing was ever seen is in no state. What follows an
initial motion, or another order, begins where that ended (I-23).
"""

from dataclasses import replace

from controllers.arbitration import events as t
from controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    JudgeRule,
    TraceReplay,
    before,
)
from controllers.sync.orders.pipeline_trace import (
    Converted,
    OrderEnded,
    OrderReceived,
    WayChosen,
)
from controllers.sync.transmitter import trace as s
from controllers.sync.transmitter.words import EndReason
from models.library import Unit


class InState(InvariantJudge):
    """Judges the first motion of every order."""

    invariants = ("I-26",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with no order, and in no state."""
        super().__init__(replay)
        self._orders: dict[int, OrderReceived] = {}
        """Those of which no motion was converted yet, by number."""
        self._begins: dict[int, str] = {}
        """Motion that has not started to the state in which it begins."""
        self._ends: dict[int, str] = {}
        """Motion that has not ended to the state in which it does."""
        self._known: dict[str, str] = {}
        """Set of states to the last one that was known."""

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at orders, at their motions, and at states."""
        return (
            before(t.StateChanged, self.seen),
            before(OrderReceived, self.ordered),
            before(WayChosen, self.goes_otherwise),
            before(Converted, self.converted),
            before(OrderEnded, self.order_is_over),
            before(s.StreamStarted, self.begins_in_its_state),
            before(s.StreamEnded, self.ended),
        )

    def seen(self, event: t.StateChanged) -> Findings:
        """Note what is seen."""
        if event.active is not None:
            self._known[event.group] = event.active
        yield from ()

    def ordered(self, event: OrderReceived) -> Findings:
        """Note an order that moves."""
        if event.refused is None and Unit.MOTION in event.units:
            self._orders[event.order] = event
        yield from ()

    def goes_otherwise(self, event: WayChosen) -> Findings:
        """Note where an order begins instead."""
        order = self._orders.get(event.order)
        if order is not None:
            self._orders[event.order] = replace(order, begins=event.begins)
        yield from ()

    def converted(self, event: Converted) -> Findings:
        """Note where the stream of an order begins and ends."""
        order = self._orders.get(event.order)
        if event.unit is Unit.MOTION and order is not None:
            if order.begins is not None:
                self._begins[event.stream] = order.begins
            if event.is_initial:  # what follows it begins where it ends
                self._orders[event.order] = replace(order, begins=None)
            elif order.ends is not None:
                self._ends[event.stream] = order.ends
        yield from ()

    def order_is_over(self, event: OrderEnded) -> Findings:
        """Forget an order."""
        self._orders.pop(event.order, None)
        yield from ()

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

    def ended(self, event: s.StreamEnded) -> Findings:
        """Note where a whole motion has left the robot."""
        self._begins.pop(event.stream, None)
        state = self._ends.pop(event.stream, None)
        group = None if state is None else self._set_of(state)
        if state is not None and group is not None and event.reason is EndReason.DONE:
            self._known[group] = state
        yield from ()

    def _set_of(self, state: str) -> str | None:
        for group, states in self.replay.children.items():
            if state in states:
                return group
        return None
