"""Command `nao-testbed xray`: read a log, print the diagnosis."""

import sys
from pathlib import Path

from rich.text import Text

from nao_testbed.experiments.common.options import (
    check_figure_file,
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, count_bar
from nao_testbed.experiments.heat.xray.results.figure import xray_figure
from nao_testbed.experiments.heat.xray.results.tables import (
    advice_text,
    headline,
    tables,
)
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.models import Robot


def run_xray_command(
    cfg: XrayCfg,
    robot: Robot,
    json_file: str | None,
    figure: Path | None,
    out: Path | None = None,
) -> int:
    """Read the log, print the tables, write the files; return the exit status.

    Raises:
        BadInput: the log is invalid, or a file cannot be written.
    """
    check_json_file(json_file)
    check_figure_file(figure)
    with count_bar("reading") as tell:
        found = xray(
            cfg, robot, lambda done, total: tell(done, total, "fitting hypotheses")
        )
    write_json(json_file, json_text(found.as_json()))
    console = console_for(json_file)
    console.print(Text(headline(found)))
    if advice := advice_text(found):
        console.print(Text(f"\n{advice}"))
    for table in tables(found):
        console.print(table)
    if figure is not None:
        from nao_testbed.experiments.common.drawing.style import save_figure  # noqa: PLC0415  # heavy

        settings = {"log": found.standing.name, "feet": cfg.assumptions.feet}
        save_figure(xray_figure(found), figure, headline(found), settings)
    if out is not None:
        from nao_testbed.experiments.heat.xray.results.xray_folder import (  # noqa: PLC0415
            write_xray_folder,  # heavy
        )

        made = write_xray_folder(found, cfg, out)
        print(f"{made} has the result: nao-testbed report {made}", file=sys.stderr)
    return 0
