"""The sequential model: who would give way, so that a request can be granted."""

from controllers.arbitration.policies import Answer, AnswerKind
from controllers.arbitration.tokens import Loss, LossCause, Preemption
from models.resources import ResourceKind, ResourceNode
from tests.controllers.arbitration.manager.model.sequential.records import (
    Held,
    Loser,
    Plan,
    Seat,
    Wait,
)
from tests.controllers.arbitration.manager.model.sequential.world import World


class Plans(World):
    """Says whether a request can be granted, and at whose cost."""

    def __init__(self, root: ResourceNode, preemption: Preemption) -> None:
        super().__init__(root)
        self.preemption = preemption

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
            givers = self.givers(wait, leaf, answers, at_call)
            if givers and self.earlier(wait, leaf):
                return None  # past those who wait only to what is free
            for seat in givers:
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
                going.append(top)
                free += top.share
        for top in going[::-1]:
            if free - top.share >= wait.shares[leaf]:
                going.remove(top)  # it fits without this one
                free -= top.share
        return [part for top in going for part in self.whole(top)]

    def may_have(self, wait: Wait, leaf: str) -> bool:
        """Whether nothing but holders can be in the way of a request on a leaf."""
        return (
            self.is_open(leaf)
            and not self.ahead(wait, leaf)
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


def _of(plan: Plan, seat: Seat) -> set[str]:
    return plan[seat.held].leaves if seat.held in plan else set()
