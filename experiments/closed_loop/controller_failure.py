"""Errors of a controller, with its name, the step and the line.

A controller is foreign code. One sentence reports its error; the traceback is in the
run folder.
"""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nao_testbed.controllers.interface.controller import Controller
from nao_testbed.experiments.common.signals import is_stop_signal
from nao_testbed.models import TestbedError
from nao_testbed.models.errors import error_text
from nao_testbed.models.files import write_text

TRACEBACK_FILE = "traceback.txt"
_OUR_FOLDER = str(Path(__file__).parents[1])  # in the form of stack frames


class ControllerFailed(TestbedError):
    """A controller raised an error that is not one of the testbed's."""

    def __init__(self, name: str, doing: str, error: BaseException) -> None:
        """Describe the failure.

        Args:
            name: name of the controller.
            doing: the call: `step 26 (t = 0.500 s)`.
            error: raised error.
        """
        self.trace = traceback_of(error)
        """Traceback for the run folder; see `save_traceback`."""
        text = _error_text(error)
        super().__init__(
            f"controller {name!r} raised in {doing}: {text}, {_line(error)}"
        )

    def save_traceback(self, folder: Path) -> None:
        """Write the traceback into a run folder and add its path to the message."""
        path = folder / TRACEBACK_FILE
        write_text(path, self.trace)
        self.args = (f"{self} The traceback: {path}.",)


@contextmanager
def attribute_errors_to(controller: Controller, doing: str) -> Iterator[None]:
    """Convert errors raised within the context to failures of a controller.

    Errors of the testbed, such as a sensor's NaN, and those of signals pass unchanged.
    The working folder is restored, since other paths are relative to it.

    Raises:
        ControllerFailed: any other error was raised, including `sys.exit`.
    """
    folder = _working_folder()
    try:
        yield
    except TestbedError:
        raise
    except BaseException as error:
        if is_stop_signal(error):
            raise
        name = getattr(controller, "name", type(controller).__name__)
        raise ControllerFailed(str(name), doing, error) from error
    finally:
        if folder is not None and _working_folder() != folder:
            os.chdir(folder)


def _working_folder() -> str | None:
    """Return the working folder; None if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109  each cycle, as text
    except OSError:
        return None


def traceback_of(error: BaseException) -> str:
    """Return an error with its traceback; only its text if the traceback is unreadable.

    Methods of the error, including `__bool__`, are foreign code.
    """
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001  as foreign as what raised it
        return error_text(error)


def _error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".rstrip(": .")
    except BaseException:  # noqa: BLE001  as above
        return error_text(error)


def _line(error: BaseException) -> str:
    """Return the controller's line: the last frame in the folder of the called code."""
    frames = traceback.extract_tb(error.__traceback__)
    foreign = [f for f in frames if not f.filename.startswith(_OUR_FOLDER)] or list(
        frames
    )
    folder = str(Path(foreign[0].filename).parent)
    own = [frame for frame in foreign if frame.filename.startswith(folder)]
    last = own[-1]
    source = f": `{last.line}`" if last.line else "."
    return f"at {last.filename}:{last.lineno} in {last.name}{source}"
