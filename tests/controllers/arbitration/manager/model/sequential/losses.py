"""The sequential model's verbs of loss: lose, give back, fail."""

from collections.abc import Iterable

from controllers.arbitration import events
from controllers.arbitration.policies import Answer
from controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)
from models.resources import ResourceNode
from tests.controllers.arbitration.manager.model.sequential.plans import Plans
from tests.controllers.arbitration.manager.model.sequential.records import (
    Held,
    Loser,
    Plan,
    Regret,
    Seat,
    Wait,
)


class Losses(Plans):
    """Grants, losses and failures; every step leaves its events."""

    def __init__(self, root: ResourceNode, preemption: Preemption, kept: int) -> None:
        super().__init__(root, preemption)
        self.dead_tokens_kept = kept
        self.overtake_ticks = 0
        self.numbers = 0
        """Of the last request."""
        self.serials = 0
        """Of the last timer."""
        self.events: list[events.Event] = []
        self.outcomes: dict[int, Outcome] = {}
        self.pausing: list[Wait] = []
        """To be queued as soon as the taker is seated."""

    def serial(self) -> int:
        self.serials += 1
        return self.serials

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
            events.Revoked(
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
        for wait in sorted(self.waits, key=lambda wait: wait.number):
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

    def give_back(self, held: Held, seats: list[Seat], reason: Refusal) -> None:
        leaves = {seat.leaf for seat in seats}
        held.losing |= leaves
        self.evict_inside(seats, {})
        self.unseat(seats)
        held.losing -= leaves
        is_whole = not self.of(held)
        if reason is Refusal.RELEASED:
            self.events.append(
                events.Released(
                    tick=self.now,
                    token=held.token.id,
                    owner=held.owner,
                    leaves=tuple(sorted(leaves)),
                    is_whole=is_whole,
                )
            )
        else:
            self.events.append(
                events.Expired(
                    tick=self.now,
                    token=held.token.id,
                    owner=held.owner,
                    leaves=tuple(sorted(leaves)),
                )
            )
        if is_whole:
            self.end(held, reason)

    # Failing and telling

    def fail(self, wait: Wait, kind: OutcomeKind, why: Why) -> None:
        if wait in self.waits:
            self.waits.remove(wait)
        wanted = set(wait.shares) or set().union(*wait.optional.values())
        if why in (Why.BUSY, Why.TIMEOUT) and any(map(self.is_frozen, wanted)):
            why = Why.FROZEN
        self.events.append(
            events.Failed(
                tick=self.now,
                request=wait.number,
                owner=wait.owner,
                kind=kind,
                why=why,
            )
        )
        missing = () if wait.shares else tuple(sorted(wait.optional))
        self._conclude(
            wait, Outcome(kind=kind, tick=self.now, missing=missing, why=why)
        )

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
        promised, wait.promised = wait.promised, {}
        self.let_keep(wait, promised)

    def let_keep(self, wait: Wait, promised: dict[Held, set[str]]) -> None:
        """Tell those who promised and hold it still that they need not give way."""
        for held, leaves in promised.items():
            kept = leaves & {seat.leaf for seat in self.of(held)}
            if kept:
                self.notify(
                    held.owner,
                    NoticeKind.KEEP_ON,
                    token=held.token.id,
                    leaves=tuple(sorted(kept)),
                    by=wait.owner,
                    request=wait.number,
                )

    def notify(self, owner: str, kind: NoticeKind, **said: object) -> None:
        self.events.append(
            events.Notified(tick=self.now, owner=owner, kind=kind, **said)  # type: ignore[arg-type]  # its fields by name
        )
