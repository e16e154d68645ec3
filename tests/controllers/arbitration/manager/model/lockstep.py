"""The twins: ledger and model led through the same history, step by step."""

from functools import singledispatchmethod

from controllers.arbitration.requests import Owner, Request
from controllers.arbitration.tokens import Token
from tests.controllers.arbitration.manager.model import steps
from tests.controllers.arbitration.manager.model.comparison import Arbiter, Pair, World
from tests.controllers.arbitration.manager.model.small_setup import make_policy


class Twins(Pair):
    """Takes the steps of a history with both."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._now = 0
        for (name, parent), policy in zip(
            world.owners.items(), world.policies, strict=True
        ):
            live_s = None if parent else world.time_to_live_s
            self._take(
                steps.AddOwner(
                    owner=name, policy=policy, priority=0, time_to_live_s=live_s
                )
            )

    def run(self, step: steps.Step) -> None:
        """Take a step, and compare everything."""
        self.take(step)
        self.compare()

    def take(self, step: steps.Step) -> None:
        """Take a step, and compare only what was said."""
        self._now = self.model.now
        self._take(step)

    def _at(self, step: steps.Step) -> int:
        return self._now + step.later

    @singledispatchmethod
    def _take(self, step: steps.Step) -> None:
        raise NotImplementedError(step)

    @_take.register
    def _(self, step: steps.Ask) -> None:
        token = None
        if step.add_to is not None:
            mine = [h for h in self.alive() if h.owner == step.owner]
            mine = mine or self.alive()
            token = mine[step.add_to % len(mine)].token if mine else None
        self.both(lambda a: a.request(_request(a, step, token), self._at(step)))

    @_take.register
    def _(self, step: steps.Release) -> None:
        token = self.token(step.kind, step.which)
        if token is not None:
            self.both(lambda a: a.release(token, self._at(step), step.names))

    @_take.register
    def _(self, step: steps.Word) -> None:
        waiting = sorted(wait.number for wait in self.model.waits) or [0]
        number = waiting[step.which % len(waiting)]
        self.both(lambda a: getattr(a, step.call)(number, self._at(step)))

    @_take.register
    def _(self, step: steps.AddOwner) -> None:
        self.both(
            lambda a: a.add_owner(
                Owner(
                    name=step.owner,
                    parent=self.world.owners.get(step.owner),
                    policy=make_policy(step.policy, a),
                    priority=step.priority,
                    time_to_live_s=step.time_to_live_s,
                ),
                self._at(step),
            )
        )

    @_take.register
    def _(self, step: steps.Call) -> None:
        said = {**step.said, "tick": self._at(step)}
        self.both(lambda a: getattr(a, step.call)(**said))

    @_take.register
    def _(self, step: steps.Act) -> None:
        token = self.token(step.kind, step.which)
        self.both(lambda a: a.authorise(token, step.leaf))

    @_take.register
    def _(self, step: steps.Advance) -> None:
        self.both(lambda a: a.advance(self._at(step) + step.ticks))


def _request(arbiter: Arbiter, step: steps.Ask, token: Token | None) -> Request:
    return Request(
        owner=step.owner,
        resources=step.resources,
        optional=step.optional,
        rates={"CPU": step.rate} if step.rate else {},
        priority=step.priority,
        timeout_s=step.timeout_s,
        loss=step.loss,
        policy=make_policy(step.policy, arbiter) if step.policy else None,
        asker_tie=step.asker_tie,
        holder_tie=step.holder_tie,
        add_to=token,
    )
