"""Command `nao-testbed scenario run`: file to verdicts, figure and run folder."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nao_testbed.controllers.registry import check_controllers
from nao_testbed.experiments.closed_loop.warm_up import warn_before_run, warn_of_fall
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, simulated_time
from nao_testbed.experiments.common.signals import exit_status
from nao_testbed.experiments.scenarios.playing.result import (
    SCENARIO_FILE,
    ScenarioResult,
    junit_xml,
)
from nao_testbed.experiments.scenarios.playing.runner import (
    RunStopped,
    ScenarioRun,
    run_scenario,
)
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, load_scenario
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.experiments.scenarios.tables import (
    results_table,
    tracking_table,
    verdict_table,
)
from nao_testbed.models import BadInput
from nao_testbed.models.files import check_writable, write_text
from nao_testbed.models.files.yaml_forms import FileErrors
from nao_testbed.sim.engine.world import check_display
from nao_testbed.sim.recording.run_folder import create_run_folder, plain_name

BAD_INPUT = 2


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run: a scenario with the requested options, and its output folder."""

    scenario: Scenario
    path: Path
    """Path of the scenario's file."""
    out: Path


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """Arguments of the command; see `nao-testbed scenario run --help`."""

    files: Sequence[str]
    """YAML files, or names of built-in scenarios."""
    controllers: tuple[str, ...] = ()
    """Stiffness controllers that replace the file's, one run each; empty: the file's.
    Events of the file may still change the controller."""
    out: Path | None = None
    """Run folder, or for several runs their parent; if it exists, `out-2` and so on.
    None: a folder named after the file."""
    seed: int | None = None
    """Seed of all noise; None: the file's."""
    json_file: str | None = None
    """Path of the JSON result; `-` is stdout."""
    junit: Path | None = None
    """Path of the verdicts as JUnit XML."""
    gui: bool = False
    """True to open PyBullet's window."""
    proves: bool = True
    """True to keep the whole trace, with every command."""
    checks: bool = False
    """True to check the invariants at every event of a whole trace."""


def run_scenario_command(arguments: RunArguments) -> int:
    """Run scenarios, print verdicts, draw timelines; return the exit status.

    All files are validated before the first run starts.

    Raises:
        BadInput: a file or controller does not exist, or a path cannot be written.
    """
    if arguments.controllers:
        check_controllers(arguments.controllers)
    paths = [SCENARIOS.find(file) for file in arguments.files]
    scenarios = [_load(path) for path in paths]
    if None in scenarios:
        return BAD_INPUT
    runs = [
        planned
        for path, scenario in zip(paths, filter(None, scenarios), strict=True)
        for planned in _planned(scenario, path, arguments)
    ]
    check_json_file(arguments.json_file)
    if arguments.junit is not None:
        check_writable("--junit", arguments.junit)
    if arguments.gui:
        check_display()
    results: list[ScenarioResult] = []
    stopped: RunStopped | None = None
    try:
        for planned in runs:
            if stopped is None:
                run, stopped = _run(planned, arguments)
                results.append(run.result)
    finally:
        if results:
            _report(results, runs, arguments)
    if stopped is not None:
        return exit_status(stopped.__cause__)
    return 0 if all(result.all_hold for result in results) else 1


def _load(path: Path) -> Scenario | None:
    try:
        return load_scenario(path)
    except FileErrors as error:  # one line per error, in the form of compilers
        print(error, file=sys.stderr)
        return None


def _planned(
    scenario: Scenario, path: Path, arguments: RunArguments
) -> list[PlannedRun]:
    """Return the runs of a file: one, or one for each requested controller."""
    out = arguments.out or Path("runs")
    if arguments.out is None or len(arguments.files) > 1:
        out /= plain_name(path.stem)
    scenario = _with_overrides(scenario, arguments)
    return [
        PlannedRun(
            scenario=replace(scenario, controller=name),
            path=path,
            out=out / plain_name(name) if len(arguments.controllers) > 1 else out,
        )
        for name in arguments.controllers or (scenario.controller,)
    ]


def _run(
    planned: PlannedRun, arguments: RunArguments
) -> tuple[ScenarioRun, RunStopped | None]:
    """Execute one run, and write its results, even if it was interrupted."""
    warn_before_run()
    scenario = planned.scenario
    warn_of_fall(scenario.robot, scenario.posture, scenario.simulation)
    folder, stopped = _make_folder(planned.out), None
    try:
        run = _with_progress(planned.scenario, folder, arguments)
    except RunStopped as stop:
        run, stopped = stop.run, stop
    _keep(planned.scenario, run, folder, arguments)
    return run, stopped


def _keep(
    scenario: Scenario, run: ScenarioRun, folder: Path, arguments: RunArguments
) -> None:
    """Write the results of a run and show them."""
    text = json_text(run.result.as_json())
    write_text(folder / SCENARIO_FILE, text + "\n")
    _show(scenario, run, folder, arguments.json_file)


def _report(
    results: Sequence[ScenarioResult],
    runs: Sequence[PlannedRun],
    arguments: RunArguments,
) -> None:
    """Show several results side by side, and write the requested files."""
    data: Mapping[str, Any] = results[0].as_json()
    not_run = runs[len(results) :]
    if len(runs) > 1:
        data = {
            "experiment": "scenarios",
            "runs": [result.as_json() for result in results],
            "not_run": [str(planned.path) for planned in not_run],
            "all_hold": not not_run and all(result.all_hold for result in results),
        }
        console = console_for(arguments.json_file, 120)
        console.print(results_table(results))
        console.print(tracking_table(results))
    write_json(arguments.json_file, json_text(data))
    if arguments.junit is not None:
        write_text(
            arguments.junit, junit_xml(results, [planned.path for planned in not_run])
        )


def _make_folder(out: Path) -> Path:
    """Create the run folder; print its name if it differs from the requested one."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"--out {out} is not a folder; give another name.")
    folder = create_run_folder(out.parent, out.name)
    if folder != out:
        print(f"{out} exists; this run goes to {folder}.", file=sys.stderr)
    return folder


def _with_overrides(scenario: Scenario, arguments: RunArguments) -> Scenario:
    seed = scenario.seed if arguments.seed is None else arguments.seed
    simulation = scenario.simulation
    world = replace(simulation.world, gui=arguments.gui)
    return replace(
        scenario, seed=seed, simulation=replace(simulation, seed=seed, world=world)
    )


def _show(
    scenario: Scenario, run: ScenarioRun, folder: Path, json_file: str | None
) -> None:
    from nao_testbed.experiments.scenarios.timeline.figure import draw_timeline  # noqa: PLC0415  # matplotlib

    console = console_for(json_file, 120)
    console.print(verdict_table(run.result))
    paths: Sequence[Path] = ()
    try:
        paths = draw_timeline(scenario, run, folder)
    except Exception as error:  # noqa: BLE001  # verdicts do not depend on a picture
        print(f"error: the figure was not drawn: {error}", file=sys.stderr)
    # Paths are printed without line breaks and without markup.
    figures = ["Figures:", *(f"  {path}" for path in paths)] if paths else []
    lines = [*figures, f"Run folder: {folder}"]
    console.print("\n".join(lines), soft_wrap=True, markup=False)
    if run.result.failure is not None:
        print(f"error: {scenario.name}: {run.result.failure}", file=sys.stderr)


def _with_progress(
    scenario: Scenario, folder: Path, arguments: RunArguments
) -> ScenarioRun:
    with simulated_time({scenario.name: scenario.duration_s}) as show:
        return run_scenario(
            scenario,
            folder,
            proves=arguments.proves,
            checks=arguments.checks,
            command=tuple(sys.argv),
            on_time=lambda time_s: show(0, time_s),
        )
