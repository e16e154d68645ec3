"""The ledger does what the sequential model says, whatever hypothesis tries.

The same steps as in `test_random_histories.py`, chosen and shrunk by hypothesis:
fewer, but each choice is its own, so that a failure comes out small.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from tests.controllers.arbitration.manager.model import steps
from tests.controllers.arbitration.manager.model.lockstep import Twins
from tests.controllers.arbitration.manager.model.random_histories import (
    KINDS,
    choose_world,
)

T = TypeVar("T")

EXAMPLES, STEPS = 200, 20
"""Histories, and most steps in each."""


class Drawn:
    """Chooses by hypothesis."""

    def __init__(self, data: st.DataObject, focus: steps.Focus) -> None:
        self._data = data
        self.focus = focus

    def choose(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))


class LedgerMachine(RuleBasedStateMachine):
    """Leads ledger and model through one history."""

    twins: Twins
    focus: steps.Focus

    @initialize(data=st.data())
    def open(self, data: st.DataObject) -> None:
        self.focus = data.draw(st.sampled_from(steps.FOCUSES))
        world = choose_world(self.drawn(data))
        note(f"{world} {self.focus}")
        self.twins = Twins(world)

    def drawn(self, data: st.DataObject) -> Drawn:
        return Drawn(data, self.focus)

    @rule(data=st.data(), choose=st.sampled_from((*KINDS, steps.choose_rules)))
    def take(
        self, data: st.DataObject, choose: Callable[[steps.Chooser], steps.Step]
    ) -> None:
        step = choose(self.drawn(data))
        note(str(step))
        self.twins.run(step)

    def teardown(self) -> None:
        if hasattr(self, "twins"):
            self.twins.finish()


@pytest.mark.slow
@pytest.mark.requirement("RM-21", "RM-23", "AR-5", "AR-10", "AR-11")
def test_ledger_and_model_agree_whatever_happens() -> None:
    run_state_machine_as_test(
        LedgerMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
