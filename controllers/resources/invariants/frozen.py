"""I-22: while a virtual owner has a leaf nobody else is granted it or moves it.

That the first waiting one gets it at the end of the freeze is with the wake-ups, that
no command passes meanwhile with the commands.
"""

from controllers.resources import trace as t
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.seam import Findings, Judge, Rule, after, before
from controllers.resources.words import LossCause


class Freezing(Judge):
    """A freeze takes from all holders first, then holds; what moved is made safe.

    Where a gate is present, a motor that was commanded before has its safe set-point at
    the latest when the slot is over in which the gate writes next.
    """

    invariants = ("I-22",)

    def __init__(self, replay: Replay) -> None:
        """Begin with nothing frozen."""
        super().__init__(replay)
        self._taken: list[t.Revoked] = []
        self._driven: set[str] = set()
        """Motors whose last set-point is a command's."""
        self._unsafe: dict[str, int] = {}
        """Those frozen since, to the tick of it."""
        self._written_at = -1
        """Tick of the gate's last write."""

    def rules(self) -> tuple[Rule, ...]:
        """Look at freezes, grants, and writes."""
        return (
            before(t.Event, self.safe_in_time),
            before(t.Revoked, self.note_taken),
            before(t.Frozen, self.taken_for_this),
            after(t.Frozen, self.nobody_is_left),
            before(t.Thawed, self.gives_what_it_has),
            before(t.Granted, self.not_granted),
            after(t.Executed, self.note_write),
            after(t.MadeSafe, self.note_safe),
            before(t.Settled, self.settled),
        )

    def note_taken(self, event: t.Revoked) -> Findings:
        """Remember what was taken for a freeze."""
        if event.why is LossCause.FROZEN:
            self._taken.append(event)
        yield from ()

    def taken_for_this(self, event: t.Frozen) -> Findings:
        """Holders lose to the virtual owner that comes, and no more than it takes."""
        for lost in self._taken:
            if not set(lost.lost) <= set(event.leaves) or lost.by != event.by:
                yield "I-22", f"{lost.owner} lost {lost.lost} to {lost.by}, not frozen"
        if self._taken and not event.is_total:
            yield "I-22", f"{event.by} only caps effort, but took leaves"
        if event.effort_cap is not None and not 0.0 <= event.effort_cap <= 1.0:
            yield "I-22", f"{event.by} caps effort to {event.effort_cap}"
        self._taken.clear()

    def nobody_is_left(self, event: t.Frozen) -> Findings:
        """A leaf that is frozen whole has no other owner."""
        for name in event.leaves if event.is_total else ():
            for seat in self.replay.leaf(name).seats:
                yield "I-22", f"{seat.owner.name} keeps {name}, which {event.by} froze"
            if name in self._driven:
                self._unsafe.setdefault(name, event.tick)
        yield from ()

    def gives_what_it_has(self, event: t.Thawed) -> Findings:
        """A virtual owner gives back only its own."""
        for name in event.leaves:
            if event.by not in self.replay.leaf(name).freezes:
                yield "I-22", f"{event.by} gives back {name}, which it does not have"

    def not_granted(self, event: t.Granted) -> Findings:
        """No grant covers a frozen leaf."""
        for name in event.shares:
            leaf = self.replay.leaf(name)
            if leaf.is_frozen:
                by = ", ".join(sorted(leaf.freezes))
                yield "I-22", f"{event.owner} is granted {name}, which {by} has"

    def note_write(self, event: t.Executed) -> Findings:
        """Remember who moves by command."""
        if self.replay.leaf(event.resource).is_motor:
            self._driven.add(event.resource)
        self._unsafe.pop(event.resource, None)  # it has a new commander
        self._written_at = event.tick
        yield from ()

    def note_safe(self, event: t.MadeSafe) -> Findings:
        """Remember who rests."""
        self._driven.difference_update(event.leaves)
        for name in event.leaves:
            self._unsafe.pop(name, None)
        yield from ()

    def safe_in_time(self, event: t.Event) -> Findings:
        """When a slot with writes is over, what was frozen before is safe."""
        if not self._unsafe or event.tick <= self._written_at:
            return
        late = [name for name, at in self._unsafe.items() if at < self._written_at]
        for name in late:
            del self._unsafe[name]
            yield "I-22", f"{name} was frozen while it moved, and never made safe"

    def settled(self, event: t.Settled) -> Findings:
        """After a call the freeze is there."""
        del event
        for lost in self._taken:
            yield (
                "I-22",
                f"{lost.owner} lost {lost.lost} to {lost.by}, which is not there",
            )
        self._taken.clear()
