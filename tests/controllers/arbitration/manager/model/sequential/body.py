"""The sequential model's calls about the body: faults, states, list of resources."""

from collections.abc import Iterable

from controllers.arbitration import events
from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import LossCause
from models import BadInput
from models.resources import ResourceKind
from tests.controllers.arbitration.manager.model.sequential.clock import Clock
from tests.controllers.arbitration.manager.model.sequential.records import (
    Freeze,
    Loser,
    Plan,
    Wait,
)


class BodyCalls(Clock):
    """What happens to the robot rather than to a request."""

    def kind(self, name: str) -> ResourceKind | None:
        if name not in self.kinds:
            raise BadInput("unknown resource")
        return self.kinds[name]

    def leaves_of(self, name: str) -> list[str]:
        self.kind(name)
        return list(self.below(name))

    # Virtual owners

    def freeze(
        self,
        names: Iterable[str],
        by: str,
        tick: int,
        effort_cap: float | None = None,
        is_total: bool = True,
    ) -> None:
        with self.call(tick):
            leaves = sorted({leaf for name in names for leaf in self.leaves_of(name)})
            if not is_total and effort_cap is None:
                raise BadInput("a freeze of nothing")
            if by in self.owners:
                raise BadInput("a real owner's name")
            self.virtual.add(by)
            if is_total:
                losers = self._everybody_on(leaves, LossCause.FROZEN)
                self.lose(self.innermost_first(losers), by)
            self.freezes = [
                f for f in self.freezes if f.by != by or f.leaf not in leaves
            ] + [Freeze(by, leaf, effort_cap, is_total) for leaf in leaves]
            self.events.append(
                events.Frozen(
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
        with self.call(tick):
            named = None
            if names is not None:
                named = [leaf for name in names for leaf in self.leaves_of(name)]
            going = [
                freeze
                for freeze in self.freezes
                if freeze.by == by and (named is None or freeze.leaf in named)
            ]
            self.freezes = [freeze for freeze in self.freezes if freeze not in going]
            leaves = tuple(sorted(freeze.leaf for freeze in going))
            if leaves:
                self.events.append(events.Thawed(tick=tick, leaves=leaves, by=by))

    # States

    def _state(self, group: str, state: str | None) -> None:
        self.kind(group)
        if not self.states_of(group):
            raise BadInput("no group of states")
        if state is not None and state not in self.states_of(group):
            raise BadInput("no state of this group")

    def set_state(self, group: str, active: str | None, tick: int) -> None:
        with self.call(tick):
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
            events.StateChanged(tick=self.now, group=group, active=active)
        )

    def ask_state(
        self, group: str, wanted: str | None, tick: int, by: str = ""
    ) -> bool:
        with self.call(tick):
            self._state(group, wanted)
            old = self.active.get(group)
            if old == wanted:
                return True
            promised: Plan = {}
            for held in [seat.held for seat in self.on(old)] if old else []:
                if held.ended is None:
                    answer = self.ask(held, {old or ""}, by, 0, None)
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
                    events.StateRefused(
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
        with self.call(tick):
            if name in self.kinds or self.kind(parent) is not None:
                raise BadInput("no place for it")
            self.kinds[name] = kind
            self.parents[name] = parent
            self.events.append(
                events.ResourceAdded(tick=tick, name=name, parent=parent, kind=kind)
            )

    def remove_resource(self, name: str, tick: int) -> None:
        with self.call(tick):
            self.kind(name)
            if (
                name in self.devices
                or self.on(name)
                or name in self.parents.values()
                or any(freeze.leaf == name for freeze in self.freezes)
                or any(self._wants(wait, name) for wait in self.waits)
                or name in self.active.values()
            ):
                raise BadInput("in use")
            del self.kinds[name], self.parents[name]
            self.regrets = [r for r in self.regrets if name not in r.shares]
            self.events.append(events.ResourceRemoved(tick=tick, name=name))

    @staticmethod
    def _wants(wait: Wait, leaf: str) -> bool:
        return leaf in wait.shares or any(leaf in u for u in wait.optional.values())
