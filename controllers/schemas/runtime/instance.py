"""One instance of a schema: what the runtime keeps of it, and its request.

An actuation schema acts only while it holds what it needs: it requests that when it
wins. All that is known of its reservation is the ledger's record, its `ticket`.
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

    A root is an owner in any case, so that others can be parts of it.

    Args:
        ledger: grants it.
        info: says what the schema needs.
        activation: its resources, policy and time limit; None: those of `info`.
        path: path of the instance.
        parent: name of the nearest owner above it; None for none.
        priority: priority of its requests.
        on_demand: decides for it if its policy is `callback` without a function.

    Raises:
        UnknownName: a resource or the parent is not known.
        BadInput: a rate cannot be asked for, or a resource is named twice.
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
"""Orders of an instance that are kept before finished ones are removed."""


@dataclass(eq=False, kw_only=True)
class Instance:
    """A schema under one parent, asleep or awake, with its own modulation."""

    schema: ActuationSchema[Any] | PerceptiveSchema[Any]
    """The object with its methods."""
    activation: Activation
    """Data of its last activation."""
    parent: "Instance | None"
    """Parent, which activates it; None: it is a root."""
    part_of: str | None
    """Of a root: the owner that it is a part of."""
    number: int
    """Count of instances; a parent's is lower than its children's."""
    period_ticks: int
    """Its cycle time."""
    cells: Mapping[str, Cell]
    """Its outputs."""

    parameters: Any = None
    request: Request | None = None
    """Its request, the same at each win; None: it needs nothing."""
    requested: Activation | None = None
    """Activation data of its request."""
    ticket: Ticket | None = None
    """Ledger's record of the request with which it waits, or by whose grant it acts.

    A pause and its resumption are another ticket, so the instance stops and starts
    again even if it sees neither. None: it neither waits nor holds."""
    priority: int = 0
    """Of its requests, and of its children's if they have none of their own."""
    children: "dict[str, Instance]" = field(default_factory=dict)
    """All that it ever woke, by name."""
    ranked: "list[Instance]" = field(default_factory=list)
    """Actuation children that are awake, the highest rank first."""
    newly_awake: "list[Instance]" = field(default_factory=list)
    """Children activated since the last slot."""
    winner: "Instance | None" = None
    """Its present winner."""

    state: State = State.SLEPT
    is_ready: bool = False
    is_done: bool = False
    is_acting: bool = False
    """Whether `start` was called, and nothing has ended that."""
    has_acted: bool = False
    """Whether it was since it won."""
    may_act: bool = False
    """Whether `start` or `iterate` runs."""
    finishes: bool = False
    """Whether it called `finish` in the method that runs."""
    error: str = ""
    next_due: int = -1
    """Tick of its next iteration; -1 while it sleeps."""
    due: int = -1
    """The last tick at which it was due."""
    sequence: int = 0
    """Count of activations at its activation."""
    _orders: list[Playing] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Find its place in the tree, and its kind."""
        parent, schema, self.name = self.parent, self.schema, self.activation.name
        self.info = schema.info
        self.path: str = self.name if parent is None else f"{parent.path}/{self.name}"
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_perceptive = isinstance(schema, PerceptiveSchema)
        self.acting = cast(ActuationSchema[Any], schema)
        """Schema, for callers that know that it is an actuation schema."""
        self.perceiving = cast(PerceptiveSchema[Any], schema)
        """Schema, for callers that know that it is a perceptive schema."""

    @property
    def is_awake(self) -> bool:
        """True in every state but SLEPT."""
        return self.state is not State.SLEPT

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of its request; None while it waits or without one."""
        return None if self.ticket is None else self.ticket.outcome

    def owner_above(self) -> str | None:
        """Return the name of the nearest owner above it, None at a root."""
        above = self.parent
        while above is not None and above.request is None and above.parent is not None:
            above = above.parent
        return None if above is None else above.path

    def awake_below(self) -> Iterator["Instance"]:
        """Yield all that are awake below it, each after those below itself."""
        for child in self.children.values():
            if child.is_awake:
                yield from child.awake_below()
                yield child

    def rank(self) -> None:
        """Put its children that compete in their order."""
        awake = [
            child
            for child in self.children.values()
            if child.is_awake and not child.is_perceptive
        ]
        self.ranked = sorted(
            awake, key=lambda one: (-one.activation.order, one.sequence)
        )

    def keep_order(self, order: Playing) -> None:
        """Keep an order, to end it when the instance does not act any more."""
        if len(self._orders) >= MAX_ORDERS:
            self._orders = [one for one in self._orders if not one.is_over]
        self._orders.append(order)

    def take_orders(self) -> Sequence[Playing]:
        """Return what it has ordered, and forget it."""
        orders, self._orders = self._orders, []
        return orders

    def view(self) -> ChildView:
        """Return how it does, for its parent and for people."""
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
