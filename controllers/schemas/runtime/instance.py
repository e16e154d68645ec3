"""One instance of a schema: what the runtime remembers of it, and its reservation.

An actuation schema acts only while it has what it needs; `InstanceReservation` asks for
it when the instance wins, and knows whether it is still there.
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
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    Outcome,
    OutcomeKind,
    Token,
)
from nao_testbed.controllers.schemas.actuators import ChildView, Playing
from nao_testbed.controllers.schemas.declaration import Cell, SchemaInfo, State
from nao_testbed.controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from nao_testbed.controllers.schemas.waking import Waking


class InstanceReservation:
    """Asks for the resources of an instance, and knows whether it has them.

    `ask` when it wins; then `outcome` until there is one; `is_alive` while it acts;
    `forget` when its owner has given up.
    """

    __slots__ = (
        "_ledger",
        "_request",
        "_resumed",
        "_ticket",
        "has_yielded",
        "obtained",
        "owner",
        "token",
    )

    def __init__(self, ledger: Ledger, owner: Owner, request: Request) -> None:
        """Hold nothing yet.

        Args:
            ledger: knows the owner already.
            owner: the instance, by its path.
            request: what it needs; the same each time.
        """
        self._ledger = ledger
        self._request = request
        self._ticket: Ticket | None = None
        self._resumed: Token | None = None
        """Token granted after a pause, not yet adopted."""
        self.owner = owner
        self.token: Token | None = None
        self.obtained: tuple[str, ...] = ()
        """Leaves that the token covered when it was granted."""
        self.has_yielded = False
        """Whether its token is gone because its policy gave way for good."""

    @property
    def is_engaged(self) -> bool:
        """True if it holds resources or waits for them."""
        return self.token is not None or self.is_waiting

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the present request; None while it waits or without one."""
        if (token := self._resumed) is None:
            return None if self._ticket is None else self._ticket.outcome
        covered = (leaf for leaf in self.obtained if self._ledger.covers(token, leaf))
        return Outcome(
            OutcomeKind.GRANTED, self._ledger.tick, token, obtained=tuple(covered)
        )

    def ask(self, tick: int) -> None:
        """Ask for all of it.

        Raises:
            BadInput: the request cannot be granted by anybody.
            UnknownName: a resource is not known any more.
        """
        self.token = self._resumed = None
        self.has_yielded = False
        self._ticket = self._ledger.request(self._request, tick)

    def take(self, outcome: Outcome) -> bool:
        """Take over a granted token; return whether it was granted."""
        self._ticket = self._resumed = None
        self.token, self.obtained = outcome.token, outcome.obtained
        return self.token is not None

    def is_alive(self) -> bool:
        """Return whether its token is valid.

        One that is paused waits from now on. One that was paused and has resumed since
        the last look has an outcome already: it stops first, then begins again.
        """
        if self.token is None:
            return False
        present = self._ledger.follow(self.owner.name, self.token)
        if present.token == self.token:
            return True
        end = present.end
        self.has_yielded = end is not None and end.why is LossCause.YIELDED
        self.token, self._ticket, self._resumed = None, present.ticket, present.token
        return False

    @property
    def is_waiting(self) -> bool:
        """True if a request is pending, or granted and not yet adopted."""
        return self._ticket is not None or self._resumed is not None

    def forget(self) -> None:
        """Hold nothing: its owner has given up all."""
        self.token = self._ticket = self._resumed = None
        self.obtained = ()


def make_reservation(
    ledger: Ledger,
    info: SchemaInfo,
    waking: Waking,
    path: str,
    parent: str | None,
    priority: int,
    on_demand: Callable[[Demand], Answer | None] | None,
) -> InstanceReservation | None:
    """Return the reservation of an instance, and make its owner known; None: no needs.

    A root is an owner in any case, so that others can be parts of it.

    Args:
        ledger: grants it.
        info: says what the schema needs.
        waking: says what it needs instead, and its habits.
        path: of the instance.
        parent: name of the nearest owner above it; None for none.
        priority: of its requests.
        on_demand: decides for it if its policy is `callback` without a function.

    Raises:
        UnknownName: a resource or the parent is not known.
        BadInput: a rate cannot be asked for, or a resource is named twice.
    """
    given: ConflictPolicy = waking.policy or Lock()
    if isinstance(given, CallbackOnDemand) and not given.decides and on_demand:
        given = replace(given, function=on_demand)
    owner = Owner(
        name=path,
        parent=parent,
        policy=given,
        priority=priority,
        timeout_s=waking.timeout_s,
    )
    needs = info.needs if waking.needs is None else waking.needs
    optional = info.optional if waking.optional is None else waking.optional
    rates = info.rates if waking.rates is None else waking.rates
    for name in (*needs, *optional, *rates):
        ledger.tree.node(name)
    if not (needs or optional or rates):
        if "/" not in path:
            ledger.add_owner(owner, ledger.tick)
        return None
    request = Request(
        owner=path,
        resources=needs,
        optional=optional,
        rates=rates,
    )
    ledger.add_owner(owner, ledger.tick)
    return InstanceReservation(ledger, owner, request)


MOST_ORDERS = 16
"""Orders of an instance that are kept before finished ones are removed."""


@dataclass(eq=False, kw_only=True)
class Instance:
    """A schema under one parent, asleep or awake, with its own modulation."""

    schema: ActuationSchema[Any] | PerceptiveSchema[Any]
    """The object with its methods."""
    waking: Waking
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
    reservation: InstanceReservation | None = None
    """None: it needs nothing."""
    reserved: Waking | None = None
    """What its reservation was made by."""
    priority: int = 0
    """Of its requests, and of its children's if they have none of their own."""
    children: "dict[str, Instance]" = field(default_factory=dict)
    """All that it ever woke, by name."""
    ranked: "list[Instance]" = field(default_factory=list)
    """Actuation children that are awake, the highest rank first."""
    newborn: "list[Instance]" = field(default_factory=list)
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
    woken: int = 0
    """Count of activations at its activation."""
    _orders: list[Playing] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Find its place in the tree, and its kind."""
        parent, schema, self.name = self.parent, self.schema, self.waking.name
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

    def owner_above(self) -> str | None:
        """Return the name of the nearest owner above it, None at a root."""
        above = self.parent
        while (
            above is not None and above.reservation is None and above.parent is not None
        ):
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
        self.ranked = sorted(awake, key=lambda one: (-one.waking.order, one.woken))

    def remember(self, order: Playing) -> None:
        """Keep an order, to end it when the instance does not act any more."""
        if len(self._orders) >= MOST_ORDERS:
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
