"""The option `--json FILE`: a file, or - for stdout."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.files import check_writable, write_secret, write_text

STDOUT = "-"


def check_json_file(json_file: str | None) -> None:
    """Try the file before minutes of work depend on it; leave nothing behind.

    Raises:
        BadInput: it cannot be written.
    """
    if json_file is not None and json_file != STDOUT:
        check_writable(
            "--json", Path(json_file), or_else="another file, or - for stdout"
        )


def json_text(data: Mapping[str, Any]) -> str:
    """Return data as JSON for people and programs, without NaN."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def write_json(json_file: str | None, text: str, *, holds_token: bool = False) -> None:
    """Write the file or print; None does nothing.

    Args:
        json_file: as the option has it.
        text: of `json_text`.
        holds_token: the file is then for its owner's eyes alone (mode 0600), whatever
            the umask.

    Raises:
        NotWritten: the file cannot be written to its end.
    """
    if json_file == STDOUT:
        print(text, flush=True)
    elif json_file is not None:
        write = write_secret if holds_token else write_text
        write(Path(json_file), text + "\n")
