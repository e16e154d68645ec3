"""Options that several commands of `nao-testbed` take, and mean the same by."""

from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Also write JSON; - is stdout."),
]
"""As `experiments.json_file.write_json` takes it."""

RobotOption = Annotated[
    Path | None,
    typer.Option("--robot", metavar="DIR", help="Folder of a robot; default: NAO."),
]
"""As `models.load_robot` takes it; None is `models.default_robot_folder()`."""
