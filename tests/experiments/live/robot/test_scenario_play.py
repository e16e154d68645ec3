"""A live scenario: the same slots, verdicts, and an operator who may intervene."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.operation import (
    Foresee,
    GiveBack,
    Take,
    TurnHead,
)
from nao_testbed.experiments.live.robot.scenario_play import load_plan
from nao_testbed.experiments.live.scenario_cfg import ScenarioCfg
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.models import BadInput
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.live.robot.test_live_robot import owner_of, run

LOOKING = """
name: looking
about: One looks around.
duration_s: 0.4
posture: Stand
behaviours:
  - {name: Looker, schema: look around, with: {for_s: 60.0}, policy: lock}
events:
  - {at_s: 0.2, say: half}
expect:
  - {at_s: 0.3, holds: {HeadYaw: Looker}}
  - {happens: {granted: Looker}, at_s: 0.3}
"""
Play = Callable[..., LiveRobot]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "looking.yaml"
    path.write_text(LOOKING, "utf-8")
    for name in ("alone", "live"):
        (tmp_path / name).mkdir()
    return path


@pytest.fixture
def play(file: Path) -> Iterator[Play]:
    made: list[LiveRobot] = []

    def make(folder: Path | None = None, **asked: object) -> LiveRobot:
        cfg = ScenarioCfg(scenario=str(file), folder=folder, **asked)  # type: ignore[arg-type]
        made.append(LiveRobot(play_of(cfg)))
        return made[-1]

    yield make
    for live in made:
        live.close("done")


def test_live_scenario_equals_the_run_slot_for_slot(
    play: Play, file: Path, tmp_path: Path
) -> None:
    """With a viewer, the trace hash equals that of `scenario run`."""
    alone = run_scenario(load_scenario(file), tmp_path / "alone", proves=False)
    live = play(tmp_path / "live")
    for _ in range(40):
        live.slot()
        live.moment()
    told = live.moment().said
    assert any("ended: 1 of 2 expectations hold; failed:" in text for text in told)
    assert any("say" in text for text in told)
    run(live, 20)
    live.close("done")
    kept = json.loads((tmp_path / "live" / "scenario.json").read_text("utf-8"))
    assert kept["trace_hash"] == alone.result.trace_hash
    assert [one["holds"] for one in kept["verdicts"]] == [
        one.holds for one in alone.result.verdicts
    ]
    frames = [read_run(tmp_path / name).frame for name in ("alone", "live")]
    n = len(frames[0])
    assert len(frames[1]) == n + 10, "it must continue for 20 slots"
    assert frames[0].equals(frames[1].iloc[:n])


@pytest.mark.requirement("JD-23")
def test_operator_is_refused_by_name_or_preempts(play: Play) -> None:
    for preemption in (None, Preemption.BY_PRIORITY):
        live = play(preemption=preemption)
        run(live, 10)
        assert owner_of(live, "Head") == "Looker"
        live.act(TurnHead(yaw_deg=30.0, pitch_deg=0.0))
        assert "NO_TOKEN; held by Looker" in live.moment().said[-1]
        live.act(Take(resource="Head", priority=9))
        said = live.moment().said[-1]
        if preemption is None:
            assert "blocked by: HeadPitch: Looker; HeadYaw: Looker" in said
            assert owner_of(live, "Head") == "Looker"
        else:
            assert said.endswith("Head taken from Looker")
            live.act(TurnHead(yaw_deg=30.0, pitch_deg=0.0))
            run(live, 4)
            assert owner_of(live, "Head") == "operator"


def test_operator_keeps_its_resources_after_the_scenario(play: Play) -> None:
    live = play(preemption=Preemption.BY_PRIORITY)
    run(live, 10)
    live.act(Take(resource="Head", priority=9))
    live.act(TurnHead(yaw_deg=20.0, pitch_deg=0.0))
    run(live, 60)
    assert owner_of(live, "Head") == "operator"
    assert np.rad2deg(live.moment().q[0]) == pytest.approx(20.0, abs=2.0)
    live.act(GiveBack(resource="Head"))
    run(live, 10)
    assert "operator" not in owner_of(live, "Head")
    assert not live.moment().has_fallen


def test_forecast_is_refused_before_the_end(play: Play) -> None:
    live = play(preemption=None)
    live.act(Foresee())
    assert "no forecast before the end of the scenario" in live.moment().said[-1]


def test_aborted_scenario_is_judged_until_its_end(play: Play, tmp_path: Path) -> None:
    live = play(tmp_path / "live", controller="smart", seed=5)
    run(live, 10)
    live.close("done")
    kept = json.loads((tmp_path / "live" / "scenario.json").read_text("utf-8"))
    assert (kept["controller"], kept["seed"]) == ("smart", 5)
    assert kept["failure"] == "stopped at 0.1 s of 0.4 s"
    assert not kept["all_hold"]


def test_behaviour_cannot_be_named_operator(file: Path) -> None:
    file.write_text(LOOKING.replace("Looker", "operator"), encoding="utf-8")
    with pytest.raises(BadInput, match="a behaviour 'operator'"):
        load_plan(ScenarioCfg(scenario=str(file)))
