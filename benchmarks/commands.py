"""Whole commands: their processor time, in turn with that of another commit.

Processor time (user and system, of a command and all its processes) depends less on
other programs than wall-clock time. The ratio to the trials is the time of the command
divided by that of the same trials in this process, which has imported everything.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figure, figure, ratio
from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.sweep.run_sweep import run_sweep_trial
from nao_testbed.experiments.sweep.spec_file.read_spec import read_spec
from nao_testbed.models import BadInput

ROOT = Path(__file__).resolve().parents[1]
SWEEP = """\
name: short trials
minutes: 0.1
robots: 20
seed: 1
controller: [fixed, smart]
misalignment_deg: {RAnklePitch: {uniform: [-2, 2]}}
"""
COMMANDS: Mapping[str, Sequence[str]] = {
    "help": ["--help"],
    "heat_help": ["heat", "--help"],
    "scenario_check": ["scenario", "check", "ten_minutes"],
    "live": ["live", "--no-browser", "--port", "0"],
    "heat": ["heat", "--preset", "document", "--out", "heat"],
    "sweep": ["sweep", "../sweep.yaml", "--yes", "--out", "sweep"],
}
"""Measured commands by the names of their figures."""
_UNTIL_A_LINE = frozenset({"live"})
"""Commands measured until their first line, an address, and then killed."""
_RUN = "from nao_testbed.experiments.cli import main; main()"
_START = "import sys; sys.argv[0] = 'nao-testbed'; "


def measure_commands(
    folder: Path,
    *,
    rounds: int = 3,
    beside: str | None = None,
    commands: Mapping[str, Sequence[str]] = COMMANDS,
) -> list[Figure]:
    """Measure commands of this checkout.

    Args:
        folder: empty folder for the runs.
        rounds: number of runs of each command.
        beside: revision of git to compare with, such as `HEAD~1`; None: none.
        commands: name to the arguments of each command.

    Raises:
        BadInput: git does not know the revision.
    """
    (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    figures: list[Figure] = []
    with _checkout(folder / "beside", beside) as other:
        for name, words in commands.items():
            what = f"nao-testbed {' '.join(words[:1] if len(words) > 3 else words)}"
            own: list[float] = []
            before: list[float] = []
            for root in filter(None, [ROOT, other]):
                _cpu_s(root, words, folder)  # compiles kernels and byte code
            for _ in range(rounds):
                own.append(_cpu_s(ROOT, words, folder))
                if other is not None:
                    before.append(_cpu_s(other, words, folder))
            figures.append(figure(f"{name}_cpu_s", what, "s", own))
            if before:
                said = f"{what} / {beside}"
                figures.append(ratio(f"{name}_over_before", said, own, before))
            if name in _TRIALS:
                trials, target = _TRIALS[name]
                alone = [trials(folder) for _ in range(rounds)]
                said = f"{what} / its trials"
                figures.append(ratio(f"{name}_over_trials", said, own, alone, target))
    return figures


@contextmanager
def _checkout(folder: Path, revision: str | None) -> Iterator[Path | None]:
    """Check out a revision beside this one, and remove it in the end."""
    if revision is None:
        yield None
        return
    git = ["git", "-C", str(ROOT), "worktree"]
    made = subprocess.run(
        [*git, "add", "--detach", str(folder), revision],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if made.returncode:
        raise BadInput(f"--beside {revision}: {made.stderr.strip().splitlines()[-1]}")
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=False)


def _cpu_s(root: Path, words: Sequence[str], folder: Path) -> float:
    """Return the processor time in s of a command of a checkout."""
    path = os.pathsep.join([str(root / "src"), str(root)])
    own = folder / f"run-{time.monotonic_ns()}"  # else a sweep resumes the one before
    own.mkdir()
    begin = _children_s()
    with subprocess.Popen(
        [sys.executable, "-c", _START + _RUN, *words],
        cwd=own,
        # An empty variable: bytecode is kept, as on a user's machine.
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdout is not None
        if words[0] in _UNTIL_A_LINE:
            running.stdout.readline()
            running.kill()  # its robots, not built yet, end by themselves
        else:
            running.stdout.read()
    if running.returncode != 0 and words[0] not in _UNTIL_A_LINE:
        raise subprocess.CalledProcessError(running.returncode, words)
    return _children_s() - begin


def _children_s() -> float:
    used = os.times()  # zero on Windows
    return used.children_user + used.children_system


def _heat_trials_s(folder: Path) -> float:
    """Return the processor time in s of the trials of the command `heat`."""
    total_s = 0.0
    for i, trial in enumerate(plan_trials(HeatCfg(preset="document"))):
        kept = folder / f"trial-{time.monotonic_ns()}-{i}"
        kept.mkdir()
        begin = time.process_time()
        run_trial(replace(trial, folder=kept))
        total_s += time.process_time() - begin
    return total_s


def _sweep_trials_s(folder: Path) -> float:
    """Return the processor time in s of the trials of the sweep."""
    begin = time.process_time()
    for trial in read_spec(folder / "sweep.yaml").trials():
        run_sweep_trial(trial)
    return time.process_time() - begin


_TRIALS: Mapping[str, tuple[Callable[[Path], float], float]] = {
    "heat": (_heat_trials_s, 1.5),
    "sweep": (_sweep_trials_s, 1.2),
}
"""Function of the trials of a command, and the largest ratio to them."""
