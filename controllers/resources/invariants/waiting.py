"""I-3, I-8 and the wake-ups of I-7, I-18, I-20, I-22: who is next is granted."""

from collections.abc import Iterable

from controllers.resources import trace as t
from controllers.resources.invariants.geometry import (
    earlier_competitors,
    heads,
    is_grantable,
    scope,
    who_bars,
)
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import RequestState
from controllers.resources.invariants.seam import Findings, Judge, Rule, before
from controllers.resources.words import LossCause


class Queue(Judge):
    """No overtaking: by priority, then arrival, among those who need the same leaf.

    Two requests meet where both need a leaf and have the same scope there: a child
    inside its parent's reservation does not compete with those outside. While the
    manager lets equals pass, they pass to what is free; nobody gives way to them.
    """

    invariants = ("I-3",)

    def __init__(self, replay: Replay) -> None:
        """Begin a call."""
        super().__init__(replay)
        self._met: dict[int, list[tuple[str, int]]] = {}
        """Request for which holders give way, to whom it met before they did."""

    def rules(self) -> tuple[Rule, ...]:
        """Look at grants, and at the losses that make them possible."""
        return (
            before(t.Revoked, self.note_before_loss),
            before(t.Granted, self.nobody_is_overtaken),
            before(t.Settled, self.settled),
        )

    def note_before_loss(self, event: t.Revoked) -> Findings:
        """Remember whom a taker met: scopes change when reservations go."""
        request = self.replay.waiting(event.request)
        if request is not None and request.number not in self._met:
            names = {*request.asked.shares, *_optional(request)}
            self._met[request.number] = list(self._meeting(request, names))
        if request is None or event.why is LossCause.PARENT_RELEASED:
            return
        for name in event.lost:
            leaf = self.replay.leaf(name)
            for other in earlier_competitors(self.replay, leaf, request):
                yield (
                    "I-3",
                    f"{name} is taken away for request {request.number}, though "
                    f"request {other.number} waits: only what is free is",
                )
                break

    def nobody_is_overtaken(self, event: t.Granted) -> Findings:
        """No earlier one waits for a leaf of this grant."""
        request = self.replay.waiting(event.request)
        if request is None:
            return
        met = self._met.pop(request.number, None)
        if met is None:
            met = list(self._meeting(request, event.shares))
        for leaf, number in met:
            still_waits = self.replay.waiting(number) is not None
            if leaf in event.shares and still_waits:
                yield (
                    "I-3",
                    f"request {request.number} gets {leaf} before request {number}",
                )

    def settled(self, event: t.Settled) -> Findings:
        """End a call."""
        del event
        self._met.clear()
        yield from ()

    def _meeting(
        self, request: RequestState, names: Iterable[str]
    ) -> Iterable[tuple[str, int]]:
        for name in names:
            leaf = self.replay.leaf(name)
            first = who_bars(self.replay, leaf, request)
            if first is not None:
                yield name, first.number


class WakeUp(Judge):
    """After each call nobody waits for what nothing keeps from them.

    A finding is filed under what made the leaf free: a wait that timed out (I-7), a
    whole token lost (I-18), the end of a freeze (I-22), an ancestor's reservation
    (I-20), else I-8. Only the first in the queue of a leaf that changed can be next.
    """

    invariants = ("I-7", "I-8", "I-18", "I-20", "I-22")

    def rules(self) -> tuple[Rule, ...]:
        """Look at what is left when a call is done."""
        return (before(t.Settled, self.nobody_sleeps),)

    def nobody_sleeps(self, event: t.Settled) -> Findings:
        """No waiting request could be granted."""
        del event
        replay = self.replay
        seen: set[int] = set()
        for leaf, why in replay.touched.items():
            candidates = list(heads(replay, leaf))
            candidates += [
                request
                for request in replay.unqueued.values()
                if leaf.name in _optional(request)
            ]
            for request in candidates:
                if request.number in seen or not is_grantable(replay, request):
                    continue
                seen.add(request.number)
                inside = any(
                    scope(replay.leaf(name), request.owner)
                    for name in request.asked.shares
                )
                yield (
                    "I-20" if inside and why == "I-8" else why,
                    f"request {request.number} of {request.asked.owner} waits, though "
                    f"nothing is in its way; {leaf.name} changed",
                )


def _optional(request: RequestState) -> set[str]:
    return {name for unit in request.asked.optional.values() for name in unit}
