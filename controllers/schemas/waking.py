"""How a schema is woken, by a parent, a scenario or a test, and its modulation.

Parameters are values by name, tested against the dataclass that the schema declares.
They come from a scenario file or from a parent; both may err. A whole number goes for a
float, a list for a tuple, a word for an enumeration; nothing else is converted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from pydantic import (
    ConfigDict,
    InstanceOf,
    PydanticSchemaGenerationError,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import to_json

from nao_testbed.controllers.arbitration.policies import ConflictPolicy, as_policy
from nao_testbed.controllers.arbitration.requests import (
    check_priority,
    check_timeout,
    checked_rates,
)
from nao_testbed.controllers.arbitration.resource_tree import check_name, check_names
from nao_testbed.controllers.schemas.declaration import SchemaInfo
from nao_testbed.models import BadInput, TestbedError, UnknownName
from nao_testbed.models.errors import FOREIGN
from nao_testbed.models.files.tables import message_of
from nao_testbed.models.values import short


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
            BadInput: a field is of the wrong shape, a name has '/' or '.', two children
                have one name, a priority or a time is out of range, the policy is none.
            UnknownName: the policy's name is none.
        """
        check_name(self.schema, "a schema")
        if not self.name:
            object.__setattr__(self, "name", self.schema)
        check_name(self.name, "a behaviour")
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
        if not isinstance(self.parameters, Mapping):
            raise BadInput(
                f"parameters of {self.name!r} are {short(self.parameters)}; give a "
                "dictionary of names and values."
            )
        if not isinstance(self.order, int | np.integer):
            raise BadInput(
                f"order of {self.name!r} is {short(self.order)}; give a whole number."
            )
        if self.rates is not None:
            checked_rates(self.rates)
        if self.priority is not None:
            check_priority(self.priority)
        check_timeout(self.timeout_s)
        if self.policy is not None:
            object.__setattr__(self, "policy", as_policy(self.policy))
        if not isinstance(self.children, list | tuple) or not all(
            isinstance(child, Waking) for child in self.children
        ):
            raise BadInput(
                f"children of {self.name!r} are {short(self.children)}; give a tuple "
                "of Wakings, as in (Waking(schema='wave'),)."
            )
        names_below = [child.name for child in self.children]
        for name in names_below:
            if names_below.count(name) > 1:
                raise BadInput(
                    f"{self.name!r} has two children called {name!r}; give each a "
                    "name of its own."
                )


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
        except ValidationError as error:
            asked = {one["type"]: _asked(one) for one in error.errors()}
            why = " or ".join(asked.values())
            raise BadInput(
                f"parameter {name!r} of schema {info.name!r} is {value!r}; {why}."
            ) from error
    try:
        return replace(present, **read)
    except TestbedError:
        raise
    except FOREIGN as error:  # whatever the schema of another package raises
        raise BadInput(f"parameters of schema {info.name!r}: {error}.") from error


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    assert is_dataclass(kind)  # as its SchemaInfo has tested
    return {one.name: hints[one.name] for one in fields(kind) if one.init}


@cache
def _reader(hint: Any) -> TypeAdapter[Any] | None:
    """Return what reads values of a type; None for classes that are no plain data."""
    try:
        return TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))
    except PydanticSchemaGenerationError:
        return None


def _read(hint: Any, value: Any) -> Any:
    """Return a value as its type wants it: strictly, by the rules of JSON.

    Raises:
        ValidationError: it is of another type.
    """
    reader = _reader(hint)
    if reader is None:
        return TypeAdapter(InstanceOf[hint]).validate_python(value)
    text = to_json(value, inf_nan_mode="constants", fallback=repr)
    return reader.validate_json(text)


def _asked(error: Any) -> str:
    """Return what a validation error asks for."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"enum", "literal_error"}:
        return f"give one of {', '.join(context['expected'].rsplit(' or ', 1))}"
    if kind in {"missing", "too_long"}:  # of a tuple of fixed length
        return f"give a list of {context.get('max_length') or error['loc'][-1] + 1}"
    return _WORDS.get(kind) or message_of(error)


_WORDS = {
    "dict_type": "give names with values",
    "finite_number": "give a finite number",
}
