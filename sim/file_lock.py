"""Whether a living process holds a file: how readers tell a run from its remains."""

import fcntl
from pathlib import Path

from models.files import check_kind


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; False where there is none.

    The lock is the kernel's (`flock`): a process that is killed holds none any more.
    """
    try:
        check_kind(path)
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
