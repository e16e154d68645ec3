"""Files named by users: pipes and devices are rejected before they block.

A named pipe without a writer blocks on open, and `/dev/zero` has no end. Both raise an
`OSError` with text in `strerror`, as errors of the operating system do.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from nao_testbed.models.errors import BadInput, TestbedError
from nao_testbed.models.system import keep_private

_NOT_FILES = {
    stat.S_IFIFO: "it is a pipe, not a file",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}
_WRITE_ERRNOS = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO}
"""Errors when a file grows, not when it is opened."""


class WriteError(TestbedError):
    """Error: a file could not be written completely, such as on a full disk."""


def check_kind(path: Path) -> None:
    """Check that reading a path cannot block or continue forever.

    Raises:
        OSError: the path is a pipe, a socket or a device, or does not exist.
    """
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind in _NOT_FILES:
        raise OSError(errno.EINVAL, _NOT_FILES[kind], str(path))


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file.

    Raises:
        OSError: the file cannot be read, or the path is not a file.
    """
    check_kind(path)
    return path.read_bytes()


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return a file's text.

    Raises:
        OSError: the file cannot be read, or the path is not a file.
        UnicodeDecodeError: the contents are not text.
    """
    check_kind(path)
    return path.read_text(encoding)


def check_writable(option: str, path: Path, or_else: str = "another file") -> None:
    """Check that a file can be written before long work depends on it; leave no trace.

    Args:
        option: option that names the file, for the message, such as `--json`.
        path: path of the file; its contents are not changed.
        or_else: alternative for the message.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        is_new = not path.exists()
        if not is_new and not path.is_char_device():  # /dev/null accepts all writes
            check_kind(path)
        path.open("a", encoding="utf-8").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise BadInput(
            f"{option} {path} cannot be written: {error.strerror}. Give {or_else}."
        ) from error


@contextlib.contextmanager
def convert_write_errors(path: Path) -> Iterator[None]:
    """Raise WriteError with the file's name if writing within the context fails.

    Raises:
        WriteError: replaces the `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written: {cause_of(error)}. Data written before is "
            "kept; free disk space and run again."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file; replace its contents.

    Raises:
        WriteError: the operating system refuses.
    """
    with convert_write_errors(path):
        path.write_text(text, encoding="utf-8")


def write_secret(path: Path, text: str) -> None:
    """Write a file that is readable only by its owner; replace its contents.

    An existing file gets this mode before the contents are written. Devices such as
    `/dev/null` keep their mode.

    Raises:
        WriteError: the operating system refuses, such as for another user's file.
    """
    with convert_write_errors(path):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                keep_private(fd)
                os.ftruncate(fd, 0)
            file.write(text)


def cause_of(error: Exception) -> str:
    """Return the cause of an error, for the end of a sentence."""
    return (isinstance(error, OSError) and error.strerror) or str(error).rstrip(".")


def as_testbed_error(error: OSError) -> TestbedError:
    """Convert an error of the operating system to an error with one sentence.

    A name that the system rejects is bad input; a full disk is a failed write.
    """
    name = f"{error.filename}: " if error.filename is not None else ""
    text = f"{name}{cause_of(error)}"
    if error.errno in _WRITE_ERRNOS:
        return WriteError(f"{text}. Data written before is kept; free disk space.")
    return BadInput(f"{text}. Give another file or folder.")
