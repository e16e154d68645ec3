"""The table of a scenario's verdicts."""

import dataclasses
import io

import pytest
from rich.console import Console

from nao_testbed.experiments.scenarios.playing.result import ScenarioResult
from nao_testbed.experiments.scenarios.playing.tracking import Tracking
from nao_testbed.experiments.scenarios.tables import tracking_table, verdict_table
from nao_testbed.experiments.scenarios.vocabulary.judge import Verdict

GOOD = Verdict(expectation="never: {fallen: true}", holds=True, seen="never", line=9)
BAD = Verdict(expectation="holds: {[x]: a}", holds=False, seen="[b] held", line=12)
RESULT = ScenarioResult(
    name="test",
    file="test.yaml",
    seed=3,
    controller="smart",
    verdicts=(GOOD, BAD),
    failures=(),
    fell=False,
    failure=None,
    sim_s=10.0,
    wall_s=2.0,
    trace_hash="0123456789abcdef",
    whole_trace_hash=None,
    n_events=42,
    max_degc={"HeadYaw": 41.25, "LHand": 30.0},
)


def shown(result: ScenarioResult) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(verdict_table(result))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_each_expectation_has_its_verdict_and_line() -> None:
    text = shown(RESULT)
    (good,) = (line for line in text.splitlines() if "never: {" in line)
    (bad,) = (line for line in text.splitlines() if "[x]" in line)
    assert good.split()[0] == "9"
    assert "holds" in good
    assert bad.split()[0] == "12"
    assert "BROKEN" in bad
    assert "[b] held" in bad  # brackets are not markup
    assert "1 of 2 expectations hold" in text
    assert "5.0 × real time" in text
    assert "HeadYaw, 41.2 °C" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [({"fell": True}, "the robot fell"), ({"failure": "diverged"}, "early: diverged")],
)
def test_end_of_the_run_is_reported(change: dict[str, object], words: str) -> None:
    assert words not in shown(RESULT)
    assert words in shown(dataclasses.replace(RESULT, **change))  # type: ignore[arg-type]


def test_run_without_expectations_is_reported() -> None:
    text = shown(dataclasses.replace(RESULT, verdicts=()))
    assert "no expectations; 10 s simulated" in text
    assert "verdict" not in text


def test_invariants_are_separate_from_expectations() -> None:
    proof = Verdict(expectation="invariants", holds=True, seen="hold", line=0)
    result = dataclasses.replace(RESULT, verdicts=(GOOD, proof))
    assert result.verdict_summary == "1 of 1 expectations hold, and the invariants"
    broken = dataclasses.replace(proof, holds=False)
    result = dataclasses.replace(RESULT, verdicts=(GOOD, broken))
    assert result.verdict_summary.endswith("an invariant is broken")
    assert not result.all_hold
    alone = dataclasses.replace(RESULT, verdicts=(proof,))
    assert alone.verdict_summary == "the invariants hold"


def test_all_hold_requires_no_failure() -> None:
    good = dataclasses.replace(RESULT, verdicts=(GOOD,))
    assert good.all_hold
    assert good.as_json()["all_hold"] is True
    assert not RESULT.all_hold
    assert not dataclasses.replace(good, failure="diverged").all_hold


def test_runs_are_compared_by_tracking_error() -> None:
    tracking = Tracking(legs_error_deg=0.6712, current_a2s=7.68, mean_stiffness=0.3266)
    console = Console(file=io.StringIO(), width=120)
    followed = dataclasses.replace(RESULT, tracking=tracking)
    console.print(tracking_table([followed, RESULT]))
    text = str(console.file.getvalue())  # type: ignore[attr-defined]
    first, second = (line for line in text.splitlines() if line.startswith("test "))
    assert first.split()[2:] == ["0.671", "–", "7.68", "0.327"]  # no other joints
    assert second.split()[2:] == ["–", "–", "0", "–"]  # without data
