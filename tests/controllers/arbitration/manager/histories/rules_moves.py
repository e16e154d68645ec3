"""Transitions of the model: demands, losses, grants and failures.

RM-n: ES 2 535 273; AR-n: US 11 660 748.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nao_testbed.controllers.arbitration.policies import (
    KEEP,
    Answer,
    AnswerKind,
    Demand,
    checked,
)
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    OutcomeKind,
    Refusal,
    Token,
    Why,
)
from tests.controllers.arbitration.manager.histories.rules_ways import (
    Answers,
    Leaving,
    RulesWays,
)
from tests.controllers.arbitration.manager.histories.rules_world import (
    PROMISE,
    RETRY,
    STATE,
    TIMEOUT,
    Held,
    Party,
    Wait,
)


class RulesMoves(RulesWays):
    """Transitions of holders and waiting requests; each is atomic."""

    retry: int
    overtake: int
    token_of: Callable[[int], Token]
    decisions: list[tuple[object, ...]]

    # -- requests ---------------------------------------------------------------------

    def next_ticket(self) -> int:
        self.tickets += 1
        return self.tickets

    def arrive(self, wait: Wait) -> None:
        leaving = self.way(wait, {}, arrives=True)
        if leaving is not None:
            self.grant(wait, leaving, {}, arrives=True)
            return
        self.enqueue(wait)
        if wait.deadline is not None:
            self.set_due(wait, RETRY, self.tick + self.retry)
        self.demand(wait, arrives=True)
        if wait in self.waits and wait.deadline is None:  # a single try
            why = Why.OUTRANKED if self.is_outranked(wait) else Why.BUSY
            self.fail(wait, OutcomeKind.DENIED, why)

    def enqueue(self, wait: Wait) -> None:
        is_firm = wait.resumes or wait.recalls
        wait.firm_at = self.tick + (0 if is_firm else self.overtake)
        limit_s = wait.terms.timeout_s
        if limit_s is not None and (limit_s > 0 or wait.resumes):
            wait.deadline = self.tick + math.ceil(limit_s)
            self.set_due(wait, TIMEOUT, wait.deadline)
        self.waits.append(wait)

    def comes_due(self, wait: Wait, kind: int) -> None:
        if kind == TIMEOUT:
            self.fail(wait, OutcomeKind.TIMED_OUT, Why.TIMEOUT)
        elif kind == PROMISE:
            answers, wait.promise = wait.promise or {}, None
            self.try_now(wait, answers)
        else:  # repeat the demand (RM-19)
            self.demand(wait, arrives=False)
            self.set_due(wait, RETRY, self.tick + self.retry)

    def settle(self) -> None:
        while any(self.try_now(wait) for wait in self.queue()):
            pass

    def try_now(self, wait: Wait, answers: Answers | None = None) -> bool:
        leaving = self.way(wait, answers or {})
        if leaving is not None:
            self.grant(wait, leaving, answers or {})
        return leaving is not None

    def waits_for(self, wait: Wait) -> list[Wait]:
        """Return all requests that must end before this one, transitively."""
        found: list[Wait] = []
        ahead = [wait]
        while ahead:
            one = ahead.pop()
            for leaf, share in one.shares.items():
                if self.kinds[leaf] is STATE:
                    continue
                in_way = {x.party for x in self.blockers(leaf, one.party, share)}
                more = [*self.earlier(leaf, one)]
                more += [x for x in self.waits if x.party in in_way]
                ahead += [x for x in more if x not in found]
                found += [x for x in more if x not in found]
        return found

    # -- demands ----------------------------------------------------------------------

    def demand(self, wait: Wait, *, arrives: bool) -> None:
        """Notify all blocking holders, and grant if that suffices (RM-32 to RM-39)."""
        asked: Leaving = {}
        for leaf, share in wait.shares.items():
            here = leaf
            if self.kinds[leaf] is STATE:
                here = self.active_of(leaf) or leaf
            for held in self.blockers(leaf, wait.party, share):
                leaves = asked.setdefault(held, [])
                leaves += [here] if here not in leaves else []
        answers: Answers = {}
        for held, leaves in asked.items():
            if wait not in self.waits or wait.promise is not None:
                return
            still = held.some_of(leaves)
            is_due = wait.recalls and self.may_recall(wait, held)
            if still and (is_due or held.party is not wait.party):
                answers[held] = self.ask(held, still, wait)
                said = answers[held]
                if is_due and (said.kind is AnswerKind.KEEP or said.after_s):
                    answers[held] = Answer(kind=AnswerKind.YIELD)
        if wait not in self.waits or wait.promise is not None:
            return
        leaving = self.way(wait, answers, arrives=arrives)
        if leaving is None:
            return
        promised = [x for x in leaving if not self.overrides(wait, x, arrives=arrives)]
        delay = max((math.ceil(answers[x].after_s) for x in promised), default=0)
        if delay == 0:
            self.grant(wait, leaving, answers, arrives=arrives)
        elif wait.deadline is not None and self.tick + delay < wait.deadline:
            wait.promise = answers
            self.set_due(wait, PROMISE, self.tick + delay)

    def ask(self, held: Held, leaves: list[str], wait: Wait | None) -> Answer:
        """Return a holder's answer; an exception counts as KEEP (RM-38)."""
        if held.is_asked or (wait is not None and held.party is wait.party):
            return KEEP
        demand = Demand(
            holder=held.party.name,
            token=held.token.id,
            resources=tuple(sorted(leaves)),
            asker=wait.party.name if wait else "",
            asker_priority=wait.terms.priority if wait else 0,
            request=wait.number if wait else None,
            tick=self.tick,
        )
        held.is_asked = True
        try:
            said = held.terms.policy.answer(demand)
            return checked(said) if type(said) is Answer else KEEP
        except Exception:  # noqa: BLE001  a user's code may raise anything
            return KEEP
        finally:
            held.is_asked = False

    # -- grants and losses ------------------------------------------------------------

    def grant(
        self, wait: Wait, leaving: Leaving, answers: Answers, *, arrives: bool = False
    ) -> None:
        """Revoke from the leaving holders and grant all in one step (RM-22, AR-4)."""
        if wait in self.waits:
            self.waits.remove(wait)
        forced = [x for x in leaving if self.overrides(wait, x, arrives=arrives)]
        asked = {held: said for held, said in answers.items() if held not in forced}
        paused: list[Wait] = []
        self.give_way(leaving, asked, wait.party.name, paused.append)
        self.seat(wait)
        for resume in paused:
            self.pause(resume)

    def give_way(
        self,
        leaving: Leaving,
        answers: Answers,
        by: str,
        pause: Callable[[Wait], object],
    ) -> None:
        for held in self.innermost_first(leaving):
            leaves, answer = held.some_of(leaving[held]), answers.get(held)
            if not leaves:
                continue  # lost together with another token
            why, resume = LossCause.OVERRIDDEN, None
            if answer is not None:
                why = LossCause.YIELDED
            if answer is not None and answer.kind is AnswerKind.PAUSE:
                why, resume = LossCause.PAUSED, self.resumption(held, leaves, answer)
            self.take_away(held, leaves, why, by)
            if resume is not None:
                pause(resume)

    def resumption(self, held: Held, leaves: list[str], answer: Answer) -> Wait:
        """Return the request for the paused leaves, at its old place (RM-37)."""
        is_whole = held.terms.loss is Loss.WHOLE
        shares = {
            x: held.shares[x] for x in sorted(held.shares if is_whole else leaves)
        }
        terms = held.terms._replace(timeout_s=answer.resume_timeout_s, wins_ties=False)
        number, add_to = self.next_ticket(), None if is_whole else held
        resume = Wait(number, held.party, shares, {}, terms, held.arrival, add_to, True)
        resume.lent = held.lent if is_whole else frozenset()
        return resume

    def pause(self, resume: Wait) -> None:
        if resume.add_to is not None and resume.add_to.ended is not None:
            resume.add_to = None
        self.enqueue(resume)

    def innermost_first(self, leaving: Iterable[Held]) -> list[Held]:
        """Return the leaving holders, children first: each has its own cause."""
        order: list[Held] = []

        def add(held: Held) -> None:
            for leaf in held.shares:
                for inner in self.within(leaf, held):
                    if inner in leaving and inner not in order:
                        add(inner)
            if held not in order:
                order.append(held)

        for held in leaving:
            add(held)
        return order

    def seat(self, wait: Wait) -> None:
        held = wait.add_to
        if held is not None and held.ended is not None:
            self.fail(wait, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)
            return
        extras, missing = self.extras(wait)
        if held is None:
            token = self.token_of(1 + len(self.live) + len(self.dead))
            held = Held(token, wait.party, wait.terms, wait.arrival, lent=wait.lent)
            self.live.append(held)
        shares = dict(sorted({**wait.shares, **extras}.items()))
        held.lent -= frozenset(shares)
        for leaf, share in shares.items():
            held.inside[leaf] = self.scope(leaf, wait.party)
            held.shares[leaf] = share
            self.seats[leaf].append(held)
        token = held.token
        self.decisions.append(("granted", wait.number, token.id, shares, missing))

    def lose(self, leaving: Leaving, why: LossCause, by: str) -> None:
        for held in self.innermost_first(leaving):
            left = held.some_of(leaving[held])
            if left:
                self.take_away(held, left, why, by)

    def take_away(
        self, held: Held, lost: Sequence[str], why: LossCause, by: str
    ) -> None:
        """Revoke leaves, and the whole token if it loses whole (AR-19, AR-20)."""
        lost = sorted(lost)
        leaves = sorted(held.shares) if held.terms.loss is Loss.WHOLE else lost
        self.empty_inside(held, leaves)
        freed = tuple(leaf for leaf in leaves if leaf not in lost)
        cause = (tuple(lost), freed, why, by)
        self.unseat(held, leaves, "revoked", Refusal.REVOKED, *cause)

    def empty_inside(self, held: Held, leaves: Sequence[str]) -> None:
        """Revoke what the children hold inside the parent's leaves (RM-30)."""
        inside: Leaving = {}
        for leaf in leaves:
            for inner in self.within(leaf, held):
                inside.setdefault(inner, []).append(leaf)
        for inner, theirs in inside.items():
            left = inner.some_of(theirs)
            if left:
                why = LossCause.PARENT_RELEASED
                self.take_away(inner, left, why, held.party.name)

    def unseat(
        self,
        held: Held,
        leaves: Sequence[str],
        what: str,
        ended: Refusal | None,
        *how: Any,
    ) -> None:
        """Remove leaves from a token; it ends with the last one unless lent."""
        for leaf in leaves:
            self.seats[leaf].remove(held)
            del held.shares[leaf], held.inside[leaf]
        self.decisions.append((what, held.token.id, *(how or (tuple(leaves),))))
        if not held.shares and ended is not None:
            held.ended = ended
            self.live.remove(held)
            self.dead.append(held)
            for wait in [wait for wait in self.waits if wait.add_to is held]:
                self.fail(wait, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)

    def fail(self, wait: Wait, kind: OutcomeKind, why: Why) -> None:
        """End a request without a grant; nothing else changes (I-16)."""
        leaves = wait.shares or [x for unit in wait.optional.values() for x in unit]
        could = why in (Why.BUSY, Why.OUTRANKED, Why.TIMEOUT)
        if could and any(map(self.is_frozen, leaves)):
            why = Why.FROZEN
        if wait in self.waits:
            self.waits.remove(wait)
        if wait.recalls and wait.add_to is not None:
            wait.add_to.lent |= frozenset(wait.shares)
        self.decisions.append(("failed", wait.number, kind, why))

    def end_party(self, party: Party) -> None:
        """End all holds and requests of an owner and its descendants (I-9)."""
        for child in list(self.parties.values()):
            if child.parent is party:
                self.end_party(child)
        party.is_gone, party.dies = True, None
        for wait in [wait for wait in self.waits if wait.party is party]:
            self.fail(wait, OutcomeKind.CANCELLED, Why.OWNER_GONE)
        for held in [held for held in self.live[::-1] if held.party is party]:
            leaves = sorted(held.shares)
            self.unseat(held, leaves, "expired", Refusal.EXPIRED)
