"""Shipped scenarios hold with all invariants, and are reproducible."""

import functools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nao_testbed.experiments.scenarios.playing.result import ScenarioResult
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, load_scenario

ROOT = Path(__file__).resolve().parents[3]

PART_TICKS = 2000
TWICE = """
from pathlib import Path
import sys
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS
for name in sys.argv[1:]:
    result = run_scenario(load_scenario(SCENARIOS.find(name))).result
    print(name, result.whole_trace_hash, result.n_events)
"""


@functools.cache
def played(name: str) -> ScenarioResult:
    """Return the result of a scenario, or of the first 20 s of a long one."""
    scenario = load_scenario(SCENARIOS.find(name))
    if scenario.duration_ticks > 10 * PART_TICKS:
        scenario = replace(scenario, duration_ticks=PART_TICKS, expectations=())
    return run_scenario(scenario).result


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("I-22", "I-23", "I-24", "I-25")
@pytest.mark.parametrize("name", SCENARIOS.names())
def test_shipped_scenario_holds(name: str) -> None:
    """Long scenarios run for 20 s, without later events and expectations."""
    result = played(name)
    wrong = [
        f"{v.line}: {v.expectation}: {v.seen}" for v in result.verdicts if not v.holds
    ]
    assert not wrong
    assert result.failure is None
    assert result.verdicts[-1].expectation.startswith("invariants of the trace")


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-27")
@pytest.mark.parametrize("controller", ["fixed", "minheat", "smart:blocked"])
def test_arm_at_a_table_yields_under_every_controller(controller: str) -> None:
    """`smart` is the default of the file; a blocked joint can be moved again."""
    scenario = load_scenario(SCENARIOS.find("table_edge"))
    result = run_scenario(replace(scenario, controller=controller)).result
    assert result.complaints == ()


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("I-25")
def test_complete_trace_is_the_same_in_another_process() -> None:
    """The hash seed differs; the trace has commands, sound and a fall."""
    names = ["emergency", "greeting_busy_legs"]
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", TWICE, *names],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    here = {name: played(name) for name in names}
    said = [f"{n} {one.whole_trace_hash} {one.n_events}" for n, one in here.items()]
    assert done.stdout.splitlines() == said
    assert all(one.n_events > 1000 for one in here.values())


@pytest.mark.slow
@pytest.mark.scenario
def test_ten_minute_scenario_holds(tmp_path: Path) -> None:
    """A twentieth of it, without proof; the test above proves its first 20 s.

    TESTBED_SCOPE=all runs all 600 s, which takes two minutes.
    """
    text = SCENARIOS.find("ten_minutes").read_text(encoding="utf-8")
    parts = {"600": "30", "300": "15", "599": "29"}
    for whole, part in parts.items():
        assert text.count(f"_s: {whole}") == 1
        if os.environ.get("TESTBED_SCOPE") != "all":
            text = text.replace(f"_s: {whole}", f"_s: {part}")
    path = tmp_path / "ten_minutes.yaml"
    path.write_text(text, encoding="utf-8")
    scenario = load_scenario(path)
    result = run_scenario(scenario, proves=False).result
    assert not result.complaints
    assert result.is_whole
    assert result.sim_s == pytest.approx(scenario.duration_s)
    assert [verdict.holds for verdict in result.verdicts] == [True] * 5
