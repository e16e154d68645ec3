"""Load what packages of others register."""

from importlib.metadata import EntryPoint
from typing import Any

from nao_testbed.models import BadInput
from nao_testbed.models.errors import FOREIGN


def load_entry_point(kind: str, entry: EntryPoint, rest: str = "") -> Any:
    """Return what an entry point names.

    Args:
        kind: of thing, as a message calls it: `schema`.
        entry: of the package.
        rest: what else a message says, after who brings it.

    Raises:
        BadInput: the package raised while it was imported, or lacks what it names.
    """
    try:
        return entry.load()
    except FOREIGN as error:  # whatever a foreign module raises
        raise BadInput(
            f"{kind} {entry.name!r} ({entry.value}) cannot be loaded: "
            f"{type(error).__name__}: {error}. Mend or remove the package that brings "
            f"it{rest}."
        ) from error
