"""I-14 on every door: who moves a motor or limits its torque, and by what right."""

from controllers.resources import trace as t
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import (
    LeafState,
    OwnerState,
    TokenState,
)
from controllers.resources.invariants.seam import Findings, Judge, Rule, after, before
from controllers.resources.words import NoticeKind, Right


class Doors(Judge):
    """A motor's torque limit is a part of it, and a shift moves it.

    Nobody is granted the limit of a motor that somebody else holds but by consent; who
    is limited by somebody else is told; and a shift leaves with the right to it: at the
    latest when the slot is over in which the gate writes next.
    """

    invariants = ("I-14",)

    def __init__(self, replay: Replay) -> None:
        """Begin with nothing shifted."""
        super().__init__(replay)
        self._untold: dict[tuple[str, str, str], TokenState] = {}
        """Holder, leaf and who limits it, to the token: not told yet."""
        self._asked: dict[int, str] = {}
        """Number of a shift that waits, to its motor."""
        self._shifted: dict[str, t.Executed] = {}
        """Motor to the shift in force."""
        self._ended: dict[str, int] = {}
        """Motor to the tick in which the right to shift it ended."""
        self._written_at = -1
        """Tick of the gate's last write."""

    def rules(self) -> tuple[Rule, ...]:
        """Look at grants, caps and shifts."""
        return (
            before(t.Event, self.taken_back_in_time),
            after(t.Granted, self.limits_nobody_elses),
            after(t.Granted, self.note_limits),
            after(t.Frozen, self.note_cap),
            before(t.Notified, self.note_told),
            before(t.Settled, self.settled),
            before(t.Commanded, self.note_shift),
            before(t.Rejected, self.forget_shift),
            before(t.Executed, self.note_shifted),
            before(t.Unshifted, self.taken_back),
        )

    def limits_nobody_elses(self, event: t.Granted) -> Findings:
        """A torque limit goes to who holds the motors, or by their holders' consent."""
        owner = self.replay.owner(event.owner)
        for name in event.shares:
            for motor in map(self.replay.leaf, self.replay.leaf(name).limits):
                if not consents(motor, owner, Right.LIMIT):
                    holder = motor.seats[-1].owner.name
                    yield (
                        "I-14",
                        f"{event.owner} is granted {name} while {holder} holds "
                        f"{motor.name}",
                    )

    def note_limits(self, event: t.Granted) -> Findings:
        """Remember whom a limit by somebody else is to be told."""
        for name in event.shares:
            leaf = self.replay.leaf(name)
            for limit in map(self.replay.leaf, leaf.limited_by):
                self._note_limit(leaf, limit)
            for motor in map(self.replay.leaf, leaf.limits):
                self._note_limit(motor, leaf)
        yield from ()

    def note_cap(self, event: t.Frozen) -> Findings:
        """Remember whom a cap is to be told."""
        for name in event.leaves if event.effort_cap is not None else ():
            self._note(self.replay.leaf(name), event.by)
        yield from ()

    def note_told(self, event: t.Notified) -> Findings:
        """Remember who was told."""
        if event.kind is NoticeKind.LIMITED:
            for leaf in event.leaves:
                self._untold.pop((event.owner, leaf, event.by), None)
        yield from ()

    def settled(self, event: t.Settled) -> Findings:
        """After a call all know who limits what they hold, and who lost a right."""
        for (owner, limited, by), held in self._untold.items():
            if limited in held.seats:
                yield "I-14", f"{owner} is not told that {by} limits {limited}"
        self._untold.clear()
        for name, shift in self._shifted.items():
            token, motor = self.replay.live(shift.token), self.replay.leaf(name)
            if token is not None and not motor.is_frozen and may_shift(motor, token):
                self._ended.pop(name, None)
            else:
                self._ended.setdefault(name, event.tick)

    def note_shift(self, event: t.Commanded) -> Findings:
        """Remember what is to be shifted."""
        if event.is_shift:
            self._asked[event.command] = event.resource
        yield from ()

    def forget_shift(self, event: t.Rejected) -> Findings:
        """It is refused."""
        self._asked.pop(event.command, None)
        yield from ()

    def note_shifted(self, event: t.Executed) -> Findings:
        """Remember whose shift is in force."""
        self._written_at = event.tick
        if self._asked.pop(event.command, None) == event.resource:
            self._shifted[event.resource] = event
            self._ended.pop(event.resource, None)
        yield from ()

    def taken_back(self, event: t.Unshifted) -> Findings:
        """Only a shift whose right has ended is taken back."""
        for leaf in event.leaves:
            if self._shifted.pop(leaf, None) is None:
                yield "I-14", f"the shift of {leaf} is taken back, but there is none"
            elif self._ended.pop(leaf, None) is None:
                yield "I-14", f"the shift of {leaf} is taken back, but its right holds"

    def taken_back_in_time(self, event: t.Event) -> Findings:
        """When a slot with writes is over, no shift is left that has no right."""
        if not self._ended or event.tick <= self._written_at:
            return
        late = [leaf for leaf, at in self._ended.items() if at < self._written_at]
        for leaf in late:
            del self._ended[leaf]
            by = self._shifted.pop(leaf).token
            yield "I-14", f"the right of {by} to shift {leaf} ended, its shift did not"

    def _note_limit(self, motor: LeafState, limit: LeafState) -> None:
        for seat in limit.seats[-1:]:
            for holder in motor.seats[-1:]:
                is_own = are_kin(seat.owner, holder.owner)
                if not is_own and consents(motor, seat.owner, Right.LIMIT):
                    self._note(motor, seat.owner.name)

    def _note(self, leaf: LeafState, by: str) -> None:
        for seat in leaf.seats[-1:] if leaf.is_motor or leaf.limits else ():
            self._untold[seat.owner.name, leaf.name, by] = seat.token


def consents(motor: LeafState, owner: OwnerState, right: Right) -> bool:
    """Whether who holds a motor, if anybody does, lets an owner use a right."""
    if not motor.seats:
        return right is Right.LIMIT or owner.is_entrusted
    holder = motor.seats[-1].token
    said = holder.allows.get((owner.name, right))
    if said is None:
        is_own = right is Right.LIMIT and are_kin(holder.owner, owner)
        said = is_own or owner.is_entrusted
    return said


def may_shift(motor: LeafState, token: TokenState) -> bool:
    """Whether a valid token may shift a motor that is not frozen."""
    right = token.owner.name, Right.SHIFT
    if any(s.token is token for s in motor.seats[-1:]):
        return True
    if any(seat.token.allows.get(right) for seat in motor.seats[-1:]):
        return True
    limits = motor.limited_by
    has_limit = not limits or any(
        name in token.seats and not token.seats[name].leaf.is_lent(token.id)
        for name in limits
    )
    return has_limit and consents(motor, token.owner, Right.SHIFT)


def are_kin(one: OwnerState, other: OwnerState) -> bool:
    """Whether one is the other, or a part of it."""
    return one in other.line or other in one.line
