"""What a schema declares of itself: kind, states, variables, needs, rules of choice.

Kinds and states are those of [jdec-urjc, section 2.1].

Shared variables are how schemas talk to each other [jdec-urjc, section 3.3]. The paper
guards them by a mutex, since its schemas are threads. Ours run one after another in one
thread, in an order that is the same in every run, so there is nothing to race:
a value is there for all who are called after the one that wrote it, in the same slot,
whole. Each belongs to one instance, and only this one writes it; two instances of one
schema have two variables of one name, told apart by the paths of the instances.

Which of several children that are ready wins the paper leaves open; a parent may
have a rule of its own. `keep_winner` and `highest_order` are there for all.
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
from nao_testbed.models.errors import FOREIGN
from nao_testbed.models.values import check_seconds, short


class Kind(StrEnum):
    """What a schema does."""

    PERCEPTIVE = "perceptive"
    """Turns sensor data or simpler stimuli into richer ones."""
    ACTUATION = "actuation"
    """Commands effectors, or wakes and modulates other schemas."""


class State(StrEnum):
    """How far a schema is active.

    A perceptive one is SLEPT or WINNER; an actuation one takes all four.
    """

    SLEPT = "slept"
    """It does nothing; what it remembers stays."""
    CHECKING = "checking"
    """Awake, but its precondition does not hold."""
    READY = "ready"
    """Awake, its precondition holds, and it competes with its siblings."""
    WINNER = "winner"
    """It alone on its level may command effectors and wake children."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An output that a schema declares."""

    name: str
    type: type | UnionType
    """Of its values, such as `float` or `bool | None`; every value is tested."""
    about: str
    """What it means."""
    unit: str = ""
    """As `rad` or `m`; empty if it has none."""
    initial: object = None
    """Its value before the first one is written; need not be of the type."""

    def __post_init__(self) -> None:
        """Refuse a name that could not be written in Python, and what is no type.

        Raises:
            BadInput: the name is no identifier, the type is none that a value can be
                tested for, or a text is none.
        """
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise BadInput(
                f"variable {short(self.name)} needs a name of letters, digits and '_', "
                "as 'distance_m'."
            )
        who = f"variable {self.name!r}"
        for what in ("about", "unit"):
            _check_text(who, what, getattr(self, what))
        try:
            isinstance(None, self.type)
        except TypeError:
            raise BadInput(
                f"type of {who} is {short(self.type)}; give a class, or several of "
                "them as in `float | None`."
            ) from None


class Cell:
    """The place of one variable of one instance: its value, and when it was written."""

    __slots__ = ("_types", "owner", "value", "variable", "written")

    def __init__(self, variable: Variable, owner: str) -> None:
        """Hold the initial value.

        Args:
            variable: its declaration.
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
        """Put a value; an array is copied, and nobody can change the copy.

        Raises:
            BadInput: it is not of the declared type.
        """
        if not isinstance(value, self._types) or (
            isinstance(value, bool) and self.variable.type is float
        ):
            raise BadInput(
                f"{self.owner}.{self.variable.name} is given {value!r}, of type "
                f"{type(value).__name__}; it takes {_name_of(self.variable.type)}."
            )
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        self.value = value
        self.written = tick


def cells_of(outputs: tuple[Variable, ...], owner: str) -> Mapping[str, Cell]:
    """Return a fresh cell for each output of an instance."""
    return {variable.name: Cell(variable, owner) for variable in outputs}


def find_cell(cells: Mapping[str, Cell], name: str, owner: str) -> Cell:
    """Return the cell of an output.

    Raises:
        UnknownName: the instance declares no such output.
    """
    if name not in cells:
        raise UnknownName("Output", name, cells, f"what schema {owner!r} declares")
    return cells[name]


def _name_of(kind: type | UnionType) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


TAKEN = frozenset({"called", "order"})
"""Words that `wake` itself understands, so that no parameter has them for a name."""


def check_between(
    name: str, value: float, lowest: float, highest: float, unit: str = ""
) -> None:
    """Refuse a parameter outside its range; both ends belong to it.

    Args:
        name: of the parameter.
        value: what was given.
        lowest: least accepted value.
        highest: largest accepted value.
        unit: of all three; empty if they have none.

    Raises:
        BadInput: it is outside, or no finite number.
    """
    if not (isfinite(value) and lowest <= value <= highest):
        of_unit = f" {unit}" if unit else ""
        raise BadInput(
            f"{name} is {value:g}{of_unit}; give {lowest:g} to {highest:g}{of_unit}."
        )


def bounded(
    default: float, lowest: float, highest: float, unit: str = ""
) -> Any:  # a field, which type checkers take for its value
    """Declare a parameter with its range, which `Parameters` tests."""
    return field(default=default, metadata={"range": (lowest, highest, unit)})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What modulates a schema, each `bounded` one in its range."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

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
    """The parameters of a schema that nothing modulates."""


@dataclass(frozen=True)
class SchemaInfo:
    """What is known of a schema without an instance of it."""

    name: str
    """By which it is woken; of all schemas of an installation no two have the same."""
    about: str
    """What it does, in one sentence."""
    _: KW_ONLY
    period_s: float = 0.1
    """Time between two iterations in s, a multiple of the device slot: the cycle time,
    its one parameter that every schema has."""
    parameters: type = NoParameters
    """A frozen dataclass whose fields all have defaults: its modulation."""
    outputs: tuple[Variable, ...] = ()
    """What it offers to the other schemas."""
    reads: tuple[str, ...] = ()
    """What it needs of others, as `schema.variable`. The name of the schema is that of
    the nearest instance: a child, else a sibling, else a sibling of an ancestor."""
    needs: tuple[str, ...] = ()
    """Resources without which it does not act: leaves and composites."""
    optional: tuple[str, ...] = ()
    """Resources that it takes if they are free at the grant."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Cumulative resource to rate in percent, without which it does not act."""

    def __post_init__(self) -> None:
        """Refuse what the runtime could not run; keep what nobody changes.

        Raises:
            BadInput: a field is of the wrong shape, a name is empty or twice there, the
                period is not positive, the parameters are no frozen dataclass with
                defaults, or what it reads is not of the form `schema.variable`.
        """
        self._keep("name", check_name(self.name, "a schema"))
        who = f"schema {self.name!r}"
        if "/" in self.name or "." in self.name:
            raise BadInput(
                f"{who} needs another name: one that has neither '/' nor '.', which "
                "paths and variables are written with."
            )
        _check_text(who, "about", self.about)
        accepted = "give a positive number"
        least = ulp(0.0)
        period_s = check_seconds(self.period_s, f"period of {who}", accepted, least)
        self._keep("period_s", period_s)
        _check_parameters(who, self.parameters)
        self._keep("outputs", _checked_outputs(who, self.outputs))
        for what, said in (("reads", ""), ("needs", ""), ("optional", " needs")):
            names = check_names(getattr(self, what), f"{what}{said} of {who}")
            self._keep(what, names)
        for name in self.reads:
            source, dot, variable = name.partition(".")
            if not (dot and source and variable) or "." in variable:
                raise BadInput(
                    f"{who} reads {name!r}; write `schema.variable`, as in "
                    "'obstacles.distance'."
                )
        self._keep("rates", ReadOnly(checked_rates(self.rates)))
        _check_once(who, "resource", [*self.needs, *self.optional, *self.rates])

    def _keep(self, what: str, value: object) -> None:
        object.__setattr__(self, what, value)


def _check_text(who: str, what: str, text: object) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{what} of {who} is {short(text)}; give a sentence, as a text.")


def _checked_outputs(who: str, outputs: Any) -> tuple[Variable, ...]:
    """Return outputs that are told apart by their names."""
    is_list = isinstance(outputs, list | tuple)
    if not is_list or not all(isinstance(one, Variable) for one in outputs):
        raise BadInput(
            f"outputs of {who} are {short(outputs)}; give a tuple of Variables, as in "
            "(Variable(name='distance', type=float, about='To the wall.'),)."
        )
    _check_once(who, "output", [one.name for one in outputs])
    return tuple(outputs)


def _check_parameters(who: str, kind: type) -> None:
    params = getattr(kind, "__dataclass_params__", None)
    if not is_dataclass(kind) or params is None or not params.frozen:
        raise BadInput(
            f"parameters of {who} are {kind!r}; give a dataclass with frozen=True."
        )
    for one in fields(kind):
        if one.name in TAKEN:
            raise BadInput(
                f"{who} has a parameter {one.name!r}, a word that `wake` takes for "
                "itself; give it another name."
            )
    try:
        kind()
    except BadInput:
        raise
    except FOREIGN as error:  # whatever a foreign class raises
        raise BadInput(
            f"parameters of {who} cannot be made without values: {error}. Give each "
            "field a default."
        ) from error


def _check_once(who: str, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{who} declares the {what} {name!r} twice.")


Arbitration = Callable[[Sequence[str], str | None], str | None]
"""Takes the names of those that are ready, the highest rank first, and the present
winner if it is among them; returns one of them, or None for nobody."""


def keep_winner(ready: Sequence[str], present: str | None) -> str | None:
    """Let the present winner stay as long as it is ready, else take the highest."""
    return present if present is not None else highest_order(ready, present)


def highest_order(ready: Sequence[str], present: str | None) -> str | None:
    """Take the highest rank that is ready: it subsumes those below."""
    del present
    return ready[0] if ready else None


ARBITRATIONS: Mapping[str, Arbitration] = MappingProxyType(
    {"keep_winner": keep_winner, "highest_order": highest_order}
)
"""Name to rule, as a scenario names it."""
