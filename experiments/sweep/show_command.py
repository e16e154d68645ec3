"""`nao-testbed sweep-show`: the summary of a sweep that has run, wholly or in part."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption


def sweep_show_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sweep.")],
    json_file: JsonOption = None,
) -> None:
    """Compare the controllers of a sweep that has run; draw its figures anew."""
    from rich.console import Console  # noqa: PLC0415  # heavy

    from experiments.json_file import (  # noqa: PLC0415  # beside it
        STDOUT,
        check_json_file,
        json_text,
        write_json,
    )
    from experiments.sweep.show_summary import (  # noqa: PLC0415  # heavy
        show_summary,
        summary_json,
    )
    from experiments.sweep.summary_source import read_folder  # noqa: PLC0415  # heavy
    from experiments.sweep.table import read_sweep  # noqa: PLC0415  # heavy

    if folder.is_dir():
        found = read_folder(folder)
        sweep, said = found.sweep, (*found.state, *found.problems)
    else:
        sweep, said = read_sweep(folder), ()
    check_json_file(json_file)
    for sentence in said:
        print(sentence, file=sys.stderr)
    is_json = json_file == STDOUT
    width = None if sys.stdout.isatty() else 100
    out = folder if folder.is_dir() else folder.parent
    show_summary(sweep, out, Console(stderr=is_json, width=width))
    write_json(json_file, json_text(summary_json(sweep)))
