"""Instance of a schema with its state in the runtime, and its request.

An actuation schema requests its resources when it wins, and acts only while it holds
them. Its `ticket` is the ledger's record of the reservation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    CallbackOnDemand,
    ConflictPolicy,
    Demand,
    Lock,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.tokens import Outcome
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.actuators import ChildView, Playing
from nao_testbed.controllers.schemas.declaration import Cell, SchemaInfo, State
from nao_testbed.controllers.schemas.schema import ActuationSchema, PerceptiveSchema


def make_request(
    ledger: Ledger,
    info: SchemaInfo,
    activation: Activation,
    path: str,
    parent: str | None,
    priority: int,
    on_demand: Callable[[Demand], Answer | None] | None,
) -> Request | None:
    """Register the owner of an instance and return its request; None: no needs.

    A root is always registered, so that other owners can be parts of it.

    Args:
        ledger: ledger that grants the request.
        info: declaration of the schema.
        activation: its resources, policy and time limit; None: those of `info`.
        path: path of the instance.
        parent: name of the nearest ancestor that is an owner; None: none.
        priority: priority of its requests.
        on_demand: function of the policy `callback` if it has none of its own.

    Raises:
        UnknownName: a resource or the parent is not known.
        BadInput: a rate is invalid, or a resource is named twice.
    """
    given: ConflictPolicy = activation.policy or Lock()
    if isinstance(given, CallbackOnDemand) and not given.decides and on_demand:
        given = replace(given, function=on_demand)
    owner = Owner(
        name=path,
        parent=parent,
        policy=given,
        priority=priority,
        timeout_s=activation.timeout_s,
    )
    needs = info.needs if activation.needs is None else activation.needs
    optional = info.optional if activation.optional is None else activation.optional
    rates = info.rates if activation.rates is None else activation.rates
    for name in (*needs, *optional, *rates):
        ledger.tree.node(name)
    if not (needs or optional or rates):
        if "/" not in path:
            ledger.add_owner(owner, ledger.tick)
        return None
    request = Request(owner=path, resources=needs, optional=optional, rates=rates)
    ledger.add_owner(owner, ledger.tick)
    return request


MAX_ORDERS = 16
"""Number of orders of an instance at which finished ones are removed."""


@dataclass(eq=False, kw_only=True)
class Instance:
    """Instance of a schema under one parent, with its own parameters and state."""

    schema: ActuationSchema[Any] | PerceptiveSchema[Any]
    """Schema object."""
    activation: Activation
    """Data of its last activation."""
    parent: "Instance | None"
    """Parent, which activates it; None: a root."""
    part_of: str | None
    """For a root: the owner that contains it."""
    number: int
    """Number of the instance; lower than those of its children."""
    period_ticks: int
    """Cycle time in slots."""
    cells: Mapping[str, Cell]
    """Name to cell of its outputs."""

    parameters: Any = None
    request: Request | None = None
    """Request sent at each win; None: no resources needed."""
    requested: Activation | None = None
    """Activation data that the request was made from."""
    ticket: Ticket | None = None
    """Ticket of the request with which it waits, or by whose grant it acts.

    A pause with its resumption gives another ticket, so the instance stops and restarts
    even if both happen between two slots. None: no request and no reservation."""
    priority: int = 0
    """Priority of its requests; also the default of its children."""
    children: "dict[str, Instance]" = field(default_factory=dict)
    """Name to child, for all children activated so far."""
    ranked: "list[Instance]" = field(default_factory=list)
    """Active actuation children, highest rank first."""
    newly_awake: "list[Instance]" = field(default_factory=list)
    """Children activated since the last slot."""
    winner: "Instance | None" = None
    """Present winner among its children."""

    state: State = State.SLEPT
    is_ready: bool = False
    is_done: bool = False
    is_acting: bool = False
    """True from `start` to the end of acting."""
    has_acted: bool = False
    """True if it has acted since it won."""
    may_act: bool = False
    """True while `start` or `iterate` runs."""
    finishes: bool = False
    """True if the running method has called `finish`."""
    error: str = ""
    next_due: int = -1
    """Tick of its next iteration; -1 while inactive."""
    due: int = -1
    """Last tick at which it was due."""
    sequence: int = 0
    """Number of its activation, counted over all instances."""
    _orders: list[Playing] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Set the path and the kind."""
        parent, schema, self.name = self.parent, self.schema, self.activation.name
        self.info = schema.info
        self.path: str = self.name if parent is None else f"{parent.path}/{self.name}"
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_perceptive = isinstance(schema, PerceptiveSchema)
        self.acting = cast(ActuationSchema[Any], schema)
        """The schema, typed as an actuation schema."""
        self.perceiving = cast(PerceptiveSchema[Any], schema)
        """The schema, typed as a perceptive schema."""

    @property
    def is_awake(self) -> bool:
        """True in every state except SLEPT."""
        return self.state is not State.SLEPT

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of its request; None while it waits or without a request."""
        return None if self.ticket is None else self.ticket.outcome

    def owner_above(self) -> str | None:
        """Return the name of the nearest ancestor that is an owner, or None."""
        above = self.parent
        while above is not None and above.request is None and above.parent is not None:
            above = above.parent
        return None if above is None else above.path

    def awake_below(self) -> Iterator["Instance"]:
        """Yield its active descendants, each after its own descendants."""
        for child in self.children.values():
            if child.is_awake:
                yield from child.awake_below()
                yield child

    def rank(self) -> None:
        """Sort its competing children by rank."""
        awake = [
            child
            for child in self.children.values()
            if child.is_awake and not child.is_perceptive
        ]
        self.ranked = sorted(
            awake, key=lambda one: (-one.activation.order, one.sequence)
        )

    def keep_order(self, order: Playing) -> None:
        """Store an order, to be cancelled when the instance stops acting."""
        if len(self._orders) >= MAX_ORDERS:
            self._orders = [one for one in self._orders if not one.is_over]
        self._orders.append(order)

    def take_orders(self) -> Sequence[Playing]:
        """Return and clear its orders."""
        orders, self._orders = self._orders, []
        return orders

    def view(self) -> ChildView:
        """Return its state for its parent and for viewers."""
        return ChildView(
            name=self.name,
            schema=self.info.name,
            state=self.state,
            is_ready=self.is_ready,
            is_waiting=self.state is State.WINNER
            and not self.is_perceptive
            and not self.is_acting,
            is_done=self.is_done,
            error=self.error,
            parameters=self.parameters,
        )
