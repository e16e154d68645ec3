"""Notes what is wrong in a file while it is read on: all problems in one go."""

from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from models import BadInput, UnknownName
from models.yaml_lines import Place, Problem

P = ParamSpec("P")
T = TypeVar("T")


class Notes:
    """The problems found so far."""

    def __init__(self) -> None:
        """Begin without any."""
        self.problems: list[Problem] = []

    def add(self, place: Place, message: str) -> None:
        """Note a problem at a place of the file."""
        problem = Problem(place, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def attempt(
        self, place: Place, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Return what a call returns, or None and note why it refused its input."""
        try:
            return call(*args, **kwargs)
        except BadInput as error:
            self.add(place, str(error))
            return None

    def is_known(
        self, place: Place, kind: str, name: str, known: Iterable[str], where: str
    ) -> bool:
        """Tell whether a name is among the known ones; note it if not."""
        names = tuple(known)
        if name in names:
            return True
        self.add(place, str(UnknownName(kind, name, names, where)))
        return False
