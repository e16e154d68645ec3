"""Command `nao-testbed naoqi run`: a controller on a robot; deferred imports."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from nao_testbed.experiments.common.options import JsonOption
from nao_testbed.experiments.common.signals import heed_stop_signals


def run_command(
    robot: Annotated[
        str,
        typer.Option(
            metavar="ROBOT",
            help="naoqi://HOST:PORT, or `simulator`; the same controller on both.",
        ),
    ],
    controller: Annotated[
        str, typer.Option(metavar="NAME", help="As of `heat`.")
    ] = "smart",
    minutes: Annotated[float, typer.Option(help="By the robot's clock.")] = 15.0,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only look: say what would be done."),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the robot's model; default: NAO."),
    ] = None,
    hottest: Annotated[
        float, typer.Option(help="The run ends where a motor has so many °C.")
    ] = 80.0,
    late: Annotated[
        float,
        typer.Option(help="It ends where an answer takes longer, in s."),
    ] = 0.1,
    out: Annotated[
        Path, typer.Option(help="Run folder; an existing one is never overwritten.")
    ] = Path("runs/robot"),
    json_file: JsonOption = None,
) -> None:
    """Run a controller on a robot at an address, simulated or real; supervised."""
    from nao_testbed.experiments.live.real_robot.run_robot import (  # noqa: PLC0415  # heavy
        RunCfg,
        run_robot_command,
    )

    cfg = RunCfg(
        robot=robot,
        controller=controller,
        minutes=minutes,
        model=model,
        hottest_degc=hottest,
        late_s=late,
        command=tuple(sys.argv),
    )
    heed_stop_signals()
    status = run_robot_command(cfg, out, json_file, dry_run=dry_run)
    sys.stdout.flush()
    if robot.startswith("naoqi:"):
        os._exit(status)  # qi 3.1.5 sometimes aborts at the end of its process
    raise typer.Exit(status)
