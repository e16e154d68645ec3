"""`nao-testbed scenario run`: from a file to verdicts, a figure and a run folder."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from experiments.json_file import STDOUT, check_json_file, json_text, write_json
from experiments.report.verdict_table import verdict_table
from experiments.scenarios.plan.scenario import Scenario
from experiments.scenarios.playing.run import RunStopped, ScenarioRun, run_scenario
from experiments.scenarios.reading.load import load_scenario
from experiments.scenarios.shipped import SCENARIOS
from experiments.simulated_time_bars import simulated_time_bars
from experiments.stop_signals import exit_status
from models import BadInput
from models.files import write_text
from models.yaml_lines import FileErrors
from sim.run_folder import create_run_folder
from sim.world_cfg import check_display

BAD_INPUT = 2


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a person asks for; see `nao-testbed scenario run --help`."""

    file: str
    """A YAML file, or the name of a scenario that ships."""
    out: Path | None = None
    """The run folder; where it exists, `out-2` and so on. None: by the file's name."""
    seed: int | None = None
    """Of all noise; None: the file's."""
    json_file: str | None = None
    """Where the result goes too; `-` is stdout."""
    gui: bool = False
    """Whether to open PyBullet's window."""
    proves: bool = True
    """Whether the invariants are judged too."""


def run_scenario_command(asked: Asked) -> int:
    """Run a scenario, print its verdicts, draw its timeline; return the exit status.

    Raises:
        BadInput: there is no such file, or something cannot be written.
    """
    path = SCENARIOS.find(asked.file)
    try:
        scenario = load_scenario(path)
    except FileErrors as error:  # a line each, as compilers have it
        print(error, file=sys.stderr)
        return BAD_INPUT
    check_json_file(asked.json_file)
    if asked.gui:
        check_display()
    scenario = _as_asked(scenario, asked)
    folder = _make_folder(asked.out or Path("runs") / path.stem)
    try:
        run = _with_progress(scenario, folder, asked)
    except RunStopped as stop:
        _keep(scenario, stop.run, folder, asked)
        cause = stop.__cause__
        return exit_status(cause)
    _keep(scenario, run, folder, asked)
    return 0 if run.result.all_hold else 1


def _keep(scenario: Scenario, run: ScenarioRun, folder: Path, asked: Asked) -> None:
    """Write what came of a run, and show it."""
    text = json_text(run.result.as_json())
    write_text(folder / "scenario.json", text + "\n")
    _show(scenario, run, folder, asked.json_file)
    write_json(asked.json_file, text)


def _make_folder(out: Path) -> Path:
    """Make the run folder, and say so if it has another name than was asked for."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"--out {out} is no folder; give another name.")
    folder = create_run_folder(out.parent, out.name)
    if folder != out:
        print(f"{out} is there already; this run goes to {folder}.", file=sys.stderr)
    return folder


def _as_asked(scenario: Scenario, asked: Asked) -> Scenario:
    seed = scenario.seed if asked.seed is None else asked.seed
    simulation = scenario.simulation
    world = replace(simulation.world, gui=asked.gui)
    return replace(
        scenario, seed=seed, simulation=replace(simulation, seed=seed, world=world)
    )


def _show(
    scenario: Scenario, run: ScenarioRun, folder: Path, json_file: str | None
) -> None:
    from experiments.report.timeline.draw import draw_timeline  # noqa: PLC0415  # matplotlib

    # With --json - the JSON alone goes to stdout, the table beside it to stderr.
    is_terminal = sys.stdout.isatty()
    console = Console(stderr=json_file == STDOUT, width=None if is_terminal else 120)
    console.print(verdict_table(run.result))
    paths: Sequence[Path] = ()
    try:
        paths = draw_timeline(scenario, run, folder)
    except Exception as error:  # noqa: BLE001  # verdicts do not depend on a picture
        print(f"the figure could not be drawn: {error}", file=sys.stderr)
    # Paths are printed whole, however long, and whatever brackets they have.
    figures = ["Figures:", *(f"  {path}" for path in paths)] if paths else []
    lines = [*figures, f"Run folder: {folder}"]
    console.print("\n".join(lines), soft_wrap=True, markup=False)
    if run.result.failure is not None:
        print(f"{scenario.name}: {run.result.failure}", file=sys.stderr)


def _with_progress(scenario: Scenario, folder: Path, asked: Asked) -> ScenarioRun:
    command = tuple(sys.argv)
    if not sys.stderr.isatty():
        return run_scenario(scenario, folder, proves=asked.proves, command=command)
    with simulated_time_bars() as progress:
        task = progress.add_task(scenario.name, total=scenario.duration_s)

        def show(time_s: float) -> None:
            progress.update(task, completed=time_s)

        return run_scenario(
            scenario, folder, proves=asked.proves, command=command, on_time=show
        )
