"""Finds out what is so in a slot, as far as any condition of a scenario asks."""

from collections.abc import Iterator
from contextlib import suppress

from controllers.resources.snapshot import take_snapshot
from controllers.schemas.states import State
from experiments.scenarios.plan import conditions as c
from experiments.scenarios.plan.events import WhenTrue
from experiments.scenarios.plan.expectations import After, Happens, InOrder
from experiments.scenarios.plan.scenario import Scenario
from experiments.scenarios.playing.facts import Facts
from experiments.scenarios.playing.stage import Stage
from models import UnknownName


class FactFinder:
    """Looks at the ledger and the robot; `find` once after each slot."""

    def __init__(self, plan: Scenario, stage: Stage) -> None:
        """Find out what is asked about."""
        asked = tuple(conditions_of(plan))
        self._stage = stage
        self._leaves = frozenset(
            leaf for one in asked if isinstance(one, c.Holds) for leaf in one.holders
        )
        self._outputs = frozenset(
            (one.path, one.variable)
            for one in asked
            if isinstance(one, c.OutputIs | c.OutputBeyond)
        )
        self._motor_of = {
            joint: stage.motor_of[joint]
            for one in asked
            if isinstance(one, c.Hot)
            for joint in one.limits_degc
        }

    def find(self, facts: Facts) -> None:
        """Put what is so into the facts of a slot."""
        stage = self._stage
        if self._leaves and (facts.has_moved or not facts.holders):
            facts.holders = self._holders()
        if self._outputs:
            facts.outputs = self._values()
        sim = stage.body.sim
        facts.has_fallen = sim.has_fallen()
        facts.is_shut_down = sim.protection.state().is_shut_down
        if self._motor_of:
            degc = sim.read().temperature
            facts.degc = {
                joint: float(degc[motor]) for joint, motor in self._motor_of.items()
            }

    def _values(self) -> dict[tuple[str, str], object]:
        schemas, values = self._stage.schemas, {}
        for path, variable in self._outputs:
            with suppress(UnknownName):  # its parent has not woken it yet
                if schemas.view(path).state is not State.SLEPT:
                    values[path, variable] = schemas.value(path, variable)
        return values

    def _holders(self) -> dict[str, tuple[str, ...]]:
        rows = take_snapshot(self._stage.ledger).resources
        return {row.name: row.users for row in rows if row.name in self._leaves}


def conditions_of(plan: Scenario) -> Iterator[c.Condition]:
    """Yield every condition that the events and expectations of a scenario name."""
    for event in plan.events:
        if isinstance(event.trigger, WhenTrue):
            yield event.trigger.condition
    for expectation in plan.expectations:
        if isinstance(expectation, Happens):
            yield expectation.condition
            if isinstance(expectation.where, After):
                yield expectation.where.condition
        elif isinstance(expectation, InOrder):
            yield from expectation.conditions
