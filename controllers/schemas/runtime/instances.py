"""Table of all instances of a run: creation, and look-up of each other's variables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import isclose
from typing import Any

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.schemas.activation import Activation, make_parameters
from nao_testbed.controllers.schemas.declaration import Cell, State, cells_of
from nao_testbed.controllers.schemas.registry import Registry, SchemaClass
from nao_testbed.controllers.schemas.runtime.instance import Instance, make_request
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.models import BadInput, Robot, TestbedError, UnknownName
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.models.values import short


@dataclass(frozen=True, kw_only=True)
class SchemaLimits:
    """Largest size of a hierarchy; unlimited activation of schemas fails."""

    depth: int = 20
    """Number of levels, including the root."""
    children: int = 100
    """Largest number of instances that one schema may activate besides its given
    children. Inactive ones count as well, since they keep their memory."""
    instances: int = 1000
    """Largest number of instances that schemas may create; roots may exceed it."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if type(value) is not int or value < 1:
                raise BadInput(
                    f"{one.name} of schemas is {short(value)}; give a whole number "
                    "from 1."
                )


class Instances:
    """Table of the instances, by number and by path, and look-up of their variables."""

    def __init__(
        self, ledger: Ledger, registry: Registry, robot: Robot, limits: SchemaLimits
    ) -> None:
        """Create an empty table.

        Args:
            ledger: ledger that registers the instances as owners.
            registry: available schemas.
            robot: robot of the instances.
            limits: largest size.
        """
        self._limits = limits
        self._ledger = ledger
        self._robot = robot
        self._registry = registry
        self.instances: list[Instance] = []
        self.roots: dict[str, Instance] = {}

    def find(self, path: str) -> Instance:
        """Return an instance by its path.

        Raises:
            UnknownName: no instance has this path.
        """
        names = path.split("/")
        children: Mapping[str, Instance] = self.roots
        found: Instance | None = None
        for name in names:
            found = children.get(name)
            if found is None:
                known = [one.path for one in self.instances]
                raise UnknownName("Behaviour", path, known, "the tree of schemas")
            children = found.children
        assert found is not None  # a split text has at least one part
        return found

    def make(
        self,
        activation: Activation,
        parent: Instance | None,
        part_of: str | None = None,
    ) -> tuple[Instance, Any]:
        """Return the instance with a name under a parent; create a missing one.

        The resources are set from the activation data, unless the instance is a winner.

        Args:
            activation: schema, name and resources.
            parent: parent instance; None: a root.
            part_of: owner that contains a new root.

        Returns:
            The instance (inactive if new) and the activation parameters.

        Raises:
            UnknownName: a schema, parameter, resource or owner does not exist.
            BadInput: the name belongs to another schema or owner; the period is not a
                multiple of the slot; the hierarchy would exceed its limits; the schema
                rejects the activation. Nothing has changed.
        """
        kind = self._registry.find(activation.schema)
        given = {**kind.robot_defaults(self._robot), **activation.parameters}
        parameters = make_parameters(kind.info, given)
        data = with_needs(kind, activation, parameters, self._robot)
        check_activation_data(kind, data, parameters, self._robot)
        siblings = self.roots if parent is None else parent.children
        one = siblings.get(activation.name)
        if one is None:
            one = self._new(kind, activation, parent, part_of)
            one.parameters = parameters
            self._set_request(one, data)
            self.instances.append(one)
            siblings[activation.name] = one
            return one, parameters
        if type(one.schema) is not kind:
            raise BadInput(
                f"{one.path!r} is an instance of schema {one.info.name!r}, not of "
                f"{activation.schema!r}; use another name."
            )
        is_requested = one.requested == data and one.priority == _priority(one, data)
        if one.state is not State.WINNER and not is_requested:
            self._set_request(one, data)
        one.activation = activation
        return one, parameters

    def cell(self, reader: Instance, name: str) -> Cell:
        """Return the variable to which `schema.variable` refers for a reader.

        Raises:
            UnknownName: the reader does not declare it, or no such instance or output
                is within its reach.
        """
        if name not in reader.info.reads:
            declared = reader.info.reads
            raise UnknownName("Input", name, declared, f"the inputs of {reader.path!r}")
        source, _, variable = name.partition(".")
        at: Instance | None = reader
        while at is not None:
            if source in at.children:
                return _output(at.children[source], variable)
            at = at.parent
        if source in self.roots:
            return _output(self.roots[source], variable)
        known = [one.path for one in self.instances]
        raise UnknownName(
            "Schema", source, known, f"scope of {reader.path!r}, which reads {name!r}"
        )

    def _new(
        self,
        kind: SchemaClass,
        activation: Activation,
        parent: Instance | None,
        part_of: str | None,
    ) -> Instance:
        info = kind.info
        path = activation.name if parent is None else f"{parent.path}/{activation.name}"
        if parent is not None:
            self._check_growth(path, parent)
        if any(row.name == path for row in take_snapshot(self._ledger).owners):
            raise BadInput(
                f"{path!r} is already the name of an owner; give this behaviour "
                "another name."
            )
        try:
            schema = kind()
        except FOREIGN_ERRORS as error:  # any exception of a foreign schema
            raise BadInput(
                f"schema {info.name!r} cannot be created: "
                f"{type(error).__name__}: {error}."
            ) from error
        return Instance(
            schema=schema,
            activation=activation,
            parent=parent,
            part_of=part_of,
            number=len(self.instances),
            period_ticks=period_in_ticks(
                info.name, info.period_s, self._ledger.cfg.tick_s
            ),
            cells=cells_of(info.outputs, path),
        )

    def _check_growth(self, path: str, parent: Instance) -> None:
        """Raise if another child would exceed the limits of the hierarchy."""
        limits, depth = self._limits, parent.depth + 2
        if depth > limits.depth:
            raise BadInput(
                f"{path!r} would be {depth} levels deep; at most {limits.depth} are "
                "accepted. Check whether a schema activates itself."
            )
        given = {activation.name for activation in parent.activation.children}
        n = len(parent.children.keys() - given)
        if n >= limits.children and path.rpartition("/")[2] not in given:
            raise BadInput(
                f"{path!r} would be child {n + 1} of {parent.path!r}; at most "
                f"{limits.children} besides its given children are accepted. Reuse the "
                "name of an existing child."
            )
        if len(self.instances) >= limits.instances:
            raise BadInput(
                f"{path!r} cannot be activated: {len(self.instances)} instances exist, "
                f"at most {limits.instances} are accepted. Check whether a schema "
                "activates children with ever new names."
            )

    def _set_request(self, one: Instance, activation: Activation) -> None:
        """Set the request of an instance from its activation data."""
        parent = one.parent
        above = one.part_of if parent is None else one.owner_above()
        priority = _priority(one, activation)
        request = make_request(
            self._ledger,
            one.info,
            activation,
            one.path,
            above,
            priority,
            None if one.is_perceptive else one.acting.on_demand,
        )
        if request is not None and one.is_perceptive:
            raise BadInput(
                f"{one.path!r} is perceptive, so it commands no resources; remove its "
                "needs."
            )
        one.request, one.priority, one.requested = request, priority, activation


def period_in_ticks(name: str, period_s: float, tick_s: float) -> int:
    """Return a period in slots.

    Raises:
        BadInput: the period is not a multiple of the slot.
    """
    ticks = round(period_s / tick_s)
    if ticks < 1 or not isclose(ticks * tick_s, period_s, rel_tol=1e-9):
        raise BadInput(
            f"period of schema {name!r} is {period_s} s, {period_s / tick_s:g} slots "
            f"of {tick_s} s; give a whole number of slots."
        )
    return ticks


def _priority(one: Instance, activation: Activation) -> int:
    """Return the priority of an instance's requests: its own, or its parent's."""
    if activation.priority is not None:
        return activation.priority
    return 0 if one.parent is None else one.parent.priority


def _output(one: Instance, variable: str) -> Cell:
    if variable not in one.cells:
        raise UnknownName("Output", variable, one.cells, f"the outputs of {one.path!r}")
    return one.cells[variable]


def check_activation_data(
    kind: SchemaClass, activation: Activation, parameters: Any, robot: Robot
) -> None:
    """Call the schema's check of its activation data.

    Raises:
        UnknownName, BadInput: the schema rejects them, or its check fails.
    """
    with _as_bad_input(kind, "check its activation"):
        kind.check_activation(activation, parameters, robot)


def with_needs(
    kind: SchemaClass, activation: Activation, parameters: object, robot: Robot
) -> Activation:
    """Return an activation with the resources that its schema needs.

    Raises:
        UnknownName, BadInput: the schema names an unknown resource, or its method
            fails.
    """
    if not issubclass(kind, ActuationSchema) or activation.needs is not None:
        return activation
    optional = activation.optional
    with _as_bad_input(kind, "determine its needs"):
        needs = kind.needs_of(parameters, robot)
        optional = kind.optional_of(parameters, robot) if optional is None else optional
    return activation.changed(needs=needs, optional=optional)


@contextmanager
def _as_bad_input(kind: SchemaClass, what: str) -> Iterator[None]:
    """Convert exceptions of a foreign schema to `BadInput`."""
    try:
        yield
    except TestbedError:
        raise
    except FOREIGN_ERRORS as error:
        raise BadInput(
            f"schema {kind.info.name!r} cannot {what}: {type(error).__name__}: {error}."
        ) from error
