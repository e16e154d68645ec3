"""`nao-testbed report RUN...`: one HTML page from folders of runs and of sweeps."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders of heat experiments, of single robots of them, of scenarios, "
            "of sweeps; or a folder above such.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The page; default: report.html in the run folder."
        ),
    ] = None,
    with_replay: Annotated[
        bool,
        typer.Option("--replay/--no-replay", help="With the 3-D replay, or without."),
    ] = True,
    json_file: JsonOption = None,
) -> None:
    """Make one self-contained HTML page: tables, figures, settings, a 3-D replay."""
    from experiments.json_file import (  # noqa: PLC0415  # beside the next
        STDOUT,
        check_json_file,
        json_text,
        write_json,
    )
    from experiments.report.write import ReportCfg, write_page  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    cfg = ReportCfg(runs=tuple(runs), out=out, with_replay=with_replay)
    if not sys.stderr.isatty():
        page = write_page(cfg)
    else:
        from experiments.simulated_time_bars import counted_bars  # noqa: PLC0415  # heavy

        with counted_bars() as progress:
            task = progress.add_task("reading", total=None)
            page = write_page(
                cfg,
                lambda done, total, name: progress.update(
                    task, completed=done, total=total, description=name
                ),
            )
    write_json(json_file, json_text(page.as_json()))
    if json_file != STDOUT:
        print(page.path)
