"""The sequential model in time: calls, timers, demands, and what follows from each."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from controllers.arbitration import events
from controllers.arbitration.policies import KEEP, Answer, Demand
from controllers.arbitration.tokens import (
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)
from models import BadInput
from models.resources import ResourceKind, ResourceNode
from tests.controllers.arbitration.manager.model.sequential.grants import Grants
from tests.controllers.arbitration.manager.model.sequential.records import Held, Wait


class Clock(Grants):
    """Lets everything happen in its order."""

    def __init__(
        self,
        root: ResourceNode,
        *,
        tick_s: float = 0.01,
        preemption: Preemption = Preemption.OFF,
        retry_s: float = 0.5,
        overtake_s: float = 0.0,
        dead_tokens_kept: int = 10_000,
    ) -> None:
        super().__init__(root, preemption, dead_tokens_kept)
        self.tick_s = tick_s
        self.retry_ticks = max(1, self.ticks(retry_s))
        self.overtake_ticks = self.ticks(overtake_s)
        self.depth = 0

    def ticks(self, seconds: float) -> int:
        return math.ceil(seconds / self.tick_s - 1e-9)

    # Time

    @contextmanager
    def call(self, tick: int) -> Iterator[None]:
        if tick < self.now:
            raise BadInput("back in time")
        if self.depth >= 20:
            raise BadInput("policies call without end")
        if self.depth == 0:
            self._run_timers(lambda due: due < tick)
        self.now = tick
        self.depth += 1
        try:
            yield
        finally:
            self._finish()
            self.depth -= 1

    def reconfigure(
        self,
        tick: int,
        *,
        preemption: Preemption | str | None = None,
        retry_s: float | None = None,
        overtake_s: float | None = None,
    ) -> None:
        with self.call(tick):
            before = (self.preemption, self.retry_ticks, self.overtake_ticks)
            if preemption is not None:
                self.preemption = Preemption(preemption)
            if retry_s is not None:
                self.retry_ticks = max(1, self.ticks(retry_s))
            if overtake_s is not None:
                self.overtake_ticks = self.ticks(overtake_s)
            now = (self.preemption, self.retry_ticks, self.overtake_ticks)
            if now != before:
                self.events.append(
                    events.Reconfigured(
                        tick=self.now,
                        preemption=self.preemption,
                        retry_ticks=self.retry_ticks,
                        overtake_ticks=self.overtake_ticks,
                    )
                )

    def _finish(self) -> None:
        self._settle()
        if self.depth > 1:
            return
        while stuck := self._stuck():
            self.fail(stuck[-1], OutcomeKind.DENIED, Why.DEADLOCK)
            self._settle()
        self._tell_available()
        self.events.append(events.Settled(tick=self.now))

    def advance(self, tick: int) -> None:
        if tick < self.now:
            raise BadInput("back in time")
        self._run_timers(lambda due: due <= tick)
        self.now = tick
        self.events.append(events.Ticked(tick=tick))

    def _timers(self) -> list[tuple[int, int, int, Wait | str]]:
        """Return what is due: tick, kind, order of making, whose."""
        found: list[tuple[int, int, int, Wait | str]] = []
        for wait in self.waits:
            dues = (wait.timeout_due, wait.promise_due, None, wait.retry_due)
            for kind, due in enumerate(dues):
                if due is not None:
                    found.append((due[0], kind, due[1], wait))
        for place, (name, owner) in enumerate(self.owners.items()):
            if owner.time_to_live_s is not None and name in self.signs:
                live = max(1, self.ticks(owner.time_to_live_s))
                found.append((self.signs[name] + live, 2, place, name))
        return sorted(found, key=lambda timer: timer[:3])

    def _run_timers(self, is_due: Callable[[int], bool]) -> None:
        while timers := [timer for timer in self._timers() if is_due(timer[0])]:
            tick, kind, _, whose = timers[0]
            self.now = tick
            self.depth += 1
            if isinstance(whose, str):
                self.drop_all(whose)
            elif kind == 0:
                self.fail(whose, OutcomeKind.TIMED_OUT, Why.TIMEOUT)
            elif kind == 1:
                self._keep_promises(whose)
            else:
                whose.retry_due = (tick + self.retry_ticks, self.serial())
                if whose.promise_due is None:
                    self.demand(whose, at_call=False)
            self._finish()
            self.depth -= 1

    # What follows from a call

    def _settle(self) -> None:
        while True:
            for wait in self.queue():
                plan = self.plan(wait, {})
                if plan is not None:
                    self.grant(wait, plan)
                    break
            else:
                return

    def _stuck(self) -> list[Wait]:
        """Return the waiting requests that wait for themselves, in order."""
        edges: dict[int | str, set[int | str]] = {name: set() for name in self.owners}
        for wait in self.waits:
            edges[wait.owner].add(wait.number)
            edges[wait.number] = {
                other.number
                for leaf in wait.shares
                for other in self.earlier(wait, leaf)
            } | {
                seat.held.owner
                for leaf, share in wait.shares.items()
                if self.kinds[leaf] is not ResourceKind.STATE
                for seat in self.blockers(leaf, wait.owner, share)
            }
        return [w for w in self.queue() if w.number in _reach(edges, w.number)]

    def _tell_available(self) -> None:
        for regret in sorted(
            self.regrets, key=lambda regret: (regret.held.token, sorted(regret.shares))
        ):
            if all(
                self.is_open(leaf)
                and not self.blockers(leaf, regret.owner, share)
                and not any(leaf in wait.shares for wait in self.waits)
                for leaf, share in regret.shares.items()
            ):
                self.regrets.remove(regret)
                self.notify(
                    regret.owner,
                    NoticeKind.AVAILABLE,
                    token=regret.held.token.id,
                    leaves=tuple(sorted(regret.shares)),
                )

    # Demands

    def demand(self, wait: Wait, at_call: bool) -> None:
        asked: dict[Held, set[str]] = {}
        for leaf in sorted(wait.shares):
            for seat in self.blockers(leaf, wait.owner, wait.shares[leaf]):
                asked.setdefault(seat.held, set()).add(seat.leaf)
        answers: dict[int, Answer] = {}
        for held, leaves in asked.items():
            if wait not in self.waits or wait.promise_due is not None:
                return
            still = leaves & {seat.leaf for seat in self.of(held)}
            if still:
                answers[held.token.sequence] = self.ask(
                    held, still, wait.owner, wait.priority, wait.number
                )
        if wait not in self.waits or wait.promise_due is not None:
            return
        plan = self.plan(wait, answers, at_call)
        if plan is None:
            return
        promised = [h for h, loser in plan.items() if loser.answer]
        delays = [self.ticks(answers[h.token.sequence].after_s) for h in promised]
        until = self.now + max(delays, default=0)
        if until == self.now:
            self.grant(wait, plan)
        elif wait.timeout_due is not None and until < wait.timeout_due[0]:
            wait.answers = answers
            wait.promise_due = (until, self.serial())
            wait.promised = {held: plan[held].leaves for held in promised}
            for held in promised:
                self.notify(
                    held.owner,
                    NoticeKind.YIELD_BY,
                    token=held.token.id,
                    leaves=tuple(sorted(plan[held].leaves)),
                    by=wait.owner,
                    until_tick=until,
                    request=wait.number,
                )

    def ask(
        self, held: Held, leaves: set[str], by: str, priority: int, number: int | None
    ) -> Answer:
        self.notify(
            held.owner,
            NoticeKind.DEMANDED,
            token=held.token.id,
            leaves=tuple(sorted(leaves)),
            by=by,
            request=number,
        )
        answer, error = KEEP, ""
        if not held.is_being_asked:
            held.is_being_asked = True
            try:
                said = held.policy.answer(
                    Demand(
                        holder=held.owner,
                        token=held.token.id,
                        resources=tuple(sorted(leaves)),
                        asker=by,
                        asker_priority=priority,
                        request=number,
                        tick=self.now,
                    )
                )
                if not isinstance(said, Answer):
                    raise TypeError(said)
                answer = said
            except Exception as raised:  # noqa: BLE001  (user code raises anything)
                error = str(raised)
            held.is_being_asked = False
        self.events.append(
            events.Answered(
                tick=self.now,
                owner=held.owner,
                token=held.token.id,
                request=number,
                answer=answer.kind,
                error=error,
            )
        )
        if error:
            self.notify(
                held.owner,
                NoticeKind.RAISED,
                token=held.token.id,
                leaves=tuple(sorted(leaves)),
                by=by,
                request=number,
                error=error,
            )
        return answer

    def _keep_promises(self, wait: Wait) -> None:
        answers, wait.answers, wait.promise_due = wait.answers, {}, None
        promised, wait.promised = wait.promised, {}
        plan = self.plan(wait, answers)
        if plan is not None:
            self.grant(wait, plan)
        self.let_keep(wait, promised)

    def drop_all(self, owner: str) -> None:
        self.events.append(events.Crashed(tick=self.now, owner=owner))
        for name in self.descent(owner):
            self.signs.pop(name, None)
            for wait in sorted(self.waits, key=lambda wait: wait.number):
                if wait.owner == name and wait in self.waits:
                    self.fail(wait, OutcomeKind.CANCELLED, Why.OWNER_GONE)
            for held in reversed(self.tokens):
                if held.owner == name and held.ended is None:
                    self.give_back(held, self.of(held), Refusal.EXPIRED)
            self.regrets = [r for r in self.regrets if r.owner != name]


def _reach(edges: dict[int | str, set[int | str]], start: int | str) -> set[int | str]:
    """Return all that a node leads to, itself only if on a way back."""
    found: set[int | str] = set()
    todo = list(edges[start])
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += edges[node]
    return found
