"""A small sequential model of the ledger: slow, plain, and never reading back from it.

It has the ledger's calls and predicts the whole trace: every outcome with its tick, who
holds what, the queue, the reasons of the gate and every notice. Where the ledger keeps
indices and heaps, this one looks at everything, every time.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from controllers.resources import trace
from controllers.resources.owner import Owner
from controllers.resources.policies import KEEP, Answer, AnswerKind, Demand
from controllers.resources.request import FULL, Outcome, Request, rate_of
from controllers.resources.tokens import Token
from controllers.resources.words import (
    AskerTie,
    LossCause,
    Mode,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)
from models import BadInput
from models.resource_node import ResourceKind, ResourceNode
from tests.controllers.resources.sequential_grants import Grants, Loser, Plan
from tests.controllers.resources.sequential_world import Freeze, Held, Seat, Wait


class Stale(Exception):
    """A call came with a token that proves nothing."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelTicket:
    """What a request returns."""

    def __init__(self, model: "SequentialModel", number: int) -> None:
        self.number = number
        self._model = model

    @property
    def outcome(self) -> Outcome | None:
        return self._model.outcomes.get(self.number)


class SequentialModel(Grants):
    """The calls, and time."""

    def __init__(
        self,
        root: ResourceNode,
        *,
        tick_s: float = 0.01,
        preemption: Preemption = Preemption.OFF,
        retry_s: float = 0.5,
        dead_tokens_kept: int = 10_000,
    ) -> None:
        super().__init__(root, preemption, dead_tokens_kept)
        self.tick_s = tick_s
        self.retry_ticks = max(1, self.ticks(retry_s))
        self.depth = 0

    def ticks(self, seconds: float) -> int:
        return math.ceil(seconds / self.tick_s - 1e-9)

    # Time

    @contextmanager
    def _call(self, tick: int) -> Iterator[None]:
        if tick < self.now:
            raise BadInput("back in time")
        if self.depth == 0:
            self._run_timers(lambda due: due < tick)
        self.now = tick
        self.depth += 1
        try:
            yield
        finally:
            self._finish()
            self.depth -= 1

    def _finish(self) -> None:
        self._settle()
        if self.depth > 1:
            return
        while stuck := self._stuck():
            self.fail(stuck[-1], OutcomeKind.DENIED, Why.DEADLOCK)
            self._settle()
        self._tell_available()
        self.events.append(trace.Settled(tick=self.now))

    def advance(self, tick: int) -> None:
        if tick < self.now:
            raise BadInput("back in time")
        self._run_timers(lambda due: due <= tick)
        self.now = tick
        self.events.append(trace.Ticked(tick=tick))

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
                self._drop(whose)
            elif kind == 0:
                self.fail(whose, OutcomeKind.TIMED_OUT, Why.TIMEOUT)
            elif kind == 1:
                self._keep_promises(whose)
            else:
                whose.retry_due = (tick + self.retry_ticks, self.serial())
                if whose.promise_due is None:
                    self._demand(whose, at_call=False)
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

    # Owners

    def add_owner(self, owner: Owner, tick: int) -> None:
        with self._call(tick):
            if owner.parent is not None and owner.parent not in self.owners:
                raise BadInput("unknown parent")
            known = self.owners.get(owner.name)
            if known and known.parent != owner.parent:
                raise BadInput("another parent")
            self.owners[owner.name] = owner
            live_s = owner.time_to_live_s
            self.events.append(
                trace.OwnerAdded(
                    tick=tick,
                    owner=owner.name,
                    parent=owner.parent,
                    time_to_live_ticks=None if live_s is None else self.ticks(live_s),
                )
            )
            self._sign(owner.name)

    def _sign(self, owner: str) -> None:
        self.signs[owner] = self.now

    def _known(self, owner: str) -> None:
        if owner not in self.owners:
            raise BadInput("unknown owner")

    def renew(self, owner: str, tick: int) -> None:
        with self._call(tick):
            self._known(owner)
            self._sign(owner)
            self.events.append(trace.Renewed(tick=tick, owner=owner))

    def drop(self, owner: str, tick: int) -> None:
        with self._call(tick):
            self._known(owner)
            self._drop(owner)

    def _drop(self, owner: str) -> None:
        self.events.append(trace.Crashed(tick=self.now, owner=owner))
        for name in self.descent(owner):
            self.signs.pop(name, None)
            for wait in sorted(self.waits, key=lambda wait: wait.number):
                if wait.owner == name and wait in self.waits:
                    self.fail(wait, OutcomeKind.CANCELLED, Why.OWNER_GONE)
            for held in reversed(self.tokens):
                if held.owner == name and held.ended is None:
                    self._give_back(held, self.of(held), Refusal.EXPIRED)
            self.regrets = [r for r in self.regrets if r.owner != name]

    # Requests

    def request(self, request: Request, tick: int) -> ModelTicket:
        with self._call(tick):
            wait = self._wait_of(request)
            self._sign(wait.owner)
            self.tell_requested(wait)
            plan = self.plan(wait, {}, at_call=True)
            if plan is not None:
                self.grant(wait, plan)
            else:
                self.waits.append(wait)
                if wait.timeout_ticks:
                    wait.timeout_due = (tick + wait.timeout_ticks, self.serial())
                    wait.retry_due = (tick + self.retry_ticks, self.serial())
                self._demand(wait, at_call=True)
                if wait in self.waits and wait.timeout_ticks == 0:
                    self.fail(wait, OutcomeKind.DENIED, Why.BUSY)
        wait.is_called = False
        return ModelTicket(self, wait.number)

    def _wait_of(self, request: Request) -> Wait:
        self._known(request.owner)
        owner = self.owners[request.owner]
        held = None if request.add_to is None else self._live(request.add_to)
        shares: dict[str, int] = {}
        for name in request.resources:
            shares |= self._shares_of(name)
        for name, percent in request.rates.items():
            if self.kinds.get(name) is not ResourceKind.CUMULATIVE:
                raise BadInput("a rate of something else")
            shares[name] = rate_of(name, percent)
        optional = {name: self._shares_of(name) for name in sorted(request.optional)}
        if held is not None:
            if held.owner != request.owner:
                raise BadInput("somebody else's token")
            named = set(shares).union(*optional.values())
            if any(seat.leaf in named for seat in self.of(held)):
                raise BadInput("covered already")
        self.numbers += 1
        units = {
            name: tuple(sorted(set(leaves) - set(shares)))
            for name, leaves in optional.items()
        }
        priority = owner.priority if request.priority is None else request.priority
        timeout = owner.timeout_s if request.timeout_s is None else request.timeout_s
        return Wait(
            number=self.numbers,
            owner=request.owner,
            shares=shares,
            optional=units,
            mode=held.mode if held else request.mode,
            priority=priority,
            arrival=self.numbers,
            loss=held.loss if held else request.loss,
            policy=held.policy if held else request.policy or owner.policy,
            holder_tie=(
                held.holder_tie if held else request.holder_tie or owner.holder_tie
            ),
            wins_ties=(request.asker_tie or owner.asker_tie) is AskerTie.WINS,
            add_to=held,
            timeout_ticks=self.ticks(timeout),
        )

    def _shares_of(self, name: str) -> dict[str, int]:
        """Return the leaves that a name of a request means."""
        kind = self._kind(name)
        if kind is ResourceKind.STATE:
            return {name: 0}
        leaves = self.exclusive_below(name)
        if not leaves:
            raise BadInput("nothing exclusive")
        return dict.fromkeys(leaves, FULL)

    def _kind(self, name: str) -> ResourceKind | None:
        if name not in self.kinds:
            raise BadInput("unknown resource")
        return self.kinds[name]

    def withdraw(self, number: int, tick: int) -> bool:
        with self._call(tick):
            found = [wait for wait in self.waits if wait.number == number]
            for wait in found:
                self.fail(wait, OutcomeKind.CANCELLED, Why.WITHDRAWN)
        return bool(found)

    def _demand(self, wait: Wait, at_call: bool) -> None:
        asked: dict[Held, set[str]] = {}
        for leaf in sorted(wait.shares):
            for seat in self.blockers(leaf, wait.owner, wait.shares[leaf]):
                asked.setdefault(seat.held, set()).add(seat.leaf)
        answers: dict[int, Answer] = {}
        for held, leaves in asked.items():
            if wait not in self.waits:
                return
            still = leaves & {seat.leaf for seat in self.of(held)}
            if still:
                answers[held.token.sequence] = self._ask(
                    held, still, wait.owner, wait.priority, wait.number
                )
        if wait not in self.waits:
            return
        plan = self.plan(wait, answers, at_call)
        if plan is None:
            return
        promised = [h for h, loser in plan.items() if loser.answer]
        delays = [self.ticks(answers[h.token.sequence].after_s) for h in promised]
        until = self.now + max(delays, default=0)
        if until == self.now:
            self.grant(wait, plan)
        elif wait.timeout_ticks != 0:
            wait.answers = answers
            wait.promise_due = (until, self.serial())
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

    def _ask(
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
                answer = held.policy.answer(
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
            except Exception as raised:  # noqa: BLE001  (user code raises anything)
                error = str(raised)
            held.is_being_asked = False
        self.events.append(
            trace.Answered(
                tick=self.now,
                owner=held.owner,
                token=held.token.id,
                request=number,
                answer=answer.kind,
                error=error,
            )
        )
        return answer

    def _keep_promises(self, wait: Wait) -> None:
        answers, wait.answers, wait.promise_due = wait.answers, {}, None
        plan = self.plan(wait, answers)
        if plan is not None:
            self.grant(wait, plan)

    # Giving back

    def release(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        with self._call(tick):
            held = self._live(token)
            seats = self.of(held)
            if names is not None:
                wanted = {leaf for name in names for leaf in self._below(name)}
                seats = [seat for seat in seats if seat.leaf in wanted]
                for name in names:
                    if not any(seat.leaf in self._below(name) for seat in seats):
                        raise BadInput("not covered")
            self._sign(held.owner)
            self._give_back(held, seats, Refusal.RELEASED)

    def _below(self, name: str) -> list[str]:
        self._kind(name)
        return list(self.below(name))

    def _give_back(self, held: Held, seats: list[Seat], reason: Refusal) -> None:
        leaves = {seat.leaf for seat in seats}
        held.losing |= leaves
        self.evict_inside(seats, {})
        self.unseat(seats)
        held.losing -= leaves
        is_whole = not self.of(held)
        if reason is Refusal.RELEASED:
            self.events.append(
                trace.Released(
                    tick=self.now,
                    token=held.token.id,
                    owner=held.owner,
                    leaves=tuple(sorted(leaves)),
                    is_whole=is_whole,
                )
            )
        else:
            self.events.append(
                trace.Expired(
                    tick=self.now,
                    token=held.token.id,
                    owner=held.owner,
                    leaves=tuple(sorted(leaves)),
                )
            )
        if is_whole:
            self.end(held, reason)

    def _live(self, token: Token) -> Held:
        held = self.token_of(token)
        if isinstance(held, Refusal):
            raise Stale(held)
        return held

    # Virtual owners

    def freeze(
        self,
        names: Iterable[str],
        by: str,
        tick: int,
        effort_cap: float | None = None,
        is_total: bool = True,
    ) -> None:
        with self._call(tick):
            leaves = sorted({leaf for name in names for leaf in self._below(name)})
            if not is_total and effort_cap is None:
                raise BadInput("a freeze of nothing")
            if is_total:
                self.lose(self._everybody_on(leaves, LossCause.FROZEN), by)
            self.freezes = [
                f for f in self.freezes if f.by != by or f.leaf not in leaves
            ] + [Freeze(by, leaf, effort_cap, is_total) for leaf in leaves]
            self.events.append(
                trace.Frozen(
                    tick=tick,
                    leaves=tuple(leaves),
                    by=by,
                    effort_cap=effort_cap,
                    is_total=is_total,
                )
            )

    def _everybody_on(self, leaves: list[str], cause: LossCause) -> Plan:
        plan: Plan = {}
        for leaf in leaves:
            seats = self.on(leaf)
            if self.kinds[leaf] is ResourceKind.EXCLUSIVE:
                seats = seats[::-1]
            if self.kinds[leaf] is ResourceKind.CUMULATIVE:
                seats = [s for top in self.direct(leaf, None) for s in self.whole(top)]
            for seat in seats:
                plan.setdefault(seat.held, Loser(cause)).leaves.add(leaf)
        return plan

    def thaw(self, by: str, tick: int, names: Iterable[str] | None = None) -> None:
        with self._call(tick):
            named = None
            if names is not None:
                named = [leaf for name in names for leaf in self._below(name)]
            going = [
                freeze
                for freeze in self.freezes
                if freeze.by == by and (named is None or freeze.leaf in named)
            ]
            self.freezes = [freeze for freeze in self.freezes if freeze not in going]
            leaves = tuple(sorted(freeze.leaf for freeze in going))
            if leaves:
                self.events.append(trace.Thawed(tick=tick, leaves=leaves, by=by))

    # States

    def _state(self, group: str, state: str | None) -> None:
        self._kind(group)
        if not self.states_of(group):
            raise BadInput("no group of states")
        if state is not None and state not in self.states_of(group):
            raise BadInput("no state of this group")

    def set_state(self, group: str, active: str | None, tick: int) -> None:
        with self._call(tick):
            self._state(group, active)
            old = self.active.get(group)
            if old != active:
                if old is not None:
                    losers = self._everybody_on([old], LossCause.STATE_LEFT)
                    self.lose(losers, by=active or group)
                self._enter(group, active)

    def _enter(self, group: str, active: str | None) -> None:
        self.active[group] = active
        self.events.append(
            trace.StateChanged(tick=self.now, group=group, active=active)
        )

    def ask_state(
        self, group: str, wanted: str | None, tick: int, by: str = ""
    ) -> bool:
        with self._call(tick):
            self._state(group, wanted)
            old = self.active.get(group)
            if old == wanted:
                return True
            promised: Plan = {}
            for held in [seat.held for seat in self.on(old)] if old else []:
                if held.ended is None:
                    answer = self._ask(held, {old or ""}, by, 0, None)
                    gives_way = answer.kind is not AnswerKind.KEEP
                    if gives_way and self.ticks(answer.after_s) == 0:
                        promised[held] = self.loser(answer)
                        promised[held].leaves.add(old or "")
            is_free = all(seat.held in promised for seat in self.on(old or ""))
            if is_free:
                self.lose(promised, by)
                self.queue_paused()
                self._enter(group, wanted)
            else:
                holders = {seat.held.owner for seat in self.on(old or "")}
                self.events.append(
                    trace.StateRefused(
                        tick=tick,
                        group=group,
                        wanted=wanted,
                        holders=tuple(sorted(holders)),
                    )
                )
        return is_free

    def active_state(self, group: str) -> str | None:
        self._state(group, None)
        return self.active.get(group)

    # Resources

    def add_resource(
        self, name: str, parent: str, tick: int, kind: ResourceKind
    ) -> None:
        with self._call(tick):
            if name in self.kinds or self._kind(parent) is not None:
                raise BadInput("no place for it")
            self.kinds[name] = kind
            self.parents[name] = parent
            self.events.append(
                trace.ResourceAdded(tick=tick, name=name, parent=parent, kind=kind)
            )

    def remove_resource(self, name: str, tick: int) -> None:
        with self._call(tick):
            self._kind(name)
            if (
                self.on(name)
                or name in self.parents.values()
                or any(freeze.leaf == name for freeze in self.freezes)
                or any(self._wants(wait, name) for wait in self.waits)
                or name in self.active.values()
            ):
                raise BadInput("in use")
            del self.kinds[name], self.parents[name]
            self.regrets = [r for r in self.regrets if name not in r.shares]
            self.events.append(trace.ResourceRemoved(tick=tick, name=name))

    @staticmethod
    def _wants(wait: Wait, leaf: str) -> bool:
        return leaf in wait.shares or any(leaf in u for u in wait.optional.values())

    # The gate

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        self._kind(leaf)
        if token is None:
            return Refusal.NO_TOKEN
        held = self.token_of(token)
        if isinstance(held, Refusal):
            return held
        if self.is_frozen(leaf):
            return Refusal.FROZEN
        is_covered = any(seat.leaf == leaf for seat in self.of(held))
        if not is_covered or held.mode is Mode.RESERVE:
            return Refusal.NOT_COVERED
        return None

    def effort_cap(self, leaf: str) -> float:
        return self.cap(leaf)


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
