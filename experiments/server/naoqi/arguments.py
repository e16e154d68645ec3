"""Validation of client arguments by the annotations of the services' methods.

    def setAngles(self, names: Names, angles: Numbers, fraction: Numbers) -> None

The annotations of a method's parameters define the accepted types. Parameters with a
default may be omitted, as in the overloads of NAOqi. A number is a finite int or float;
a list may be a tuple. Any other argument is rejected with its position and value,
before the method runs.
"""

import inspect
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

MAX_ITEMS = 20_000
"""Maximum number of values in one argument, including nested ones."""
MAX_DEPTH = 16
MAX_LETTERS = 100_000


def plain(value: object) -> Any:
    """Return a value made of lists, dicts, texts and numbers, within bounds.

    Raises:
        BadInput: the value is too large, too deep, or has an unsupported type.
    """
    left = [MAX_ITEMS]
    return _plain(value, 0, left)


def _plain(value: object, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise BadInput(f"an argument has more than {MAX_ITEMS} values.")
    if depth > MAX_DEPTH:
        raise BadInput(f"an argument is nested more than {MAX_DEPTH} deep.")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        if len(value) > MAX_LETTERS:
            raise BadInput(f"a text has more than {MAX_LETTERS} letters.")
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [_plain(one, depth + 1, left) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one, depth + 1, left) for key, one in value.items()}
    raise BadInput(f"a value is {short(value)}; give numbers, texts, lists or maps.")


def number(value: object) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"it is {short(value)}; give a number.")
    found = float(value)
    if not isfinite(found):
        raise BadInput(f"it is {found}; give a finite number.")
    return found


def in_range(what: str, value: float, least: float, most: float) -> float:
    """Return a number within its range."""
    if not least <= value <= most:
        raise BadInput(f"{what} is {value:g}; give {least:g} to {most:g}.")
    return value


def items(value: object, n: Container[int], usage: str) -> list[Any]:
    """Return a list that has an accepted number of values."""
    if not isinstance(value, list) or len(value) not in n:
        raise BadInput(f"it is {short(value)}; give {usage}.")
    return value


def known(kind: str, name: str, names: Collection[str], where: str) -> str:
    """Return a name that is among the known ones."""
    if name not in names:
        raise UnknownName(kind, name, names, where)
    return name


def pairs(what: str, value: object) -> list[tuple[str, Any]]:
    """Return the names and values of a list of pairs; one pair is a list of one."""
    found = value if isinstance(value, list) else []
    if found and isinstance(found[0], str):
        found = [found]
    if not found or any(not isinstance(x, list) or len(x) < 2 for x in found):
        raise BadInput(f"{what} is {short(value)}; give [[name, value], ...].")
    return [(text(one[0]), one[1]) for one in found]


def whole(value: object) -> int:
    """Return an integer."""
    found = number(value)
    if found != int(found):
        raise BadInput(f"it is {found:g}; give a whole number.")
    return int(found)


def flag(value: object) -> bool:
    """Return a boolean; 0 and 1 are accepted too."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    raise BadInput(f"it is {short(value)}; give true or false.")


def text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise BadInput(f"it is {short(value)}; give a text.")
    return str(plain(value))


def texts(value: object) -> list[str]:
    """Return a list of texts; one text is a list of one."""
    if isinstance(value, str):
        return [text(value)]
    if not isinstance(value, list | tuple):
        raise BadInput(f"it is {short(value)}; give a name, or a list of names.")
    return [text(one) for one in plain(value)]


def numbers(value: object) -> list[float] | float:
    """Return a number or a list of numbers."""
    if isinstance(value, list | tuple):
        return [number(one) for one in plain(value)]
    return number(value)


Names = Annotated[list[str], texts]
"""Name or list of names."""
Numbers = Annotated[list[float] | float, numbers]
Value = Annotated[Any, plain]

_BY_TYPE: Mapping[object, Callable[[object], object]] = {
    float: number,
    int: whole,
    bool: flag,
    str: text,
    Any: plain,
    Sequence[str]: texts,
}


def _parser_of(hint: object) -> Callable[[object], object]:
    if get_origin(hint) is Annotated:
        found = get_args(hint)[1]
        assert callable(found)
        return found  # type: ignore[no-any-return]  # declared with the annotation
    return _BY_TYPE[hint]


class Signature:
    """Parameters of one method."""

    def __init__(self, method: Callable[..., object]) -> None:
        """Read the parameters from the method's annotations."""
        hints = get_type_hints(method, include_extras=True)
        own = list(inspect.signature(method).parameters.values())
        own = [one for one in own if one.name != "self"]
        self._rest = own[-1] if own and own[-1].kind is own[-1].VAR_POSITIONAL else None
        fixed = own[:-1] if self._rest is not None else own
        self._names = [one.name for one in fixed]
        self._parsers = [_parser_of(hints[one.name]) for one in fixed]
        self._least = sum(one.default is one.empty for one in fixed)
        self._last = None if self._rest is None else _parser_of(hints[self._rest.name])

    def __str__(self) -> str:
        """Return the parameters as in a call."""
        names = [
            name if i < self._least else f"[{name}]"
            for i, name in enumerate(self._names)
        ]
        return ", ".join([*names, *(["..."] if self._rest is not None else [])])

    def accept(self, args: Sequence[object]) -> list[Any]:
        """Return the arguments converted for the method.

        Raises:
            BadInput: there are too few or too many arguments, or one has the wrong
                type.
        """
        n = len(self._names)
        if len(args) < self._least or (self._last is None and len(args) > n):
            raise BadInput(f"it takes ({self}), not {len(args)} arguments.")
        found = []
        for i, value in enumerate(args):
            name = self._names[i] if i < n else f"argument {i + 1}"
            parser = self._parsers[i] if i < n else self._last
            assert parser is not None
            try:
                found.append(parser(value))
            except BadInput as error:
                raise BadInput(f"{name}: {error}") from error
        return found
