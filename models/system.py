"""Differences between operating systems; no other module checks the system.

Where possible this module checks for a function, not for the name of the system, and
falls back if the function is missing. Tested on Linux, and on Linux without the
functions that Windows lacks.
"""

import contextlib
import ctypes
import importlib
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection

__all__ = ["Connection"]  # a pipe between processes

_LOCKED_BYTE = 1 << 30
"""Locked byte, beyond the end of our files: on Windows, readers of locked bytes
block."""
_LOCK_PERIOD_S = 0.05
_PARENT_PERIOD_S = 1.0
_ORDER_PERIOD_S = 0.05


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl, _msvcrt = _module("fcntl"), _module("msvcrt")

# -- files -----------------------------------------------------------------------------


def lock(file: IO[Any], *, waits: bool = True) -> None:
    """Lock an open file exclusively until it is closed or its process ends.

    Raises:
        BlockingIOError: another process has the lock, and `waits` is False.
        OSError: the file system has no locks.
    """
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX | (0 if waits else _fcntl.LOCK_NB))
        return
    while not _try_lock_byte(file.fileno()):
        if not waits:
            raise BlockingIOError
        time.sleep(_LOCK_PERIOD_S)


def is_locked(file: IO[Any]) -> bool:
    """Return True if another process has the lock of a file; close the file soon.

    Raises:
        OSError: the file system has no locks.
    """
    if _fcntl is None:
        return not _try_lock_byte(file.fileno())
    try:
        _fcntl.flock(file, _fcntl.LOCK_SH | _fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _try_lock_byte(fd: int) -> bool:
    """Try to lock the byte; keep the position in the file."""
    here = os.lseek(fd, 0, os.SEEK_CUR)
    os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
    try:
        _msvcrt.locking(fd, _msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(fd, here, os.SEEK_SET)
    return True


def keep_private(fd: int) -> None:
    """Make an open file readable by its owner only; no effect on Windows."""
    if os.chmod in os.supports_fd:
        os.chmod(fd, 0o600)  # the path may name another file now


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk; Windows cannot open folders."""
    if sys.platform != "win32":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


# -- the machine -----------------------------------------------------------------------


def processors() -> int:
    """Return the number of processors for this process, also inside a container."""
    from joblib import cpu_count  # noqa: PLC0415  # heavy

    return int(cpu_count())


def load_average() -> float | None:
    """Return the last minute's load average, or None if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def system_name() -> str:
    """Return system and machine, such as `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"


# -- processes -------------------------------------------------------------------------

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
"""True if processes can be forked; a macOS fork lacks system threads and may fail."""
_PR_SET_PDEATHSIG = 1
"""Option of Linux' prctl(2): signal to a process when its parent ends."""


def fork(work: Callable[[], object]) -> int:
    """Run a function in a fork of this process, which then exits without clean-up.

    On Linux the fork also ends when this process ends.

    Returns:
        Its process id, for `end_fork`.
    """
    if not hasattr(os, "fork"):
        raise NotImplementedError("this system cannot fork; see CAN_FORK")
    pid = int(os.fork())
    if pid == 0:
        try:
            with contextlib.suppress(AttributeError, OSError):
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, KILL, 0, 0, 0)
            work()
        finally:
            os._exit(0)
    return pid


def end_fork(pid: int, *, at_once: bool) -> None:
    """Wait for the end of a fork; kill it first if `at_once`."""
    if at_once:
        os.kill(pid, KILL)
    os.waitpid(pid, 0)


def renice(niceness: int) -> None:
    """Increase this process's niceness."""
    if hasattr(os, "nice"):
        os.nice(niceness)


def wait_for_parent(parent: int) -> None:
    """Block until the parent process has ended.

    Args:
        parent: process id of the parent.
    """
    if sys.platform == "win32":
        import _winapi  # noqa: PLC0415  # of Windows

        handle = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, parent)
        _winapi.WaitForSingleObject(handle, _winapi.INFINITE)
    else:
        while os.getppid() == parent:
            time.sleep(_PARENT_PERIOD_S)


# -- signals ---------------------------------------------------------------------------


def _existing(*names: str) -> tuple[signal.Signals, ...]:
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


END_SIGNALS = _existing("SIGTERM", "SIGHUP", "SIGBREAK")
"""Signals of `timeout` and job managers, of a closed terminal, and of Ctrl-Break."""
KILL = _existing("SIGKILL", "SIGTERM")[0]
"""Signal for `os.kill` that ends a process; on Windows any number does."""
STOP = _existing("SIGUSR1", "SIGTERM")[0]
"""Signal that `send_stop` raises in another process."""
OWN_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""Flag for `Popen`, beside `start_new_session`: Ctrl-C does not reach the process."""


def send_stop(pid: int) -> None:
    """Raise `STOP` in a process; without signals `enable_stop` raises it there."""
    if hasattr(signal, "SIGUSR1"):
        os.kill(pid, signal.SIGUSR1)


def enable_stop(is_set: Callable[[], bool]) -> None:
    """Enable `STOP` in the main thread of this process.

    Args:
        is_set: polled by a thread on systems without signals between processes; True
            raises `STOP`.
    """

    def wait() -> None:
        while not is_set():
            time.sleep(_ORDER_PERIOD_S)
        interrupt(STOP)

    if not hasattr(signal, "SIGUSR1"):
        threading.Thread(target=wait, daemon=True).start()
    if sys.platform != "win32" and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [STOP])
    else:
        for number in {signal.SIGINT, *END_SIGNALS} - {STOP}:  # blocking is impossible
            signal.signal(number, signal.SIG_IGN)


def interrupt(number: int) -> None:
    """Raise a signal in the main thread of this process."""
    if hasattr(signal, "pthread_kill"):
        os.kill(os.getpid(), number)
    else:  # Windows ends a process on os.kill
        signal.raise_signal(number)


@contextlib.contextmanager
def blocked_signals(numbers: Sequence[int]) -> Iterator[None]:
    """Block signals in the context; processes started in it inherit the block."""
    if sys.platform != "win32" and hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # on start it would unblock them
        before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    else:
        yield


@contextlib.contextmanager
def children_ignore_ctrl_c() -> Iterator[None]:
    """Disable Ctrl-C in child processes on Windows, where signals cannot be blocked."""
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetConsoleCtrlHandler(None, True)
        try:
            yield
        finally:
            ctypes.windll.kernel32.SetConsoleCtrlHandler(None, False)
    else:
        yield


def wakeup_pipe() -> tuple[int, int]:
    """Return both ends of a pipe for signal numbers; writing never blocks."""
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):
        os.set_blocking(write, False)
    return read, write


# -- sockets ---------------------------------------------------------------------------


def claim_address(listener: socket.socket) -> None:
    """Allow a socket to bind an address that is free or was just released."""
    if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows would share it
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def limit_send_time(connection: socket.socket, seconds: float) -> None:
    """End a connection whose peer accepts no data for some seconds (Linux only)."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = round(seconds * 1000.0)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def keep_alive(
    connection: socket.socket, idle_s: int, period_s: int, tries: int
) -> None:
    """Detect the loss of the peer's host by probes.

    Args:
        connection: connection of TCP.
        idle_s: idle time before the first probe.
        period_s: time between probes.
        tries: number of probes before the connection ends.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
    assert idle is not None  # the second option is that of macOS
    for option, value in (
        (idle, idle_s),
        (socket.TCP_KEEPINTVL, period_s),
        (socket.TCP_KEEPCNT, tries),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def connected_queue(n: int) -> tuple[socket.socket, list[socket.socket]]:
    """Return a listening socket without a port, and `n` connections that it queues.

    Its name is random, and nothing else can connect once the queue is full. Windows has
    no such sockets.
    """
    if sys.platform != "win32":
        queue = socket.socket(socket.AF_UNIX)
        queue.setblocking(False)
        queue.bind("")
        queue.listen(n - 1)  # Linux queues one more
        connections = [socket.socket(socket.AF_UNIX) for _ in range(n)]
        for one in connections:
            one.connect(queue.getsockname())
        return queue, connections
    else:  # noqa: RET505  # for mypy
        raise OSError("sockets without a port do not exist on Windows")
