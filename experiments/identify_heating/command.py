"""`nao-testbed identify`: the heating constants of a motor from a CSV file or a run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption, RobotOption


def identify_command(
    source: Annotated[
        Path, typer.Argument(metavar="FILE.csv|RUN", help="A CSV file or a run folder.")
    ],
    joint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Joint; of a run, several of one kind are better."
        ),
    ] = None,
    ambient: Annotated[
        float | None, typer.Option(help="Air in °C, where known; default: fitted.")
    ] = None,
    resistance: Annotated[
        float | None, typer.Option(help="Of the winding in Ω; default: the joint's.")
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Longest time between rows in s; default: ten usual steps."),
    ] = None,
    trust_units: Annotated[
        bool, typer.Option("--trust-units", help="Do not doubt unlikely temperatures.")
    ] = False,
    robot: RobotOption = None,
    json_file: JsonOption = None,
) -> None:
    """Find a motor's heating constants from a CSV file or a run, with intervals."""
    from rich.console import Console  # noqa: PLC0415  # heavy

    from experiments.identify_heating.identified import (  # noqa: PLC0415  # heavy
        IdentifyCfg,
        identify,
    )
    from experiments.identify_heating.table import identified_table  # noqa: PLC0415  # beside it
    from experiments.json_file import (  # noqa: PLC0415  # beside it
        STDOUT,
        check_json_file,
        json_text,
        write_json,
    )
    from models import default_robot_folder, load_robot  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    cfg = IdentifyCfg(
        source=source,
        joints=tuple(joint or ()),
        ambient_degc=ambient,
        resistance=resistance,
        gap_s=gap,
        trusts_units=trust_units,
    )
    found_robot = load_robot(robot or default_robot_folder())
    if not sys.stderr.isatty():
        found = identify(cfg, found_robot)
    else:
        from experiments.simulated_time_bars import counted_bars  # noqa: PLC0415  # heavy

        with counted_bars() as progress:
            task = progress.add_task("reading", total=None)
            found = identify(
                cfg,
                found_robot,
                lambda done, total: progress.update(
                    task, completed=done, total=total, description="fitting"
                ),
            )
    for log in found.logs:
        for repair in log.repairs:
            print(f"{log.name}: {repair.what}", file=sys.stderr)
    for remark in found.fit.remarks:
        print(f"note: {remark}", file=sys.stderr)
    console = Console(
        stderr=json_file == STDOUT, width=None if sys.stdout.isatty() else 100
    )
    console.print(identified_table(found))
    write_json(json_file, json_text(found.as_json()))
