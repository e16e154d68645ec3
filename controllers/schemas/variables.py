"""Shared variables: how schemas talk to each other [jdec-urjc, section 3.3].

The paper guards them by a mutex, since its schemas are threads. Ours run one after
another in one thread, in an order that is the same in every run, so there is nothing to
race (JD-21): a value is there for all who are called after the one that wrote it, in
the same slot, whole. Each belongs to one instance, and only this one writes it; two
instances of one schema have two variables of one name, told apart by the paths of the
instances (JD-22).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType

import numpy as np

from models import BadInput, UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
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
        """Refuse a name that could not be written in Python.

        Raises:
            BadInput: it is no identifier.
        """
        if not self.name.isidentifier():
            raise BadInput(
                f"variable {self.name!r} needs a name of letters, digits and '_', as "
                "'distance_m'."
            )


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
