"""`nao-testbed sweep`: questions, output, files and exit status."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from nao_testbed.experiments.sweep.engines import SerialEngine, Work
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.run_commands import duration_text, progress_text
from nao_testbed.experiments.sweep.run_sweep import Tally
from nao_testbed.experiments.sweep.sweep_table import read_sweep
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from tests.experiments.command.helpers import Launch, Run
from tests.experiments.sweep.files import SHORT
from tests.experiments.sweep.outcomes import outcome
from tests.processes import send_to_all

PATIENCE_S = 60.0


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "short.yaml"
    path.write_text(SHORT, "utf-8")
    return path


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the workers' imports, and the physics."""

    def work(trial: SweepTrial) -> TrialOutcome:
        if trial.number == 4:
            return TrialOutcome.lost("it was told to fail")
        return outcome(trial, failure="fell at 0.50 s", fell=True)

    work_here(monkeypatch, work)


def work_here(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    """Run trials in this process, with another function."""

    def run(self: JoblibEngine, trials: object, _: object, on_result: object) -> None:
        SerialEngine().run(trials, work, on_result)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(JoblibEngine, "run", run)


def test_a_dry_run_starts_no_trial(
    file: Path, here: Path, nao_testbed: Run, timed: dict[str, float]
) -> None:
    ran = nao_testbed("sweep short.yaml --dry-run")
    assert (ran.status, ran.err) == (0, "")
    assert "each of 0, 1, 2" in ran.out
    assert "6 trials: 1 robot at 6 points of the grid" in ran.out
    assert [path.name for path in here.iterdir()] == ["short.yaml"]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Set the time of trials in s, by controller; the first loads code for 9 s."""
    takes, loads = {"fixed": 2.0, "constant:0.9": 6.0}, [9.0]

    def work(trial: SweepTrial) -> TrialOutcome:
        wall_s = takes[trial.controller] + (loads.pop() if loads else 0.0)
        return outcome(trial, wall_s=wall_s)

    work_here(monkeypatch, work)
    return takes


@pytest.mark.parametrize(
    ("takes", "jobs", "words"),
    [
        ((2.0, 6.0), 1, "about 24 s with 1 process"),
        ((2.0, 6.0), 2, "about 12 s with 2 processes"),
        ((200.0, 10.0), 1, "about 10 min with 1 process"),
    ],
)
def test_a_dry_run_estimates_time_by_one_trial_per_controller(
    file: Path,
    nao_testbed: Run,
    timed: dict[str, float],
    takes: tuple[float, float],
    jobs: int,
    words: str,
) -> None:
    timed.update(zip(timed, takes, strict=True))
    ran = nao_testbed(f"sweep short.yaml --dry-run --jobs {jobs}")
    assert words in " ".join(ran.out.split())


def test_a_dry_run_without_results_states_the_reason(
    file: Path, nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_here(monkeypatch, lambda _: TrialOutcome.lost("no"))
    ran = nao_testbed("sweep short.yaml --dry-run")
    assert ran.status == 1
    assert ran.err.startswith("error: ")


def test_a_sweep_writes_its_summary_as_json(
    file: Path, here: Path, nao_testbed: Run, in_this_process: None
) -> None:
    ran = nao_testbed("sweep short.yaml --jobs 1 --json -")
    data = json.loads(ran.out)
    assert list(data["controllers"]) == ["fixed", "constant:0.9"]
    assert "trials finished" in ran.err
    for line in ("sweep --show", "sweep-show"):
        shown = nao_testbed(f"{line} runs/sweeps/short --json -")
        assert shown.status == 0
        assert json.loads(shown.out) == data


@pytest.mark.parametrize("option", ["--robots 3", "--out x", "--yes", "--dry-run"])
def test_a_displayed_sweep_does_not_run(
    file: Path, here: Path, nao_testbed: Run, option: str
) -> None:
    ran = nao_testbed(f"sweep --show short.yaml {option}")
    assert ran.status == 2
    assert "--show runs nothing; give the sweep's folder and --json." in ran.err
    assert [path.name for path in here.iterdir()] == ["short.yaml"]


def test_one_trial_is_singular(
    here: Path, nao_testbed: Run, timed: dict[str, float]
) -> None:
    (here / "one.yaml").write_text("name: one\ncontroller: fixed\n", "utf-8")
    assert "1 trial: 1 robot at 1 point" in nao_testbed("sweep one.yaml --dry-run").out


def test_controllers_on_the_command_line_make_a_new_sweep(
    file: Path, here: Path, nao_testbed: Run, serial: None
) -> None:
    ran = nao_testbed("sweep short.yaml --controllers smart,nudge --jobs 1 --out s")
    assert ran.status == 0, ran.err
    frame = read_sweep(here / "s").frame
    assert set(frame["controller"]) == {"smart", "nudge"}
    assert len(frame) == 6
    other = nao_testbed("sweep short.yaml --jobs 1 --out s")
    assert other.status == 2
    assert "controller was ['smart', 'nudge'] and is ['fixed', 'constant:0.9']" in (
        other.err
    )
    again = nao_testbed("sweep short.yaml --controllers smart,nudge --jobs 1 --out s")
    assert "6 of them earlier" in again.out
    wrong = nao_testbed("sweep short.yaml --controllers smrt --out s")
    assert (wrong.status, "Did you mean 'smart'" in wrong.err) == (2, True)


def test_a_missing_result_fails_but_a_fall_does_not(
    file: Path, in_this_process: None, nao_testbed: Run
) -> None:
    ran = nao_testbed("sweep short.yaml --jobs 1")
    assert ran.status == 1
    assert "5 of 6 trials finished, 5 fell or stopped early, 1 failed." in ran.out
    assert "Table: runs/sweeps/short/table.parquet" in ran.out
    assert ": it was told to fail" in ran.err
    assert "repeats these trials" in ran.err
    assert len(read_sweep(Path("runs/sweeps/short")).frame) == 6


def test_the_trial_limit_is_that_of_every_trial(
    file: Path, nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_hanging_trials` lets trials exceed it."""
    limits: set[float] = set()

    def run(self: JoblibEngine, trials: object, _: object, on_result: object) -> None:
        def work(trial: SweepTrial) -> TrialOutcome:
            limits.add(self._limit.of(trial))
            return outcome(trial)

        SerialEngine().run(trials, work, on_result)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(JoblibEngine, "run", run)
    assert nao_testbed("sweep short.yaml --jobs 1 --trial-limit 9").status == 0
    assert limits == {9.0}


@pytest.mark.parametrize("robots", [5_000, 1_000_000_000])
def test_very_many_trials_need_a_confirmation(
    here: Path, nao_testbed: Run, timed: dict[str, float], robots: int
) -> None:
    (here / "many.yaml").write_text(f"{SHORT}robots: {robots}\n", "utf-8")
    begin = time.monotonic()
    ran = nao_testbed("sweep many.yaml")
    assert time.monotonic() - begin < PATIENCE_S
    assert ran.status == 2
    assert f"{6 * robots:,}".replace(",", " ") + " trials" in ran.err
    assert "Give --yes" in ran.err
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sweep nothing", "Sweep 'nothing' is not in this folder"),
        ("sweep nothing.yaml", "there is no file nothing.yaml"),
        ("sweep .", ". is a folder"),
        ("sweep short.yaml --scheduler tcp://localhost:1 --jobs 2", "--jobs applies"),
        (
            "sweep short.yaml --scheduler tcp://localhost:1 --trial-limit 9",
            "--trial-limit applies to this machine only",
        ),
        ("sweep short.yaml --out short.yaml", "short.yaml is a file; give a folder"),
    ],
)
def test_a_bad_line_is_refused(
    file: Path, nao_testbed: Run, line: str, words: str
) -> None:
    ran = nao_testbed(line)
    assert ran.status == 2
    assert words in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_stopped_sweep_has_its_table_and_no_process(
    here: Path, launch: Launch, number: signal.Signals, status: int
) -> None:
    (here / "long.yaml").write_text(f"{SHORT}robots: 500\n", "utf-8")
    process = launch("sweep long.yaml --out out --jobs 1")
    end = time.monotonic() + PATIENCE_S
    while not list((here / "out" / "trials").glob("*.json")):
        assert time.monotonic() < end
        time.sleep(0.05)
    send_to_all(process, number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == status
    assert out == ""
    (line,) = err.splitlines()
    done = len(read_sweep(here / "out").frame)
    assert line.startswith(
        f"stopped; out/table.parquet holds the {done} finished trials"
    )
    assert 0 < done < 3000
    end = time.monotonic() + PATIENCE_S
    while alive_in_group(process.pid):  # the last process may still be ending
        assert time.monotonic() < end
        time.sleep(0.05)


def alive_in_group(group: int) -> bool:
    """Return True if a process of a group is alive, zombies excluded."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-g", str(group)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return not all(state.startswith("Z") for state in listed.stdout.split())


# -- texts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (40.0, "40 s"),
        (600.0, "10 min"),
        (3.5 * 3600.0, "3.5 hours"),
        (3.0 * 86400.0, "3 days"),
        (1e9, "32 years"),
    ],
)
def test_times_are_readable(seconds: float, words: str) -> None:
    assert duration_text(seconds) == words


def test_progress_rate_counts_new_trials_only() -> None:
    tally = Tally(total=100, done=60, skipped=40, fell=3, failed=0)
    assert progress_text(tally, 120.0) == "10.0/min, 4 min left, 3 fell or stopped"
    assert progress_text(Tally(total=100), 0.0) == ""
