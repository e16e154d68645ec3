"""Drawn histories: the runtime does what the naive model does, slot by slot."""

from collections.abc import Sequence
from typing import Any

import pytest

from controllers.arbitration.invariants import Checker, trace_hash
from controllers.schemas import ActuationSchema, SchemaInfo, State, highest_order
from controllers.schemas.declaration import ARBITRATIONS
from controllers.schemas.invariants import WinnerDiscipline
from models import Robot
from tests.controllers.schemas.runtime.naive import PERIODS, Failure, Model, Script
from tests.controllers.schemas.schema_world import SchemaWorld

ROOTS = ("one", "two")
SLOTS = 60


def schemas(script: Script, counts: dict[str, int]) -> list[type]:
    """Return a class for each period, all of which follow the script."""

    class Played(ActuationSchema[Any]):
        def ready(self) -> bool:
            self._fail("ready")
            return script.is_ready(self.path, self.tick)

        def start(self) -> None:
            self._do("start")

        def iterate(self) -> None:
            counts[self.path] = counts.get(self.path, 0) + 1
            self._do("iterate")

        def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
            return ARBITRATIONS[script.rule](ready, present)

        def _do(self, method: str) -> None:
            for what, name, order in script.acts(method, self.path, self.tick):
                if what == "finish":
                    self.finish()
                elif what == "wake":
                    schema = script.schema_of(f"{self.path}/{name}")
                    self.wake(schema, called=name, order=order)
                elif name in self.awake:
                    self.sleep(name)
            self._fail(method)

        def _fail(self, method: str) -> None:
            if script.fails_in(method, self.path, self.tick):
                raise Failure(method)

    return [
        type(
            name,
            (Played,),
            {"info": SchemaInfo(name=name, about="Played.", period_s=0.01 * period)},
        )
        for name, period in PERIODS.items()
    ]


def play(
    robot: Robot, script: Script, judged: Script | None = None
) -> tuple[SchemaWorld, Checker]:
    """Play a history in both, comparing them after each slot.

    Args:
        robot: of the runtime.
        script: what the runtime follows.
        judged: what the model follows; None: the same.
    """
    counts: dict[str, int] = {}
    stage = SchemaWorld.of(robot, *schemas(script, counts))
    checker = Checker((WinnerDiscipline,))
    stage.ledger.listeners.append(checker.see)
    model = Model(judged or script, ROOTS)
    for name in ROOTS:
        stage.begin(script.schema_of(name), name=name)
        model.wake(model.roots[name])
    for tick in range(SLOTS):
        for root in ROOTS:
            if tick % 10 == 9 and not model.roots[root].is_awake:
                stage.runtime.wake(root, tick)
                model.tick = tick
                model.wake(model.roots[root])
        stage.slot()
        model.slot(tick)
        found = {path: stage.state(path) for path in stage.runtime.paths}
        wanted = {node.path: node.state for node in model.all()}
        assert found == wanted, f"{script}, tick {tick}"
    iterations = {node.path: node.iterations for node in model.all() if node.iterations}
    assert counts == iterations, script
    return stage, checker


@pytest.mark.slow
@pytest.mark.parametrize("rule", ARBITRATIONS)
@pytest.mark.requirement("JD-6", "JD-7", "JD-8", "JD-10", "JD-11")
def test_the_runtime_does_what_the_naive_model_does(nao: Robot, rule: str) -> None:
    awake = 0
    for seed in range(40):
        stage, checker = play(nao, Script(seed, rule))
        assert not checker.finish()
        awake += sum(stage.state(p) is not State.SLEPT for p in stage.runtime.paths)
    assert awake > 40, "hardly anybody was awake at the end: the histories are dull"


@pytest.mark.requirement("I-25")
def test_the_same_seed_gives_the_same_trace(nao: Robot) -> None:
    traces = [
        trace_hash(play(nao, Script(seed, "highest_order"))[0].events)
        for seed in (3, 3, 4)
    ]
    assert traces[0] == traces[1] != traces[2]


def test_the_model_is_no_copy_of_a_rule(nao: Robot) -> None:
    """Judged by the other rule, the same histories differ somewhere."""
    wrong = 0
    for seed in range(20):
        try:
            play(nao, Script(seed, "highest_order"), Script(seed, "keep_winner"))
        except AssertionError:
            wrong += 1
    assert wrong
    assert highest_order(("a", "b"), "b") == "a"
