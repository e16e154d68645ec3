"""Loading of entry points registered by other packages."""

from importlib.metadata import EntryPoint
from typing import Any

from nao_testbed.models import BadInput
from nao_testbed.models.errors import FOREIGN_ERRORS


def load_entry_point(kind: str, entry: EntryPoint, rest: str = "") -> Any:
    """Return the object that an entry point names.

    Args:
        kind: kind of object for messages, such as `schema`.
        entry: entry of the package.
        rest: text appended to the message, after the package.

    Raises:
        BadInput: the package raised while it was imported, or lacks the object.
    """
    try:
        return entry.load()
    except FOREIGN_ERRORS as error:  # whatever a foreign module raises
        raise BadInput(
            f"{kind} {entry.name!r} ({entry.value}) cannot be loaded: "
            f"{type(error).__name__}: {error}. Fix or remove the package that "
            f"provides it{rest}."
        ) from error
