"""Fake work of a trial, importable by workers.

The trial's controller selects the behaviour: `echo`; `die:N` kills its process until
N deaths are counted in the file that the robot folder names; `slow`;
`hang:` and one of `HANGS`; `raise:` and a class of `builtins`; `exit:N`; `crash`;
`grow:N` keeps N bytes.
"""

import builtins
import contextlib
import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome, Value
from nao_testbed.models.system import END_SIGNALS, KILL
from tests.experiments.sweep.outcomes import outcome

SLOW_S = 60.0
KEPT: list[bytes] = []
"""Memory that a worker keeps until its end."""


def trial(
    number: int, controller: str = "echo", folder: Path | None = None
) -> SweepTrial:
    """Return a trial that only `fake_work` can run."""
    parameters: dict[str, Value] = {"controller": controller, "number": float(number)}
    return SweepTrial(
        number=number,
        robot=number,
        parameters=parameters,
        seed=number,
        robot_folder=folder,
    )


def fake_work(trial: SweepTrial) -> TrialOutcome:
    """Run the behaviour of the trial's controller, and record its start."""
    word, _, argument = trial.controller.partition(":")
    if trial.robot_folder is not None:
        with (trial.robot_folder / "begun").open("a", encoding="utf-8") as file:
            file.write(f"{trial.number} {os.getpid()}\n")
    if word == "die" and trial.robot_folder is not None:
        deaths = trial.robot_folder / f"deaths-{trial.number}"
        with deaths.open("a", encoding="utf-8") as file:
            file.write("x")
        if len(deaths.read_text("utf-8")) <= int(argument):
            os.kill(os.getpid(), KILL)
    if word == "slow":
        time.sleep(SLOW_S)
    if word == "hang":
        HANGS[argument](trial.robot_folder or Path("/nonexistent"))
    if word == "raise":
        raise getattr(builtins, argument)("theirs")
    if word == "exit":
        os._exit(int(argument))
    if word == "crash":
        signal.raise_signal(signal.SIGSEGV)
    if word == "grow":
        KEPT.append(b"x" * int(argument))
        time.sleep(1.1)  # loky looks once a second
    if word == "fail":
        return TrialOutcome.lost("it was told to fail")
    threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    told = {"number": trial.number, "pid": os.getpid(), "threads": threads}
    return outcome(trial, flags=told)


def _spin(_: Path) -> None:
    while True:
        pass


def _sleep(_: Path) -> None:
    time.sleep(10 * SLOW_S)


def _swallow(_: Path) -> None:
    """Continue after any exception and any signal."""
    for number in (signal.SIGINT, *END_SIGNALS):
        signal.signal(number, signal.SIG_IGN)
    while True:
        with contextlib.suppress(BaseException):  # as careless code does
            time.sleep(1.0)


def _hold_the_interpreter(_: Path) -> None:
    """Sleep in C without releasing the interpreter: no other thread runs."""
    ctypes.PyDLL(None).sleep(int(10 * SLOW_S))


def _start_another(folder: Path) -> None:
    """Wait for a child process that does not end either."""
    with subprocess.Popen(["sleep", str(10 * SLOW_S)]) as started:
        (folder / "started").write_text(str(started.pid), "utf-8")


HANGS = {
    "spin": _spin,
    "sleep": _sleep,
    "swallow": _swallow,
    "c": _hold_the_interpreter,
    "process": _start_another,
}
