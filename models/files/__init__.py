"""Files that people name: what is no file is told, not waited for.

A named pipe without a writer is opened for ever, and `/dev/zero` has no end. Both get
an `OSError` as the operating system's own faults do, with its words in `strerror`.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from nao_testbed.models.errors import BadInput, TestbedError
from nao_testbed.models.system import keep_private

_NO_FILE = {
    stat.S_IFIFO: "it is a pipe, not a file",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}
_WHILE_WRITING = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO}
"""What comes when a file grows, not when it is opened."""


class NotWritten(TestbedError):
    """A file could not be written to its end, such as when the disc is full."""


def check_kind(path: Path) -> None:
    """Refuse what has no end, or makes who opens it wait.

    Raises:
        OSError: it is a pipe, a socket or a device, or there is nothing.
    """
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind in _NO_FILE:
        raise OSError(errno.EINVAL, _NO_FILE[kind], str(path))


def read_bytes(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    check_kind(path)
    return path.read_bytes()


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return a file's text.

    Raises:
        OSError: it cannot be read, or is no file.
        UnicodeDecodeError: it is no text.
    """
    check_kind(path)
    return path.read_text(encoding)


def check_writable(option: str, path: Path, or_else: str = "another file") -> None:
    """Try a file before minutes of work depend on it; leave nothing behind.

    Args:
        option: that names it, for the message: `--json`.
        path: of the file; what it holds stays.
        or_else: what to give instead.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        is_new = not path.exists()
        if not is_new and not path.is_char_device():  # /dev/null takes all
            check_kind(path)
        path.open("a", encoding="utf-8").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise BadInput(
            f"{option} {path} cannot be written: {error.strerror}. Give {or_else}."
        ) from error


@contextlib.contextmanager
def told_if_not_written(path: Path) -> Iterator[None]:
    """Name the file should the operating system refuse what is written meanwhile.

    Raises:
        NotWritten: in place of its `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise NotWritten(
            f"{path} cannot be written: {why(error)}. What was written before stays; "
            "make room and run again."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a file's text, in place of what it held.

    Raises:
        NotWritten: the operating system refuses.
    """
    with told_if_not_written(path):
        path.write_text(text, encoding="utf-8")


def write_secret(path: Path, text: str) -> None:
    """Write a file that its owner alone may read, in place of what it held.

    A file that was there has this mode before anything is in it; what is no file, such
    as `/dev/null`, keeps its own.

    Raises:
        NotWritten: the operating system refuses, such as for another user's file.
    """
    with told_if_not_written(path):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                keep_private(fd)
                os.ftruncate(fd, 0)
            file.write(text)


def why(error: Exception) -> str:
    """Return what went wrong, for the end of a sentence."""
    return (isinstance(error, OSError) and error.strerror) or str(error).rstrip(".")


def as_ours(error: OSError) -> TestbedError:
    """Return an error of the operating system as one sentence of ours.

    A name that it does not take is bad input; a disc that is full ended a run.
    """
    name = f"{error.filename}: " if error.filename is not None else ""
    text = f"{name}{why(error)}"
    if error.errno in _WHILE_WRITING:
        return NotWritten(f"{text}. What was written before stays; make room.")
    return BadInput(f"{text}. Give another file or folder.")
