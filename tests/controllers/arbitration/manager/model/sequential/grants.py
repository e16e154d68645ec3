"""The sequential model's verb of gain: grant a request in one step."""

from controllers.arbitration import events
from controllers.arbitration.tokens import Outcome, OutcomeKind, Token, Why
from models.resources import ResourceKind
from tests.controllers.arbitration.manager.model.sequential.losses import Losses
from tests.controllers.arbitration.manager.model.sequential.records import (
    EPOCH,
    Held,
    Plan,
    Seat,
    Wait,
    secret_of,
)


class Grants(Losses):
    """Seats who may start, and lets the paused wait for their return."""

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
            events.Granted(
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
            events.Requested(
                tick=self.now,
                request=wait.number,
                owner=wait.owner,
                shares={leaf: wait.shares[leaf] for leaf in sorted(wait.shares)},
                optional={n: wait.optional[n] for n in sorted(wait.optional)},
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
