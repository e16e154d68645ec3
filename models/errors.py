"""Errors of the project: one class for each reaction of the caller.

Every message states the problem, the value, the accepted values and the remedy.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

MOST_LISTED = 100
"""Largest number of known names in a message about an unknown one."""

LONGEST_SAID = 200
"""Largest number of characters of an unknown name in a message."""


FOREIGN = (Exception, SystemExit, GeneratorExit)
"""Exceptions that foreign code may raise; a KeyboardInterrupt may be the user's."""


LONGEST_ERROR = 1000
"""Largest number of characters that `error_text` returns."""


def error_text(error: BaseException) -> str:
    """Return the text of an error; its `repr` is foreign code too.

    Lone surrogates are escaped, so that the text can be written into a file.
    """
    try:
        said = repr(error)[:LONGEST_ERROR]
    except BaseException:  # noqa: BLE001  foreign code too
        said = type(error).__name__
    return said.encode(errors="backslashreplace").decode()


class TestbedError(Exception):
    """Base class of every error that this project raises on purpose."""

    __test__ = False  # not a test class, despite its name


class BadInput(TestbedError):
    """Error: a value given by the user cannot be used; commands exit with 2."""


class ExtraMissing(BadInput):
    """A feature needs a package of an optional extra that is not installed."""

    def __init__(self, what: str, package: str, extra: str, or_else: str = "") -> None:
        """Name the feature, the missing package and the extra that installs it.

        Args:
            what: feature, as the subject of the sentence.
            package: missing package.
            extra: of `pyproject.toml`.
            or_else: alternative to the installation, as in "or give --no-replay".
        """
        super().__init__(
            f"{what} needs {package}, which is not installed; run "
            f"`pip install '.[{extra}]'` in the checkout"
            + (f", {or_else}." if or_else else ".")
        )


class UnknownName(BadInput):
    """Error: a name is not among the known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str) -> None:
        """Write the message from kind and name of an object and the known names."""
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        said = repr(name)
        close: list[str] = []
        if len(said) > LONGEST_SAID:
            said = f"{said[: LONGEST_SAID - 3]}..."
        else:
            close = get_close_matches(name, self.known, n=1, cutoff=0.6)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(self.known[:MOST_LISTED])
        more = len(self.known) - MOST_LISTED
        rest = f" and {more} more" if more > 0 else ""
        super().__init__(
            f"{kind} {said} is not in {where}.{hint} Known: {listed or 'none'}{rest}."
        )


class RobotDataError(BadInput):
    """Error: a data file is wrong; the message begins with `file:line`.

    A syntax error also has its column: `file:line:column`.
    """

    def __init__(
        self, path: Path, line: int | None, problem: str, column: int | None = None
    ) -> None:
        """Put the place before the problem; lines and columns count from 1."""
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem
        numbers = [str(number) for number in (line, column) if number is not None]
        place = ":".join([str(path), *numbers])
        super().__init__(f"{place}: {problem}")
