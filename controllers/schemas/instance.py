"""One instance of a schema: what the runtime remembers of it."""

from collections.abc import Iterator, Mapping
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


class Instance:
    """A schema under one parent, asleep or awake, with its own modulation (JD-13)."""

    def __init__(
        self,
        schema: ActuationSchema[Any] | PerceptiveSchema[Any],
        waking: Waking,
        parent: "Instance | None",
        number: int,
        period_ticks: int,
        cells: Mapping[str, Cell],
    ) -> None:
        """Begin asleep.

        Args:
            schema: the object with its methods.
            waking: how it is woken.
            parent: who wakes it; None: it is a root.
            number: count of instances; a parent's is lower than its children's.
            period_ticks: its cycle time.
            cells: its outputs.
        """
        self.schema = schema
        self.is_perceptive = isinstance(schema, PerceptiveSchema)
        self.acting = cast(ActuationSchema[Any], schema)
        """The same, for those who know that it is not perceptive."""
        self.perceiving = cast(PerceptiveSchema[Any], schema)
        """The same, for those who know that it is."""
        self.info = schema.info
        self.waking = waking
        self.name = waking.name
        self.path: str = (
            waking.name if parent is None else f"{parent.path}/{waking.name}"
        )
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.number = number
        self.period_ticks = period_ticks
        self.cells = cells
        self.parameters: Any = None
        self.claim: Claim | None = None
        self.priority = 0
        """Of its requests, and of its children's if they have none of their own."""
        self.children: dict[str, Instance] = {}
        """All that it ever woke, by name."""
        self.ranked: list[Instance] = []
        """Actuation children that are awake, the highest rank first."""
        self.newborn: list[Instance] = []
        """Children that were woken since they were last looked at."""
        self.winner: Instance | None = None
        """Its present winner."""
        self.state = State.SLEPT
        self.is_ready = False
        self.is_done = False
        self.is_acting = False
        """Whether `start` was called, and nothing has ended that."""
        self.has_acted = False
        """Whether it was since it won."""
        self.may_act = False
        """Whether `start` or `iterate` runs."""
        self.finishes = False
        """Whether it called `finish` in the method that runs."""
        self.error = ""
        self.next_due = -1
        """Tick of its next iteration; -1 while it sleeps."""
        self.due = -1
        """The last tick at which it was due."""
        self.woken = 0
        """Count of wakings when it was woken."""
        self._orders: list[Playing] = []

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

    def end_orders(self) -> None:
        """Let nothing more happen of what it has ordered."""
        orders, self._orders = self._orders, []
        for order in orders:
            order.end()

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
