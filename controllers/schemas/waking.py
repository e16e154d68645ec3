"""How a schema is woken, by a parent, a scenario or a test, and its modulation.

Parameters are values by name, tested against the dataclass that the schema declares.
They come from a scenario file or from a parent; both may err. A whole number goes for a
float, a list for a tuple, a word for an enumeration; nothing else is converted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from controllers.arbitration.policies import ConflictPolicy, as_policy
from controllers.arbitration.requests import check_priority, check_timeout
from controllers.arbitration.resource_tree import check_names
from controllers.schemas.declaration import SchemaInfo
from models import BadInput, TestbedError, UnknownName


@dataclass(frozen=True, kw_only=True)
class Waking:
    """Which schema, under what name, with which modulation and which resources.

    What is None is as the schema's declaration says.
    """

    schema: str
    """Name in the registry."""
    name: str = ""
    """Of the instance among its siblings; empty takes the schema's. One schema may have
    several instances, each with its own parameters and memory."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Name to value; the others keep their defaults."""
    order: int = 0
    """Rank among its siblings; of several that are ready the highest goes before, and
    of equals the one that was woken first."""
    needs: tuple[str, ...] | None = None
    optional: tuple[str, ...] | None = None
    rates: Mapping[str, float] | None = None
    priority: int | None = None
    """Of its reservation, 0 to 9; None takes the parent's, or 0."""
    policy: ConflictPolicy | None = None
    """What it answers when its resources are asked for; None takes Lock."""
    timeout_s: float = 5.0
    """Longest wait for its resources, in s; 0 tries once."""
    children: tuple["Waking", ...] = ()
    """For a schema that wakes whom it is given."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            BadInput: a name has '/' or '.', two children have one name, a priority or
                a time is out of range, the policy is none.
            UnknownName: the policy's name is none.
        """
        if not self.name:
            object.__setattr__(self, "name", self.schema)
        if not self.name.strip() or "/" in self.name or "." in self.name:
            raise BadInput(
                f"behaviour {self.name!r} needs another name: one that is not empty "
                "and has neither '/' nor '.', which paths and variables are written "
                "with."
            )
        for what in ("needs", "optional"):
            names = getattr(self, what)
            if names is not None:
                check_names(names, f"{what} of {self.name!r}")
        if self.priority is not None:
            check_priority(self.priority)
        check_timeout(self.timeout_s)
        if self.policy is not None:
            object.__setattr__(self, "policy", as_policy(self.policy))
        names_below = [child.name for child in self.children]
        for name in names_below:
            if names_below.count(name) > 1:
                raise BadInput(
                    f"{self.name!r} has two children called {name!r}; give each a "
                    "name of its own."
                )

    def require_children(self) -> None:
        """Refuse to wake nobody.

        Raises:
            BadInput: it was given no children.
        """
        if not self.children:
            raise BadInput(f"{self.name!r} has no children; give it at least one.")


def make_parameters(info: SchemaInfo, values: Mapping[str, Any]) -> Any:
    """Return the parameters of a schema, with these values and else its defaults.

    Raises:
        UnknownName: it has no such parameter.
        BadInput: a value is of the wrong type, or the schema refuses it.
    """
    return _made(info, info.parameters(), values)


def changed_parameters(
    info: SchemaInfo, present: Any, values: Mapping[str, Any]
) -> Any:
    """Return present parameters with some values replaced.

    Raises:
        UnknownName: the schema has no such parameter.
        BadInput: a value is of the wrong type, or the schema refuses it.
    """
    return _made(info, present, values)


def parameters_as_text(parameters: Any) -> dict[str, str]:
    """Return name to value as a trace shows them."""
    return {one.name: str(getattr(parameters, one.name)) for one in fields(parameters)}


def _made(info: SchemaInfo, present: Any, values: Mapping[str, Any]) -> Any:
    if not values:
        return present
    hints = _hints(info.parameters)
    read: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hints:
            raise UnknownName("Parameter", name, hints, f"schema {info.name!r}")
        try:
            read[name] = _read(hints[name], value)
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"parameter {name!r} of schema {info.name!r} is {value!r}; {error}."
            ) from error
    try:
        return replace(present, **read)
    except TestbedError:
        raise
    except Exception as error:  # whatever the schema of another package raises
        raise BadInput(f"parameters of schema {info.name!r}: {error}.") from error


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    assert is_dataclass(kind)  # as its SchemaInfo has tested
    return {one.name: hints[one.name] for one in fields(kind) if one.init}


def _read(hint: Any, value: Any) -> Any:
    """Return a value as its type wants it.

    Raises:
        TypeError: it is of another type.
        ValueError: it is none of the choices.
    """
    origin, arms = get_origin(hint), get_args(hint)
    if origin in _COMPOUND:
        return _COMPOUND[origin](arms, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _read_choice(hint, value)
    if hint in _SCALARS:
        return _SCALARS[hint](value)
    kind = origin or hint
    if kind is not Any and not isinstance(value, kind):
        raise TypeError(f"give a {kind.__name__}")
    return value


def _read_union(arms: tuple[Any, ...], value: Any) -> Any:
    if value is None and type(None) in arms:
        return None
    wrong: list[str] = []
    for arm in arms:
        if arm is type(None):
            continue
        try:
            return _read(arm, value)
        except (TypeError, ValueError) as error:
            wrong.append(str(error))
    raise TypeError(" or ".join(wrong))


def _read_tuple(arms: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError("give a list")
    if len(arms) == 2 and arms[1] is Ellipsis:
        return tuple(_read(arms[0], item) for item in value)
    if len(value) != len(arms):
        raise TypeError(f"give a list of {len(arms)}")
    return tuple(_read(arm, item) for arm, item in zip(arms, value, strict=True))


def _read_mapping(arms: tuple[Any, ...], value: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("give names with values")
    return {_read(arms[0], key): _read(arms[1], item) for key, item in value.items()}


def _read_literal(arms: tuple[Any, ...], value: Any) -> Any:
    if value not in arms:
        raise ValueError(f"give one of {', '.join(map(repr, arms))}")
    return value


def _read_choice(kind: type[Enum], value: Any) -> Enum:
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(repr(choice.value) for choice in kind)
        raise ValueError(f"give one of {choices}") from None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("give a number")
    if not isfinite(value):
        raise ValueError("give a finite number")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("give a whole number")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("give true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("give a text")
    return value


_SCALARS: Mapping[Any, Callable[[Any], Any]] = {
    float: _number,
    int: _whole,
    bool: _truth,
    str: _text,
}
_COMPOUND: Mapping[Any, Callable[[tuple[Any, ...], Any], Any]] = {
    Union: _read_union,
    UnionType: _read_union,
    Literal: _read_literal,
    tuple: _read_tuple,
    Mapping: _read_mapping,
    dict: _read_mapping,
}
