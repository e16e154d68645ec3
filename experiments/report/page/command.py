"""`nao-testbed report RUN...`: one HTML page from folders of runs and of sweeps."""

import sys
from pathlib import Path
from typing import Annotated

import typer


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
) -> None:
    """Make one self-contained HTML page: tables, figures, settings, a 3-D replay."""
    from experiments.report.page.write import ReportCfg, write_report  # noqa: PLC0415  # heavy

    cfg = ReportCfg(runs=tuple(runs), out=out, with_replay=with_replay)
    if not sys.stderr.isatty():
        path = write_report(cfg)
    else:
        from rich.console import Console  # noqa: PLC0415  # heavy

        with Console(stderr=True).status("reading") as status:
            path = write_report(cfg, lambda name: status.update(f"page of {name}"))
    print(path)
