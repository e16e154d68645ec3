"""One instance of a schema: what the runtime remembers of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from controllers.schemas.actuators import Playing
from controllers.schemas.claim import Claim
from controllers.schemas.link import ChildView
from controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from controllers.schemas.states import State
from controllers.schemas.variables import Cell
from controllers.schemas.waking import Waking

MOST_ORDERS = 16
"""Orders of an instance that are kept before those that are over are thrown away."""


@dataclass(eq=False, kw_only=True)
class Instance:
    """A schema under one parent, asleep or awake, with its own modulation (JD-13)."""

    schema: ActuationSchema[Any] | PerceptiveSchema[Any]
    """The object with its methods."""
    waking: Waking
    """How it was woken last."""
    parent: "Instance | None"
    """Who wakes it; None: it is a root."""
    part_of: str | None
    """Of a root: the owner that it is a part of."""
    number: int
    """Count of instances; a parent's is lower than its children's."""
    period_ticks: int
    """Its cycle time."""
    cells: Mapping[str, Cell]
    """Its outputs."""

    parameters: Any = None
    claim: Claim | None = None
    """None: it needs nothing."""
    claimed: Waking | None = None
    """What its claim was made by."""
    priority: int = 0
    """Of its requests, and of its children's if they have none of their own."""
    children: "dict[str, Instance]" = field(default_factory=dict)
    """All that it ever woke, by name."""
    ranked: "list[Instance]" = field(default_factory=list)
    """Actuation children that are awake, the highest rank first."""
    newborn: "list[Instance]" = field(default_factory=list)
    """Children that were woken since they were last looked at."""
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
    """Count of wakings when it was woken."""
    _orders: list[Playing] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Find its place in the tree, and its kind."""
        parent, schema, self.name = self.parent, self.schema, self.waking.name
        self.info = schema.info
        self.path: str = self.name if parent is None else f"{parent.path}/{self.name}"
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_perceptive = isinstance(schema, PerceptiveSchema)
        self.acting = cast(ActuationSchema[Any], schema)
        """The schema, for those who know that it is not perceptive."""
        self.perceiving = cast(PerceptiveSchema[Any], schema)
        """The schema, for those who know that it is."""

    @property
    def is_awake(self) -> bool:
        """Whether it is in any state but SLEPT."""
        return self.state is not State.SLEPT

    def owner_above(self) -> str | None:
        """Return the name of the nearest owner above it, None at a root."""
        above = self.parent
        while above is not None and above.claim is None and above.parent is not None:
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
