"""The sequential model's verbs: plan a grant, lose, seat, fail, settle.

Each is the sentence of the semantics, carried out by scanning lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controllers.resources import trace
from controllers.resources.policies import Answer, AnswerKind
from controllers.resources.request import Outcome
from controllers.resources.tokens import Token
from controllers.resources.words import (
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)
from models.resource_node import ResourceKind, ResourceNode
from tests.controllers.resources.sequential_world import (
    Held,
    Regret,
    Seat,
    Wait,
    World,
)

EPOCH = 1


def secret_of(sequence: int) -> int:
    """Return the secret of a test's token: ledger and model draw the same ones."""
    return (sequence * 0x9E37_79B9_7F4A_7C15) % 2**64


@dataclass
class Loser:
    """Why a reservation gives way, and on which leaves."""

    cause: LossCause
    leaves: set[str] = field(default_factory=set)
    answer: Answer | None = None
    """What it promised, if that is why."""


Plan = dict[Held, Loser]
"""Those who give way for one grant, in the order in which they do."""


class Grants(World):
    """Grants, losses and failures; every step leaves its events."""

    def __init__(self, root: ResourceNode, preemption: Preemption, kept: int) -> None:
        super().__init__(root)
        self.preemption = preemption
        self.dead_tokens_kept = kept
        self.now = 0
        self.numbers = 0
        """Of the last request."""
        self.serials = 0
        """Of the last timer."""
        self.events: list[trace.Event] = []
        self.outcomes: dict[int, Outcome] = {}
        self.pausing: list[Wait] = []
        """To be queued as soon as the taker is seated."""

    def serial(self) -> int:
        self.serials += 1
        return self.serials

    # Who gives way

    def has_authority(self, wait: Wait, held: Held, at_call: bool) -> bool:
        if self.preemption is Preemption.OFF or wait.resumes:
            return False
        is_tie = wait.priority == held.priority
        tie_wins = wait.wins_ties and held.holder_tie == "yields"
        return wait.priority > held.priority or (at_call and is_tie and tie_wins)

    def willing(
        self, wait: Wait, held: Held, answers: dict[int, Answer], at_call: bool
    ) -> Loser | None:
        """Return as what a blocker gives way, None if it does not."""
        if self.has_authority(wait, held, at_call):
            return Loser(LossCause.OVERRIDDEN)
        answer = answers.get(held.token.sequence)
        if answer is None or answer.kind is AnswerKind.KEEP:
            return None
        return self.loser(answer)

    def loser(self, answer: Answer) -> Loser:
        """Return as what a holder gives way by its own answer."""
        is_pause = answer.kind is AnswerKind.PAUSE
        cause = LossCause.PAUSED if is_pause else LossCause.YIELDED
        return Loser(cause, answer=answer)

    def plan(
        self, wait: Wait, answers: dict[int, Answer], at_call: bool = False
    ) -> Plan | None:
        """Return who gives way so that a request can be granted; None: it cannot."""
        plan: Plan = {}
        for leaf in sorted(wait.shares):
            if not self.may_have(wait, leaf):
                return None
            for seat in self.givers(wait, leaf, answers, at_call):
                loser = self.willing(wait, seat.held, answers, at_call)
                if loser is None:
                    return None
                plan.setdefault(seat.held, loser).leaves.add(leaf)
            if self.kinds[leaf] is ResourceKind.CUMULATIVE:
                scope = self.scope(leaf, wait.owner)
                gone = [s for s in self.direct(leaf, scope) if leaf in _of(plan, s)]
                freed = sum(seat.share for seat in gone)
                if self.free(leaf, scope) + freed < wait.shares[leaf]:
                    return None
        if not wait.shares and not self.optional_leaves(wait)[0]:
            return None
        return plan

    def givers(
        self, wait: Wait, leaf: str, answers: dict[int, Answer], at_call: bool
    ) -> list[Seat]:
        """Return the seats that must go from an open leaf."""
        if self.kinds[leaf] is not ResourceKind.CUMULATIVE:
            return self.blockers(leaf, wait.owner, wait.shares[leaf])
        scope = self.scope(leaf, wait.owner)
        free = self.free(leaf, scope)
        going: list[Seat] = []
        for top in self.direct(leaf, scope):
            parts = self.whole(top)
            wills = [self.willing(wait, p.held, answers, at_call) for p in parts]
            if free < wait.shares[leaf] and all(wills):
                going += parts
                free += top.share
        return going

    def may_have(self, wait: Wait, leaf: str) -> bool:
        """Whether nothing but holders can be in the way of a request on a leaf."""
        return (
            self.is_open(leaf)
            and not self.earlier(wait, leaf)
            and not self.is_out_of_reach(wait, leaf)
        )

    def is_out_of_reach(self, wait: Wait, leaf: str) -> bool:
        """Whether a token cannot grow by a leaf.

        It covers it already, or would be inside of a younger one of the same owner.
        """
        if wait.add_to is None:
            return False
        if any(seat.leaf == leaf for seat in self.of(wait.add_to)):
            return True
        scope = self.scope(leaf, wait.owner)
        return (
            scope is not None
            and scope.held.owner == wait.owner
            and scope.held.token > wait.add_to.token
        )

    def optional_leaves(self, wait: Wait) -> tuple[list[str], list[str]]:
        """Return the optional leaves that can be had now, and the names that cannot."""
        taken: list[str] = []
        missing: list[str] = []
        for name in sorted(wait.optional):
            leaves = [
                leaf
                for leaf in wait.optional[name]
                if leaf not in wait.shares and leaf not in taken
            ]
            if all(
                self.may_have(wait, leaf) and not self.blockers(leaf, wait.owner, 0)
                for leaf in leaves
            ):
                taken += leaves
            else:
                missing.append(name)
        return taken, missing

    def lost_seats(self, held: Held, loser: Loser) -> list[Seat]:
        is_whole = held.loss is Loss.WHOLE
        return [s for s in self.of(held) if is_whole or s.leaf in loser.leaves]

    def innermost_first(self, plan: Plan) -> Plan:
        """Return a plan in which each comes after those that are inside of it.

        So that each goes by its own cause: a promised pause stays a pause.
        """
        order: Plan = {}

        def add(held: Held) -> None:
            for seat in sorted(self.of(held), key=lambda seat: seat.leaf):
                for above in self.above(seat):
                    if above.held in plan and above.held is not held:
                        add(above.held)
            order.setdefault(held, plan[held])

        for held in plan:
            add(held)
        return order

    # Losing

    def lose(self, plan: Plan, by: str, request: int | None = None) -> None:
        """Carry out a plan: each loses, after those inside of what it loses."""
        for held in list(plan):
            self._lose(held, plan, by, request)

    def _lose(self, held: Held, plan: Plan, by: str, request: int | None) -> None:
        loser = plan[held]
        going = [s for s in self.lost_seats(held, loser) if s.leaf not in held.losing]
        if not going:
            return
        held.losing |= {seat.leaf for seat in going}
        self.evict_inside(going, plan, by, request)
        leaves = sorted(seat.leaf for seat in going)
        lost = tuple(leaf for leaf in leaves if leaf in loser.leaves)
        freed = tuple(leaf for leaf in leaves if leaf not in loser.leaves)
        shares = {seat.leaf: seat.share for seat in going}
        self.unseat(going)
        held.losing -= set(leaves)
        is_whole = not self.of(held)
        number = None
        if loser.cause is LossCause.PAUSED:
            number = self._pause(held, shares, loser.answer, is_whole)
        else:
            regretted = {leaf: shares[leaf] for leaf in lost}
            self.regrets.append(Regret(held.owner, held, regretted))
        self.events.append(
            trace.Revoked(
                tick=self.now,
                token=held.token.id,
                owner=held.owner,
                lost=lost,
                freed=freed,
                why=loser.cause,
                by=by,
                request=request,
                is_whole=is_whole,
            )
        )
        self.notify(
            held.owner,
            NoticeKind.LOST,
            token=held.token.id,
            leaves=lost,
            freed=freed,
            by=by,
            why=loser.cause,
            request=number,
        )
        if is_whole:
            self.end(held, Refusal.REVOKED)

    def evict_inside(
        self,
        going: Iterable[Seat],
        plan: Plan,
        by: str = "",
        request: int | None = None,
    ) -> None:
        """Take away what is inside of seats that go."""
        inner: Plan = {}
        for seat in sorted(going, key=lambda seat: seat.leaf):
            for above in self.above(seat):
                if above.held is not seat.held:
                    loser = Loser(LossCause.PARENT_RELEASED)
                    inner.setdefault(above.held, loser).leaves.add(above.leaf)
        parents = {seat.held.owner for seat in going}
        for held in inner:
            if held in plan and inner[held].leaves & plan[held].leaves:
                self._lose(held, plan, by, request)
            self.lose({held: inner[held]}, min(parents), request)

    def unseat(self, going: Iterable[Seat]) -> None:
        for seat in going:
            self.seats.remove(seat)

    def end(self, held: Held, reason: Refusal) -> None:
        """Let a token die, and the requests that would enlarge it."""
        held.ended = reason
        self.dead.append(held)
        del self.dead[: max(0, len(self.dead) - self.dead_tokens_kept)]
        for wait in self.queue():
            if wait.add_to is held:
                self.fail(wait, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)

    def _pause(
        self,
        held: Held,
        shares: dict[str, int],
        answer: Answer | None,
        is_whole: bool,
    ) -> int:
        self.numbers += 1
        wait = Wait(
            number=self.numbers,
            owner=held.owner,
            shares=shares,
            optional={},
            mode=held.mode,
            priority=held.priority,
            arrival=held.arrival,
            loss=held.loss,
            policy=held.policy,
            holder_tie=held.holder_tie,
            wins_ties=False,
            is_called=False,
            add_to=None if is_whole else held,
            resumes=held,
        )
        limit = answer.resume_timeout_s if answer else None
        if limit is not None:
            wait.timeout_ticks = self.ticks(limit)
        self.pausing.append(wait)
        return wait.number

    def ticks(self, seconds: float) -> int:
        raise NotImplementedError

    # Granting and failing

    def grant(self, wait: Wait, plan: Plan) -> None:
        """Let the losers lose, and seat a request, in one step."""
        self.lose(self.innermost_first(plan), by=wait.owner, request=wait.number)
        if wait.add_to and wait.add_to.ended is not None:
            if wait.number not in self.outcomes:
                self.fail(wait, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)
            self.queue_paused()
            return
        taken, missing = self.optional_leaves(wait)
        held = wait.add_to or self._issue(wait)
        shares = dict(wait.shares)
        for leaf in taken:
            is_state = self.kinds[leaf] is ResourceKind.STATE
            shares[leaf] = 0 if is_state else 10_000
        seats = [
            Seat(held, leaf, shares[leaf], self.scope(leaf, wait.owner))
            for leaf in sorted(shares)
        ]
        self.seats += seats
        if wait in self.waits:
            self.waits.remove(wait)
        self.events.append(
            trace.Granted(
                tick=self.now,
                request=wait.number,
                owner=wait.owner,
                token=held.token.id,
                shares={leaf: shares[leaf] for leaf in sorted(shares)},
                missing=tuple(missing),
                inside={s.leaf: s.inside.held.token.id for s in seats if s.inside},
            )
        )
        outcome = Outcome(
            kind=OutcomeKind.GRANTED,
            tick=self.now,
            token=held.token,
            obtained=tuple(sorted(shares)),
            missing=tuple(missing),
        )
        self.regrets = [
            regret
            for regret in self.regrets
            if regret.owner != wait.owner or not set(regret.shares) & set(shares)
        ]
        self._conclude(wait, outcome)
        self.queue_paused()

    def _issue(self, wait: Wait) -> Held:
        sequence = len(self.tokens) + 1
        held = Held(
            token=Token(EPOCH, sequence, secret_of(sequence)),
            owner=wait.owner,
            mode=wait.mode,
            priority=wait.priority,
            loss=wait.loss,
            policy=wait.policy,
            holder_tie=wait.holder_tie,
            arrival=wait.arrival,
        )
        self.tokens.append(held)
        return held

    def queue_paused(self) -> None:
        """Let the paused ones wait for what they had."""
        for wait in self.pausing:
            if wait.add_to and wait.add_to.ended is not None:
                wait.add_to = None
            if wait.timeout_ticks is not None:
                wait.timeout_due = (self.now + wait.timeout_ticks, self.serial())
            self.waits.append(wait)
            self.tell_requested(wait)
        self.pausing = []

    def tell_requested(self, wait: Wait) -> None:
        self.events.append(
            trace.Requested(
                tick=self.now,
                request=wait.number,
                owner=wait.owner,
                shares={leaf: wait.shares[leaf] for leaf in sorted(wait.shares)},
                optional={n: wait.optional[n] for n in sorted(wait.optional)},
                mode=wait.mode,
                priority=wait.priority,
                arrival=wait.arrival,
                timeout_ticks=wait.timeout_ticks,
                loss=wait.loss,
                wins_ties=wait.wins_ties,
                keeps_ties=wait.holder_tie == "keeps",
                add_to=wait.add_to.token.id if wait.add_to else None,
                resumes=wait.resumes.token.id if wait.resumes else None,
            )
        )

    def fail(self, wait: Wait, kind: OutcomeKind, why: Why) -> None:
        if wait in self.waits:
            self.waits.remove(wait)
        self.events.append(
            trace.Failed(
                tick=self.now,
                request=wait.number,
                owner=wait.owner,
                kind=kind,
                why=why,
            )
        )
        self._conclude(wait, Outcome(kind=kind, tick=self.now, why=why))

    def _conclude(self, wait: Wait, outcome: Outcome) -> None:
        self.outcomes[wait.number] = outcome
        if not wait.is_called:
            self.notify(
                wait.owner,
                NoticeKind.OUTCOME,
                token=outcome.token.id if outcome.token else None,
                leaves=outcome.obtained,
                request=wait.number,
                outcome=outcome,
            )

    def notify(self, owner: str, kind: NoticeKind, **said: object) -> None:
        self.events.append(
            trace.Notified(tick=self.now, owner=owner, kind=kind, **said)  # type: ignore[arg-type]  # its fields by name
        )


def _of(plan: Plan, seat: Seat) -> set[str]:
    return plan[seat.held].leaves if seat.held in plan else set()
