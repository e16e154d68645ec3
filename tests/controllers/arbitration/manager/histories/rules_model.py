"""Sequential model of the reservation rules: the oracle of random histories.

Written for readability. After each call all waiting requests are tried in order
until none can be granted; then cycles are found by reachability. It uses the types of
the ledger, but none of its decisions. RM-n: ES 2 535 273; AR-n: US 11 660 748.
"""

import math
from collections.abc import Callable, Iterable

from nao_testbed.controllers.arbitration.policies import KEEP, AnswerKind
from nao_testbed.controllers.arbitration.requests import (
    FULL,
    Owner,
    Request,
    StaleToken,
    rate_of,
)
from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    LossCause,
    OutcomeKind,
    Preemption,
    Refusal,
    Token,
    Why,
)
from nao_testbed.models import BadInput
from nao_testbed.models.resources import ResourceKind, ResourceNode
from tests.controllers.arbitration.manager.histories.rules_moves import RulesMoves
from tests.controllers.arbitration.manager.histories.rules_ways import Leaving
from tests.controllers.arbitration.manager.histories.rules_world import (
    EXCLUSIVE,
    RATED,
    STATE,
    Held,
    Party,
    Shares,
    Terms,
    Wait,
)

DEEPEST_CALL = MOST_TURNS = 20


class RulesModel(RulesMoves):
    """Takes the calls of a ledger and decides independently; a tick is one second."""

    def __init__(
        self,
        root: ResourceNode,
        preemption: Preemption,
        retry: int,
        overtake: int,
        dead_kept: int,
        token_of: Callable[[int], Token],
    ) -> None:
        super().__init__(root)
        self.preemption, self.retry, self.overtake = preemption, retry, overtake
        self._dead_kept, self.token_of = dead_kept, token_of
        self._depth = 0
        self.decisions = []
        """Grants, failures and losses, in order."""

    # -- effects of a call ------------------------------------------------------------

    def at(self, tick: int) -> "RulesModel":
        """Begin a call; calls precede the timers of their tick."""
        if self._depth >= DEEPEST_CALL:
            raise BadInput("policies call in answer to each other without end")
        if not self._depth:
            self._run(tick)
            self.tick = tick
        return self

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """Grant all that can be granted (I-8); then break deadlocks (RM-21)."""
        self._depth -= 1
        self.settle()
        while not self._depth:
            stuck = [x for x in self.queue() if x in self.waits_for(x)]
            if not stuck:
                break
            self.fail(stuck[-1], OutcomeKind.DENIED, Why.DEADLOCK)
            self.settle()

    def advance(self, tick: int) -> None:
        self._run(tick + 1)
        self.tick = tick

    def _run(self, before: int) -> None:
        while due := self.next_due(before):
            self.tick, kind, _, subject = due
            with self:
                if isinstance(subject, Party):
                    self.end_party(subject)
                else:
                    del subject.due[kind]
                    self.comes_due(subject, kind)

    # -- calls ------------------------------------------------------------------------

    def request(self, request: Request, tick: int) -> None:
        with self.at(tick):
            party = self.party(request.owner)
            add_to = request.add_to and self._live(request.add_to)
            shares: Shares = {}
            for name in request.resources:
                if self.kinds.get(name) is RATED:
                    raise BadInput(f"{name} is shared by rates")
                shares |= self.wanted(name)
            shares |= {name: rate_of(name, x) for name, x in request.rates.items()}
            optional = {}
            for name in sorted(request.optional):
                unit = self.wanted(name)
                optional[name] = {x: unit[x] for x in unit if x not in shares}
            own, priority = party.defaults, request.priority
            limit_s = request.timeout_s
            terms = Terms(
                own.priority if priority is None else priority,
                request.loss,
                request.policy or own.policy,
                request.asker_tie is AskerTie.WINS,
                request.holder_tie is not HolderTie.YIELDS,
                own.timeout_s if limit_s is None else limit_s,
            )
            if add_to:
                mine = add_to.terms
                terms = terms._replace(
                    loss=mine.loss, policy=mine.policy, keeps_ties=mine.keeps_ties
                )
            number = self.next_ticket()
            shares = dict(sorted(shares.items()))
            self.see(party)
            self.arrive(Wait(number, party, shares, optional, terms, number, add_to))

    def withdraw(self, number: int, tick: int) -> None:
        with self.at(tick):
            for wait in [wait for wait in self.waits if wait.number == number]:
                self.fail(wait, OutcomeKind.CANCELLED, Why.WITHDRAWN)

    def notify_blockers(self, number: int, tick: int) -> None:
        with self.at(tick):
            for wait in [wait for wait in self.waits if wait.number == number]:
                if not wait.resumes:
                    self.demand(wait, arrives=False)

    def release(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        with self.at(tick):
            held = self._live(token)
            leaves = set(held.shares if names is None else ())
            for name in names or ():
                here = held.some_of(self.leaves(name))
                if not here:
                    raise BadInput(f"{token} does not cover {name}")
                leaves.update(here)
            self.see(held.party)
            self.empty_inside(held, sorted(leaves))
            self.unseat(held, sorted(leaves), "released", Refusal.RELEASED)

    def lend(self, token: Token, tick: int, names: Iterable[str]) -> None:
        """Release resources that can be recalled; the token stays valid."""
        with self.at(tick):
            held = self._live(token)
            leaves = held.some_of(self.leaves(*names))
            self.see(held.party)
            held.lent |= frozenset(leaves)
            self.empty_inside(held, leaves)
            self.unseat(held, leaves, "released", None)

    def recall(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        """Request lent resources back, before all equals, against any policy (I-27)."""
        if not self._lent(token, names):
            return
        with self.at(tick):
            lent, held = self._lent(token, names), self._live(token)
            if lent:
                held.lent -= lent
                whole = {x: 0 if self.kinds[x] is STATE else FULL for x in sorted(lent)}
                own, number = held.party.defaults, self.next_ticket()
                terms = held.terms._replace(
                    timeout_s=own.timeout_s,
                    wins_ties=own.asker_tie is AskerTie.WINS,
                )
                self.see(held.party)
                self.arrive(
                    Wait(number, held.party, whole, {}, terms, 0, held, recalls=True)
                )

    def _lent(self, token: Token, names: Iterable[str] | None) -> frozenset[str]:
        lent = self._live(token).lent
        return lent if names is None else lent.intersection(names)

    def add_owner(self, owner: Owner, tick: int) -> None:
        with self.at(tick):
            if owner.name not in self.parties:
                above = None if owner.parent is None else self.parties[owner.parent]
                self.made += 1
                self.parties[owner.name] = Party(owner, above, self.made)
            self.parties[owner.name].defaults = owner
            self.see(self.parties[owner.name])

    def renew(self, owner: str, tick: int) -> None:
        with self.at(tick):
            self.see(self.party(owner))

    def drop(self, owner: str, tick: int) -> None:
        with self.at(tick):
            self.end_party(self.party(owner))

    def forget_owner(self, owner: str, tick: int) -> None:
        self.drop(owner, tick)
        del self.parties[owner]

    def add_resource(
        self, name: str, parent: str, tick: int, kind: ResourceKind
    ) -> None:
        with self.at(tick):
            self.kinds[parent] = None  # it becomes a composite
            self.add_leaf(name, parent, kind)

    def remove_resource(self, name: str, tick: int) -> None:
        with self.at(tick):
            parent = self.parents.pop(name)
            del self.kinds[name], self.seats[name]
            if parent is not None and parent not in self.parents.values():
                self.add_leaf(parent, self.parents[parent], EXCLUSIVE)

    def reconfigure(
        self,
        tick: int,
        preemption: Preemption | None,
        retry_s: float | None,
        overtake_s: float | None,
    ) -> None:
        with self.at(tick):
            self.preemption = preemption or self.preemption
            if retry_s is not None:
                self.retry = max(1, math.ceil(retry_s))
            if overtake_s is not None:
                self.overtake = math.ceil(overtake_s)

    def freeze(
        self,
        names: Iterable[str],
        by: str,
        tick: int,
        *,
        effort_cap: float | None = None,
        is_total: bool = True,
    ) -> None:
        """Freeze leaves for a virtual owner, without demands (RM-40)."""
        with self.at(tick):
            leaves = self.leaves(*names)
            seated: Leaving = {}
            for leaf in leaves if is_total else ():
                for held in self.within(leaf, None):
                    seated.setdefault(held, []).append(leaf)
            self.lose(seated, LossCause.FROZEN, by)
            for leaf in leaves:
                self.freezes[leaf][by] = is_total

    def thaw(self, by: str, tick: int, names: Iterable[str] | None = None) -> None:
        with self.at(tick):
            for leaf in self.leaves(*(self.seats if names is None else names)):
                self.freezes[leaf].pop(by, None)

    def set_state(self, group: str, active: str | None, tick: int) -> None:
        """Set the active state; holders of the state that is left lose it (RM-52)."""
        with self.at(tick):
            self._leave_state(group, active)

    def ask_state(self, group: str, wanted: str | None, tick: int) -> None:
        """Demand the active state; all of its holders must yield at once."""
        with self.at(tick):
            for _ in range(MOST_TURNS):
                left = self.active[group]
                if left is None or left == wanted:
                    self._leave_state(group, wanted)
                    return
                answers = {}
                for held in list(self.seats[left]):
                    if left in held.shares:
                        answers[held] = self.ask(held, [left], None)
                if self.active[group] == left:
                    break  # otherwise a policy changed the state
            else:
                return
            said = [answers.get(held, KEEP) for held in self.seats[left]]
            if all(x.kind is not AnswerKind.KEEP and not x.after_s for x in said):
                here = {held: [left] for held in self.seats[left]}
                self.give_way(here, answers, "", self.pause)
                self._leave_state(group, wanted)

    def _leave_state(self, group: str, active: str | None) -> None:
        left = self.active[group]
        if left != active:
            here = {held: [left] for held in self.seats[left]} if left else {}
            self.lose(here, LossCause.STATE_LEFT, active or group)
            self.active[group] = active

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Return the reason to reject a command, None if it passes (AR-10)."""
        if token is None:
            return Refusal.NO_TOKEN
        held = self._find(token)
        if isinstance(held, Refusal):
            return held
        if self.is_frozen(leaf):
            return Refusal.FROZEN
        is_lent = self.kinds[leaf] is EXCLUSIVE and self.seats[leaf][-1:] != [held]
        return Refusal.NOT_COVERED if leaf not in held.shares or is_lent else None

    def _find(self, token: Token) -> Held | Refusal:
        if token.epoch != self.token_of(1).epoch:
            return Refusal.WRONG_EPOCH
        for held in [*self.live, *self.dead[-self._dead_kept :]]:
            if held.token == token:
                return held.ended or held
        return Refusal.UNKNOWN

    def _live(self, token: Token) -> Held:
        found = self._find(token)
        if isinstance(found, Refusal):
            raise StaleToken(token, found)
        return found
