"""The option `--json FILE`: a file, or - for stdout."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models import BadInput

STDOUT = "-"


def check_json_file(json_file: str | None) -> None:
    """Try the file before minutes of work depend on it; leave nothing behind.

    Raises:
        BadInput: it cannot be written.
    """
    if json_file is None or json_file == STDOUT:
        return
    path = Path(json_file)
    try:
        is_new = not path.exists()
        path.open("a").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise BadInput(
            f"--json {json_file} cannot be written: {error.strerror}. "
            "Give another file, or - for stdout."
        ) from error


def json_text(data: Mapping[str, Any]) -> str:
    """Return data as JSON for people and programs, without NaN."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def write_json(json_file: str | None, text: str) -> None:
    """Write the file or print; None does nothing."""
    if json_file == STDOUT:
        print(text)
    elif json_file is not None:
        Path(json_file).write_text(text + "\n", encoding="utf-8")
