"""Queries of the model: scopes, queues, preemption, and conditions of a grant.

RM-n: ES 2 535 273; AR-n: US 11 660 748.
"""

from collections.abc import Callable, Iterator

from nao_testbed.controllers.arbitration.policies import KEEP, Answer, AnswerKind
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.controllers.arbitration.tokens import Preemption
from tests.controllers.arbitration.manager.histories.rules_world import (
    STATE,
    Held,
    Party,
    RulesWorld,
    Shares,
    Wait,
)

Answers = dict[Held, Answer]
Leaving = dict[Held, list[str]]
"""Holders that must yield, with their leaves."""


class RulesWays(RulesWorld):
    """Read-only queries."""

    preemption: Preemption

    # -- blocking holders -------------------------------------------------------------

    def scope(self, leaf: str, party: Party) -> Held | None:
        """Return the nearest ancestor's token that has a leaf (RM-26).

        A descendant's share is taken out of it.
        """
        if self.kinds[leaf] is not STATE:
            for ancestor in party.ancestors():
                for held in self.seats[leaf]:
                    if held.party is ancestor:
                        return held
        return None

    def direct(self, leaf: str, scope: Held | None) -> list[Held]:
        """Return the direct holders in a scope: lowest priority, then latest, first."""
        found = [held for held in self.seats[leaf] if held.inside[leaf] is scope]
        if self.kinds[leaf] is STATE:
            return found if scope is None else []
        latest = self.seats[leaf].index
        return sorted(found, key=lambda held: (held.terms.priority, -latest(held)))

    def within(self, leaf: str, scope: Held | None) -> list[Held]:
        """Return all holders in a scope, children before parents."""
        found: list[Held] = []
        for held in self.direct(leaf, scope):
            found += [*self.within(leaf, held), held]
        return found

    def lacks(self, leaf: str, party: Party, share: int) -> int:
        """Return by how much a share exceeds the free part of its scope."""
        scope = self.scope(leaf, party)
        whole = FULL if scope is None else scope.shares[leaf]
        used = sum(held.shares[leaf] for held in self.direct(leaf, scope))
        return share - (whole - used)

    def blockers(self, leaf: str, party: Party, share: int) -> list[Held]:
        """Return the blocking holders, children before parents."""
        if self.kinds[leaf] is STATE:  # holders of the active state (RM-53)
            active = self.active_of(leaf)
            return [] if active in (None, leaf) else list(self.seats[str(active)])
        if self.lacks(leaf, party, share) <= 0:
            return []
        return self.within(leaf, self.scope(leaf, party))

    def leaving(
        self, leaf: str, party: Party, share: int, is_willing: Callable[[Held], bool]
    ) -> list[Held] | None:
        """Return the fewest willing holders that must yield; None: not enough."""
        lacking, chosen = self.lacks(leaf, party, share), []
        for held in self.direct(leaf, self.scope(leaf, party)):
            group = [*self.within(leaf, held), held]
            if lacking > 0 and all(map(is_willing, group)):
                chosen.append(group)
                lacking -= held.shares[leaf]
        for group in chosen[::-1]:
            freed = group[-1].shares[leaf]
            if lacking + freed <= 0:  # not needed
                chosen.remove(group)
                lacking += freed
        return None if lacking > 0 else [held for group in chosen for held in group]

    def earlier(self, leaf: str, wait: Wait) -> Iterator[Wait]:
        """Yield the earlier requests for a leaf, in the same scope."""
        if self.kinds[leaf] is not STATE:
            scope = self.scope(leaf, wait.party)
            for other in self.queue():
                is_before = other.key < wait.key and leaf in other.shares
                if is_before and self.scope(leaf, other.party) is scope:
                    yield other

    def is_claimed(self, leaf: str, wait: Wait) -> bool:
        """Return True if an earlier request can no longer be overtaken (I-3)."""
        mine = wait.terms.priority
        return any(
            other.firm_at <= self.tick or other.terms.priority > mine
            for other in self.earlier(leaf, wait)
        )

    def overrides(self, wait: Wait, held: Held, *, arrives: bool) -> bool:
        """Return True if the request preempts the holder (AR-14, AR-21, AR-22)."""
        is_off = self.preemption is Preemption.OFF
        if is_off or wait.resumes or held.party is wait.party:
            return False
        mine, theirs = wait.terms, held.terms
        is_tie_won = arrives and mine.wins_ties and not theirs.keeps_ties
        is_equal = mine.priority == theirs.priority
        return mine.priority > theirs.priority or (is_equal and is_tie_won)

    def may_recall(self, wait: Wait, held: Held) -> bool:
        """Return True if a holder must return what it was lent (I-27)."""
        is_off = self.preemption is Preemption.OFF
        return is_off or wait.terms.priority >= held.terms.priority

    def is_outranked(self, wait: Wait) -> bool:
        """Return True if a holder of higher priority blocks a leaf."""

        def is_no_higher(held: Held) -> bool:
            is_own = held.party is wait.party
            return is_own or held.terms.priority <= wait.terms.priority

        is_off = self.preemption is Preemption.OFF or wait.recalls
        if is_off or any(map(self.is_frozen, wait.shares)):
            return False
        return any(
            self.leaving(leaf, wait.party, share, is_no_higher) is None
            and self.leaving(leaf, wait.party, share, lambda _: True) is not None
            for leaf, share in wait.shares.items()
            if self.kinds[leaf] is not STATE
        )

    def way(
        self, wait: Wait, answers: Answers, *, arrives: bool = False
    ) -> Leaving | None:
        """Return the holders that must yield for a grant; None: not possible."""
        leaving: Leaving = {}

        def is_willing(held: Held) -> bool:
            said = answers.get(held, KEEP).kind
            return said is not AnswerKind.KEEP or self.overrides(
                wait, held, arrives=arrives
            )

        for leaf, share in wait.shares.items():
            is_had = wait.add_to is not None and leaf in wait.add_to.shares
            if is_had or not self.is_open(leaf) or self.is_claimed(leaf, wait):
                return None
            if self.kinds[leaf] is not STATE:
                found = self.leaving(leaf, wait.party, share, is_willing)
                if found is None or (found and any(self.earlier(leaf, wait))):
                    return None  # overtaking requests take only free leaves
                for held in found:
                    leaving.setdefault(held, []).append(leaf)
        return leaving if wait.shares or self.extras(wait)[0] else None

    def extras(self, wait: Wait) -> tuple[Shares, tuple[str, ...]]:
        """Return the optional leaves that are free, and the missing names (RM-47)."""
        found: Shares = {}
        missing = []
        for name, unit in wait.optional.items():
            if all(
                self.is_open(leaf)
                and not self.blockers(leaf, wait.party, share)
                and not self.is_claimed(leaf, wait)
                and not (wait.add_to and leaf in wait.add_to.shares)
                for leaf, share in unit.items()
            ):
                found |= unit
            else:
                missing.append(name)
        return found, tuple(missing)
