"""I-11, I-13, I-14, I-15, I-22: what passes the gate, and by what right.

Who moves a motor or limits its torque, and what the gate says to the rest. While a
virtual owner has a leaf nobody else is granted it or moves it; that the first waiting
one gets it at the end of the freeze is with the wake-ups (`waiting`).
"""

from controllers.arbitration import events as t
from controllers.arbitration.invariants.geometry import are_kin, consents, may_shift
from controllers.arbitration.invariants.replay_state import LeafState, TokenState
from controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    JudgeRule,
    TraceReplay,
    after,
    before,
)
from controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    Refusal,
    Right,
    TokenId,
)


class DeviceRights(InvariantJudge):
    """A motor's torque limit is a part of it, and a shift moves it.

    Nobody is granted the limit of a motor that somebody else holds but by consent; who
    is limited by somebody else is told; and a shift leaves with the right to it: at the
    latest when the slot is over in which the gate writes next.
    """

    invariants = ("I-14",)

    def __init__(self, replay: TraceReplay) -> None:
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

    def rules(self) -> tuple[JudgeRule, ...]:
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


class CommandOutcomes(InvariantJudge):
    """A command is written once or refused once, and rightly.

    The state is that of the instant of `Executed` or `Rejected`: a gate tests the token
    in the same step as it writes. A command may also end without an answer: a later one
    took its place in the slot, or its group broke. A token whose record is deleted is
    not genuine any more, as one that was never issued (AR-26).
    """

    invariants = ("I-11", "I-13", "I-14", "I-15", "I-22")

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with no commands."""
        super().__init__(replay)
        self._open: dict[int, t.Commanded] = {}
        self._last = 0
        self._left_out: dict[int, tuple[str, ...]] = {}
        """Number of a command of a torque limit to motors that it does not limit."""
        self._written_at: int | None = None
        """Tick of the last write whose slot is not over yet."""

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at commands and at what became of them."""
        return (
            before(t.Commanded, self.note_command),
            before(t.LeftOut, self.note_left_out),
            before(t.Executed, self.written_rightly),
            before(t.Rejected, self.refused_rightly),
        )

    def note_command(self, event: t.Commanded) -> Findings:
        """Commands are numbered upwards."""
        if event.command <= self._last:
            yield "I-14", f"command number {event.command} was used before"
        self._last = max(self._last, event.command)
        if self._written_at is not None and event.tick > self._written_at:
            old = [n for n, was in self._open.items() if was.tick < self._written_at]
            for number in old:  # the slot that was written was theirs
                del self._open[number]
            self._written_at = None
        self._open[event.command] = event

    def note_left_out(self, event: t.LeftOut) -> Findings:
        """Remember what the next write does not limit."""
        self._left_out[event.command] = event.leaves
        yield from ()

    def written_rightly(self, event: t.Executed) -> Findings:
        """Only a valid, genuine token that covers the leaf moves it."""
        asked = self._open.pop(event.command, None)
        left_out = self._left_out.pop(event.command, ())
        yield from self._answers(event, asked)
        self._written_at = event.tick
        if asked is not None and not asked.is_genuine:
            yield "I-13", f"forged token {event.token} moves {event.resource}"
            return
        is_shift = asked is not None and asked.is_shift
        reason = self._reason(event.token, True, event.resource, is_shift=is_shift)
        held = self.replay.live(event.token)
        if reason is Refusal.FROZEN:
            yield "I-22", f"token {event.token} moves {event.resource}: frozen"
        elif reason is not None and (
            is_shift or (held is not None and self._limits(held, event.resource))
        ):
            what = "shifts" if is_shift else "limits"
            yield "I-14", f"{event.token} {what} {event.resource} without the right"
        elif reason is not None:
            yield "I-11", f"token {event.token} moves {event.resource}: {reason}"
        elif held is not None and left_out != self._not_for(held, event.resource):
            told = ", ".join(left_out) or "nothing"
            yield (
                "I-22",
                f"{event.token} limits by {event.resource}, leaving out {told}, which "
                "is not what virtual owners have",
            )

    def refused_rightly(self, event: t.Rejected) -> Findings:
        """The reason is the first that holds."""
        asked = self._open.pop(event.command, None)
        yield from self._answers(event, asked)
        is_genuine = asked.is_genuine if asked else True
        is_shift = asked is not None and asked.is_shift
        reason = self._reason(
            event.token, is_genuine, event.resource, is_shift=is_shift
        )
        if reason is not event.reason:
            right = reason or "none: it should have been executed"
            yield (
                "I-15",
                f"command {event.command} on {event.resource} is refused with "
                f"{event.reason}; the reason is {right}",
            )

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

    def _limits(self, held: TokenState, resource: str) -> bool:
        return bool(self.replay.leaf(resource).limits) and resource in held.seats

    def _reason(
        self, token: TokenId | None, is_genuine: bool, resource: str, *, is_shift: bool
    ) -> Refusal | None:
        leaf = self.replay.leaf(resource)
        held = None if token is None else self.replay.tokens.get(token)
        is_known = held is not None and is_genuine
        seated = held is not None and resource in held.seats
        usable = seated and held is not None and not leaf.is_lent(held.id)
        if is_shift and held is not None and held.ended is None:
            usable = usable or may_shift(leaf, held)
        elif usable and held is not None:
            motors = map(self.replay.leaf, leaf.limits)
            usable = all(consents(x, held.owner, Right.LIMIT) for x in motors)
        reasons = (
            (token is None, Refusal.NO_TOKEN),
            (
                token is not None and token.epoch != self.replay.epoch,
                Refusal.WRONG_EPOCH,
            ),
            (not is_known, Refusal.UNKNOWN),
            (held is not None and held.ended is not None, held.ended if held else None),
            (leaf.is_frozen, Refusal.FROZEN),
            (not usable, Refusal.NOT_COVERED),
        )
        return next((reason for holds, reason in reasons if holds), None)


class Freezing(InvariantJudge):
    """A freeze takes from all holders first, then holds; what moved is made safe.

    Where a gate is present, a motor that was commanded before has its safe set-point at
    the latest when the slot is over in which the gate writes next.
    """

    invariants = ("I-22",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with nothing frozen."""
        super().__init__(replay)
        self._taken: list[t.Revoked] = []
        self._driven: set[str] = set()
        """Motors whose last set-point is a command's."""
        self._unsafe: dict[str, int] = {}
        """Those frozen since, to the tick of it."""
        self._written_at = -1
        """Tick of the gate's last write."""

    def rules(self) -> tuple[JudgeRule, ...]:
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
