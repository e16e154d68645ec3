"""Signals that tests send to the processes that they started."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

can_signal = pytest.mark.skipif(
    not hasattr(signal, "pthread_sigmask"), reason="no signals to other processes here"
)


def send_to_all(process: "subprocess.Popen[Any]", number: int) -> None:
    """Send a signal to the group that a process leads; on Windows to it alone."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)


def pause(process: "subprocess.Popen[Any]") -> None:
    """Stop a process until `go_on`."""
    if sys.platform != "win32":
        process.send_signal(signal.SIGSTOP)


def go_on(process: "subprocess.Popen[Any]") -> None:
    """Let a process go on that was paused, or was not."""
    if sys.platform != "win32":
        process.send_signal(signal.SIGCONT)
