"""Errors in third-party code: one sentence names the code and the line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers import registry
from nao_testbed.controllers.interface.controller import FixedStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.heat import side_by_side
from nao_testbed.experiments.report.run_source import read_source
from nao_testbed.experiments.sweep.engines import SerialEngine
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.run_sweep import run_sweep_trial
from nao_testbed.models import Robot
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.command.helpers import Run
from tests.experiments.command.test_on_terminal import SCENARIO
from tests.experiments.sweep.files import SHORT

ROOT = Path(__file__).resolve().parents[3]
TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
WALKER = f"heat --robot {TWO_LEG} --posture Stand --minutes 0.01"


class Raises(FixedStiffness):
    """Raises in one of its methods."""

    def __init__(self, door: str) -> None:
        super().__init__()
        self.name = "theirs"
        self._door = door

    def reset(self, robot: Robot) -> None:
        super().reset(robot)
        if self._door == "reset":
            raise KeyError("gain")

    def step(self, observation: Observation) -> Limits:
        if self._door == "step" and observation.time_s > 0.09:
            return self._divide(0)
        if self._door == "nothing":
            return None  # type: ignore[return-value]  # that is what is tested
        return super().step(observation)

    def _divide(self, by: int) -> Limits:
        return Limits(stiffness=np.full(6, 1 // by))  # their line


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "theirs", lambda door: Raises(str(door)))


@pytest.mark.parametrize(
    ("door", "said"),
    [
        ("step", "raised in step 6 (t = 0.100 s): ZeroDivisionError: "),
        ("reset", "raised in reset: KeyError: 'gain', at "),
    ],
)
def test_a_controller_error_is_reported_with_line(
    here: Path, nao_testbed: Run, theirs: None, door: str, said: str
) -> None:
    ran = nao_testbed(f"{WALKER} --controllers theirs:{door}")
    assert ran.status == 1
    (line,) = ran.err.splitlines()
    assert line.startswith(f"error: controller 'theirs' {said}")
    assert f"{Path(__file__).name}:" in line
    assert door == "reset" or "# their line`" in line
    (path,) = here.glob("runs/heat/*/traceback.txt")
    assert str(path.relative_to(here)) in line
    assert "Traceback (most recent call last)" in path.read_text("utf-8")
    assert read_run(path.parent).state.startswith("failed: controller 'theirs' raised")


class InThisProcess:
    """Registers their controller, as a new process does by its entry point."""

    was_killed = False
    has_ended = True
    waitable = ()

    def __init__(self, work: Callable[[Callable[[float], None]], Any]) -> None:
        self.result = work(lambda _time_s: None)

    def messages(self) -> list[float]:
        return []

    def close(self) -> None:
        pass


def test_the_other_robot_keeps_its_table(
    here: Path,
    nao_testbed: Run,
    theirs: None,
    undrawn: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run keeps its data if one of its robots stops."""
    monkeypatch.setattr(side_by_side, "Worker", InThisProcess)
    ran = nao_testbed(f"{WALKER} --controllers theirs:step,fixed --json run.json")
    assert ran.status == 1
    assert "Joints, Stand, 0.01 min" in " ".join(ran.out.split())
    table = ran.out.partition("No result")[2].partition("Run folder")[0]
    said = "controller 'theirs' raised in step 6 (t = 0.100 s): ZeroDivisionError"
    assert table.split()[0] == "failure"
    assert said in " ".join(table.split())
    (line,) = ran.err.splitlines()
    assert line.startswith(f"error: {said}")
    data = json.loads((here / "run.json").read_text("utf-8"))
    assert (list(data["trials"]), list(data["failed"])) == (["fixed"], ["theirs:step"])
    (path,) = here.glob("runs/heat/*/traceback.txt")
    assert str(path.relative_to(here)) in line
    source = read_source(here / "runs/heat")
    assert any(said in warning for warning in source.warnings)
    assert [trial.name for trial in source.trials] == ["fixed", "theirs:step"]


@pytest.mark.parametrize("door", ["step", "reset"])
@pytest.mark.parametrize("has_folder", [True, False])
def test_a_replay_keeps_the_traceback(
    here: Path,
    nao_testbed: Run,
    theirs: None,
    undrawn: None,
    door: str,
    has_folder: bool,
) -> None:
    nao_testbed(f"{WALKER} --controllers fixed")
    out = " --out replay" if has_folder else ""
    ran = nao_testbed(f"replay runs/heat/fixed --controllers fixed,theirs:{door}{out}")
    assert ran.status == 1
    (line,) = ran.err.splitlines()
    assert f"controller 'theirs' raised in {door}" in line
    path = here / f"replay/theirs-{door}/traceback.txt"
    if has_folder:
        assert str(path.relative_to(here)) in line
        assert "Traceback (most recent call last)" in path.read_text("utf-8")
        assert read_run(path.parent).state.startswith("failed: stopped at ")
    else:
        assert "With --out DIR its traceback is kept." in line


def test_a_controller_returning_none_is_reported(
    nao_testbed: Run, theirs: None, undrawn: None
) -> None:
    ran = nao_testbed(f"{WALKER} --controllers theirs:nothing")
    assert ran.status == 1
    assert "controller 'theirs' returned None; its `step` must return Limits." in (
        ran.err
    )


def test_a_sweep_reports_the_trial_and_repeats_it(
    here: Path, nao_testbed: Run, theirs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: JoblibEngine, trials: object, _: object, on_result: object) -> None:
        SerialEngine().run(trials, run_sweep_trial, on_result)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(JoblibEngine, "run", run)
    text = SHORT.replace('fixed, "constant:0.9"', '"theirs:step"')
    (here / "theirs.yaml").write_text(text.replace("[0, 1, 2]", "0"), "utf-8")
    ran = nao_testbed("sweep theirs.yaml --jobs 1")
    assert ran.status == 1
    assert ": controller 'theirs' raised in step 6" in ran.err
    assert "repeats these trials" in ran.err


def test_a_scenario_reports_it(
    here: Path, nao_testbed: Run, theirs: None, undrawn: None
) -> None:
    text = SCENARIO.replace("about:", 'controller: "theirs:step"\nabout:')
    (here / "short.yaml").write_text(
        text.replace("duration_s: 0.1", "duration_s: 0.2"), "utf-8"
    )
    ran = nao_testbed("scenario run short.yaml")
    assert ran.status == 1
    assert "controller 'theirs' raised in its step at t = 0.1" in ran.err
    assert "Traceback" not in ran.err
    assert (here / "runs/short/traceback.txt").exists()
