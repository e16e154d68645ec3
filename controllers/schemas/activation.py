"""Activation data of a schema, from a parent, a scenario or a test, and its parameters.

Parameters are values by name, checked against the dataclass that the schema declares.
They come from a scenario file or from a parent. An integer is accepted for a float, a
list for a tuple, a word for an enumeration; there are no other conversions.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Self, get_type_hints

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
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.models.files.csv_tables import message_of
from nao_testbed.models.values import short


@dataclass(frozen=True, kw_only=True)
class Activation:
    """Activation data: schema, instance name, parameters and resources.

    None selects the value of the schema's declaration.
    """

    schema: str
    """Name in the registry."""
    name: str = ""
    """Name of the instance among its siblings; empty: the schema's name. One schema may
    have several instances, each with its own parameters and memory."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Name to value; the others keep their defaults."""
    order: int = 0
    """Rank among its siblings; of several ready ones the highest takes precedence, and
    among equals the one activated first."""
    needs: tuple[str, ...] | None = None
    optional: tuple[str, ...] | None = None
    rates: Mapping[str, float] | None = None
    priority: int | None = None
    """Priority of its reservation, 0 to 9; None: the parent's, or 0."""
    policy: ConflictPolicy | None = None
    """Policy for requests of its resources; None: Lock."""
    timeout_s: float = 5.0
    """Maximum wait for its resources, in s; 0: no wait."""
    children: tuple["Activation", ...] = ()
    """Children for a parent schema."""

    def changed(self, **values: Any) -> Self:
        """Return a copy of the same class with other values of some fields.

        The constructor of a subclass may take other arguments, so it is not called.
        """
        other = copy(self)
        for name, value in values.items():
            object.__setattr__(other, name, value)
        other.__post_init__()
        return other

    def __post_init__(self) -> None:
        """Validate the fields.

        Raises:
            BadInput: a field has the wrong form, a name has '/' or '.', two children
                have one name, a priority or a time is out of range, or the policy is
                invalid.
            UnknownName: there is no such policy.
        """
        check_name(self.schema, "a schema")
        if not self.name:
            object.__setattr__(self, "name", self.schema)
        check_name(self.name, "a behaviour")
        if not self.name.strip() or "/" in self.name or "." in self.name:
            raise BadInput(
                f"name of a behaviour is {self.name!r}; it must not be empty, nor "
                "contain '/' or '.', which separate paths and variables."
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
            isinstance(child, Activation) for child in self.children
        ):
            raise BadInput(
                f"children of {self.name!r} are {short(self.children)}; give a tuple "
                "of Activations, as in (Activation(schema='wave'),)."
            )
        child_names = [child.name for child in self.children]
        for name in child_names:
            if child_names.count(name) > 1:
                raise BadInput(
                    f"{self.name!r} has two children called {name!r}; give each a "
                    "different name."
                )


def make_parameters(info: SchemaInfo, values: Mapping[str, Any]) -> Any:
    """Return the parameters of a schema from these values and its defaults.

    Raises:
        UnknownName: the schema has no such parameter.
        BadInput: a value has the wrong type, or the schema rejects it.
    """
    return _replace_values(info, info.parameters(), values)


def changed_parameters(
    info: SchemaInfo, present: Any, values: Mapping[str, Any]
) -> Any:
    """Return the present parameters with some values replaced.

    Raises:
        UnknownName: the schema has no such parameter.
        BadInput: a value has the wrong type, or the schema rejects it.
    """
    return _replace_values(info, present, values)


def parameters_as_text(parameters: Any) -> dict[str, str]:
    """Return name to value in the format of a trace."""
    return {one.name: str(getattr(parameters, one.name)) for one in fields(parameters)}


def _replace_values(info: SchemaInfo, present: Any, values: Mapping[str, Any]) -> Any:
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
            advice = {one["type"]: _advice(one) for one in error.errors()}
            why = " or ".join(advice.values())
            raise BadInput(
                f"parameter {name!r} of schema {info.name!r} is {value!r}; {why}."
            ) from error
    try:
        return replace(present, **read)
    except TestbedError:
        raise
    except FOREIGN_ERRORS as error:  # whatever the schema of another package raises
        raise BadInput(f"parameters of schema {info.name!r}: {error}.") from error


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    assert is_dataclass(kind)  # checked by its SchemaInfo
    return {one.name: hints[one.name] for one in fields(kind) if one.init}


@cache
def _reader(hint: Any) -> TypeAdapter[Any] | None:
    """Return the validator of a type; None for classes that are not plain data."""
    try:
        return TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))
    except PydanticSchemaGenerationError:
        return None


def _read(hint: Any, value: Any) -> Any:
    """Validate a value against its type: strictly, by the rules of JSON.

    Raises:
        ValidationError: the value has another type.
    """
    reader = _reader(hint)
    if reader is None:
        return TypeAdapter(InstanceOf[hint]).validate_python(value)
    text = to_json(value, inf_nan_mode="constants", fallback=repr)
    return reader.validate_json(text)


def _advice(error: Any) -> str:
    """Return the request to the user for a validation error."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"enum", "literal_error"}:
        return f"give one of {', '.join(context['expected'].rsplit(' or ', 1))}"
    if kind in {"missing", "too_long"}:  # of a tuple of fixed length
        return f"give a list of {context.get('max_length') or error['loc'][-1] + 1}"
    return _ADVICE.get(kind) or message_of(error)


_ADVICE = {
    "dict_type": "give a dictionary of names and values",
    "finite_number": "give a finite number",
}
