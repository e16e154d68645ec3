"""What passes the gate, and by what right.

Who moves a motor or limits its torque, and what the gate says to the rest. While a
virtual owner has a leaf nobody else is granted it or moves it; that the first waiting
one gets it at the end of the freeze is with the wake-ups (`waiting`).
"""

from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.geometry import (
    are_kin,
    consents,
    may_shift,
)
from nao_testbed.controllers.arbitration.invariants.replay_state import (
    LeafState,
    TokenState,
)
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    TraceReplay,
    after,
    before,
)
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    Refusal,
    Right,
    TokenId,
)


@dataclass(eq=False)
class DeviceRights(InvariantJudge):
    """A motor's torque limit is a part of it, and a shift moves it.

    Nobody is granted the limit of a motor that somebody else holds but by consent; who
    is limited by somebody else is told; and a shift leaves with the right to it: at the
    latest when the slot is over in which the gate writes next.
    """

    invariants = ("I-14",)

    _untold: dict[tuple[str, str, str], TokenState] = field(default_factory=dict)
    """Holder, leaf and who limits it, to the token: not told yet."""
    _asked: dict[int, str] = field(default_factory=dict)
    """Number of a shift that waits, to its motor."""
    _shifted: dict[str, t.Executed] = field(default_factory=dict)
    """Motor to the shift in force."""
    _ended: dict[str, int] = field(default_factory=dict)
    """Motor to the tick in which the right to shift it ended."""

    @before
    def taken_back_in_time(self, _: t.Event) -> Findings:
        """When a slot with writes is over, no shift is left that has no right."""
        for leaf in self.late(self._ended):
            del self._ended[leaf]
            by = self._shifted.pop(leaf).token
            yield "I-14", f"the right of {by} to shift {leaf} ended, its shift did not"

    @after
    def limits_nobody_elses(self, event: t.Granted) -> Findings:
        """A torque limit goes to who holds the motors, or by their holders' consent."""
        owner = self.replay.owner(event.owner)
        for name in event.shares:
            for motor in map(self.replay.leaf, self.replay.leaf(name).limits):
                if not consents(motor, owner, Right.LIMIT):
                    held = f"{motor.seats[-1].owner.name} holds {motor.name}"
                    yield "I-14", f"{event.owner} is granted {name} while {held}"

    @after
    def note_limits(self, event: t.Granted) -> None:
        """Remember whom a limit by somebody else is to be told."""
        for name in event.shares:
            leaf = self.replay.leaf(name)
            for limit in map(self.replay.leaf, leaf.limited_by):
                self._note_limit(leaf, limit)
            for motor in map(self.replay.leaf, leaf.limits):
                self._note_limit(motor, leaf)

    @after
    def note_cap(self, event: t.Frozen) -> None:
        """Remember whom a cap is to be told."""
        for name in event.leaves if event.effort_cap is not None else ():
            self._note(self.replay.leaf(name), event.by)

    @before
    def note_told(self, event: t.Notified) -> None:
        """Remember who was told."""
        if event.kind is NoticeKind.LIMITED:
            for leaf in event.leaves:
                self._untold.pop((event.owner, leaf, event.by), None)

    @before
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

    @before
    def note_shift(self, event: t.Commanded) -> None:
        """Remember what is to be shifted."""
        if event.is_shift:
            self._asked[event.command] = event.resource

    @before
    def forget_shift(self, event: t.Rejected) -> None:
        """It is refused."""
        self._asked.pop(event.command, None)

    @before
    def note_shifted(self, event: t.Executed) -> None:
        """Remember whose shift is in force."""
        if self._asked.pop(event.command, None) == event.resource:
            self._shifted[event.resource] = event
            self._ended.pop(event.resource, None)

    @before
    def taken_back(self, event: t.Unshifted) -> Findings:
        """Only a shift whose right has ended is taken back."""
        for leaf in event.leaves:
            if self._shifted.pop(leaf, None) is None:
                yield "I-14", f"the shift of {leaf} is taken back, but there is none"
            elif self._ended.pop(leaf, None) is None:
                yield "I-14", f"the shift of {leaf} is taken back, but its right holds"

    def _note_limit(self, motor: LeafState, limit: LeafState) -> None:
        for seat in limit.seats[-1:]:
            for holder in motor.seats[-1:]:
                is_own = are_kin(seat.owner, holder.owner)
                if not is_own and consents(motor, seat.owner, Right.LIMIT):
                    self._note(motor, seat.owner.name)

    def _note(self, leaf: LeafState, by: str) -> None:
        for seat in leaf.seats[-1:] if leaf.is_motor or leaf.limits else ():
            self._untold[seat.owner.name, leaf.name, by] = seat.token


@dataclass(eq=False)
class CommandOutcomes(InvariantJudge):
    """A command is written once or refused once, and rightly.

    The state is that of the instant of `Executed` or `Rejected`: a gate tests the token
    in the same step as it writes. A command may also end without an answer: a later one
    took its place in the slot, or its group broke. A token whose record is deleted is
    not genuine any more, as one that was never issued.
    """

    invariants = ("I-11", "I-13", "I-14", "I-15", "I-22")

    _open: dict[int, t.Commanded] = field(default_factory=dict)
    _last: int = 0
    _left_out: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Number of a command of a torque limit to motors that it does not limit."""

    @before
    def note_command(self, event: t.Commanded) -> Findings:
        """Commands are numbered upwards."""
        if event.command <= self._last:
            yield "I-14", f"command number {event.command} was used before"
        self._last = max(self._last, event.command)
        written = self.replay.written_tick
        while self._open and event.tick > written:
            first = next(iter(self._open.values()))
            if first.tick >= written:
                break
            del self._open[first.command]  # the slot that was written was its own
        self._open[event.command] = event

    @before
    def note_left_out(self, event: t.LeftOut) -> None:
        """Remember what the next write does not limit."""
        self._left_out[event.command] = event.leaves

    @before
    def written_rightly(self, event: t.Executed) -> Findings:
        """Only a valid, genuine token that covers the leaf moves it."""
        asked = self._open.pop(event.command, None)
        left_out = self._left_out.pop(event.command, ())
        yield from self._answers(event, asked)
        if asked is not None and not asked.is_genuine:
            yield "I-13", f"forged token {event.token} moves {event.resource}"
            return
        is_shift = asked is not None and asked.is_shift
        leaf = self.replay.leaf(event.resource)
        reason = why_refused(
            self.replay, event.token, True, event.resource, is_shift=is_shift
        )
        held = self.replay.live(event.token)
        limits = held and event.resource in held.seats and leaf.limits
        if reason is Refusal.FROZEN:
            yield "I-22", f"token {event.token} moves {event.resource}: frozen"
        elif reason is not None and (is_shift or limits):
            what = "shifts" if is_shift else "limits"
            yield "I-14", f"{event.token} {what} {event.resource} without the right"
        elif reason is not None:
            yield "I-11", f"token {event.token} moves {event.resource}: {reason}"
        elif held is not None and left_out != self._not_for(held, event.resource):
            told = ", ".join(left_out) or "nothing"
            what = f"{event.token} limits by {event.resource}, leaving out {told}"
            yield "I-22", f"{what}, which is not what virtual owners have"

    @before
    def refused_rightly(self, event: t.Rejected) -> Findings:
        """The reason is the first that holds."""
        asked = self._open.pop(event.command, None)
        yield from self._answers(event, asked)
        is_genuine = asked.is_genuine if asked else True
        is_shift = asked is not None and asked.is_shift
        reason = why_refused(
            self.replay, event.token, is_genuine, event.resource, is_shift=is_shift
        )
        if reason is not event.reason:
            right = reason or "none: it should have been executed"
            refused = f"command {event.command} on {event.resource} is refused"
            yield "I-15", f"{refused} with {event.reason}; the reason is {right}"

    def _answers(
        self, event: t.Executed | t.Rejected, asked: t.Commanded | None
    ) -> Findings:
        what = type(event).__name__.lower()
        if asked is None:
            known = event.command <= self._last
            why = "it was answered before" if known else "nobody gave it"
            yield "I-14", f"command {event.command} is {what}, but {why}"
        elif (asked.token, asked.resource) != (event.token, event.resource):
            yield "I-14", f"command {event.command} is {what} as another one"

    def _not_for(self, held: TokenState, limit: str) -> tuple[str, ...]:
        """Return the motors whose torque a token may not limit as they are frozen."""
        motors = () if held.owner.is_entrusted else self.replay.leaf(limit).limits
        return tuple(sorted(x for x in motors if self.replay.leaf(x).is_frozen))


def why_refused(
    replay: TraceReplay,
    token: TokenId | None,
    is_genuine: bool,
    resource: str,
    *,
    is_shift: bool = False,
) -> Refusal | None:
    """Return the first reason for which a command is refused; None: it may pass."""
    leaf = replay.leaf(resource)
    held = None if token is None else replay.tokens.get(token)
    if token is None:
        return Refusal.NO_TOKEN
    if token.epoch != replay.epoch:
        return Refusal.WRONG_EPOCH
    if held is None or not is_genuine:
        return Refusal.UNKNOWN
    if held.ended is not None:
        return held.ended
    if leaf.is_frozen:
        return Refusal.FROZEN
    usable = resource in held.seats and not leaf.is_lent(token)
    if is_shift:
        usable = usable or may_shift(leaf, held)
    elif usable:
        motors = map(replay.leaf, leaf.limits)
        usable = all(consents(x, held.owner, Right.LIMIT) for x in motors)
    return None if usable else Refusal.NOT_COVERED


@dataclass(eq=False)
class Freezing(InvariantJudge):
    """A freeze takes from all holders first, then holds; what moved is made safe.

    Where a gate is present, a motor that was commanded before has its safe set-point at
    the latest when the slot is over in which the gate writes next.
    """

    invariants = ("I-22",)

    _taken: list[t.Revoked] = field(default_factory=list)
    _driven: set[str] = field(default_factory=set)
    """Motors whose last set-point is a command's."""
    _unsafe: dict[str, int] = field(default_factory=dict)
    """Those frozen since, to the tick of it."""

    @before
    def safe_in_time(self, _: t.Event) -> Findings:
        """When a slot with writes is over, what was frozen before is safe."""
        for name in self.late(self._unsafe):
            del self._unsafe[name]
            yield "I-22", f"{name} was frozen while it moved, and never made safe"

    @before
    def note_taken(self, event: t.Revoked) -> None:
        """Remember what was taken for a freeze."""
        if event.why is LossCause.FROZEN:
            self._taken.append(event)

    @before
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

    @after
    def nobody_is_left(self, event: t.Frozen) -> Findings:
        """A leaf that is frozen whole has no other owner."""
        for name in event.leaves if event.is_total else ():
            for seat in self.replay.leaf(name).seats:
                yield "I-22", f"{seat.owner.name} keeps {name}, which {event.by} froze"
            if name in self._driven:
                self._unsafe.setdefault(name, event.tick)

    @before
    def gives_what_it_has(self, event: t.Thawed) -> Findings:
        """A virtual owner gives back only its own."""
        for name in event.leaves:
            if event.by not in self.replay.leaf(name).freezes:
                yield "I-22", f"{event.by} gives back {name}, which it does not have"

    @before
    def not_granted(self, event: t.Granted) -> Findings:
        """No grant covers a frozen leaf."""
        for name in event.shares:
            leaf = self.replay.leaf(name)
            if leaf.is_frozen:
                by = ", ".join(sorted(leaf.freezes))
                yield "I-22", f"{event.owner} is granted {name}, which {by} has"

    @after
    def note_write(self, event: t.Executed) -> None:
        """Remember who moves by command."""
        if self.replay.leaf(event.resource).is_motor:
            self._driven.add(event.resource)
        self._unsafe.pop(event.resource, None)  # it has a new commander

    @after
    def note_safe(self, event: t.MadeSafe) -> None:
        """Remember who rests."""
        self._driven.difference_update(event.leaves)
        for name in event.leaves:
            self._unsafe.pop(name, None)

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call the freeze is there."""
        for lost in self._taken:
            what = f"{lost.owner} lost {lost.lost} to {lost.by}"
            yield "I-22", f"{what}, which is not there"
        self._taken.clear()
