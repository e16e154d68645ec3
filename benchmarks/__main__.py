"""Benchmarks with references: `python -m benchmarks` in a checkout.

The loop, controllers, fast-forward, a scenario, a live robot, reservations, gated
commands and device slots, whole commands, both engines.
"""

from typing import Annotated

import typer

from benchmarks.run_bench import Part, run_bench_command
from nao_testbed.experiments.cli import run
from nao_testbed.experiments.common.options import (
    Commands,
    JsonOption,
    controllers_option,
    names_in,
)

app = Commands(
    pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False
)


@app.command()
def bench(
    seconds: Annotated[
        float, typer.Option(help="Simulated seconds of each measured loop.")
    ] = 5.0,
    json_file: JsonOption = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="PART", help=f"Run only one part: {', '.join(Part)}."),
    ] = None,
    controllers: Annotated[
        str | None, controllers_option("smart, smart-full, minheat")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="Also measure the commands of this revision of git, in turn, such as "
            "HEAD~1.",
        ),
    ] = None,
) -> None:
    """Measure the computing time of each part, beside references."""
    chosen = names_in(controllers)
    raise typer.Exit(run_bench_command(seconds, json_file, only, chosen, beside))


def main() -> None:
    """Measure and show."""
    run(lambda: app(prog_name="python -m benchmarks"))


if __name__ == "__main__":
    main()
