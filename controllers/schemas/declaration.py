"""Declarations of a schema: kind, states, variables, needs, arbitration rules.

Kinds and states are those of [jdec-urjc, section 2.1].

Schemas communicate through shared variables [jdec-urjc, section 3.3]. The paper guards
them by a mutex, since its schemas are threads. Here schemas run sequentially in one
thread, in a fixed order, so there are no races: in the same slot, a complete value is
visible to all schemas called after its writer. Each variable belongs to one instance,
its only writer; variables of two instances of one schema are distinguished by the paths
of the instances.

The paper does not specify the winner among several ready children; a parent may have
its own rule. `keep_winner` and `highest_order` are built in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass
from enum import StrEnum
from math import isfinite, ulp
from types import MappingProxyType, UnionType
from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.events import ReadOnly
from nao_testbed.controllers.arbitration.requests import checked_rates
from nao_testbed.controllers.arbitration.resource_tree import check_name, check_names
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.models.values import check_seconds, short


class Kind(StrEnum):
    """Kind of a schema."""

    PERCEPTIVE = "perceptive"
    """Converts sensor data or simpler stimuli into richer ones."""
    ACTUATION = "actuation"
    """Commands effectors, or activates and modulates other schemas."""


class State(StrEnum):
    """Activation state of a schema.

    A perceptive schema is SLEPT or WINNER; an actuation schema can have all four
    states.
    """

    SLEPT = "slept"
    """Inactive; its memory is kept."""
    CHECKING = "checking"
    """Active, but its precondition does not hold."""
    READY = "ready"
    """Active; its precondition holds, and it competes with its siblings."""
    WINNER = "winner"
    """Only it may command effectors and activate children on its level."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Output that a schema declares."""

    name: str
    type: type | UnionType
    """Type of the values, such as `float` or `bool | None`; every value is checked."""
    about: str
    """Meaning of the value."""
    unit: str = ""
    """Unit such as `rad` or `m`; empty without one."""
    initial: object = None
    """Value before the first write; may have another type."""

    def __post_init__(self) -> None:
        """Validate the name, the type and the texts.

        Raises:
            BadInput: the name is not an identifier, the type does not support
                `isinstance`, or a text is not a string.
        """
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise BadInput(
                f"name of a variable is {short(self.name)}; give letters, digits and "
                "'_', as in 'distance_m'."
            )
        label = f"variable {self.name!r}"
        for what in ("about", "unit"):
            _check_text(label, what, getattr(self, what))
        try:
            isinstance(None, self.type)
        except TypeError:
            raise BadInput(
                f"type of {label} is {short(self.type)}; give a class, or several of "
                "them as in `float | None`."
            ) from None


class Cell:
    """Storage of one variable of one instance: value, and tick of the last write."""

    __slots__ = ("_types", "owner", "value", "variable", "written")

    def __init__(self, variable: Variable, owner: str) -> None:
        """Store the initial value.

        Args:
            variable: declaration of the variable.
            owner: path of the instance that writes it.
        """
        self.variable = variable
        self.owner = owner
        self.value: object = variable.initial
        self.written: int | None = None
        """Tick of the last write; None before the first."""
        is_number = variable.type is float
        self._types = (float, int) if is_number else variable.type

    def write(self, value: object, tick: int) -> None:
        """Store a value; an array is copied and made read-only.

        Raises:
            BadInput: the value does not have the declared type.
        """
        if not isinstance(value, self._types) or (
            isinstance(value, bool) and self.variable.type is float
        ):
            raise BadInput(
                f"{self.owner}.{self.variable.name} is {value!r}, of type "
                f"{type(value).__name__}; give {_name_of(self.variable.type)}."
            )
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        self.value = value
        self.written = tick


def cells_of(outputs: tuple[Variable, ...], owner: str) -> Mapping[str, Cell]:
    """Create a cell for each output of an instance."""
    return {variable.name: Cell(variable, owner) for variable in outputs}


def find_cell(cells: Mapping[str, Cell], name: str, owner: str) -> Cell:
    """Return the cell of an output.

    Raises:
        UnknownName: the instance declares no such output.
    """
    if name not in cells:
        raise UnknownName("Output", name, cells, f"the outputs of schema {owner!r}")
    return cells[name]


def _name_of(kind: type | UnionType) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


RESERVED_PARAMETERS = frozenset({"called", "order"})
"""Keywords of `wake`, which no parameter may have as a name."""


def check_between(
    name: str, value: float, lowest: float, highest: float, unit: str = ""
) -> None:
    """Check a parameter against its range, including both ends.

    Args:
        name: name of the parameter.
        value: value to check.
        lowest: minimum.
        highest: maximum.
        unit: unit of all three; empty without one.

    Raises:
        BadInput: the value is outside, or not finite.
    """
    if not (isfinite(value) and lowest <= value <= highest):
        of_unit = f" {unit}" if unit else ""
        raise BadInput(
            f"{name} is {value:g}{of_unit}; give {lowest:g} to {highest:g}{of_unit}."
        )


def bounded(
    default: float, lowest: float, highest: float, unit: str = ""
) -> Any:  # returns a field, typed as its value
    """Declare a parameter with its range, which `Parameters` checks."""
    return field(default=default, metadata={"range": (lowest, highest, unit)})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Modulation parameters of a schema; `bounded` ones are checked."""

    def __post_init__(self) -> None:
        """Check all ranges.

        Raises:
            BadInput: a number is out of its range.
        """
        for one in fields(self):
            if "range" in one.metadata:
                lowest, highest, unit = one.metadata["range"]
                value = getattr(self, one.name)
                check_between(one.name, value, lowest, highest, unit)


@dataclass(frozen=True, kw_only=True)
class NoParameters:
    """Parameters of a schema without modulation."""


@dataclass(frozen=True)
class SchemaInfo:
    """Static description of a schema."""

    name: str
    """Name for activation; unique among the schemas of an installation."""
    about: str
    """Task of the schema, in one sentence."""
    _: KW_ONLY
    period_s: float = 0.1
    """Time between two iterations in s, a multiple of the device slot: the cycle
    time, which every schema has as a parameter."""
    parameters: type = NoParameters
    """Frozen dataclass with a default for every field: its modulation."""
    outputs: tuple[Variable, ...] = ()
    """Variables for other schemas."""
    reads: tuple[str, ...] = ()
    """Inputs, as `schema.variable`. The name refers to the nearest instance: a
    child, otherwise a sibling, otherwise a sibling of an ancestor."""
    needs: tuple[str, ...] = ()
    """Required resources: leaves and composites."""
    optional: tuple[str, ...] = ()
    """Resources taken only if they are free at the grant."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Cumulative resource to the required rate in percent."""

    def __post_init__(self) -> None:
        """Validate the fields, and make them immutable.

        Raises:
            BadInput: a field has the wrong form, a name is empty or repeated, the
                period is not positive, the parameters are not a frozen dataclass with
                defaults, or an entry of `reads` is not of the form `schema.variable`.
        """
        self._keep("name", check_name(self.name, "a schema"))
        label = f"schema {self.name!r}"
        if "/" in self.name or "." in self.name:
            raise BadInput(
                f"{label} has '/' or '.' in its name; these separate paths and "
                "variables. Use another name."
            )
        _check_text(label, "about", self.about)
        accepted = "give a positive number"
        least = ulp(0.0)
        period_s = check_seconds(self.period_s, f"period of {label}", accepted, least)
        self._keep("period_s", period_s)
        _check_parameters(label, self.parameters)
        self._keep("outputs", _checked_outputs(label, self.outputs))
        for what, suffix in (("reads", ""), ("needs", ""), ("optional", " needs")):
            names = check_names(getattr(self, what), f"{what}{suffix} of {label}")
            self._keep(what, names)
        for name in self.reads:
            source, dot, variable = name.partition(".")
            if not (dot and source and variable) or "." in variable:
                raise BadInput(
                    f"{label} reads {name!r}; give `schema.variable`, as in "
                    "'obstacles.distance'."
                )
        self._keep("rates", ReadOnly(checked_rates(self.rates)))
        _check_once(label, "resource", [*self.needs, *self.optional, *self.rates])

    def _keep(self, what: str, value: object) -> None:
        object.__setattr__(self, what, value)


def _check_text(label: str, what: str, text: object) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{what} of {label} is {short(text)}; give a text.")


def _checked_outputs(label: str, outputs: Any) -> tuple[Variable, ...]:
    """Return the outputs after checking that their names are unique."""
    is_list = isinstance(outputs, list | tuple)
    if not is_list or not all(isinstance(one, Variable) for one in outputs):
        raise BadInput(
            f"outputs of {label} are {short(outputs)}; give a tuple of Variables, such "
            "as (Variable(name='distance', type=float, about='To the wall.'),)."
        )
    _check_once(label, "output", [one.name for one in outputs])
    return tuple(outputs)


def _check_parameters(label: str, kind: type) -> None:
    params = getattr(kind, "__dataclass_params__", None)
    if not is_dataclass(kind) or params is None or not params.frozen:
        raise BadInput(
            f"parameters of {label} are {kind!r}; give a dataclass with frozen=True."
        )
    for one in fields(kind):
        if one.name in RESERVED_PARAMETERS:
            raise BadInput(
                f"{label} has a parameter {one.name!r}, which is an argument of "
                "`wake`; rename the parameter."
            )
    try:
        kind()
    except BadInput:
        raise
    except FOREIGN_ERRORS as error:  # any exception of a foreign class
        raise BadInput(
            f"parameters of {label} cannot be created without values: {error}. Give "
            "each field a default."
        ) from error


def _check_once(label: str, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(
                f"{label} declares the {what} {name!r} twice; remove one of them."
            )


Arbitration = Callable[[Sequence[str], str | None], str | None]
"""Function of the names of the ready children, highest rank first, and of the
present winner if it is ready; returns one of them, or None for no winner."""


def keep_winner(ready: Sequence[str], present: str | None) -> str | None:
    """Return the present winner while it is ready, otherwise the highest rank."""
    return present if present is not None else highest_order(ready, present)


def highest_order(ready: Sequence[str], present: str | None) -> str | None:
    """Return the ready child of the highest rank, which subsumes the others."""
    del present
    return ready[0] if ready else None


ARBITRATIONS: Mapping[str, Arbitration] = MappingProxyType(
    {"keep_winner": keep_winner, "highest_order": highest_order}
)
"""Rules by their names in scenarios."""
