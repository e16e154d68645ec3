"""The secret that a server and its clients share: what it may be, where it is kept."""

from pathlib import Path

from models import BadInput
from models.files import read_text, why

SHORTEST = 8
"""Characters; a shorter one can be tried out."""


def check_secret(secret: str) -> None:
    """Refuse what is too short, or could not be sent.

    Raises:
        BadInput: so it is; the secret itself is not told.
    """
    if len(secret) < SHORTEST:
        raise BadInput(
            f"the shared secret has {len(secret)} characters; give at least {SHORTEST}."
        )
    check_sendable(secret)


def check_sendable(secret: str) -> None:
    """Refuse what a header cannot carry as it is.

    Raises:
        BadInput: so it is; the secret itself is not told.
    """
    if not secret.isprintable() or secret != secret.strip():
        raise BadInput(
            "the shared secret begins or ends with a blank, or has a character that "
            "cannot be printed, such as the end of a line; give one without."
        )


def read_secret(path: Path) -> str:
    """Return the first line of a file.

    Raises:
        BadInput: it cannot be read, or others than its owner may read it.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise BadInput(
                f"secret file {path} can be read by others; `chmod 600 {path}` first."
            )
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"secret file {path} cannot be read: {why(error)}.") from error
    if not lines or not lines[0].strip():
        raise BadInput(
            f"secret file {path} is empty; put the secret on its first line."
        )
    return lines[0].strip()
