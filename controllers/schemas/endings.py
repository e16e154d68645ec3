"""How acting ends: a loser's orders first, then its sub-tree, then its tokens (I-25).

All that a schema's method may raise ends here too: this instance sleeps, and all below
it; nobody else is touched.
"""

from collections.abc import Callable
from typing import TypeVar

from controllers.arbitration.events import Event
from controllers.arbitration.manager.ledger import Ledger
from controllers.schemas.agenda import Agenda
from controllers.schemas.instance import Instance
from controllers.schemas.states import State
from controllers.schemas.trace import SchemaFailed, SchemaStopped, Slept, StateChangedTo

_T = TypeVar("_T")


class Endings:
    """Stops instances, puts them to sleep, and gives back what they hold."""

    def __init__(self, ledger: Ledger, agenda: Agenda) -> None:
        """Begin with nobody awake.

        Args:
            ledger: takes back reservations, and tells the trace.
            agenda: of iterations.
        """
        self.tick = 0
        """The present slot."""
        self.holders: dict[Instance, None] = {}
        """Who acts with a token."""
        self.waiting: dict[Instance, None] = {}
        """Winners whose request has no outcome yet."""
        self._ledger = ledger
        self._agenda = agenda

    def put_to_sleep(self, one: Instance, why: str = "asleep") -> None:
        """Let an instance and all below it do nothing any more."""
        if not one.is_awake:
            return
        self.cease(one, why)
        self._fall_asleep(one)

    def stand_down(self, one: Instance, why: str) -> None:
        """Let a winner lose: all below it sleeps, and its tokens are dead."""
        self.cease(one, why)
        parent = one.parent
        if parent is not None and parent.winner is one:
            parent.winner = None
        if one.is_awake:
            self.change(one, State.READY if one.is_ready else State.CHECKING)

    def cease(self, top: Instance, why: str, *, keeps_claim: bool = False) -> None:
        """Let an instance not act any more: all below it sleeps, no token is left."""
        below = list(top.awake_below())
        for one in below:
            self._stop(one, "asleep")
        self._stop(top, why)
        family = [top, *reversed(below)]
        for one in family:
            for order in one.take_orders():
                self._shielded(one, "the end of an order", order.end)
            self.holders.pop(one, None)
            self.waiting.pop(one, None)
        leaving = family[1:] if keeps_claim else family
        engaged = [
            one.claim
            for one in leaving
            if one.claim is not None and one.claim.is_engaged
        ]
        if engaged:
            owners = tuple(claim.owner.name for claim in engaged)
            for claim in engaged:
                claim.forget()
            self._ledger.give_up(owners, self.tick)
        for one in below:
            self._fall_asleep(one)

    def _stop(self, one: Instance, why: str) -> None:
        """Call `stop` of an instance that has begun; nothing can be commanded in it."""
        one.may_act = False
        one.newborn.clear()
        if not one.is_acting:
            return
        one.is_acting = False
        if self._ledger.listeners:
            self.tell(SchemaStopped(tick=self.tick, path=one.path, why=why))
        if why not in ("no token", "failed"):
            self._shielded(one, "stop", one.schema.stop)

    def _fall_asleep(self, one: Instance) -> None:
        self._agenda.remove(one)
        one.is_ready = False
        parent = one.parent
        if parent is not None:
            if parent.winner is one:
                parent.winner = None
            if one in parent.ranked:
                parent.ranked.remove(one)
        if self._ledger.listeners:
            self.tell(Slept(tick=self.tick, path=one.path))
        self.change(one, State.SLEPT)

    def attempt(
        self,
        one: Instance,
        name: str,
        method: Callable[[], _T],
    ) -> _T | None:
        """Call a method; if it raises this instance falls asleep, with all below it."""
        try:
            return method()
        except Exception as error:  # noqa: BLE001  # whatever it is, the others go on
            self.fail(one, name, error)
        return None

    def fail(self, one: Instance, name: str, error: Exception) -> None:
        """Put an instance to sleep whose method raised, with all below it."""
        self._note_failure(one, name, error)
        self.put_to_sleep(one, "failed")

    def _shielded(self, one: Instance, name: str, method: Callable[[], object]) -> None:
        """Call a method of an instance that ends anyway."""
        try:
            method()
        except Exception as error:  # noqa: BLE001  # whatever it is, the others go on
            self._note_failure(one, name, error)

    def _note_failure(self, one: Instance, name: str, error: Exception) -> None:
        one.error = f"{type(error).__name__}: {error}"
        if self._ledger.listeners:
            self.tell(
                SchemaFailed(
                    tick=self.tick, path=one.path, method=name, error=one.error
                )
            )

    def change(self, one: Instance, state: State) -> None:
        """Let an instance be in a state from now on."""
        if one.state is state:
            return
        one.state = state
        if state is not State.WINNER:
            one.has_acted = False
        if self._ledger.listeners:
            self.tell(StateChangedTo(tick=self.tick, path=one.path, state=state))

    def tell(self, event: Event) -> None:
        """Tell the trace; ask first whether anybody listens."""
        self._ledger.tell(event)
