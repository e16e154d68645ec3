"""A controller that raises: one sentence says whose, in which step, at which line.

The traceback stands in the run folder.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controllers.arbitration.manager.negotiation import words_of
from controllers.interface.controller import Controller
from models import TestbedError
from models.files import write_text

TRACEBACK_FILE = "traceback.txt"
_HERE = str(Path(__file__).resolve().parent)


class ControllerFailed(TestbedError):
    """A controller raised something that is not meant for its caller."""

    def __init__(self, name: str, doing: str, error: Exception) -> None:
        """Say what it did.

        Args:
            name: of the controller.
            doing: what it was asked for: `step 26 (t = 0.500 s)`.
            error: that it raised.
        """
        self.trace = traceback_of(error)
        """For the run folder; see `keep`."""
        said = _said(error)
        super().__init__(
            f"controller {name!r} raised in {doing}: {said}, {_line(error)}"
        )

    def keep(self, folder: Path) -> None:
        """Write the traceback into a run folder, and say where it is."""
        path = folder / TRACEBACK_FILE
        write_text(path, self.trace)
        self.args = (f"{self} The traceback: {path}.",)


@contextmanager
def blamed_on(controller: Controller, doing: str) -> Iterator[None]:
    """Let what a controller raises meanwhile be its own fault.

    Errors of the testbed, such as a sensor's NaN, pass as they are.

    Raises:
        ControllerFailed: it raised anything else.
    """
    try:
        yield
    except TestbedError:
        raise
    except Exception as error:
        name = getattr(controller, "name", type(controller).__name__)
        raise ControllerFailed(str(name), doing, error) from error


def traceback_of(error: BaseException) -> str:
    """Return an error with its lines; its words alone if those cannot be read.

    Its own methods, its truth among them, are foreign code too.
    """
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001  as foreign as what raised it
        return words_of(error)


def _said(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip(": .")
    except BaseException:  # noqa: BLE001  as above
        return words_of(error)


def _line(error: Exception) -> str:
    """Return the controller's own line: the last one in the folder that we called."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not f.filename.startswith(_HERE)] or list(frames)
    folder = str(Path(theirs[0].filename).parent)
    own = [frame for frame in theirs if frame.filename.startswith(folder)]
    last = own[-1]
    source = f": `{last.line}`" if last.line else "."
    return f"at {last.filename}:{last.lineno} in {last.name}{source}"
