"""What a schema declares of itself before it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from math import isfinite

from controllers.arbitration.requests import rate_of
from controllers.arbitration.resource_tree import check_names
from controllers.schemas.variables import Variable
from models import BadInput

TAKEN = frozenset({"called", "order"})
"""Words that `wake` itself understands, so that no parameter has them for a name."""


@dataclass(frozen=True, kw_only=True)
class NoParameters:
    """The parameters of a schema that nothing modulates."""


@dataclass(frozen=True, kw_only=True)
class SchemaInfo:
    """What is known of a schema without an instance of it."""

    name: str
    """By which it is woken; of all schemas of an installation no two have the same."""
    about: str
    """What it does, in one sentence."""
    period_s: float = 0.1
    """Time between two iterations in s, a multiple of the device slot: the cycle time,
    its one parameter that every schema has (JD-20)."""
    parameters: type = NoParameters
    """A frozen dataclass whose fields all have defaults: its modulation (JD-2)."""
    outputs: tuple[Variable, ...] = ()
    """What it offers to the other schemas (JD-21)."""
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
        """Refuse what the runtime could not run.

        Raises:
            BadInput: a name is empty or twice there, the period is not positive, the
                parameters are no frozen dataclass with defaults, or what it reads is
                not of the form `schema.variable`.
        """
        who = f"schema {self.name!r}"
        if not self.name.strip() or "/" in self.name or "." in self.name:
            raise BadInput(
                f"{who} needs another name: one that is not empty and has neither '/' "
                "nor '.', which paths and variables are written with."
            )
        if not (isfinite(self.period_s) and self.period_s > 0.0):
            raise BadInput(
                f"period of {who} is {self.period_s} s; give a positive number."
            )
        _check_parameters(who, self.parameters)
        _check_once(who, "output", [one.name for one in self.outputs])
        check_names(self.reads, f"reads of {who}")
        for name in self.reads:
            source, dot, variable = name.partition(".")
            if not (dot and source and variable) or "." in variable:
                raise BadInput(
                    f"{who} reads {name!r}; write `schema.variable`, as in "
                    "'obstacles.distance'."
                )
        check_names(self.needs, f"needs of {who}")
        check_names(self.optional, f"optional needs of {who}")
        for name, percent in self.rates.items():
            rate_of(name, percent)
        _check_once(who, "resource", [*self.needs, *self.optional, *self.rates])


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
    except TypeError as error:
        raise BadInput(
            f"parameters of {who} cannot be made without values: {error}. Give each "
            "field a default."
        ) from error


def _check_once(who: str, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{who} declares the {what} {name!r} twice.")
