"""Command `nao-testbed report RUN...`: one HTML page from folders of runs and sweeps.

With `--to` a run is exported to a file for another program instead.
"""

from pathlib import Path
from typing import Annotated

import typer

from nao_testbed.experiments.common.options import (
    STDOUT,
    JsonOption,
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.models import BadInput, UnknownName


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders of heat experiments, single robots, scenarios or "
            "sweeps; or a folder that contains such folders.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="HTML file to write; default: report.html in the run folder.",
        ),
    ] = None,
    with_replay: Annotated[
        bool,
        typer.Option("--replay/--no-replay", help="Include the 3-D replay."),
    ] = True,
    video: Annotated[
        bool,
        typer.Option(
            "--video",
            help="Also write an MP4 of each run next to the page: robots, temperatures "
            "and sound.",
        ),
    ] = False,
    gif: Annotated[
        bool,
        typer.Option(
            "--gif",
            help="Also write an animated GIF of each run next to the page: smaller and "
            "silent, for a README or a message.",
        ),
    ] = False,
    video_speed: Annotated[
        float | None,
        typer.Option(
            help="Playback speed relative to real time; default: 1 if the run has "
            "sound, else as fast as needed for an MP4 of a minute or a GIF of 12 s. "
            "Sound is kept only at speed 1."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Instead of the page, export one RUN for Foxglove and PlotJuggler "
            "(mcap), for Rerun (rerun) or as csv.",
        ),
    ] = None,
    robot: Annotated[
        Path | None,
        typer.Option(
            "--robot",
            metavar="DIR",
            help="With --to: folder of the run's robot, if it has moved.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Write a self-contained HTML report of runs, or export a run to another format."""
    if to is not None:
        if len(runs) != 1 or video or gif or video_speed is not None:
            raise BadInput(
                "--to exports one RUN and makes no video; give one RUN, and leave "
                "out --video, --gif and --video-speed."
            )
        export_command(runs[0], to, out, robot, json_file)
        return
    if robot is not None:
        raise BadInput(
            "--robot needs --to; for a page, leave it out: the run names its robot."
        )
    from nao_testbed.experiments.common.progress import count_bar  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.report.write import ReportCfg, write_page  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    if video and gif:
        raise BadInput("--video and --gif exclude each other; run the command twice.")
    film = None
    if video or gif or video_speed is not None:
        from nao_testbed.experiments.report.video.film import FilmCfg  # noqa: PLC0415  # heavy

        film = FilmCfg(speed=video_speed, is_gif=gif)
    cfg = ReportCfg(runs=tuple(runs), out=out, with_replay=with_replay, video=film)
    with count_bar("reading") as tell:
        page = write_page(cfg, tell)
    write_json(json_file, json_text(page.as_json()))
    if json_file != STDOUT:
        print(page.path, *page.videos, sep="\n")


def export_command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a recorded run.")
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="Format: mcap, csv or rerun.")
    ] = "mcap",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write; default: export.mcap and so on, in RUN.",
        ),
    ] = None,
    robot: Annotated[
        Path | None,
        typer.Option(
            "--robot", metavar="DIR", help="Folder of the run's robot, if it has moved."
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Export a run for Foxglove and PlotJuggler (mcap), for Rerun or as CSV."""
    from nao_testbed.experiments.common.output_files import check_replaceable  # noqa: PLC0415
    from nao_testbed.experiments.common.progress import simulated_time  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.report.export import SUFFIXES, WRITERS  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.report.exported_run import ExportedRun  # noqa: PLC0415  # heavy
    from nao_testbed.models.files import check_writable, convert_write_errors  # noqa: PLC0415  # beside it

    if to not in WRITERS:
        raise UnknownName("Format", to, WRITERS, "this testbed")
    exported = ExportedRun(run, robot)
    path = out or run / f"export{SUFFIXES[to]}"
    if out is None:
        check_replaceable("the default file,", path)
    check_writable("--out", path)
    check_json_file(json_file)
    end_s = float(exported.time_s[-1])
    with convert_write_errors(path), simulated_time({f"to {to}": end_s}) as tell:
        files = WRITERS[to](exported, path, lambda time_s: tell(0, time_s))
    told = [{"file": str(file), "rows": rows} for file, rows in files.items()]
    data = {"experiment": "export", "run": str(run), "format": to, "files": told}
    write_json(json_file, json_text(data))
    if json_file != STDOUT:
        print(*files, sep="\n")
