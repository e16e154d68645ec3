"""`nao-testbed xray`: from what was asked for to what a person looks at."""

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from experiments.common.options import STDOUT, check_json_file, json_text, write_json
from experiments.heat.xray.drawing import headline, tables, xray_figure
from experiments.heat.xray.xray import Xray, XrayCfg, xray
from models import Robot
from models.files import check_writable


def run_xray_command(
    cfg: XrayCfg, robot: Robot, json_file: str | None, figure: Path | None
) -> int:
    """Read the log, print the tables, write JSON and figure; return the exit status.

    Raises:
        BadInput: the log cannot be used, or a file not be written.
    """
    check_json_file(json_file)
    if figure is not None:
        check_writable("--figure", figure, or_else="another file")
    found = _with_progress(cfg, robot)
    # With --json - the JSON alone goes to stdout, the tables beside it to stderr.
    console = Console(
        stderr=json_file == STDOUT, width=None if sys.stdout.isatty() else 100
    )
    console.print(Text(headline(found)))
    for table in tables(found):
        console.print(table)
    if figure is not None:
        from experiments.common.drawing.style import save_figure  # noqa: PLC0415  # heavy

        settings = {"log": found.standing.name, "feet": cfg.assumptions.feet}
        save_figure(xray_figure(found), figure, headline(found), settings)
    write_json(json_file, json_text(found.as_json()))
    return 0


def _with_progress(cfg: XrayCfg, robot: Robot) -> Xray:
    if not sys.stderr.isatty():
        return xray(cfg, robot)
    from experiments.common.progress import counted_bars  # noqa: PLC0415  # heavy

    with counted_bars() as progress:
        task = progress.add_task("reading", total=None)
        return xray(
            cfg,
            robot,
            lambda done, total: progress.update(
                task, completed=done, total=total, description="weighing"
            ),
        )
