"""Every scenario that ships holds, with all invariants, and is the same twice."""

import pytest

from experiments.scenarios.load import load_scenario
from experiments.scenarios.run import ScenarioRun, run_scenario
from experiments.scenarios.shipped import find_scenario, scenario_names

LONG = {"ten_minutes"}
"""Only a minute of these is run here; `nao-testbed bench` runs all of it."""
MINUTE_TICKS = 6000


def run(name: str) -> ScenarioRun:
    scenario = load_scenario(find_scenario(name))
    assert scenario.duration_ticks <= 2 * MINUTE_TICKS, "too long for a test"
    return run_scenario(scenario)


@pytest.mark.scenario
@pytest.mark.requirement("I-23", "I-24", "I-25")
@pytest.mark.parametrize("name", sorted(set(scenario_names()) - LONG))
def test_it_holds(name: str) -> None:
    result = run(name).result
    broken = [
        f"{v.line}: {v.expectation}: {v.seen}" for v in result.verdicts if not v.holds
    ]
    assert not broken
    assert result.failure is None
    assert result.verdicts[-1].expectation.startswith("invariants I-1 to I-25")


@pytest.mark.scenario
@pytest.mark.requirement("I-25")
def test_its_whole_trace_is_the_same_twice() -> None:
    first, again = run("emergency"), run("emergency")
    assert first.result.n_events == again.result.n_events > 1000
    assert first.result.trace_hash == again.result.trace_hash
    assert (first.degc == again.degc).all()
