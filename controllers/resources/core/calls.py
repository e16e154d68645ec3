"""Calls of the ledger, one after another in time, and what follows from each.

Within a tick calls come before timers: a call first lets happen what was due earlier,
`advance` what is due up to its tick. When the outermost call is done, all that can be
granted is granted, nobody waits in a circle, and only then listeners are told: what
they call in answer, in the same tick, finds every change made whole.
"""

from contextlib import AbstractContextManager

from controllers.resources.core.book import Book
from controllers.resources.core.deadlock import latest_in_a_circle
from controllers.resources.core.granting import Granting
from controllers.resources.core.losers import tell_losers
from controllers.resources.core.records import Waiting
from controllers.resources.core.timers import Due
from controllers.resources.core.waiting_list import WaitingList
from controllers.resources.ledger_cfg import check_tick
from controllers.resources.trace import Event, Settled, Ticked
from controllers.resources.words import OutcomeKind, Why
from models import BadInput

DEEPEST = 20
"""Calls in answer to calls, at most: policies and listeners may ask what makes others
ask in turn."""


class Calls(AbstractContextManager[None]):
    """Surrounds every change: `with calls.at(tick): ...`.

    A policy that is asked in the midst of a call may call as well, in the same tick,
    and so may a listener.
    One object serves all calls, since entering one must cost little.
    """

    def __init__(
        self, book: Book, waiting_list: WaitingList, granting: Granting
    ) -> None:
        """Begin with no call made."""
        self._book = book
        self._waiting_list = waiting_list
        self._granting = granting
        self._depth = 0
        self.asks: Waiting | None = None
        """Request of the present call, once that is done but for what follows."""
        self.made = 0
        """Calls and timers that are done: while it stands, nothing has changed."""

    def at(self, tick: int) -> "Calls":
        """Begin a call: what was due before it happens first.

        Raises:
            BadInput: the tick is no whole number, time would go back, or policies or
                listeners call each other without end.
        """
        if (
            type(tick) is not int
            or self._depth
            or self._book.told_in_turn
            or tick != self._book.tick
        ):
            self._check(tick)
            self._run_timers(tick)
            self._book.tick = tick
        return self

    def __enter__(self) -> None:
        """Begin a change."""
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """End a change: grant what is free; at last, see that nobody is stuck."""
        book = self._book
        self._depth -= 1
        self.made += 1
        if book.changed:
            self._granting.settle()
        if self._depth:
            return
        if book.suspects:
            self._free_the_stuck()
        if book.eased:
            tell_losers(book)
        asks, self.asks = self.asks, None
        if asks is not None:
            asks.has_waited = True  # from now on its owner learns by notices
        if book.listeners:
            book.emit(Settled(tick=book.tick))
            book.tell()

    def advance(self, tick: int) -> None:
        """Let happen all that is due up to and including a tick.

        Raises:
            BadInput: time would go back, or a policy or listener calls.
            Exception: what a listener raised since the last time; all is done by then.
        """
        self._check(tick)
        if self._depth or self._book.told_in_turn:
            raise BadInput("a policy or listener cannot let time pass; return first.")
        self._run_timers(tick + 1)
        self._book.tick = tick
        if self._book.listeners:
            self.tell(Ticked(tick=tick))
        fault, self._book.fault = self._book.fault, None
        if fault is not None:
            raise fault

    def call_in(self, tick: int) -> None:
        """Let the promises that are due at a tick be kept before its calls.

        All else that is due at it comes after them, by `advance`.

        Raises:
            BadInput: time would go back, or a policy or listener calls.
        """
        self._check(tick)
        self._run_timers(tick)
        for call in self._book.timers.take(tick, Due.PROMISE):
            self._book.tick = tick
            with self:
                call()

    def tell(self, event: Event) -> None:
        """Tell listeners what happened elsewhere; in a call, when it is done."""
        self._book.emit(event)
        if not self._depth:
            self._book.tell()

    def _check(self, tick: int) -> None:
        check_tick(tick)
        now, turns = self._book.tick, self._book.told_in_turn
        if max(self._depth, turns) >= DEEPEST:
            raise BadInput(
                "policies or listeners call the ledger in answer to each other's calls "
                f"{DEEPEST} times over; one of them has to return without calling."
            )
        if tick < now or ((self._depth or turns) and tick != now):
            raise BadInput(
                f"tick is {tick}, but it is {now} already; time does not go back, and "
                "stands still while policies are asked and listeners told."
            )

    def _run_timers(self, before: int) -> None:
        """Make the calls that were due before a tick, each at its own."""
        timers = self._book.timers
        while (due := timers.next_due()) is not None and due < before:
            call = timers.pop()
            self._book.tick = due
            with self:
                call()

    def _free_the_stuck(self) -> None:
        """Deny the latest of those who wait in a circle, until none is left (RM-21)."""
        book = self._book
        while book.entangled and (stuck := latest_in_a_circle(book)) is not None:
            self._waiting_list.fail(stuck, OutcomeKind.DENIED, Why.DEADLOCK)
            self._granting.settle()
        book.suspects.clear()
