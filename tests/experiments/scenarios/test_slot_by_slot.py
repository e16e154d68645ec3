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


SHARED_HEAD = """\
duration_s: 2.1
behaviours:
  - {name: looking, schema: look around, with: {for_s: 1.01}, policy: lock}
  - {name: nodding, schema: move, with: {motion: nod}, start_s: 0.5, timeout_s: 5}
expect:
  - {happens: {granted: nodding}, at_s: 1.01}
  - {happens: {started: nodding}, after: {stopped: looking}, within_slots: 0}
"""


@pytest.mark.scenario
@pytest.mark.requirement("RM-17")
@pytest.mark.parametrize("nodder_is_first", [False, True])
def test_a_grant_starts_in_its_slot(tmp_path: Path, nodder_is_first: bool) -> None:
    """Whichever is looked at first, and whatever their periods."""
    lines = SHARED_HEAD.splitlines()
    if nodder_is_first:
        lines[2:4] = lines[3:1:-1]
    result = play(tmp_path, "\n".join(lines))
    assert result.all_hold, result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("RM-35")
def test_what_a_promise_gives_starts_in_its_slot(tmp_path: Path) -> None:
    """The ledger calls it in by itself: nobody acts in that slot before."""
    result = play(
        tmp_path,
        """\
duration_s: 1
behaviours:
  - name: looking
    schema: look around
    policy: {name: stop, within_s: 0.33}
  - {name: nodding, schema: move, with: {motion: nod}, start_s: 0.3}
expect:
  - {happens: {granted: nodding}, at_s: 0.63}
  - {happens: {started: nodding}, at_s: 0.63}
""",
    )
    assert result.all_hold, result.verdicts
