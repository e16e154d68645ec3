"""Work that stands for a trial, importable by workers.

What shall happen is said by a trial's controller: `echo`; `die:N` kills its process
until N deaths have been counted in the file that the robot folder names; `slow`.
"""

import os
import signal
import time
from pathlib import Path

from experiments.sweep.sweep_trial import SweepTrial, TrialOutcome, Value

SLOW_S = 60.0


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
    """Do what the trial's controller says, and note that it was begun."""
    word, _, argument = trial.controller.partition(":")
    if trial.robot_folder is not None:
        with (trial.robot_folder / "begun").open("a") as file:
            file.write(f"{trial.number} {os.getpid()}\n")
    if word == "die" and trial.robot_folder is not None:
        deaths = trial.robot_folder / f"deaths-{trial.number}"
        with deaths.open("a") as file:
            file.write("x")
        if len(deaths.read_text()) <= int(argument):
            os.kill(os.getpid(), signal.SIGKILL)
    if word == "slow":
        time.sleep(SLOW_S)
    if word == "fail":
        return TrialOutcome.lost("it was told to fail")
    threads = float(os.environ.get("OMP_NUM_THREADS", "0"))
    result = {"number": trial.number, "pid": os.getpid(), "threads": threads}
    return TrialOutcome(result=result)
