"""The command `nao-testbed` in this process or another, in an empty folder."""

import contextlib
import functools
import os
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.closed_loop.warm_up import DEFAULT_IS_MUJOCO
from nao_testbed.experiments.common.signals import GRACE_S, KILL_S, PATIENCE_S
from nao_testbed.experiments.common.signals.watchdog import kill_if_blocked
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials, record_trials
from nao_testbed.experiments.sweep.engines import SerialEngine
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models.system import KILL
from tests.experiments.command.helpers import Launch, OnTerminal, Ran, Run, terminal
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.experiments.sweep.outcomes import outcome
from tests.processes import send_to_all

ROOT = Path(__file__).resolve().parents[3]
TWO_LEG = ROOT / "tests" / "data" / "two_leg"
COMMAND_OF = functools.cache(typer.main.get_command)
"""Typer rebuilds all commands at each call, which takes longer than most calls."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, on a machine without a screen."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DISPLAY", raising=False)
    return folder


@pytest.fixture
def nao_testbed(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Return a function that runs a command line here."""
    monkeypatch.setattr(typer.main, "get_command", COMMAND_OF)

    def run(line: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nao-testbed", *shlex.split(line)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        status = end.value.code
        assert isinstance(status, int)
        err = said.err.removeprefix(f"{DEFAULT_IS_MUJOCO}\n")  # without PyBullet only
        return Ran(status=status, out=said.out, err=err)

    return run


@pytest.fixture(scope="session")
def walker_run(recorded: RecordedRuns) -> Path:
    """The run folder of one controller, `fixed`: 0.6 s of the walker."""

    def stand(folder: Path) -> None:
        cfg = HeatCfg(
            controllers=("fixed",), minutes=0.01, robot=TWO_LEG, posture="Stand"
        )
        _, (trial,) = record_trials(plan_trials(cfg), folder / "heat")
        run_trial(trial)

    return recorded("walker", stand) / "heat" / "fixed"


@pytest.fixture
def run_here(walker_run: Path, here: Path) -> Path:
    """A copy of it, named `run`, in the working folder."""
    return Path(shutil.copytree(walker_run, here / "run"))


@pytest.fixture
def on_terminal(here: Path, monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    """Return a function that runs a command line on a pseudo-terminal.

    Start the watching process before: it would otherwise keep the terminal open.
    """
    with kill_if_blocked(PATIENCE_S + GRACE_S + KILL_S):
        pass
    monkeypatch.setattr(typer.main, "get_command", COMMAND_OF)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run(line: str, columns: int) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nao-testbed", *shlex.split(line)])
        status: object = None
        with terminal(columns) as seen:
            try:
                main()
            except SystemExit as end:
                status = end.code
            except Exception:  # noqa: BLE001  # as Python would
                traceback.print_exc()
                status = 1
        shown = b"".join(seen).decode()
        assert isinstance(status, int)
        return Ran(status=status, out=shown, err=shown)

    return run


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out figures, which need a second."""
    for name in ("temperatures.draw_heat_figures", "robot_picture.draw_robot_picture"):
        monkeypatch.setattr(
            f"nao_testbed.experiments.heat.figures.{name}", lambda *_, **__: []
        )
    monkeypatch.setattr(
        "nao_testbed.experiments.scenarios.timeline.figure.draw_timeline",
        lambda *_, **__: [],
    )


@pytest.fixture
def serial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run sweeps in this process, without physics."""

    def work(trial: SweepTrial) -> TrialOutcome:
        return outcome(trial)

    def run(self: JoblibEngine, trials: object, _: object, on_result: object) -> None:
        SerialEngine().run(trials, work, on_result)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(JoblibEngine, "run", run)


@pytest.fixture
def launch(here: Path) -> Iterator[Launch]:
    """Return a function that starts a command line as a terminal would."""
    started: list[subprocess.Popen[str]] = []

    def start(line: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from nao_testbed.experiments.cli import main; main()",
                *shlex.split(line),
            ],
            cwd=here,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(
                    [str(ROOT), os.environ.get("PYTHONPATH", "")]
                ),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            send_to_all(process, KILL)
        process.communicate()
