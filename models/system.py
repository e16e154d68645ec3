"""What operating systems do differently: nothing else asks which one this is.

Asked for is a call, not the name of the system, wherever that is enough: what lacks the
call gets the other way. Linux was tried, and Linux without what Windows lacks.
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

__all__ = ["Connection"]  # of a pipe between processes

_LOCKED_BYTE = 1 << 30
"""Windows locks bytes, and who reads them waits: one that no file of ours has."""
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
    """Lock an open file against others who do, until it is closed or its process ends.

    Raises:
        BlockingIOError: another has the lock, and this one does not wait.
        OSError: the file system has no locks.
    """
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX | (0 if waits else _fcntl.LOCK_NB))
        return
    while not _take_byte(file.fileno()):
        if not waits:
            raise BlockingIOError
        time.sleep(_LOCK_PERIOD_S)


def is_locked(file: IO[Any]) -> bool:
    """Return whether another has the lock of a file, which is closed soon.

    Raises:
        OSError: the file system has no locks.
    """
    if _fcntl is None:
        return not _take_byte(file.fileno())
    try:
        _fcntl.flock(file, _fcntl.LOCK_SH | _fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _take_byte(fd: int) -> bool:
    """Try to lock the byte; leave the place in the file as it was."""
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
    """Let an open file's owner alone read it; on Windows its folder decides that."""
    if os.chmod in os.supports_fd:
        os.chmod(fd, 0o600)  # a path may be another file by now


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disc; Windows opens no folders."""
    if sys.platform != "win32":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


# -- the machine -----------------------------------------------------------------------


def processors() -> int:
    """Return how many processors this process may use, also inside a container."""
    from joblib import cpu_count  # noqa: PLC0415  # heavy

    return int(cpu_count())


def load_average() -> float | None:
    """Return the last minute's mean of processes that want a processor, if known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def system_name() -> str:
    """Return what this machine is: `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"


# -- processes -------------------------------------------------------------------------

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
"""Whether a process can be copied; a copy on macOS lacks threads of the system's own
libraries and may crash."""
_PR_SET_PDEATHSIG = 1
"""Of Linux, prctl(2): the signal that a process gets when its parent ends."""


def fork(work: Callable[[], object]) -> int:
    """Do work in a copy of this process, which ends then without any clean-up.

    Where that is Linux it ends with this process too.

    Returns:
        Its process id, for `end_fork`.
    """
    if not hasattr(os, "fork"):
        raise NotImplementedError("this system copies no process; see CAN_FORK")
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
    """Wait for the end of a copy; at once: kill it before."""
    if at_once:
        os.kill(pid, KILL)
    os.waitpid(pid, 0)


def give_way(niceness: int) -> None:
    """Let other processes go first."""
    if hasattr(os, "nice"):
        os.nice(niceness)


def wait_for_parent(parent: int) -> None:
    """Return when the process has ended that started this one.

    Args:
        parent: its process id.
    """
    if sys.platform == "win32":
        import _winapi  # noqa: PLC0415  # of Windows

        handle = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, parent)
        _winapi.WaitForSingleObject(handle, _winapi.INFINITE)
    else:
        while os.getppid() == parent:
            time.sleep(_PARENT_PERIOD_S)


# -- signals ---------------------------------------------------------------------------


def _there(*names: str) -> tuple[signal.Signals, ...]:
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


ENDING = _there("SIGTERM", "SIGHUP", "SIGBREAK")
"""Sent by `timeout` and job managers, by a terminal that is closed, by Ctrl-Break."""
KILL = _there("SIGKILL", "SIGTERM")[0]
"""For `os.kill`, to end a process; on Windows every number does."""
ORDER = _there("SIGUSR1", "SIGTERM")[0]
"""What an order raises in the process that it is for; see `send_order`."""
OWN_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""For `Popen`, beside `start_new_session`: the process does not get Ctrl-C."""


def send_order(pid: int) -> None:
    """Raise `ORDER` in a process, which `await_order` does itself where none can."""
    if hasattr(signal, "SIGUSR1"):
        os.kill(pid, signal.SIGUSR1)


def await_order(is_given: Callable[[], bool]) -> None:
    """Let `ORDER` raise in the main thread of this process, once it is given.

    Args:
        is_given: asked by a thread, where no other process can send a signal.
    """

    def wait() -> None:
        while not is_given():
            time.sleep(_ORDER_PERIOD_S)
        interrupt(ORDER)

    if not hasattr(signal, "SIGUSR1"):
        threading.Thread(target=wait, daemon=True).start()
    if sys.platform != "win32" and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [ORDER])
    else:
        for number in {signal.SIGINT, *ENDING} - {ORDER}:  # nothing blocks them
            signal.signal(number, signal.SIG_IGN)


def interrupt(number: int) -> None:
    """Let a signal come to the main thread of this process."""
    if hasattr(signal, "pthread_kill"):
        os.kill(os.getpid(), number)
    else:  # Windows ends a process to which a signal is sent
        signal.raise_signal(number)


@contextlib.contextmanager
def blocked_signals(numbers: Sequence[int]) -> Iterator[None]:
    """Let signals wait meanwhile; who is started meanwhile gets none of them, ever."""
    if sys.platform != "win32" and hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # it would unblock them when it starts
        before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    else:
        yield


@contextlib.contextmanager
def deaf_children() -> Iterator[None]:
    """Let processes that are started meanwhile not get Ctrl-C; on Windows.

    It blocks no signals, but whether Ctrl-C counts is inherited.
    """
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetConsoleCtrlHandler(None, True)
        try:
            yield
        finally:
            ctypes.windll.kernel32.SetConsoleCtrlHandler(None, False)
    else:
        yield


def wakeup_pipe() -> tuple[int, int]:
    """Return the two ends of a pipe for the numbers of signals, which never blocks."""
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):
        os.set_blocking(write, False)
    return read, write


# -- sockets ---------------------------------------------------------------------------


def claim_address(listener: socket.socket) -> None:
    """Let a socket take an address that nobody listens on, also just after another."""
    if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows would share it
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def end_silent(connection: socket.socket, seconds: float) -> None:
    """End a connection whose other side takes nothing for so long; on Linux."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = round(seconds * 1000.0)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def keep_alive(
    connection: socket.socket, idle_s: int, period_s: int, tries: int
) -> None:
    """Notice that the host at the other side is gone.

    Args:
        connection: of TCP.
        idle_s: after which the host is asked.
        period_s: between two questions.
        tries: how many, before the connection ends.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
    assert idle is not None  # the second is macOS's name of it
    for option, value in (
        (idle, idle_s),
        (socket.TCP_KEEPINTVL, period_s),
        (socket.TCP_KEEPCNT, tries),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
