"""Locks of files as Windows has them, made of what Linux has; and names."""

import importlib
import os
import re
import struct
from importlib.util import find_spec
from typing import Any

LK_NBLCK = 2
_FCNTL: Any = find_spec("fcntl") and importlib.import_module("fcntl")
NO_NAME = re.compile(
    r'.*[<>:"/|?*\\\x00-\x1f].*|.*[. ]|(con|prn|aux|nul|com\d|lpt\d)([. ].*)?',
    re.IGNORECASE | re.DOTALL,
)
"""Of names that are none for a file."""


def locking(fd: int, mode: int, n_bytes: int) -> None:
    """Lock bytes from here on for this open file, as `msvcrt.locking` does.

    Raises:
        PermissionError: another open file has them.
    """
    assert mode == LK_NBLCK
    fcntl = _FCNTL
    may_write = fcntl.fcntl(fd, fcntl.F_GETFL) & 3 != os.O_RDONLY
    kind = fcntl.F_WRLCK if may_write else fcntl.F_RDLCK  # Linux asks for the right
    here = os.lseek(fd, 0, os.SEEK_CUR)
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, here, n_bytes, 0)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError as error:
        raise PermissionError(error.errno, "it is locked") from None
