"""What is so in a slot of a scenario, and what begins in which one."""

from pathlib import Path

import pytest

from controllers.schemas.library.state_minded import StateMinded
from experiments.scenarios.playing.result import ScenarioResult
from experiments.scenarios.playing.run import run_scenario
from experiments.scenarios.reading.load import load_scenario


def play(folder: Path, text: str) -> ScenarioResult:
    """Run a scenario whose head is three lines less."""
    path = folder / "scenario.yaml"
    path.write_text("name: slots\nabout: Slots.\n" + text, encoding="utf-8")
    return run_scenario(load_scenario(path)).result


SITTING_DANCER = """\
duration_s: 0.8
posture: Sit
behaviours: [{name: dancer, schema: dance}]
expect:
  - {at_s: 0.0, state: Sit}
  - {never: {started: dancer}}
  - {never: {fallen: true}}
"""


@pytest.mark.scenario
@pytest.mark.requirement("JD-8", "I-26")
def test_who_sits_does_not_dance(tmp_path: Path) -> None:
    """The state is what the scenario says, from slot 0."""
    result = play(tmp_path, SITTING_DANCER)
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("I-26")
def test_a_dance_in_another_state_breaks_a_law(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runtime that does not look is found out."""
    monkeypatch.setattr(StateMinded, "is_in_state_of", lambda self, posture: True)
    result = play(tmp_path, SITTING_DANCER)
    assert "begins in Stand, the robot is in Sit" in result.verdicts[-1].seen
    assert result.verdicts[-1].seen.startswith("I-26 at tick")
