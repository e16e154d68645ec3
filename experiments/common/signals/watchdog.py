"""Watchdog process that kills this one if a signal arrives inside blocking C code.

Python's handlers run between two Python instructions. A loop in C that keeps the
interpreter's lock blocks them and all other threads; only KILL ends such a process.
Python's C handler still runs and writes the number of the signal to the *wakeup fd*.
Here this is a pipe to a small process, which ends when the pipe closes.
"""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nao_testbed.models.system import KILL, OWN_GROUP, wakeup_pipe

_ON, _OFF = b"+", b"-"
"""Control bytes in the pipe, larger than all signal numbers."""
_CODE = """
import os, queue, sys, threading, time
pid, wait_s, said, kill = int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:]
is_on, end_s, lines = False, None, queue.SimpleQueue()
def listen():
    while data := os.read(0, 64):
        lines.put(data)
    os._exit(0)
threading.Thread(target=listen, daemon=True).start()
while end_s is None or time.monotonic() < end_s:
    left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
    try:
        data = lines.get(timeout=left_s)
    except queue.Empty:
        continue
    for byte in data:
        if byte in b"+-":
            is_on, end_s = byte in b"+", None
        elif is_on and end_s is None:
            end_s = time.monotonic() + wait_s
os.write(2, said.encode())
os.kill(pid, int(kill))
"""
_SAID = (
    "stopped by a signal; code that did not return was killed with this process; run "
    "folders hold what was recorded.\n"
)


class _Watchdog:
    """Watchdog process, started when it is first needed."""

    def __init__(self, wait_s: float) -> None:
        """Start the process."""
        self._pid = os.getpid()
        read, self._write = wakeup_pipe()
        self._before = -1
        self._depth = 0
        words = [str(self._pid), str(wait_s), _SAID, str(int(KILL))]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE, *words],
                stdin=read,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # not affected by Ctrl-C on a terminal
                creationflags=OWN_GROUP,
            )
        finally:
            os.close(read)
        atexit.register(self._close)

    @property
    def is_own(self) -> bool:
        """Return True if this process started it; a fork has no watchdog."""
        return self._pid == os.getpid()

    def begin(self) -> None:
        """Start watching."""
        self._depth += 1
        if self._depth == 1:
            self._send(_ON)
            self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def end(self) -> None:
        """Stop watching."""
        self._depth -= 1
        if self._depth == 0:
            signal.set_wakeup_fd(self._before)
            self._send(_OFF)

    def _close(self) -> None:
        """End the watchdog process; forks may keep the pipe open."""
        if self.is_own:
            self._process.kill()
            self._process.wait()

    def _send(self, what: bytes) -> None:
        with suppress(OSError):  # already killed
            os.write(self._write, what)


_watchdog: _Watchdog | None = None


@contextmanager
def kill_if_blocked(wait_s: float) -> Iterator[None]:
    """Kill this process if the context is still open some time after a signal.

    Args:
        wait_s: wait in s of the first call in a process; later ones keep it.
    """
    global _watchdog  # noqa: PLW0603  # one a process
    if _watchdog is None or not _watchdog.is_own:
        _watchdog = None
        with suppress(OSError):  # no process available: no watchdog
            _watchdog = _Watchdog(wait_s)
    watchdog = _watchdog
    if watchdog is not None:
        watchdog.begin()
    try:
        yield
    finally:
        if watchdog is not None:
            watchdog.end()
