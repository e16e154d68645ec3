"""Rule for output files: a command replaces only files written by this package.

Other files are rejected before the work begins, unless `--overwrite` is given. Run
folders take the next free name.
"""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from nao_testbed.models import BadInput
from nao_testbed.models.files import check_kind

CommandT = TypeVar("CommandT", bound=Callable[..., None])

OVERWRITE = "overwrite"
OverwriteOption = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace an existing output file even if nao-testbed did not write it.",
    ),
]

_OWN = (
    (b"{", b'{\n  "experiment": "'),
    (b"{", b'{\n  "robot": "'),
    (b"\x89PNG", b"Software\0nao-testbed"),
    (b"<?xml", b"nao-testbed</dc:title>"),
    (b"<?xml", b'<testsuites name="nao-testbed'),
    (b"<!doctype html", b'<meta name="generator" content="nao-testbed'),
    (b"\x89MCAP", b"nao-testbed"),
    (b"\0\0\0", b"nao-testbed"),  # MP4
    (b"GIF89a", b"made by nao-testbed"),
    (b"about: ", b"preset-search --"),
    (b"time_s,q.", b""),
    (b"time_s,kind,data\n", b""),
)
"""Beginning of each kind of our files, and a mark in its first or last part."""
_PART_BYTES = 65_536
_overwrites: ContextVar[bool] = ContextVar("overwrites", default=False)
"""True while a command with `--overwrite` runs."""


def is_own_output(path: Path) -> bool:
    """Return True if a file is empty or was written by one of our commands."""
    with path.open("rb") as file:
        head = file.read(_PART_BYTES)
        file.seek(max(0, path.stat().st_size - _PART_BYTES))
        parts = head + file.read()
    return not head or any(
        head.startswith(begin) and mark in parts for begin, mark in _OWN
    )


def check_replaceable(option: str, path: Path) -> None:
    """Check that a file may be replaced.

    Raises:
        BadInput: another program wrote it.
        OSError: the file cannot be read, or is a pipe.
    """
    if _overwrites.get() or not path.exists():
        return
    if path.is_dir() or path.is_char_device():
        return  # the command itself handles folders
    check_kind(path)
    if not is_own_output(path):
        raise BadInput(
            f"{option} {path} exists, and nao-testbed did not write it; give another "
            "file, or --overwrite to replace it."
        )


def replacing_only_own_outputs(command: CommandT) -> CommandT:
    """Add the option `--overwrite` to a command that writes files.

    Its files are the parameters whose `typer.Option` has a metavar FILE and a name of
    `_WRITTEN`. A command without one is returned unchanged.
    """
    signature = inspect.signature(command)
    files = {
        name: option
        for name, parameter in signature.parameters.items()
        if (option := _option_of_file(name, parameter.annotation))
    }
    if not files:
        return command

    @functools.wraps(command)
    def careful(**given: Any) -> None:
        before = _overwrites.set(given.pop(OVERWRITE))
        try:
            for name, option in files.items():
                value = given[name]
                if value is not None and str(value) != "-":
                    check_replaceable(option, Path(value))
            command(**given)
        finally:
            _overwrites.reset(before)

    parameter = inspect.Parameter(
        OVERWRITE,
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=OverwriteOption,
    )
    own = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in signature.parameters.values()
    ]
    careful.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, parameter]
    )
    careful.__annotations__ = {**command.__annotations__, OVERWRITE: OverwriteOption}
    return careful  # type: ignore[return-value]  # an option more


_WRITTEN = {"json_file", "figure", "junit", "out"}


def _option_of_file(name: str, annotation: Any) -> str | None:
    """Return the option name of an output file; None for other parameters."""
    for mark in getattr(annotation, "__metadata__", ()):
        if getattr(mark, "metavar", None) == "FILE" and name in _WRITTEN:
            # typer stores the explicit name of an option as its default
            return mark.default if isinstance(mark.default, str) else f"--{name}"
    return None
