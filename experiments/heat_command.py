"""`nao-testbed heat`: from what was asked for to what a person looks at."""

import dataclasses
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.arm import ArmCfg
from experiments.heat import HeatCfg, failures, plan_arms, run_heat
from experiments.results import HeatResult
from models import BadInput
from sim.run_folder import create_run_folder

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def run_heat_command(cfg: HeatCfg, out: Path, json_file: str | None) -> int:
    """Run the experiment, print the table, draw the figures; return the exit status.

    Raises:
        BadInput: a value cannot be used, or a file not be written.
    """
    arms = plan_arms(cfg)
    _check_writable(json_file)
    folder = create_run_folder(out.parent, out.name)
    arms = [
        dataclasses.replace(
            arm, folder=create_run_folder(folder, _plain(arm.controller))
        )
        for arm in arms
    ]
    try:
        result = _with_progress(cfg, arms)
    except KeyboardInterrupt:
        print(f"stopped; {folder} holds what was recorded.", file=sys.stderr)
        return INTERRUPTED
    text = json.dumps(result.as_json(), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "heat.json").write_text(text + "\n", encoding="utf-8")
    if json_file is not None and json_file != "-":
        Path(json_file).write_text(text + "\n", encoding="utf-8")
    # With --json - the JSON alone goes to stdout, the table beside it to stderr.
    console = Console(stderr=json_file == "-", width=None if _is_terminal() else 100)
    if json_file == "-":
        print(text)
    _show(console, result, arms, folder)
    for name, why in failures(result).items():
        print(f"{name}: {why}", file=sys.stderr)
    return 1 if failures(result) else 0


def _show(
    console: Console, result: HeatResult, arms: list[ArmCfg], folder: Path
) -> None:
    from experiments.figure_file import settings_of  # noqa: PLC0415  # beside them
    from experiments.figures import draw_heat_figures  # noqa: PLC0415  # matplotlib
    from experiments.picture import draw_robot_picture  # noqa: PLC0415  # matplotlib
    from experiments.table import heat_table  # noqa: PLC0415  # beside them
    from sim.run_folder import read_run  # noqa: PLC0415  # pandas

    console.print(heat_table(result))
    frames = {
        arm.controller: read_run(arm.folder).frame
        for arm in arms
        if arm.folder is not None
    }
    robot = arms[0].load_robot()
    limits = {joint.name: joint.effort_limit for joint in robot.joints}
    paths = draw_heat_figures(result, frames, folder, effort_limits=limits)
    temperatures = {
        name: {joint: row.end_degc for joint, row in arm.joints.items()}
        for name, arm in result.arms.items()
    }
    picture = folder / "robot.png"
    draw_robot_picture(
        robot, temperatures, result.posture, picture, settings=settings_of(result)
    )
    # Paths are printed whole, however long, and whatever brackets they have.
    console.print(
        "Figures:",
        *(str(path) for path in [*paths, picture]),
        sep="\n  ",
        soft_wrap=True,
        markup=False,
    )
    console.print(
        f"Run folder: {folder}   (in Python: read_run({str(arms[0].folder)!r}).frame)",
        soft_wrap=True,
        markup=False,
    )


def _with_progress(cfg: HeatCfg, arms: list[ArmCfg]) -> HeatResult:
    if not sys.stderr.isatty():
        return run_heat(cfg, arms, lambda _number, _time_s: None)
    with Progress(
        TextColumn("{task.description:>14}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} s"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        tasks = [
            progress.add_task(arm.controller, total=arm.duration_s) for arm in arms
        ]
        return run_heat(
            cfg, arms, lambda i, time_s: progress.update(tasks[i], completed=time_s)
        )


def _check_writable(json_file: str | None) -> None:
    """Try the JSON file before minutes of work depend on it; leave nothing behind."""
    if json_file is None or json_file == "-":
        return
    path = Path(json_file)
    try:
        is_new = not path.exists()
        path.open("a").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise BadInput(
            f"--json {json_file} cannot be written: {error.strerror}. "
            "Give another file, or - for stdout."
        ) from error


def _plain(controller: str) -> str:
    return controller.replace(":", "-").replace("/", "-")


def _is_terminal() -> bool:
    return sys.stdout.isatty()
