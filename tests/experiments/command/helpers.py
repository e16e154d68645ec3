"""Types that the tests of the command line share."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str


Run: TypeAlias = Callable[[str], Ran]
"""Runs a command line in this process."""

Launch: TypeAlias = Callable[[str], "subprocess.Popen[str]"]
"""Starts it in a process of its own, which leads its own process group."""
