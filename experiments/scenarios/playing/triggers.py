"""Triggers of a scenario's events.

After each slot `FactFinder` reads the facts that any condition needs. `Triggers`
returns the events to execute at the start of the next slot, at their times or after
conditions.
"""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import suppress

from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.experiments.scenarios.vocabulary.conditions import (
    Condition,
    ConditionWatch,
)
from nao_testbed.experiments.scenarios.vocabulary.events import ScenarioEvent
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts, RequiredFacts
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models import UnknownName


class FactFinder:
    """Reader of the ledger and the robot; call `find` once after each slot."""

    def __init__(self, plan: Scenario, setup: Setup) -> None:
        """Collect the quantities that conditions need."""
        wanted = RequiredFacts()
        for condition in conditions_of(plan):
            condition.add_required_facts(wanted)
        self._setup = setup
        self._leaves = frozenset(wanted.leaves)
        self._outputs = [(name, *name.rpartition(".")[::2]) for name in wanted.outputs]
        self._obstacles = tuple(wanted.obstacles)
        self._motors_of = {joint: setup.motors_of[joint] for joint in wanted.joints}

    def find(self, facts: Facts) -> None:
        """Store the state after a slot in its facts."""
        setup = self._setup
        if self._leaves and (facts.has_moved or not facts.holders):
            facts.holders = self._holders()
        if self._outputs:
            facts.outputs = self._values()
        sim = setup.body.sim
        facts.has_fallen = sim.has_fallen()
        facts.is_shut_down = sim.protection.is_shut_down
        if self._motors_of:
            degc = sim.read().temperature
            facts.degc = {
                joint: float(degc[motors].max())
                for joint, motors in self._motors_of.items()
            }

        if self._obstacles:
            pressed = dict.fromkeys(self._obstacles, 0.0)
            for (obstacle, _), force_n in sim.engine.obstacle_forces().items():
                if obstacle in pressed:
                    pressed[obstacle] += force_n
            facts.force_n = pressed

    def _values(self) -> dict[str, object]:
        schemas, values = self._setup.schemas, {}
        for name, path, variable in self._outputs:
            with suppress(UnknownName):  # not activated by its parent yet
                if schemas.view(path).state is not State.SLEPT:
                    values[name] = schemas.value(path, variable)
        return values

    def _holders(self) -> dict[str, tuple[str, ...]]:
        rows = take_snapshot(self._setup.ledger).resources
        return {row.name: row.users for row in rows if row.name in self._leaves}


def conditions_of(plan: Scenario) -> Iterator[Condition]:
    """Yield every condition of a scenario's events and expectations."""
    for event in plan.events:
        if event.when is not None:
            yield event.when
    for expected in plan.expectations:
        yield from expected.conditions()


class Triggers:
    """Events to execute at the start of each slot.

    Call `due` before the slot and `observe` after it. Events of one slot keep the order
    of the file; each occurs once.
    """

    def __init__(self, events: Iterable[ScenarioEvent]) -> None:
        """Register all events as pending."""
        self._timed: list[tuple[int, int]] = []
        """Heap of tick and index in the file."""
        self._events = tuple(events)
        self._watches: list[tuple[int, int, ConditionWatch]] = []
        """Index in the file, delay in ticks, condition."""
        for place, event in enumerate(self._events):
            if event.when is not None:
                watch = ConditionWatch(event.when)
                self._watches.append((place, event.after_ticks, watch))
            else:
                heapq.heappush(self._timed, (event.earliest, place))

    def due(self, tick: int) -> list[ScenarioEvent]:
        """Return the events to execute at the start of a slot."""
        timed = self._timed
        if not timed or timed[0][0] > tick:
            return []
        places = []
        while timed and timed[0][0] <= tick:
            places.append(heapq.heappop(timed)[1])
        return [self._events[place] for place in sorted(places)]

    def observe(self, facts: Facts) -> None:
        """Evaluate the conditions in a finished slot."""
        came_true = [item for item in self._watches if item[2].observe(facts)]
        for item in came_true:
            place, delay, _ = item
            heapq.heappush(self._timed, (facts.tick + 1 + delay, place))
            self._watches.remove(item)

    @property
    def left(self) -> tuple[ScenarioEvent, ...]:
        """Events that have not occurred, in the order of the file."""
        places = [place for _, place in self._timed]
        places += [place for place, _, _ in self._watches]
        return tuple(self._events[place] for place in sorted(places))
