"""The command line of sweeps; heavy imports wait until it is used."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption, controllers_option, names_in
from experiments.stop_signals import heed_stop_signals


def sweep_command(
    file: Annotated[
        str, typer.Argument(metavar="SPEC", help="A YAML file, or one that ships.")
    ],
    controllers: Annotated[str | None, controllers_option("the file's")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the results; a sweep that it holds is gone on with. "
            "Default: runs/sweeps/ and the file's name.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes; default: one a core."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help="Use the workers of a cluster."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Start however many trials there are.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show parameters, first trials and how long it takes, by one of each.",
        ),
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Run one experiment over many robots, settings and controllers."""
    from experiments.sweep.run_command import (  # noqa: PLC0415  # heavy
        Asked,
        run_sweep_command,
    )

    heed_stop_signals()
    asked = Asked(
        file=file,
        controllers=names_in(controllers),
        out=out,
        jobs=jobs,
        scheduler=scheduler,
        is_sure=yes,
        is_dry=dry_run,
        json_file=json_file,
    )
    raise typer.Exit(run_sweep_command(asked))
