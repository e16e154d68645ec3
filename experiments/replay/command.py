"""The command line of replays; heavy imports wait until it is used."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.options import ControllersOption, JsonOption


def replay_command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a recorded run.")
    ],
    controllers: ControllersOption = None,
    controller: Annotated[
        list[str] | None, typer.Option(metavar="NAME", hidden=True)
    ] = None,
    robot: Annotated[
        Path | None,
        typer.Option(
            "--robot", metavar="DIR", help="Folder of its robot, where it moved."
        ),
    ] = None,
    json_file: JsonOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write answers and a figure there."),
    ] = None,
) -> None:
    """Give controllers the sensor input of a recorded run; compare their answers."""
    from experiments.replay.run import ReplayCfg  # noqa: PLC0415  # heavy
    from experiments.replay.run_command import run_replay_command  # noqa: PLC0415  # heavy

    names = [*(controllers.split(",") if controllers else ()), *(controller or ())]
    cfg = ReplayCfg(
        folder=run,
        controllers=tuple(name.strip() for name in names),
        robot=robot,
    )
    raise typer.Exit(run_replay_command(cfg, out, json_file))
