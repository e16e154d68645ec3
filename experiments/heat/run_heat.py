"""Command `nao-testbed heat`: run, tables and figures."""

import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.closed_loop.warm_up import warn_before_run, warn_of_fall
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, simulated_time
from nao_testbed.experiments.common.signals import exit_status, stop_reason
from nao_testbed.experiments.common.workers import run_beside
from nao_testbed.experiments.heat.experiment import (
    HeatCfg,
    failures,
    plan_trials,
    record_trials,
    run_trials,
)
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.models.files import write_text


def run_heat_command(
    cfg: HeatCfg, out: Path, json_file: str | None, all_rows: bool = False
) -> int:
    """Run the experiment, print the tables, draw the figures.

    Args:
        cfg: configuration of the experiment.
        out: run folder; if it exists, the next free name is used.
        json_file: path of the JSON result; `-`: stdout.
        all_rows: True: print every row of the results.

    Returns:
        The exit status.

    Raises:
        BadInput: a value is invalid, or a file cannot be written.
    """
    trials = plan_trials(cfg)
    check_json_file(json_file)
    warn_before_run()
    first = trials[0]
    warn_of_fall(first.load_robot(), first.posture, first.simulation)
    folder, trials = record_trials(trials, out)
    try:
        with simulated_time({trial.name: trial.duration_s for trial in trials}) as bars:
            result = run_trials(cfg, trials, bars, _load_figures)
    except KeyboardInterrupt as stop:
        why = stop_reason(stop)
        print(f"{why}; {folder} holds what was recorded.", file=sys.stderr)
        return exit_status(stop)
    text = json_text(result.as_json())
    write_text(folder / "heat.json", text + "\n")
    from nao_testbed.experiments.heat.figures.tables import terminal_tables  # noqa: PLC0415  # rich

    console = console_for(json_file)
    console.print(terminal_tables(result, shows_all=all_rows))
    try:
        _show(console, result, trials, folder)
    except KeyboardInterrupt as stop:
        why = stop_reason(stop)
        print(f"{why}; {folder} has all data but not all figures.", file=sys.stderr)
        return exit_status(stop)
    write_json(json_file, text)
    for name, why in failures(result).items():
        whose = "" if name in result.failed else f"{name}: "  # in the error itself
        print(f"error: {whose}{why}", file=sys.stderr)
    return 1 if failures(result) else 0


def _load_figures() -> None:
    """Import what `_show` needs."""
    import pandas  # noqa: F401, PLC0415
    import scipy.ndimage  # noqa: F401, PLC0415

    import nao_testbed.experiments.heat.figures.robot_picture  # noqa: F401, PLC0415
    import nao_testbed.experiments.heat.figures.tables  # noqa: F401, PLC0415
    import nao_testbed.experiments.heat.figures.temperatures  # noqa: F401, PLC0415
    from nao_testbed.experiments.common.drawing.style import new_figure  # noqa: PLC0415

    new_figure(1.0, 1.0)  # imports matplotlib


def _show(
    console: Console, result: HeatResult, trials: list[TrialCfg], folder: Path
) -> None:
    from nao_testbed.experiments.heat.figures.posed_robot import last_pose  # noqa: PLC0415  # the engine
    from nao_testbed.experiments.heat.figures.robot_picture import draw_robot_picture  # noqa: PLC0415  # imports matplotlib
    from nao_testbed.experiments.heat.figures.temperatures import (  # noqa: PLC0415
        draw_heat_figures,  # matplotlib
        settings_of,  # same module
    )
    from nao_testbed.sim.recording.run_folder import read_run  # noqa: PLC0415  # pandas

    frames = {
        trial.name: read_run(trial.folder).frame
        for trial in trials
        if trial.folder is not None and trial.name in result.trials
    }
    robot = trials[0].load_robot()
    limits = {joint.name: joint.effort_limit for joint in robot.joints}
    charts = partial(draw_heat_figures, result, frames, folder, effort_limits=limits)
    temperatures = {
        name: {joint: row.end_degc for joint, row in trial.joints.items()}
        for name, trial in result.trials.items()
    }
    picture = folder / "robot.png"
    ends = {
        name: last_pose(frame, robot, result.misalignment_deg)
        for name, frame in frames.items()
    }
    with run_beside("the charts", charts) as drawn_charts:
        draw_robot_picture(
            robot,
            temperatures,
            result.posture,
            picture,
            poses={name: pose for name, pose in ends.items() if pose is not None},
            remarks={
                name: why
                for name, why in failures(result).items()
                if name in result.trials
            },
            slope_deg=float(result.settings["slope_deg"]),
            settings=settings_of(result),
        )
    paths = [*drawn_charts(), picture]
    # Paths are printed without line breaks and without markup.
    console.print(
        "Figures:",
        *(str(path) for path in paths),
        sep="\n  ",
        soft_wrap=True,
        markup=False,
    )
    first = next(iter(result.trials.values())).folder
    console.print(
        f"Run folder: {folder}   (in Python: read_run({first!r}).frame)",
        soft_wrap=True,
        markup=False,
    )
