"""The count of a manager's restarts, kept in a file (I-12).

A token carries the epoch that it was issued in. A restarted manager knows nothing of
earlier tokens; a higher epoch lets it refuse them all, and say why.
"""

import fcntl
import os
from pathlib import Path

from models import BadInput
from models.files import read_bytes

_LARGEST = 10**17


def default_epoch_file() -> Path:
    """Return the file in the user's folder for state."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state else Path.home() / ".local" / "state"
    return folder / "nao-testbed" / "reservations-epoch"


def next_epoch(path: Path) -> int:
    """Raise the epoch by one and return it; it is on the disk before it is used.

    Two servers that start together get different ones.

    Args:
        path: of the file; it and its folder are made if they are missing.

    Raises:
        BadInput: the file holds something else, or cannot be written.
    """
    try:
        _read(path)  # what is no such file is refused before a lock stands beside it
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(path.name + ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            epoch = _read(path) + 1
            _write(path, epoch)
    except OSError as error:
        raise BadInput(
            f"epoch file {path} cannot be used: {error.strerror}. Give a file that "
            "this user may write with --state."
        ) from error
    return epoch


def _read(path: Path) -> int:
    try:
        text = read_bytes(path).decode("ascii", errors="replace").strip()
    except FileNotFoundError:
        return 0
    if not text.isdecimal() or int(text[:20]) >= _LARGEST:
        raise BadInput(
            f"epoch file {path} holds {text[:40]!r}; it must hold one whole number, "
            "the count of restarts. Write one that is higher than any before, or give "
            "another file with --state."
        )
    return int(text)


def _write(path: Path, epoch: int) -> None:
    """Write to a new file, then rename: a crash leaves the old or the new number."""
    new = path.with_name(path.name + ".new")
    with new.open("w", encoding="ascii") as file:
        file.write(f"{epoch}\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
