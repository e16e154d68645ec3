"""Owners live as long as they are heard of; when one is gone, all it had ends (I-9)."""

from collections.abc import Sequence
from functools import partial

from controllers.resources.core.book import Book
from controllers.resources.core.holdings import Holdings
from controllers.resources.core.records import OwnerRecord
from controllers.resources.core.rights import Rights
from controllers.resources.core.timers import Due
from controllers.resources.core.waiting_list import WaitingList
from controllers.resources.owner import Owner
from controllers.resources.trace import Crashed, OwnerAdded, Renewed
from controllers.resources.words import OutcomeKind, Why
from models import BadInput

DEEPEST = 100
"""Owners above an owner, at most."""


class Lives:
    """Knows owners, hears signs of life, and ends what the silent ones had."""

    def __init__(
        self,
        book: Book,
        waiting_list: WaitingList,
        holdings: Holdings,
        rights: Rights,
    ) -> None:
        """Work on a book, by its moves."""
        self._book = book
        self._rights = rights
        self._waiting_list = waiting_list
        self._holdings = holdings
        self._added = 0
        self._started = 0

    def add(self, owner: Owner) -> None:
        """Let an owner be known; known already, its habits change.

        Raises:
            UnknownName: its parent is not known.
            BadInput: it is known under another parent, its name is that of a virtual
                owner or of a behaviour that runs, or it is too deep in the tree of
                owners.
        """
        book = self._book
        if owner.name in book.virtual:
            raise BadInput(
                f"{owner.name!r} is a virtual owner's name; choose another one."
            )
        parent = None if owner.parent is None else book.owner(owner.parent)
        record = book.owners.get(owner.name)
        if record is None:
            if parent is not None and parent.depth >= DEEPEST:
                raise BadInput(
                    f"owner {owner.name!r} would be {parent.depth + 1} owners deep; "
                    f"at most {DEEPEST} are."
                )
            self._added += 1
            record = OwnerRecord(owner, parent, self._added)
            book.owners[owner.name] = record
            if parent:
                parent.children[record] = None
        elif record.parent is not parent:
            above = record.parent.name if record.parent else "nobody"
            raise BadInput(
                f"owner {owner.name!r} is known as a part of {above!r}; it cannot "
                f"become a part of {owner.parent or 'nobody'!r}."
            )
        elif record.is_starting or (record.started is not None and record.has_any()):
            raise _taken(record)
        record.habits = owner
        if book.listeners:
            live_s = owner.time_to_live_s
            book.emit(
                OwnerAdded(
                    tick=book.tick,
                    owner=owner.name,
                    parent=owner.parent,
                    time_to_live_ticks=None if live_s is None else self._ticks(live_s),
                )
            )
        self.see(record)

    def check_free(self, name: str) -> None:
        """Refuse a name by which somebody else acts.

        Raises:
            BadInput: its owner, or a part of it, has something, waits, or starts.
        """
        record = self._book.owners.get(name)
        if record is not None and (record.is_starting or record.has_any()):
            raise _taken(record)

    def start(self, record: OwnerRecord) -> int:
        """Note that a behaviour acts by an owner's name; return its number."""
        self._started += 1
        record.started, record.is_starting = self._started, True
        return self._started

    def renew(self, record: OwnerRecord) -> None:
        """Note a sign of life that is nothing else."""
        if self._book.listeners:
            self._book.emit(Renewed(tick=self._book.tick, owner=record.name))
        self.see(record)

    def see(self, record: OwnerRecord) -> None:
        """Note a sign of life: the time to live begins anew."""
        live_s = record.habits.time_to_live_s
        record.is_gone = False
        if live_s is None:
            record.dies = None
            return
        record.dies = self._book.tick + self._ticks(live_s)
        if record.watched is None or record.watched > record.dies:
            self._watch(record, record.dies)

    def drop(self, record: OwnerRecord) -> None:
        """End all that an owner and its descendants hold and wait for."""
        if self._book.listeners:
            self._book.emit(Crashed(tick=self._book.tick, owner=record.name))
        self._end(record)

    def give_up(self, records: Sequence[OwnerRecord]) -> None:
        """Withdraw all that owners wait for, then release all that they hold.

        The last one's tokens go first, and of each the latest.
        """
        for record in records:
            for waiting in list(record.waiting.values()):
                self._waiting_list.fail(waiting, OutcomeKind.CANCELLED, Why.WITHDRAWN)
        for record in reversed(records):
            if record.reservations:
                self.see(record)
            for reservation in reversed(list(record.reservations)):
                if reservation.ended is None:
                    self._holdings.release(reservation, list(reservation.shares))

    def forget(self, record: OwnerRecord) -> None:
        """Drop an owner, and know it no more.

        Raises:
            BadInput: others are a part of it.
        """
        if record.children:
            names = ", ".join(child.name for child in record.children)
            raise BadInput(
                f"owner {record.name!r} still has parts: {names}; forget these first."
            )
        self.drop(record)
        del self._book.owners[record.name]
        if record.parent:
            del record.parent.children[record]

    def _end(self, record: OwnerRecord) -> None:
        """End what an owner has, its descendants' first."""
        for child in record.children:
            self._end(child)
        record.is_gone, record.dies = True, None
        record.started, record.is_starting = None, False
        for waiting in list(record.waiting.values()):
            self._waiting_list.fail(waiting, OutcomeKind.CANCELLED, Why.OWNER_GONE)
        for reservation in reversed(list(record.reservations)):
            if reservation.ended is None:
                self._holdings.expire(reservation)
        for loser in list(record.losers):
            loser.forget()
        if (
            record.is_entrusted
        ):  # so is who comes back by this name, if somebody says so
            self._rights.entrust(record, is_entrusted=False)

    def _ticks(self, live_s: float) -> int:
        return max(1, self._book.cfg.ticks(live_s))

    def _watch(self, record: OwnerRecord, tick: int) -> None:
        record.watched = tick
        look = partial(self._look, record)
        self._book.timers.at(tick, Due.TIME_TO_LIVE, look, place=record.place)

    def _look(self, record: OwnerRecord) -> None:
        """See whether an owner is silent for too long; if not, look again later."""
        if record.watched != self._book.tick:
            return  # an earlier timer looks
        record.watched = None
        if record.dies is None:
            return
        if record.dies > self._book.tick:
            self._watch(record, record.dies)
        else:
            self.drop(record)


def _taken(record: OwnerRecord) -> BadInput:
    held = {leaf.name for one in record.reservations for leaf in one.shares}
    what = f" and holds {', '.join(sorted(held))}" if held else ""
    return BadInput(
        f"another behaviour acts by the name {record.name!r}{what}; stop that one "
        "first, or give this one a name of its own: two of one name would be one owner."
    )
