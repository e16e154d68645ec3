"""What owners are told, numbered and kept for a while, so that nobody misses it.

A reader says the number of the last notice that it has seen and gets those after it. An
inbox is bounded: a reader that stays away for too long is told how many it missed.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock

from controllers.resources.tokens import TokenId
from controllers.resources.trace import (
    Event,
    Expired,
    Granted,
    Notified,
    Released,
    Revoked,
)

KEPT = 1000
"""Notices that an inbox keeps."""
Told = Notified | Released | Expired
"""What an owner learns: notices, and that a token of its ended in another way."""

Reader = Callable[[], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """A notice with its place among all of its owner's."""

    number: int
    """From 1."""
    told: Told
    has_ended: bool
    """Whether the token concerned, if there is one, is dead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    """What a reader gets."""

    letters: tuple[Letter, ...]
    n_missed: int
    """Notices after the reader's last one that are not kept any more."""


class _Inbox:
    """The notices of one owner."""

    def __init__(self) -> None:
        self.letters: deque[Letter] = deque(maxlen=KEPT)
        self.last = 0
        self.tokens: set[TokenId] = set()
        self.readers: list[Reader] = []

    def put(self, told: Told) -> None:
        self.last += 1
        has_ended = told.token is not None and told.token not in self.tokens
        letter = Letter(number=self.last, told=told, has_ended=has_ended)
        self.letters.append(letter)

    def after(self, number: int) -> Post:
        first = self.letters[0].number if self.letters else self.last + 1
        letters = tuple(letter for letter in self.letters if letter.number > number)
        return Post(letters=letters, n_missed=max(0, first - 1 - number))


class Inboxes:
    """The inboxes of all owners, filled by a ledger's events."""

    def __init__(
        self, lock: RLock, wake: Callable[[Reader], None] = lambda reader: reader()
    ) -> None:
        """Begin empty.

        Args:
            lock: held by whoever calls the ledger.
            wake: calls a reader, soon.
        """
        self._lock = lock
        self._wake = wake
        self._boxes: dict[str, _Inbox] = {}
        self._woken: list[Reader] = []

    def hear(self, event: Event) -> None:
        """Take an event of the ledger; called under the lock."""
        if isinstance(event, Notified):
            self._put(event)
        elif isinstance(event, Granted):
            self._box(event.owner).tokens.add(event.token)
        elif isinstance(event, Expired):
            self._box(event.owner).tokens.discard(event.token)
            self._put(event)
        elif isinstance(event, Released):
            if event.is_whole:
                self._box(event.owner).tokens.discard(event.token)
            self._put(event)
        elif isinstance(event, Revoked) and event.is_whole:
            self._box(event.owner).tokens.discard(event.token)

    def wake(self) -> None:
        """Tell the readers of inboxes that got something."""
        woken, self._woken = self._woken, []
        for reader in woken:
            self._wake(reader)

    def tokens(self, owner: str) -> tuple[TokenId, ...]:
        """Return the valid tokens of an owner, in order of issue."""
        with self._lock:
            return tuple(sorted(self._box(owner).tokens))

    def last(self, owner: str) -> int:
        """Return the number of an owner's newest notice; 0: none."""
        with self._lock:
            return self._box(owner).last

    def after(self, owner: str, number: int) -> Post:
        """Return what an owner was told after a notice."""
        with self._lock:
            return self._box(owner).after(number)

    def add_reader(self, owner: str, reader: Reader) -> None:
        """Call a function soon after something has arrived."""
        with self._lock:
            self._box(owner).readers.append(reader)

    def remove_reader(self, owner: str, reader: Reader) -> None:
        """Forget such a function."""
        with self._lock:
            box = self._boxes.get(owner)  # none: its owner is forgotten
            if box is not None and reader in box.readers:
                box.readers.remove(reader)

    def forget(self, owner: str) -> None:
        """Throw away an owner's inbox; its readers are woken to find nothing."""
        with self._lock:
            box = self._boxes.pop(owner, None)
            for reader in box.readers if box else ():
                self._wake(reader)

    def _put(self, told: Told) -> None:
        box = self._box(told.owner)
        box.put(told)
        self._woken += box.readers

    def _box(self, owner: str) -> _Inbox:
        return self._boxes.setdefault(owner, _Inbox())
