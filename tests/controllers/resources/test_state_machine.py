"""The ledger does what the sequential model says, whatever hypothesis tries.

The same steps as in `test_histories.py`, chosen and shrunk by hypothesis: fewer, but
each choice is its own, so that a failure comes out small.
"""

from collections.abc import Sequence
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

from tests.controllers.resources import steps
from tests.controllers.resources.histories import choose_world
from tests.controllers.resources.twins import Twins

T = TypeVar("T")

EXAMPLES, STEPS = 300, 20
"""Histories, and most steps in each."""


class Drawn:
    """Chooses by hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def choose(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))


class LedgerMachine(RuleBasedStateMachine):
    """Leads ledger and model through one history."""

    twins: Twins

    @initialize(data=st.data())
    def open(self, data: st.DataObject) -> None:
        world = choose_world(Drawn(data))
        note(str(world))
        self.twins = Twins(world)

    def _run(self, step: steps.Step) -> None:
        note(str(step))
        self.twins.run(step)

    @rule(data=st.data())
    def request(self, data: st.DataObject) -> None:
        self._run(steps.choose_request(Drawn(data)))

    @rule(data=st.data())
    def request_more(self, data: st.DataObject) -> None:
        self._run(steps.choose_request(Drawn(data)))

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self._run(steps.choose_release(Drawn(data)))

    @rule(data=st.data())
    def withdraw_or_ask_again(self, data: st.DataObject) -> None:
        self._run(steps.choose_word(Drawn(data)))

    @rule(data=st.data())
    def show_life(self, data: st.DataObject) -> None:
        self._run(steps.choose_sign_of_life(Drawn(data)))

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        self._run(steps.choose_end(Drawn(data)))

    @rule(data=st.data())
    def break_or_repair(self, data: st.DataObject) -> None:
        self._run(steps.choose_fault(Drawn(data)))

    @rule(data=st.data())
    def take_a_posture(self, data: st.DataObject) -> None:
        self._run(steps.choose_posture(Drawn(data)))

    @rule(data=st.data())
    def change_the_list(self, data: st.DataObject) -> None:
        self._run(steps.choose_resource(Drawn(data)))

    @rule(data=st.data())
    def command(self, data: st.DataObject) -> None:
        self._run(steps.choose_command(Drawn(data)))

    @rule(data=st.data())
    def wait(self, data: st.DataObject) -> None:
        self._run(steps.choose_time(Drawn(data)))

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
