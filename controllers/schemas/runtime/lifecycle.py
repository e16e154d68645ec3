"""Order of activation, deactivation, winning and losing within a slot.

A loser has ended (`deactivation`) before the new winner requests anything.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import End, Ticket
from nao_testbed.controllers.arbitration.tokens import LossCause
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.controllers.schemas.events import Finished, SchemaStarted, Won
from nao_testbed.controllers.schemas.runtime.deactivation import Agenda, Deactivation
from nao_testbed.controllers.schemas.runtime.instance import Instance
from nao_testbed.models import BadInput
from nao_testbed.models.errors import FOREIGN_ERRORS


class Lifecycle(Deactivation):
    """State changes of instances, called by the runtime."""

    def __init__(
        self, ledger: Ledger, agenda: Agenda, instances: Sequence[Instance]
    ) -> None:
        """Create a life cycle without active instances.

        Args:
            ledger: ledger that grants resources to winners and emits events.
            agenda: due iterations.
            instances: all instances by number, a growing list.
        """
        super().__init__(ledger, agenda)
        self._instances = instances
        self._turns: list[int] = []
        """Heap of the numbers of instances with a turn in this slot, parents before
        children."""
        self._seen = ledger.changes

    # -- a slot -----------------------------------------------------------------------

    def handle_losses(self) -> None:
        """Find instances that lost their tokens; they request them again.

        A new request may preempt another instance, so this repeats until nothing
        changes.
        """
        while self._seen != self._ledger.changes:
            self._seen = self._ledger.changes
            for one in sorted(self.holders, key=lambda one: one.number):
                if one.is_acting and one.ticket is not None:
                    self._handle_loss(one, one.ticket)

    def _handle_loss(self, one: Instance, granted: Ticket) -> None:
        end = self._follow(one, granted)
        if one.ticket is granted:
            return
        if end is not None and end.why is LossCause.YIELDED:
            self.finish(one, "yielded")
            return
        self.stop_all(one, "no token", keeps_ticket=one.ticket is not None)
        self.attempt(one, "on_lost", one.acting.on_lost)
        if one.state is State.WINNER:
            self._wait(one)

    def perceive(self, one: Instance) -> None:
        """Run an iteration of a perceptive instance."""
        if one.is_acting:
            try:
                one.perceiving.perceive()
            except FOREIGN_ERRORS as error:  # other schemas continue
                self.fail(one, "perceive", error)

    def check(self, one: Instance) -> None:
        """Check the precondition of an actuation instance."""
        if not one.is_awake:
            return
        if one.is_done:
            one.is_ready = False
            return
        try:
            one.is_ready = bool(one.acting.ready())
        except FOREIGN_ERRORS as error:  # other schemas continue
            self.fail(one, "ready", error)
            return
        if one.state is not State.WINNER:
            self.change(one, State.READY if one.is_ready else State.CHECKING)
        elif not one.is_ready:
            self.demote(one, "not ready")

    def run_turns(self, due: Iterable[Instance]) -> None:
        """Run the due instances and their competition, from the roots down.

        A resource that one releases may be granted to another, which starts in the
        same slot.
        """
        turns = self._turns
        for one in due:
            heappush(turns, one.number)
        self._schedule_answered(is_granted=False)
        changes = self._ledger.changes
        while turns:
            one = self._instances[heappop(turns)]
            if one.state is State.READY and one.parent is None:
                self._promote(one, ())
            if one in self.waiting:
                self._take_outcome(one)
            if self._ledger.changes != self._seen:
                self.handle_losses()
            if one.is_acting and one.due == self.tick:
                one.due = -1
                self._act(one, "iterate", one.acting.iterate)
            if changes != self._ledger.changes:
                changes = self._ledger.changes
                self._schedule_answered(is_granted=True)

    def _schedule_answered(self, *, is_granted: bool) -> None:
        """Schedule the instances whose requests have ended.

        Args:
            is_granted: True: schedule only granted instances. An instance that was
                denied in this slot, and requests again, gets its outcome in the next
                slot.
        """
        for one in self.waiting:
            outcome = one.outcome
            if outcome is not None and (outcome.is_granted or not is_granted):
                heappush(self._turns, one.number)

    # -- activation -------------------------------------------------------------------

    def run_first_iterations(self, newly_awake: list[Instance]) -> None:
        """Run the first iteration of activated instances, then their competition."""
        while newly_awake:
            batch = sorted(
                newly_awake,
                key=lambda one: (not one.is_perceptive, one.sequence),
            )
            newly_awake.clear()
            for one in batch:
                if not one.is_awake:
                    continue
                if one.next_due < 0:
                    one.due = self.tick
                    self._agenda.add(one, self.tick + one.period_ticks)
                if one.is_perceptive:
                    self._mark_started(one)
                    self.attempt(one, "start", one.schema.start)
                    self.perceive(one)
                else:
                    self.check(one)
                    heappush(self._turns, one.number)

    # -- winning and losing -----------------------------------------------------------

    def compete(self, parent: Instance) -> None:
        """Hold the competition of the children of a winner."""
        ready = [
            one for one in parent.ranked if one.state in (State.READY, State.WINNER)
        ]
        present = parent.winner
        if len(ready) > 1 or (ready and parent.acting.arbitrates_single):
            chosen = self._chosen(parent, ready, present)
            if not parent.is_acting:
                return  # its `arbitrate` failed
        else:
            chosen = ready[0] if ready else None
        if chosen is present:
            return
        if present is not None:
            self.demote(present, "lost")
        if chosen is not None and chosen.state is State.READY:
            self._promote(chosen, tuple(one.name for one in ready if one is not chosen))

    def _chosen(
        self, parent: Instance, ready: list[Instance], present: Instance | None
    ) -> Instance | None:
        by_name = {one.name: one for one in ready}
        now = None if present is None else present.name

        def choose() -> Instance | None:
            name = parent.acting.arbitrate(tuple(by_name), now)
            if name is None:
                return None
            if name not in by_name:
                raise BadInput(
                    f"{parent.path!r} chose {name!r}, which is not ready; choose one "
                    f"of {', '.join(by_name)}."
                )
            return by_name[name]

        return self.attempt(parent, "arbitrate", choose)

    def _promote(self, one: Instance, over: tuple[str, ...]) -> None:
        """Make an instance the winner, and request its resources."""
        if one.parent is not None:
            one.parent.winner = one
        above = None if one.parent is None else one.parent.path
        self.emit(Won, one, parent=above, over=over)
        self.change(one, State.WINNER)
        one.has_acted = False
        if one.request is None:
            self._start_acting(one)
        else:
            self._wait(one)
            self._take_outcome(one)

    def _wait(self, one: Instance) -> None:
        """Request the resources of a winner, unless a request is pending, and wait."""
        request = one.request
        assert request is not None
        self.waiting[one] = None
        if one.ticket is None:
            ask = partial(self._ledger.request, request, self.tick)
            one.ticket = self.attempt(one, "its request", ask)

    def _follow(self, one: Instance, granted: Ticket) -> End | None:
        """Update the ticket of an instance from the ledger.

        Returns:
            End of the reservation; None while it is valid, paused or resumed.
        """
        present = self._ledger.follow(one.path, granted.token)
        if present.token is None:
            one.ticket = present.ticket
        elif present.token != granted.token:
            one.ticket = self._ledger.granted_by(present.token)
        return present.end

    def _take_outcome(self, one: Instance) -> None:
        """Take over the outcome of a winner's request, if there is one."""
        ticket, outcome = one.ticket, one.outcome
        if ticket is None or outcome is None or one.state is not State.WINNER:
            return
        del self.waiting[one]
        if outcome.is_granted:
            end = self._follow(one, ticket)
            if one.ticket is ticket:
                self.holders[one] = None
                self._start_acting(one)
            elif end is not None and end.why is LossCause.YIELDED:
                self.finish(one, "yielded")
            else:  # preempted before its start
                self._wait(one)
            return
        one.ticket = None
        refused = one.acting.on_refused
        asks = self.attempt(one, "on_refused", lambda: bool(refused(outcome)))
        if asks is None:
            return  # its request failed
        if asks:
            self._wait(one)
        else:
            self.finish(one)

    def _start_acting(self, one: Instance) -> None:
        self._mark_started(one)
        self._act(one, "start", one.schema.start)

    def _mark_started(self, one: Instance) -> None:
        one.is_acting = one.has_acted = True
        self.emit(SchemaStarted, one)

    def _act(self, one: Instance, name: str, method: Callable[[], object]) -> None:
        """Call a method in which an instance may act; then its children compete."""
        one.may_act = True
        self.attempt(one, name, method)
        one.may_act = False
        if one.finishes:
            one.finishes = False
            if one.is_acting:
                self.finish(one)
        if one.is_acting:
            if one.newly_awake:
                self.run_first_iterations(one.newly_awake)
            if one.ranked:
                self.compete(one)

    def finish(self, one: Instance, why: str = "finished") -> None:
        """Finish an instance: it ceases to be the winner; a root is deactivated."""
        one.is_done, one.is_ready = True, False
        self.emit(Finished, one)
        if one.parent is None:
            self.deactivate(one, why)
        else:
            self.demote(one, why)
