"""Command `nao-testbed naoqi run`: a controller on a robot; deferred imports."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from nao_testbed.experiments.common.options import JsonOption, RobotOption
from nao_testbed.experiments.common.options.completion import controllers
from nao_testbed.experiments.common.signals import install_stop_handlers


def run_command(
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the robot: naoqi://HOST:PORT, or `simulator`.",
        ),
    ],
    controller: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Controller, as in `heat`.", autocompletion=controllers
        ),
    ] = "smart",
    minutes: Annotated[
        float, typer.Option(help="Duration in minutes by the robot's clock.")
    ] = 15.0,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Read the robot's sensors and print the plan; command nothing.",
        ),
    ] = False,
    robot: RobotOption = None,
    hottest: Annotated[
        float, typer.Option(help="Motor temperature in °C that ends the run.")
    ] = 80.0,
    late: Annotated[
        float,
        typer.Option(help="Response time in s that ends the run."),
    ] = 0.1,
    out: Annotated[
        Path, typer.Option(help="Run folder; if it exists, a number is appended.")
    ] = Path("runs/robot"),
    json_file: JsonOption = None,
) -> None:
    """Run a controller on a simulated or real robot; stop if it falls or gets hot."""
    from nao_testbed.experiments.live.real_robot.run_robot import (  # noqa: PLC0415  # heavy
        RunCfg,
        run_robot_command,
    )

    cfg = RunCfg(
        address=address,
        controller=controller,
        minutes=minutes,
        robot=robot,
        hottest_degc=hottest,
        late_s=late,
        command=tuple(sys.argv),
    )
    install_stop_handlers()
    status = run_robot_command(cfg, out, json_file, dry_run=dry_run)
    sys.stdout.flush()
    if address.startswith("naoqi:"):
        os._exit(status)  # qi 3.1.5 sometimes aborts at the end of its process
    raise typer.Exit(status)
