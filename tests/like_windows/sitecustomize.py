"""A Python that lacks what Windows lacks; this folder and ours are its PYTHONPATH.

The standard library and joblib, which ask for the system's name, keep what they found:
they are imported first. What is imported later finds no name of `LACKING`, in child
processes too. And as on Windows any signal that is sent to a process kills it, a file
that is open can be neither renamed nor removed, and some names are none for files.
"""

import asyncio  # noqa: F401  # before the names are gone, as all below
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing import popen_fork, popen_spawn_posix, resource_tracker
from pathlib import Path
from types import SimpleNamespace

from joblib.externals.loky.backend import popen_loky_posix
from joblib.externals.loky.backend import resource_tracker as of_loky

from tests.like_windows import windows_files

LACKING = {
    os: (
        "fork forkpty sched_getaffinity sched_setaffinity getloadavg nice fchmod "
        "mkfifo O_CLOEXEC killpg getpgid setsid symlink link"
    ),
    signal: (
        "SIGHUP SIGUSR1 SIGUSR2 SIGKILL SIGSTOP SIGCONT SIGALRM SIGCHLD SIGPIPE "
        "pthread_sigmask pthread_kill sigwait sigpending alarm setitimer siginterrupt"
    ),
    socket: "TCP_USER_TIMEOUT",
}
MODULES = "fcntl resource termios tty pty pwd grp"
assert sys.platform != "win32"
_kill, _KILL, _O_CREAT = os.kill, signal.SIGKILL, os.O_CREAT


def _check_name(path: object) -> None:
    name = Path(path).name if isinstance(path, str | Path) else ""
    if windows_files.NO_NAME.fullmatch(name):
        raise OSError(errno.EINVAL, "Windows takes no such name", str(path))


def _check_closed(path: object) -> None:
    place = os.path.realpath(str(path))
    if not place.startswith("/dev/shm/"):  # shared memory of the standard library
        for fd in Path(f"/proc/{os.getpid()}/fd").iterdir():
            if os.path.realpath(fd) == place:
                raise PermissionError(errno.EACCES, "the file is open", place)


def _as_windows(event: str, words: tuple[object, ...]) -> None:
    makes = event == "open" and isinstance(words[2], int) and words[2] & _O_CREAT
    if makes or event == "os.mkdir":
        _check_name(words[0])
    elif event == "os.rename":
        _check_name(words[1])
        _check_closed(words[0])
        _check_closed(words[1])
    elif event == "os.remove" and words[1] == -1:
        _check_closed(words[0])


def _raise(number: int) -> None:
    """Raise a signal; as Windows does, have SIGINT wake the main thread."""
    if number == signal.SIGINT:
        _all.pthread_kill(threading.main_thread().ident, number)
    else:
        _all.raise_signal(number)


def _end(pid: int, number: int) -> None:
    del number
    _kill(pid, _KILL)


_all = SimpleNamespace(**vars(signal))
for keeper in (
    subprocess,
    popen_fork,
    popen_spawn_posix,
    resource_tracker,
    popen_loky_posix,
    of_loky,
):
    vars(keeper)["signal"] = _all
for module, names in LACKING.items():
    for name in names.split():
        delattr(module, name)
for name in MODULES.split():
    sys.modules[name] = None  # type: ignore[assignment]  # its import fails
sys.modules["msvcrt"] = windows_files
os.supports_fd.discard(os.chmod)
os.kill = _end
signal.raise_signal = _raise
sys.addaudithook(_as_windows)
