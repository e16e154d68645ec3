"""Robust standard streams, for shells that close them or use only ASCII."""

import io
import os
import sys


def prepare_standard_streams() -> None:
    """Make stdin, stdout and stderr usable in every state of the shell.

    A closed stream (`>&-`) is connected to the null device, also for child processes;
    otherwise the next opened file would get its number and the output of libraries.
    Characters that an encoding lacks, such as "°" in ASCII, become "?".
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # this is the smallest free number
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = _null_writer(1)
    if sys.stderr is None:
        sys.stderr = _null_writer(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_data(text: str) -> None:
    """Print data for programs to stdout in UTF-8, regardless of the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(text, flush=True)


def _null_writer(number: int) -> io.TextIOWrapper:
    return open(number, "w", encoding="utf-8", closefd=False)
