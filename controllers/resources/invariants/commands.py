"""I-11, I-13, I-14, I-15: what passes the gate, and what it says to the rest."""

from controllers.resources import trace as t
from controllers.resources.invariants.doors import consents, may_shift
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import TokenState
from controllers.resources.invariants.seam import Findings, Judge, Rule, before
from controllers.resources.tokens import TokenId
from controllers.resources.words import Refusal, Right


class Commands(Judge):
    """A command is written once or refused once, and rightly.

    The state is that of the instant of `Executed` or `Rejected`: a gate tests the token
    in the same step as it writes. A command may also end without an answer: a later one
    took its place in the slot, or its group broke. A token whose record is deleted is
    not genuine any more, as one that was never issued (AR-26).
    """

    invariants = ("I-11", "I-13", "I-14", "I-15", "I-22")

    def __init__(self, replay: Replay) -> None:
        """Begin with no commands."""
        super().__init__(replay)
        self._open: dict[int, t.Commanded] = {}
        self._last = 0
        self._left_out: dict[int, tuple[str, ...]] = {}
        """Number of a command of a torque limit to motors that it does not limit."""
        self._written_at: int | None = None
        """Tick of the last write whose slot is not over yet."""

    def rules(self) -> tuple[Rule, ...]:
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
