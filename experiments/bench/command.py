"""The command line of the bench; heavy imports wait until it is used."""

from typing import Annotated

import typer

from experiments.options import JsonOption, controllers_option, names_in


def bench_command(
    seconds: Annotated[
        float, typer.Option(help="Simulated seconds of each measured loop.")
    ] = 5.0,
    json_file: JsonOption = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="PART", help="Only heat, reservations, transmitter, scenario."
        ),
    ] = None,
    controllers: Annotated[
        str | None, controllers_option("smart, smart-full, minheat; their steps")
    ] = None,
) -> None:
    """Measure loop, controller, fast-forward and reservations beside references."""
    from experiments.bench.run_command import run_bench_command  # noqa: PLC0415  # heavy

    raise typer.Exit(run_bench_command(seconds, json_file, only, names_in(controllers)))
