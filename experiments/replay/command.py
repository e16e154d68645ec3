"""The command line of replays; heavy imports wait until it is used."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption, controllers_option, names_in


def replay_command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a recorded run.")
    ],
    controllers: Annotated[str | None, controllers_option("the recorded one")] = None,
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

    cfg = ReplayCfg(
        folder=run,
        controllers=(*names_in(controllers), *(controller or ())),
        robot=robot,
    )
    raise typer.Exit(run_replay_command(cfg, out, json_file))
