"""Run a scenario: one robot, slot by slot, judged as it goes on.

    scenario = load_scenario(Path("greeting.yaml"))
    run = run_scenario(scenario, create_run_folder(Path("runs"), scenario.name))
    run.result.all_hold

A run that stops for any reason keeps its data, and says why it stopped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.recording import RunRecording
from experiments.scenarios.plan.expectations import Counts
from experiments.scenarios.plan.scenario import Scenario
from experiments.scenarios.playing.proof import Proof
from experiments.scenarios.playing.runner import ScenarioRunner
from experiments.scenarios.playing.scenario_run import RunStopped, ScenarioRun
from experiments.scenarios.playing.trace_file import TraceFile

__all__ = ["RunStopped", "ScenarioRun", "run_scenario"]


def run_scenario(
    scenario: Scenario,
    folder: Path | None = None,
    *,
    proves: bool = True,
    command: Sequence[str] = (),
    on_time: Callable[[float], None] | None = None,
) -> ScenarioRun:
    """Run a scenario to its end and judge it.

    Args:
        scenario: its plan.
        folder: an empty one, which gets the run's rows, events and sound; None records
            nothing.
        proves: judge the invariants too, at every event. It takes every command into
            the trace, which a run of many minutes has rather not.
        command: the command line, kept in the run folder.
        on_time: told the simulated time in s now and then.

    Raises:
        BadInput: a value of the scenario cannot be used; nothing was started.
        RunStopped: by Ctrl-C or a signal, after the run folder was closed.
    """
    counts = any(
        isinstance(e, Counts) and e.executed is not None for e in scenario.expectations
    )
    ledger = replace(scenario.ledger, tells_commands=proves or counts)
    plan = replace(scenario, ledger=ledger)
    recording = RunRecording.open(
        folder,
        plan.robot,
        seed=plan.seed,
        config=_Config(
            controller=plan.controller, file=str(plan.path), scenario=plan.text
        ),
        command=command,
        experiment="scenario",
        exact=True,
        with_leds=True,
    )
    whole = TraceFile(folder) if proves and folder is not None else None
    try:
        with recording.told_if_broken_off():
            proof = Proof() if proves else None
            return ScenarioRunner(plan, recording, proof, whole).play(folder, on_time)
    finally:
        if whole is not None:
            whole.close()


@dataclass(frozen=True, kw_only=True)
class _Config:
    """What `meta.json` keeps of a scenario."""

    controller: str
    file: str
    scenario: str
    """The whole file."""
