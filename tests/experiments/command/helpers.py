"""Types that the tests of the command line share."""

import contextlib
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from typer.main import get_command

from nao_testbed.experiments.cli import app
from studies.commands import app as studies


@dataclass(frozen=True, kw_only=True)
class Ran:
    """Result of a command."""

    status: int
    out: str
    err: str


Run: TypeAlias = Callable[[str], Ran]
"""Runs a command line in this process."""

Launch: TypeAlias = Callable[[str], "subprocess.Popen[str]"]
"""Starts it in a new process that leads its own process group."""

OnTerminal: TypeAlias = Callable[[str, int], Ran]
"""Runs a command line in this process on a terminal of given width."""


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield the words that call each command, and the command; studies too."""
    yield from _commands_in(get_command(app))
    yield from _commands_in(get_command(studies), "study")


def _commands_in(group: Any, *above: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands_in(command, *above, name)
        elif name != "study":
            yield " ".join((*above, name)), command


@contextlib.contextmanager
def terminal(columns: int) -> Iterator[list[bytes]]:
    """Run this process on a pseudo-terminal; collect its output.

    The file descriptors 0 to 2 and `sys.stdin`, `stdout` and `stderr` lead there, as
    they do for a person's command.
    """
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    seen: list[bytes] = []
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    reader = threading.Thread(target=_read_all, args=(master, seen))
    reader.start()
    before = [os.dup(number) for number in range(3)]
    streams = sys.stdin, sys.stdout, sys.stderr
    for number in range(3):
        os.dup2(slave, number)
    os.close(slave)
    try:
        with (
            open(0, encoding="utf-8", closefd=False) as sys.stdin,
            open(1, "w", encoding="utf-8", buffering=1, closefd=False) as sys.stdout,
            open(2, "w", encoding="utf-8", buffering=1, closefd=False) as sys.stderr,
        ):
            yield seen
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, old in enumerate(before):
            os.dup2(old, number)
            os.close(old)
        reader.join()
        os.close(master)


def _read_all(master: int, seen: list[bytes]) -> None:
    """Read until the other end is closed."""
    with contextlib.suppress(OSError):
        while data := os.read(master, 65536):
            seen.append(data)


def plain(text: str) -> str:
    """Return the text that a terminal shows, without colours and cursor moves."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
