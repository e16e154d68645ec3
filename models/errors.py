"""Errors of the project: one class for each reaction of the caller.

Every message states the problem, the value, the accepted values and the remedy.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

MAX_LISTED = 100
"""Largest number of known names in a message about an unknown one."""

MAX_QUOTED = 200
"""Largest number of characters of an unknown name in a message."""


FOREIGN_ERRORS = (Exception, SystemExit, GeneratorExit)
"""Exceptions of users' code; without KeyboardInterrupt, which is a Ctrl-C."""


MAX_ERROR_LENGTH = 1000
"""Largest number of characters that `error_text` returns."""


def error_text(error: BaseException) -> str:
    """Return the text of an error; its `repr` is foreign code too.

    Lone surrogates are escaped, so that the text can be written into a file.
    """
    try:
        text = repr(error)[:MAX_ERROR_LENGTH]
    except BaseException:  # noqa: BLE001  foreign code too
        text = type(error).__name__
    return text.encode(errors="backslashreplace").decode()


class TestbedError(Exception):
    """Base class of every error that this project raises on purpose."""

    __test__ = False  # not a test class, despite its name


class BadInput(TestbedError):
    """Error: a value given by the user cannot be used; commands exit with 2."""


class ExtraMissing(BadInput):
    """A feature needs a package of an optional extra that is not installed."""

    def __init__(self, feature: str, package: str, extra: str, hint: str = "") -> None:
        """Name the feature, the missing package and the extra that installs it.

        Args:
            feature: subject of the message.
            package: missing package.
            extra: extra of `pyproject.toml`.
            hint: alternative to the installation, as in "or give --no-replay".
        """
        super().__init__(
            f"{feature} needs {package}, which is not installed; run "
            f"`pip install '.[{extra}]'` in the checkout"
            + (f", {hint}." if hint else ".")
        )


class UnknownName(BadInput):
    """Error: a name is not among the known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str) -> None:
        """Write the message from kind and name of an object and the known names."""
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        quoted = repr(name)
        close: list[str] = []
        if len(quoted) > MAX_QUOTED:
            quoted = f"{quoted[: MAX_QUOTED - 3]}..."
        else:
            close = get_close_matches(name, self.known, n=1, cutoff=0.6)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(self.known[:MAX_LISTED])
        more = len(self.known) - MAX_LISTED
        rest = f" and {more} more" if more > 0 else ""
        super().__init__(
            f"{kind} {quoted} is not in {where}.{hint} Known: {listed or 'none'}{rest}."
        )


class RobotDataError(BadInput):
    """Error: a data file is wrong; the message begins with `file:line`.

    A syntax error also has its column: `file:line:column`.
    """

    def __init__(
        self, path: Path, line: int | None, problem: str, column: int | None = None
    ) -> None:
        """Create the error with its place; lines and columns count from 1."""
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem
        numbers = [str(number) for number in (line, column) if number is not None]
        place = ":".join([str(path), *numbers])
        super().__init__(f"{place}: {problem}")
