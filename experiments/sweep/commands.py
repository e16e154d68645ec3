"""Command `nao-testbed sweep`; heavy modules are imported inside the functions.

The command runs one experiment over many robots; with `--show` it shows the results of
a complete or partial sweep.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nao_testbed.experiments.common.options import (
    JsonOption,
    controllers_option,
    names_in,
)
from nao_testbed.experiments.common.options.completion import file_of
from nao_testbed.experiments.common.signals import install_stop_handlers
from nao_testbed.models import BadInput


def sweep_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="SPEC",
            help="YAML file or name of a built-in sweep; with --show, the folder of a "
            "sweep.",
            autocompletion=file_of("sweep/spec_file/builtin"),
        ),
    ],
    controllers: Annotated[str | None, controllers_option("the file's")] = None,
    robots: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Run only the first N sampled robots; default: the file's number. A "
            "later call can add robots to the same folder.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the results; an existing sweep is resumed. Default: "
            "runs/sweeps/ and the file's name.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of processes; default: one per core."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT", help="Run on the workers of a Dask cluster."
        ),
    ] = None,
    trial_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time limit of a trial; a trial that exceeds it fails and its process "
            "is killed. Default: 20 times the longest finished trial, at least 600.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Start without asking, even for many trials.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show the parameters, the first trials and the estimated "
            "duration, measured on one trial per controller.",
        ),
    ] = False,
    show: Annotated[
        bool,
        typer.Option(
            "--show",
            help="Run nothing; compare the controllers of an existing sweep and redraw "
            "its figures.",
        ),
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Run one experiment over many robots, settings and controllers."""
    if show:
        options = controllers, robots, out, jobs, scheduler, trial_limit
        if yes or dry_run or any(one is not None for one in options):
            raise BadInput("--show runs nothing; give the sweep's folder and --json.")
        sweep_show_command(Path(file), json_file)
        return
    from nao_testbed.experiments.sweep.run_commands import SweepCfg, run_sweep_command  # noqa: PLC0415  # heavy

    install_stop_handlers()
    asked = SweepCfg(
        file=file,
        controllers=names_in(controllers),
        robots=robots,
        out=out,
        jobs=jobs,
        scheduler=scheduler,
        trial_limit_s=trial_limit,
        is_sure=yes,
        is_dry=dry_run,
        json_file=json_file,
    )
    raise typer.Exit(run_sweep_command(asked))


def sweep_show_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sweep.")],
    json_file: JsonOption = None,
) -> None:
    """Compare the controllers of an existing sweep and redraw its figures."""
    from nao_testbed.experiments.common.options import (  # noqa: PLC0415  # beside it
        check_json_file,
        json_text,
        write_json,
    )
    from nao_testbed.experiments.common.progress import console_for  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.sweep.summary.show import show_summary, summary_json  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.sweep.sweep_table import (  # noqa: PLC0415
        read_folder,  # heavy
        read_sweep,  # heavy
    )

    if folder.is_dir():
        found = read_folder(folder)
        sweep, said = found.sweep, (*found.state, *found.problems)
    else:
        sweep, said = read_sweep(folder), ()
    check_json_file(json_file)
    for sentence in said:
        print(sentence, file=sys.stderr)
    out = folder if folder.is_dir() else folder.parent
    show_summary(sweep, out, console_for(json_file))
    write_json(json_file, json_text(summary_json(sweep)))
